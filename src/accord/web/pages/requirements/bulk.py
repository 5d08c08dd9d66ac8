"""Creating items, changing several items at once (all or none), moving items in the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from msgspec import UNSET, Struct

from accord.hub.bulk import MAX_STEPS
from accord.hub.domain.rules import KINDS, PRIORITIES, STATUSES, Kind, parse_reference
from accord.operations.errors import ForbiddenError, InvalidError, RateLimitedError, ServiceError
from accord.web.forms import read_words
from accord.web.pages.requirements.tree import MAX_PEOPLE, ROOT, tree_context
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

NOBODY: Final = "-"
"""The form value for "nobody" as assignee: no username is so short."""
OFFERED: Final = 100
"""The most names that a field suggests; others can be typed."""

pages: Final = Pages()


class BulkStep(Struct, frozen=True):
    """One operation of a bulk change, on one item."""

    name: str
    operation: str
    arguments: dict[str, Any]


class RefusedChange(Struct, frozen=True):
    """The reason why a bulk change cannot change one item."""

    name: str
    reason: str


@pages.post(f"{ROOT}/bulk")
async def change_many(request: PageRequest) -> PageResponse:
    """Set the status or assignee of all selected items, or move them to another parent."""
    names = list(dict.fromkeys(request.form.every("id")))
    try:
        steps = _steps(request, names)
        await request.run(
            "apply_changes",
            steps=[{"operation": each.operation, "arguments": each.arguments} for each in steps],
        )
    except (ForbiddenError, RateLimitedError):
        raise
    except ServiceError as error:
        return await _refusal(request, names, error)
    return request.go(request.form["back"], _changes_notice(request, len(names)))


@pages.get(f"{ROOT}/move")
async def move_form(request: PageRequest) -> PageResponse:
    return await _move_page(request, request.query["id"])


@pages.post(f"{ROOT}/move")
async def move(request: PageRequest) -> PageResponse:
    name = request.form["id"]
    where = request.form.given("before", "after", "parent_id")
    try:
        outcome = await request.outcome("move_item", id=name, **where)
    except ServiceError as error:
        if request.is_partial:
            raise
        return await _move_page(request, name, error)
    moved = outcome.result
    below = f" under {moved.parent_reference_id}" if moved.parent_reference_id else ""
    notice = f"{moved.reference_id} is number {moved.place:,} of {moved.siblings:,}{below} now"
    back = f"/items/{moved.reference_id}"
    if request.is_partial:
        piece = "requirements/_moved.html"
        return request.piece(piece, said=notice, undo=request.undoable, back=back)
    return request.go(back, notice)


def _steps(request: PageRequest, names: Sequence[str]) -> list[BulkStep]:
    """Return the operations of the bulk change that the form describes.

    Raises InvalidError if no item or no change is chosen, or if there are too many operations.
    """
    form = request.form
    if not names:
        raise InvalidError("", "nothing is selected: tick some rows first")
    values: dict[str, Any] = dict(form.given("status", "assignee"))
    if values.get("assignee") == NOBODY:
        values["assignee"] = None
    parent = form["parent_id"].strip()
    if not values and not parent:
        raise InvalidError("", "choose a status, an assignee or what to move them under")
    steps = [_update(each, values) for each in names] if values else []
    if parent:
        steps += [BulkStep(each, "move_item", {"id": each, "parent_id": parent}) for each in names]
    if len(steps) > MAX_STEPS:
        raise InvalidError("", f"at most {MAX_STEPS} changes are made together")
    return steps


def _update(name: str, values: dict[str, Any]) -> BulkStep:
    reference = parse_reference(name)
    kind: Kind = "requirement" if reference is None else reference.kind
    return BulkStep(name, f"update_{kind}", {"id": name, **values})


def _changes_notice(request: PageRequest, count: int) -> str:
    """Describe a completed bulk change of `count` items."""
    form = request.form
    parts = [
        *([f"status {form['status']}"] if form["status"] else ()),
        *([f"assigned to {_assignee_name(form['assignee'])}"] if form["assignee"] else ()),
        *([f"under {form['parent_id'].strip().upper()}"] if form["parent_id"].strip() else ()),
    ]
    return f"{count} {'item' if count == 1 else 'items'} changed: {', '.join(parts)}"


def _assignee_name(assignee: str) -> str:
    return "nobody" if assignee == NOBODY else assignee


async def _refusal(request: PageRequest, names: list[str], error: ServiceError) -> PageResponse:
    """Show the tree with the same rows selected, and why the change was refused."""
    try:
        steps = _steps(request, names)
        refused = [each for step in steps if (each := await _dry_run(request, step)) is not None]
    except InvalidError:
        refused = []
    request.query = read_words(urlsplit(request.form["back"]).query)  # with the same items open
    context = await tree_context(request, None, ticked=names, base=ROOT)
    return await request.page(
        "requirements/split.html",
        status=error.kind.status,
        **context,
        refused=refused,
        error=error,
        asked=len(names),
    )


async def _dry_run(request: PageRequest, step: BulkStep) -> RefusedChange | None:
    """Try one operation of a bulk change without saving its effects.

    Return the reason if it is refused, otherwise None.
    """
    reference = parse_reference(step.name)
    if reference is not None and reference.kind not in STATUSES:
        kind = KINDS[reference.kind].title
        for field in ("status", "assignee"):
            if field in step.arguments:
                return RefusedChange(step.name, f"{kind} has no {field}")
    status = step.arguments.get("status")
    if reference is not None and status and status not in STATUSES[reference.kind]:
        known = ", ".join(STATUSES[reference.kind])
        return RefusedChange(
            step.name, f"{KINDS[reference.kind].title} has no status {status}: {known}"
        )
    try:
        await request.run(step.operation, **step.arguments, dry_run=True)
    except ServiceError as error:
        return RefusedChange(step.name, error.errors[0].detail if error.errors else error.message)
    return None


async def _move_page(
    request: PageRequest, name: str, error: ServiceError | None = None
) -> PageResponse:
    path = (await request.run("get_outline", selected=name, limit=1)).path
    if not path:
        raise InvalidError("id", f"{name[:64]} has no place in the tree")
    item, parent = path[-1], path[-2] if len(path) > 1 else None
    beside = await request.run(
        "list_children", id=parent.reference_id if parent else UNSET, limit=OFFERED
    )
    return await request.page(
        "requirements/move.html",
        status=200 if error is None else error.kind.status,
        section=ROOT,
        error=error,
        way=path,
        item=item,
        parent=parent,
        siblings=[
            each
            for each in beside.items
            if each.kind == item.kind and each.reference_id != item.reference_id
        ],
        parents=await parents_for(request, item.kind),
    )


async def parents_for(request: PageRequest, kind: Kind) -> list[Any]:
    """Return items that can be parents of a kind, the last changed first."""
    parent = KINDS[kind].parent
    if parent is None:
        return []
    found = await request.run(
        "list_epics" if parent == "epic" else "list_user_stories",
        sort="-updated_at",
        fields=["title"],
        limit=OFFERED,
    )
    parents: list[Any] = found.items
    return parents


CREATED: Final[dict[Kind, tuple[str, ...]]] = {
    "epic": ("title", "description", "priority", "assignee"),
    "user_story": ("title", "description", "priority", "assignee"),
    "requirement": ("title", "description", "type", "priority", "assignee"),
    "acceptance_criteria": ("description",),
    "steering_document": ("title", "description"),
}
"""The fields of the form for a new item besides its parent, by kind."""
PARENT_FIELD: Final[dict[Kind, str]] = {
    "user_story": "epic_id",
    "requirement": "user_story_id",
    "acceptance_criteria": "user_story_id",
}
"""The argument of the create operation that names the parent, by kind of the new item."""
BELOW: Final[dict[Kind, Kind]] = {"epic": "user_story", "user_story": "requirement"}
"""The default kind of a new child of an item, by the kind of the item."""


@pages.get("/new")
async def new(request: PageRequest) -> PageResponse:
    kind, parent = await _kind_and_parent(request, request.query["kind"], request.query["parent"])
    return await _form(request, kind, parent)


@pages.post("/new")
async def create(request: PageRequest) -> PageResponse:
    form = request.form
    kind = _kind(form["kind"]) or "epic"
    field = PARENT_FIELD.get(kind)
    parent = form[field].strip() if field else ""
    fields = form.given(*CREATED[kind])
    if "description" in fields:
        fields["description"] = fields["description"].replace("\r\n", "\n")
    if field and parent:
        fields[field] = parent
    try:
        made = await request.run(f"create_{kind}", **fields)
    except ServiceError as error:
        return await _form(request, kind, parent, error)
    notice = f"{made.reference_id} is created"
    if form["next"]:
        again = {"kind": kind, **({"parent": parent} if parent else {})}
        return request.go(f"/new?{urlencode(again)}", notice)
    return request.go(f"/items/{made.reference_id}", notice)


def _kind(name: str) -> Kind | None:
    return next((kind for kind in CREATED if kind == name), None)


async def _kind_and_parent(request: PageRequest, kind: str, parent: str) -> tuple[Kind, str]:
    """Return the kind of the item to create, and the reference id of its parent.

    `parent` is the item on the page where the user creates the new item. If an item of this kind
    cannot be a child of `parent`, the nearest possible ancestor of `parent` becomes the parent.
    """
    chosen_kind = _kind(kind)
    reference = parse_reference(parent)
    if reference is None:
        return chosen_kind or "epic", ""
    chosen = chosen_kind or BELOW.get(reference.kind, reference.kind)
    if chosen not in CREATED or KINDS[chosen].parent is None:
        return (chosen if chosen in CREATED else "epic"), ""
    path = (await request.run("get_outline", selected=str(reference), limit=1)).path
    above = [each.reference_id for each in path if each.kind == KINDS[chosen].parent]
    return chosen, above[0] if above else ""


async def _form(
    request: PageRequest, kind: Kind, parent: str, error: ServiceError | None = None
) -> PageResponse:
    request.user.require("write", f"create_{kind}")
    people = await request.run("list_people", limit=MAX_PEOPLE)
    types = await _types(request) if kind == "requirement" else []
    faults = {each.pointer[1:]: each.detail for each in error.errors} if error else {}
    return await request.page(
        "requirements/new.html",
        status=200 if error is None else error.kind.status,
        section="/requirements",
        error=error,
        faults=faults,
        typed=request.query if error is None else request.form,
        kind=KINDS[kind],
        kinds=[KINDS[each] for each in KINDS if each in CREATED],
        fields=CREATED[kind],
        parent=parent,
        parent_field=PARENT_FIELD.get(kind, ""),
        parents=await parents_for(request, kind),
        people=[each.username for each in people.items],
        types=types,
        priorities=list(PRIORITIES.items()),
    )


async def _types(request: PageRequest) -> list[Any]:
    found = await request.run("list_requirement_types")
    return [each.name for each in found.items]
