"""Single facts of an item: status, priority, assignee, type, place, labels, chosen from menus."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.hub.domain.priorities import PRIORITIES
from accord.operations.errors import ConflictError, NotFoundError, StaleError
from accord.web.answers import Answer
from accord.web.pages.items.detail import done
from accord.web.pages.items.item import PARENTS, Item, find_item, save
from accord.web.pages.items.showing import show
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

MAX_OFFERED: Final = 100


class Choice(Struct, frozen=True):
    """One value of a menu; an empty one takes the fact away."""

    value: str
    label: str
    note: str = ""


class Menu(Struct, frozen=True, kw_only=True):
    """What can be chosen for a fact."""

    field: str
    title: str
    choices: tuple[Choice, ...] = ()
    current: str = ""
    typed: str = ""
    """What one may type instead; empty where only the choices are possible."""
    value: str = ""
    """What stands there to be changed."""


@pages.get("/items/{id}/set/{field}")
async def choose(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    menu = await _menu(turn, item, turn.values["field"])
    if turn.is_partial:
        return turn.piece("items/_menu.html", item=item, menu=menu)
    return await show(turn, "_choose", item=item, menu=menu)


@pages.post("/items/{id}/set/{field}")
async def change(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    field, value = turn.values["field"], turn.form["value"].strip()
    if field == "labels":
        return await _add_label(turn, item, value)
    menu = await _menu(turn, item, field)
    values = _value(item, field, value)
    try:
        await save(turn, item, turn.form["version"], **values)
    except StaleError as error:
        [now, *_] = [each.after for each in error.data["differences"] if each.field in values]
        raise ConflictError(
            f"{menu.title} is {now} since, by somebody else: choose again"
        ) from None
    return await done(turn, item.reference_id, f"{menu.title} was changed.")


@pages.post("/items/{id}/labels/remove")
async def remove_label(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    label = turn.form["label"]
    await turn.do("unlabel_item", id=item.reference_id, label=label)
    return await done(turn, item.reference_id, f"Label {label} was removed.")


async def _add_label(turn: Turn, item: Item, name: str) -> Answer:
    """Put a label on an item; one that there is not yet is made."""
    said = f"Label {name} was added."
    try:
        await turn.do("label_item", id=item.reference_id, label=name)
    except NotFoundError:
        await turn.do("create_label", name=name)
        await turn.do("label_item", id=item.reference_id, label=name)
        said = f"Label {name} is new, and was added."
    return await done(turn, item.reference_id, said)


def _value(item: Item, field: str, value: str) -> dict[str, Any]:
    """What was chosen, as an operation takes it."""
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


async def _menu(turn: Turn, item: Item, field: str) -> Menu:
    """What can be chosen for a fact. Raises NotFoundError where the item has no such."""
    match field:
        case "status" if item.status is not None:
            return _statuses(item)
        case "priority" if item.priority is not None:
            return _priorities(item)
        case "assignee" if item.has_assignee:
            return await _people(turn, item)
        case "type" if item.type is not None:
            return await _types(turn, item)
        case "parent" if item.parent is not None:
            return Menu(
                field=field,
                title="What it stands under",
                typed="Reference id, such as " + ("EP-001" if _is_story(item) else "US-001"),
                value=item.parent,
            )
        case "criteria" if item.kind.kind == "requirement":
            return await _criteria(turn, item)
        case "epics" if item.epics is not None:
            return Menu(
                field=field,
                title="The epics that it guides",
                typed="Reference ids, such as EP-001 EP-002",
                value=" ".join(item.epics),
            )
        case "labels":
            return await _labels(turn, item)
    raise NotFoundError(f"{item.reference_id} has no {field[:64]!r}")


def _is_story(item: Item) -> bool:
    return item.kind.kind == "user_story"


def _statuses(item: Item) -> Menu:
    choices = tuple(Choice(each, each) for each in item.following)
    return Menu(field="status", title="Status", choices=choices, current=item.status or "")


def _priorities(item: Item) -> Menu:
    choices = tuple(Choice(str(key), f"{key} · {name}") for key, name in PRIORITIES.items())
    return Menu(field="priority", title="Priority", choices=choices, current=str(item.priority))


async def _people(turn: Turn, item: Item) -> Menu:
    found = await turn.do("list_people", limit=MAX_OFFERED)
    me = turn.who.username
    choices = [Choice(me, me, "you"), Choice("", "nobody")]
    choices += [Choice(each.username, each.username) for each in found.items if each.username != me]
    return Menu(
        field="assignee",
        title="Assignee",
        choices=tuple(choices),
        current=item.assignee or "",
        typed="Username" if found.has_more else "",
    )


async def _types(turn: Turn, item: Item) -> Menu:
    found = await turn.do("list_requirement_types")
    choices = tuple(Choice(each.name, each.name) for each in found.items)
    return Menu(field="type", title="Type", choices=choices, current=item.type or "")


async def _criteria(turn: Turn, item: Item) -> Menu:
    found = await turn.do("list_acceptance_criteria", user_story_id=item.parent, limit=MAX_OFFERED)
    choices = [Choice(each.reference_id, each.reference_id, each.summary) for each in found.items]
    return Menu(
        field="criteria",
        title="Acceptance criteria",
        choices=(*choices, Choice("", "none")),
        current=item.criteria or "",
    )


async def _labels(turn: Turn, item: Item) -> Menu:
    found = await turn.do("list_labels", limit=MAX_OFFERED)
    names = tuple(each.name for each in found.items if each.name not in item.labels)
    return Menu(
        field="labels",
        title="Labels",
        choices=tuple(Choice(name, name) for name in names),
        typed="Another label",
    )
