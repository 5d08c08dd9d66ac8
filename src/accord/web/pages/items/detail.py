"""The detail page of an item: its text as a document, with the facts beside it; its history."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct

from accord.hub.domain.lint import FORMS
from accord.hub.domain.rules import KINDS, PRIORITIES, TRANSITIONS, Kind, KindRules, parse_reference
from accord.hub.entities import ItemComment, Relationship
from accord.hub.operations.changes import Revision
from accord.hub.operations.texts import LintFinding, LintResult
from accord.operations.errors import NotFoundError, StaleError
from accord.web.activity import HistoryRow, history_rows
from accord.web.pages.requirements.tree import row_context, tree_context
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

PARENTS: Final[dict[Kind, str]] = {
    "user_story": "epic",
    "acceptance_criteria": "user_story",
    "requirement": "user_story",
}
"""The kind of an item's parent, by kind of item. It is the prefix of the item's field for the
parent, such as `epic_id`."""


class ItemView(Struct, frozen=True, kw_only=True):
    """An item, as pages show it. Fields that its kind does not have are None."""

    kind: KindRules
    reference_id: str
    version: int
    title: str | None
    heading: str
    """The title, or the first line of acceptance criteria, which have no title."""
    text: str
    creator: str
    created_at: str
    labels: tuple[str, ...]
    status: str | None
    priority: int | None
    assignee: str | None
    type: str | None
    parent: str | None
    criteria: str | None
    epics: tuple[str, ...] | None
    """The epics that a steering document guides."""

    @property
    def path(self) -> str:
        return f"/items/{self.reference_id}"

    @property
    def has_assignee(self) -> bool:
        return self.status is not None

    @property
    def following(self) -> tuple[str, ...]:
        """The statuses that can follow the item's current status."""
        return TRANSITIONS.get(self.kind.kind, {}).get(self.status or "", ())

    @property
    def label(self) -> str:
        """The type of a requirement, or the kind of another item, in words."""
        return self.type or self.kind.title


async def find_item(request: PageRequest, id: str) -> ItemView:
    """Return the item with this reference id. Raises NotFoundError if there is none."""
    reference = parse_reference(id)
    if reference is None:
        raise NotFoundError(f"there is no item {id[:64]!r}")
    if reference.kind == "prompt":
        raise NotFoundError(f"{reference} is a prompt: it is shown among the prompts")
    entity = await request.run(f"get_{reference.kind}", id=str(reference))
    return item_of(KINDS[reference.kind], entity)


def item_of(kind: KindRules, entity: Any) -> ItemView:
    """Convert an entity that an operation returned to an `ItemView`."""

    def given(name: str) -> Any:
        value = getattr(entity, name, None)
        return None if value is UNSET else value

    title, parent = given("title"), PARENTS.get(kind.kind)
    epics = given("epics")
    return ItemView(
        kind=kind,
        reference_id=entity.reference_id,
        version=entity.version,
        title=title,
        heading=title or given("summary") or entity.reference_id,
        text=given("description") or "",
        creator=given("creator") or given("author") or "",
        created_at=entity.created_at,
        labels=tuple(given("labels") or ()),
        status=given("status"),
        priority=given("priority"),
        assignee=given("assignee"),
        type=given("type"),
        parent=given(f"{parent}_reference_id") if parent else None,
        criteria=given("acceptance_criteria_reference_id"),
        epics=None if epics is None else tuple(epics),
    )


async def save(request: PageRequest, item: ItemView, version: str, **values: Any) -> ItemView:
    """Update fields of an item that the user has seen in version `version`.

    Changes that others have made to other fields since that version are no conflict. Raises
    StaleError if others have changed the same fields, and another ServiceError if the update is
    refused.
    """
    operation = f"update_{item.kind.kind}"
    arguments = {"id": item.reference_id, **values}
    try:
        entity = await request.run(operation, **arguments, expected_version=version or UNSET)
    except StaleError as error:
        changed = {each.field for each in error.data.get("differences", ())}
        if changed & values.keys():
            raise
        current = error.data["current_version"]
        entity = await request.run(operation, **arguments, expected_version=current)
    return item_of(item.kind, entity)


async def show(
    request: PageRequest, piece: str, /, *, status: int = 200, headers: bytes = b"", **context: Any
) -> PageResponse:
    """Show an item's page; the template `items/<piece>.html` fills its main part.

    `context` must contain the `item`.
    """
    context["piece"] = f"items/{piece}.html"
    if request.is_partial:
        # Always 200: scripts put a refused form in its old place.
        return request.piece("items/_detail.html", headers=headers, **context)
    item = context["item"]
    tree = await tree_context(request, item.reference_id, base=item.path)
    return await request.page("requirements/split.html", status=status, **(tree | context))


pages: Final = Pages()

MAX_LINKS: Final = 50
MAX_COMMENTS: Final = 50
AROUND: Final = 32
"""Characters of the text shown on each side of a lint finding."""
PATTERNS: Final = {
    "ubiquitous": "ubiquitous",
    "event": "event-driven",
    "state": "state-driven",
    "optional": "optional feature",
    "unwanted": "unwanted behaviour",
    "complex": "complex",
}
"""Names of the EARS patterns, by their key in lint results."""


ADVICE: Final[dict[Kind, str]] = {
    "epic": "what it is for, and for whom",
    "user_story": "as a … I want … so that …",
    "acceptance_criteria": "given … when … then …",
    "requirement": "one sentence that says what shall be",
    "steering_document": "what holds for all that it guides",
}
"""Advice on what to write in the text of an item, by its kind."""


class RelationshipRow(Struct, frozen=True):
    """A relationship, from the view of one of its two items."""

    link: Relationship
    name: str
    other: str
    title: str
    status: str


class Thread(Struct, frozen=True):
    """A comment and the replies in its thread."""

    comment: ItemComment
    answers: list[ItemComment]


class LintHint(Struct, frozen=True):
    """A lint finding, with the text before and after the quoted text."""

    finding: LintFinding
    before: str
    after: str
    said: str
    """The message of the finding, worded to follow the quoted text."""


class Lint(Struct, frozen=True):
    """The lint result of an item."""

    hints: list[LintHint]
    patterns: str
    result: LintResult


@pages.get("/items/{id}")
async def detail(request: PageRequest) -> PageResponse:
    reference = parse_reference(request.values["id"])
    if reference is not None and reference.kind == "prompt":
        return request.go(f"/prompts/{reference}")
    return await show(request, "_reading", **await detail_context(request, request.values["id"]))


async def show_changed(request: PageRequest, id: str, notice: str) -> PageResponse:
    """Respond to a form that changed an item: show the item's page with a notice."""
    if not request.is_partial:
        return request.go(f"/items/{id}", notice)
    context = await detail_context(request, id) | await row_context(request, id)
    back = f"hx-replace-url: {context['item'].path}\r\n".encode("ascii")
    return await show(
        request, "_reading", headers=back + toast_header(notice, undo=request.undoable), **context
    )


def toast_header(text: str, *, undo: str = "") -> bytes:
    """Return the header that makes a script show a toast.

    `undo` is the id of the change that the toast offers to undo.
    """
    event = json.dumps({"accord:said": {"text": text, "undo": undo}})  # in ASCII, as headers are
    return f"hx-trigger: {event}\r\n".encode("ascii")


async def detail_context(request: PageRequest, id: str) -> dict[str, Any]:
    """Return the values for the template `items/_detail.html` for an item."""
    item = await find_item(request, id)
    id = item.reference_id
    around, lint, links, history, comments = await asyncio.gather(
        request.run("get_surroundings", id=id),
        request.run("lint_requirement", id=id),
        request.run("list_relationships", id=id, limit=MAX_LINKS),
        request.run("history", id=id, related=True, limit=1),
        request.run("list_comments", target_id=id, limit=MAX_COMMENTS),
    )
    return {
        "item": item,
        "piece": "items/_reading.html",
        "around": around,
        "kinds": KINDS,
        "priorities": PRIORITIES,
        "advice": ADVICE[item.kind.kind],
        "lint": lint_of(item, lint, {"title": item.title or "", "description": item.text}),
        "links": links,
        "rows": [row_of(item, link) for link in links.items],
        "entry": next(iter(entries_of(request, history.items)), None),
        "comments": comments,
        "threads": threads(comments.items),
        **rights(request, item),
    }


def entries_of(
    request: PageRequest, revisions: Iterable[Revision], *, is_first: bool = True
) -> list[HistoryRow]:
    """Return the rows of an item's history; undo is offered where the caller may do so."""
    caller = request.user
    return history_rows(
        revisions,
        actor=caller.username,
        is_administrator=caller.is_administrator,
        is_first=is_first,
    )


def rights(request: PageRequest, item: ItemView) -> dict[str, Any]:
    """Return the caller's rights on an item, as values for a template."""
    caller = request.user
    return {
        "may_write": caller.may("write"),
        "may_comment": caller.may("comment"),
        "may_delete": caller.may("delete")
        and (caller.is_administrator or item.creator == caller.username),
    }


def row_of(item: ItemView, link: Relationship) -> RelationshipRow:
    if link.source_reference_id == item.reference_id:
        name, end = link.type, "target"
    else:
        name, end = link.inverse, "source"
    return RelationshipRow(
        link,
        name.replace("_", " "),
        getattr(link, f"{end}_reference_id"),
        getattr(link, f"{end}_title"),
        getattr(link, f"{end}_status"),
    )


def threads(comments: Iterable[ItemComment]) -> list[Thread]:
    """Group comments into threads, in the order of the comments.

    A reply to a reply belongs to the thread of the first comment.
    """
    made: dict[str, Thread] = {}
    for each in comments:
        thread = made.get(each.reply_to or "")
        if thread is None:
            made[each.id] = Thread(each, [])
        else:
            thread.answers.append(each)
            made[each.id] = thread
    return [thread for id, thread in made.items() if thread.comment.id == id]


def lint_of(item: ItemView, result: LintResult, texts: dict[str, str]) -> Lint:
    """Prepare the lint result of an item for a page; `texts` are its texts by field.

    Only requirements should follow EARS patterns, so patterns are named for requirements only.
    """
    is_requirement = FORMS.get(item.kind.kind) == "requirement"
    return Lint(
        [_hint(each, texts[each.field]) for each in result.findings],
        _patterns([each.pattern for each in result.statements]) if is_requirement else "",
        result,
    )


def _hint(finding: LintFinding, text: str) -> LintHint:
    before = text[max(0, finding.start - AROUND) : finding.start]
    after = text[finding.end : finding.end + AROUND]
    if finding.start > AROUND:
        before = f"…{before.partition(' ')[2]}"
    if finding.end + AROUND < len(text):
        after = f"{after.rpartition(' ')[0]}…"
    return LintHint(finding, before, after, _without_quote(finding))


def _without_quote(finding: LintFinding) -> str:
    """Return the message of a finding, without the quote at its beginning, if any."""
    for named in (repr(finding.quote), finding.quote):
        if finding.message.startswith(f"{named} "):
            return finding.message.removeprefix(named)
    return f": {finding.message}"


def _patterns(found: Sequence[str]) -> str:
    names = dict.fromkeys(PATTERNS.get(each, each) for each in found)
    return ", ".join(names)


MAX_VERSIONS: Final = 20


@pages.get("/items/{id}/history")
async def history(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    page = await request.run(
        "history",
        id=item.reference_id,
        related=True,
        limit=MAX_VERSIONS,
        cursor=request.query["cursor"] or UNSET,
    )
    return await show(
        request,
        "_history",
        item=item,
        page=page,
        entries=entries_of(request, page.items, is_first=not request.query["cursor"]),
        **rights(request, item),
    )


@pages.get("/items/{id}/compare")
async def compare(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    versions = (request.query["a"] or "1", request.query["b"] or str(item.version))
    older, newer = sorted(versions, key=_version_number)
    compared = await request.run("compare_versions", id=item.reference_id, a=older, b=newer)
    return await show(request, "_compare", item=item, compared=compared)


@pages.post("/items/{id}/undo")
async def undo(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    await request.run("undo", change_id=request.form["change_id"])
    return await show_changed(request, item.reference_id, "The change was undone.")


@pages.post("/items/{id}/restore")
async def restore(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    version = request.form["version"]
    await request.run("restore_version", id=item.reference_id, version=version)
    return await show_changed(request, item.reference_id, f"Version {version} is restored.")


def _version_number(version: str) -> int:
    return int(version) if version.isdecimal() and len(version) < 10 else 0


MAX_STEERING_DOCUMENTS: Final = 50


@pages.get("/steering-documents")
async def list_steering_documents(request: PageRequest) -> PageResponse:
    documents = await request.run(
        "list_steering_documents",
        limit=MAX_STEERING_DOCUMENTS,
        cursor=request.query["cursor"] or UNSET,
    )
    return await request.page(
        "items/steering.html",
        section="/requirements",
        documents=documents,
        may_write=request.user.may("write"),
    )
