"""Editing of items: text with a preview, fields by menus, lint rules, deletion.

An edit never overwrites a later change by another user: both changes are merged or shown.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.domain.lint import FORMS
from accord.hub.domain.rules import PRIORITIES
from accord.operations.errors import ConflictError, NotFoundError, ServiceError, StaleError
from accord.web.pages.items.detail import (
    PARENTS,
    ItemView,
    detail_context,
    find_item,
    lint_of,
    save,
    show,
    show_changed,
)
from accord.web.redline import merge
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()


class Draft(Struct, frozen=True):
    """The title and text in an edit form, both as edited and as they were before."""

    version: str
    title: str
    text: str
    base_title: str
    base_text: str

    def changes(self) -> dict[str, str]:
        """Return the edited values, by field name in the API, without unchanged fields."""
        found = {}
        if self.title != self.base_title:
            found["title"] = self.title
        if self.text != self.base_text:
            found["description"] = self.text
        return found


class Side(Struct, frozen=True):
    """A conflict: the values of a field that two users have changed.

    `base` is the original value; `mine` and `theirs` are the new values.
    """

    field: str
    base: str
    mine: str
    theirs: str


@pages.get("/items/{id}/edit")
async def edit(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    return await _form(request, item, _draft_of_item(item))


@pages.post("/items/{id}/edit")
async def change_text(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    draft = _draft_of_form(request)
    values = draft.changes()
    if not values:
        return await show_changed(request, item.reference_id, "Nothing was changed.")
    try:
        saved = await save(request, item, draft.version, **values)
    except StaleError as error:
        return await _conflict(request, item, draft, error)
    except ServiceError as error:
        return await _form(request, item, draft, error=error)
    return await show_changed(request, item.reference_id, f"Saved as version {saved.version}.")


@pages.post("/items/{id}/merge")
async def edit_merged(request: PageRequest) -> PageResponse:
    """Show the edit form with the caller's edit merged into the saved text."""
    item = await find_item(request, request.values["id"])
    draft = _draft_of_form(request)
    title = merge(draft.base_title, draft.title, item.title or "")
    text = merge(draft.base_text, draft.text, item.text)
    merged = replace(_draft_of_item(item), title=title.text, text=text.text)
    return await _form(request, item, merged, clashes=title.clashes + text.clashes)


@pages.post("/items/{id}/preview")
async def preview(request: PageRequest) -> PageResponse:
    """Show the edited text as it will look."""
    if request.is_partial:
        return request.piece("items/_preview.html", text=request.form["description"])
    item = await find_item(request, request.values["id"])
    return await _form(request, item, _draft_of_form(request), preview=True)


@pages.post("/items/{id}/hints")
async def hints(request: PageRequest) -> PageResponse:
    """Show the lint findings for a text while the user edits it."""
    item = await find_item(request, request.values["id"])
    return request.piece(
        "items/_hints.html", lint=await _hints(request, item, _draft_of_form(request))
    )


async def _form(
    request: PageRequest,
    item: ItemView,
    draft: Draft,
    *,
    error: ServiceError | None = None,
    preview: bool = False,
    clashes: int | None = None,
) -> PageResponse:
    context = await detail_context(request, item.reference_id)
    editing = {
        "draft": draft,
        "error": error,
        "preview": preview,
        "clashes": clashes,
        "lint": await _hints(request, item, draft),
    }
    status = 200 if error is None else error.kind.status
    return await show(request, "_reading", status=status, **(context | editing))


async def _conflict(
    request: PageRequest, item: ItemView, draft: Draft, error: StaleError
) -> PageResponse:
    """Show the caller's edit beside the values that were saved meanwhile."""
    sides = [
        Side("title", draft.base_title, draft.title, item.title or ""),
        Side("description", draft.base_text, draft.text, item.text),
    ]
    history = await request.run("history", id=item.reference_id, limit=1)
    changed = draft.changes()
    return await show(
        request,
        "_conflict",
        status=error.kind.status,
        item=item,
        draft=draft,
        # Saving one's own version keeps the changes of others to untouched fields.
        mine=replace(
            draft,
            title=changed.get("title", item.title or ""),
            text=changed.get("description", item.text),
        ),
        sides=[each for each in sides if each.mine != each.base or each.theirs != each.base],
        change=history.items[0].change,
    )


async def _hints(request: PageRequest, item: ItemView, draft: Draft) -> Any:
    """Lint the texts of an edit form, without the rules that are suppressed for the item."""
    form = FORMS.get(item.kind.kind, "prose")
    text = draft.text if draft.text.strip() else draft.title
    if form == "story":
        text = f"{draft.title}\n\n{draft.text}"
    saved = await request.run("lint_requirement", id=item.reference_id)
    found = await request.run("lint_requirement", text=text[:50_000], form=form)
    put_aside = {each.rule for each in saved.suppressed}
    found.findings = [each for each in found.findings if each.rule not in put_aside]
    return lint_of(item, found, {"text": text})


def _draft_of_item(item: ItemView) -> Draft:
    title = item.title or ""
    return Draft(str(item.version), title, item.text, title, item.text)


def _draft_of_form(request: PageRequest) -> Draft:
    form = request.form
    return Draft(
        form["version"],
        form["title"],
        _lines(form["description"]),
        form["base_title"],
        _lines(form["base_description"]),
    )


def _lines(text: str) -> str:
    """Return a text with Unix line ends: browsers send CRLF."""
    return text.replace("\r\n", "\n")


MAX_OFFERED: Final = 100


class Choice(Struct, frozen=True):
    """A choice in the menu for a field; an empty value clears the field."""

    value: str
    label: str
    note: str = ""


class Menu(Struct, frozen=True, kw_only=True):
    """The menu to set one field of an item."""

    field: str
    title: str
    choices: tuple[Choice, ...] = ()
    current: str = ""
    typed: str = ""
    """The label of the menu's text field, in which a user types a value that is not among the
    choices; empty if there is no text field."""
    value: str = ""
    """The current value of the text field."""


@pages.get("/items/{id}/set/{field}")
async def choose(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    menu = await _menu(request, item, request.values["field"])
    if request.is_partial:
        return request.piece("items/_menu.html", item=item, menu=menu)
    return await show(request, "_choose", item=item, menu=menu)


@pages.post("/items/{id}/set/{field}")
async def change_field(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    field, value = request.values["field"], request.form["value"].strip()
    if field == "labels":
        return await _add_label(request, item, value)
    menu = await _menu(request, item, field)
    values = _value(item, field, value)
    try:
        await save(request, item, request.form["version"], **values)
    except StaleError as error:
        [now, *_] = [each.after for each in error.data["differences"] if each.field in values]
        raise ConflictError(
            f"{menu.title} is {now} since, by somebody else: choose again"
        ) from None
    return await show_changed(request, item.reference_id, f"{menu.title} was changed.")


@pages.post("/items/{id}/labels/remove")
async def remove_label(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    label = request.form["label"]
    await request.run("unlabel_item", id=item.reference_id, label=label)
    return await show_changed(request, item.reference_id, f"Label {label} was removed.")


async def _add_label(request: PageRequest, item: ItemView, name: str) -> PageResponse:
    """Add a label to an item; create the label if it does not exist."""
    notice = f"Label {name} was added."
    try:
        await request.run("label_item", id=item.reference_id, label=name)
    except NotFoundError:
        await request.run("create_label", name=name)
        await request.run("label_item", id=item.reference_id, label=name)
        notice = f"Label {name} is new, and was added."
    return await show_changed(request, item.reference_id, notice)


def _value(item: ItemView, field: str, value: str) -> dict[str, Any]:
    """Return the arguments of the update operation that set a field to `value`."""
    match field:
        case "parent":
            return {f"{PARENTS[item.kind.kind]}_id": value}
        case "criteria":
            return {"acceptance_criteria_id": value or None}
        case "assignee":
            return {"assignee": value or None}
        case "epics":
            return {"epic_ids": value.replace(",", " ").split()}
        case _:
            return {field: value}


async def _menu(request: PageRequest, item: ItemView, field: str) -> Menu:
    """Return the menu for a field. Raises NotFoundError if the item has no such field."""
    match field:
        case "status" if item.status is not None:
            return _statuses(item)
        case "priority" if item.priority is not None:
            return _priorities(item)
        case "assignee" if item.has_assignee:
            return await _people(request, item)
        case "type" if item.type is not None:
            return await _types(request, item)
        case "parent" if item.parent is not None:
            return Menu(
                field=field,
                title="What it stands under",
                typed="Reference id, such as " + ("EP-001" if _is_story(item) else "US-001"),
                value=item.parent,
            )
        case "criteria" if item.kind.kind == "requirement":
            return await _criteria(request, item)
        case "epics" if item.epics is not None:
            return Menu(
                field=field,
                title="The epics that it guides",
                typed="Reference ids, such as EP-001 EP-002",
                value=" ".join(item.epics),
            )
        case "labels":
            return await _labels(request, item)
    raise NotFoundError(f"{item.reference_id} has no {field[:64]!r}")


def _is_story(item: ItemView) -> bool:
    return item.kind.kind == "user_story"


def _statuses(item: ItemView) -> Menu:
    choices = tuple(Choice(each, each) for each in item.following)
    return Menu(field="status", title="Status", choices=choices, current=item.status or "")


def _priorities(item: ItemView) -> Menu:
    choices = tuple(Choice(str(key), f"{key} · {name}") for key, name in PRIORITIES.items())
    return Menu(field="priority", title="Priority", choices=choices, current=str(item.priority))


async def _people(request: PageRequest, item: ItemView) -> Menu:
    found = await request.run("list_people", limit=MAX_OFFERED)
    me = request.user.username
    choices = [Choice(me, me, "you"), Choice("", "nobody")]
    choices += [Choice(each.username, each.username) for each in found.items if each.username != me]
    return Menu(
        field="assignee",
        title="Assignee",
        choices=tuple(choices),
        current=item.assignee or "",
        typed="Username" if found.has_more else "",
    )


async def _types(request: PageRequest, item: ItemView) -> Menu:
    found = await request.run("list_requirement_types")
    choices = tuple(Choice(each.name, each.name) for each in found.items)
    return Menu(field="type", title="Type", choices=choices, current=item.type or "")


async def _criteria(request: PageRequest, item: ItemView) -> Menu:
    found = await request.run(
        "list_acceptance_criteria", user_story_id=item.parent, limit=MAX_OFFERED
    )
    choices = [Choice(each.reference_id, each.reference_id, each.summary) for each in found.items]
    return Menu(
        field="criteria",
        title="Acceptance criteria",
        choices=(*choices, Choice("", "none")),
        current=item.criteria or "",
    )


async def _labels(request: PageRequest, item: ItemView) -> Menu:
    found = await request.run("list_labels", limit=MAX_OFFERED)
    names = tuple(each.name for each in found.items if each.name not in item.labels)
    return Menu(
        field="labels",
        title="Labels",
        choices=tuple(Choice(name, name) for name in names),
        typed="Another label",
    )


@pages.post("/items/{id}/suppress")
async def suppress(request: PageRequest) -> PageResponse:
    id, rule = request.values["id"], request.form["rule"]
    await request.run("suppress_lint", id=id, rule=rule, reason=request.form["reason"])
    return await show_changed(request, id, f"The linter leaves {rule} aside here.")


@pages.post("/items/{id}/unsuppress")
async def unsuppress(request: PageRequest) -> PageResponse:
    id, rule = request.values["id"], request.form["rule"]
    await request.run("unsuppress_lint", id=id, rule=rule)
    return await show_changed(request, id, f"The linter looks at {rule} again.")


@pages.get("/items/{id}/delete")
async def ask(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    try:
        await _delete(request, item, force=False, dry_run=True)
    except ConflictError as error:
        return await _question(request, item, error)
    return await _question(request, item, None)


@pages.post("/items/{id}/delete")
async def delete(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    try:
        await _delete(request, item, force=request.form["force"] == "yes", dry_run=False)
    except ConflictError as error:
        return await _question(request, item, error, status=error.kind.status)
    back = f"/items/{item.parent}" if item.parent else _list_of(item)
    return request.go(back, f"{item.reference_id} was deleted.")


def _list_of(item: ItemView) -> str:
    is_steering = item.kind.kind == "steering_document"
    return "/steering-documents" if is_steering else "/requirements"


async def _delete(request: PageRequest, item: ItemView, *, force: bool, dry_run: bool) -> None:
    operation = f"delete_{item.kind.kind}"
    await request.run(operation, id=item.reference_id, force=force, dry_run=dry_run)


async def _question(
    request: PageRequest, item: ItemView, error: ConflictError | None, *, status: int = 200
) -> PageResponse:
    data = {} if error is None else error.data
    return await show(
        request,
        "_delete",
        status=status,
        item=item,
        error=error,
        children=data.get("children", []),
        links=data.get("links", []),
        total=data.get("total", 0),
    )
