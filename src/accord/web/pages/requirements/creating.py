"""Creating an item of any kind: its title first, everything else may be left as it is."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from accord.hub.domain.kinds import KINDS, Kind, parse_reference
from accord.hub.domain.priorities import PRIORITIES
from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.pages.requirements.changing import parents_for
from accord.web.pages.requirements.tree import MAX_PEOPLE
from accord.web.routing import Pages
from accord.web.turn import Turn

CREATED: Final[dict[Kind, tuple[str, ...]]] = {
    "epic": ("title", "description", "priority", "assignee"),
    "user_story": ("title", "description", "priority", "assignee"),
    "requirement": ("title", "description", "type", "priority", "assignee"),
    "acceptance_criteria": ("description",),
    "steering_document": ("title", "description"),
}
"""By kind: what can be said of a new one, beside its parent."""
PARENT_FIELD: Final[dict[Kind, str]] = {
    "user_story": "epic_id",
    "requirement": "user_story_id",
    "acceptance_criteria": "user_story_id",
}
"""By kind: what operations name the parent by."""
BELOW: Final[dict[Kind, Kind]] = {"epic": "user_story", "user_story": "requirement"}
"""By kind: what is created below it, if nothing is said."""

pages: Final = Pages()


@pages.get("/new")
async def new(turn: Turn) -> Answer:
    kind, parent = await _meant(turn, turn.query["kind"], turn.query["parent"])
    return await _form(turn, kind, parent)


@pages.post("/new")
async def create(turn: Turn) -> Answer:
    form = turn.form
    kind = _kind(form["kind"]) or "epic"
    field = PARENT_FIELD.get(kind)
    parent = form[field].strip() if field else ""
    given = form.given(*CREATED[kind])
    if "description" in given:
        given["description"] = given["description"].replace("\r\n", "\n")
    if field and parent:
        given[field] = parent
    try:
        made = await turn.do(f"create_{kind}", **given)
    except ServiceError as error:
        return await _form(turn, kind, parent, error)
    said = f"{made.reference_id} is created"
    if form["next"]:
        again = {"kind": kind, **({"parent": parent} if parent else {})}
        return turn.go(f"/new?{urlencode(again)}", said)
    return turn.go(f"/items/{made.reference_id}", said)


def _kind(name: str) -> Kind | None:
    return next((kind for kind in CREATED if kind == name), None)


async def _meant(turn: Turn, kind: str, parent: str) -> tuple[Kind, str]:
    """The kind of what shall be created, and what it stands under: below what somebody looks at,
    or beside it where nothing can be below."""
    wanted = _kind(kind)
    reference = parse_reference(parent)
    if reference is None:
        return wanted or "epic", ""
    chosen = wanted or BELOW.get(reference.kind, reference.kind)
    if chosen not in CREATED or KINDS[chosen].parent is None:
        return (chosen if chosen in CREATED else "epic"), ""
    path = (await turn.do("get_outline", selected=str(reference), limit=1)).path
    above = [each.reference_id for each in path if each.kind == KINDS[chosen].parent]
    return chosen, above[0] if above else ""


async def _form(turn: Turn, kind: Kind, parent: str, error: ServiceError | None = None) -> Answer:
    turn.who.require("write", f"create_{kind}")
    people = await turn.do("list_people", limit=MAX_PEOPLE)
    types = await _types(turn) if kind == "requirement" else []
    faults = {each.pointer[1:]: each.detail for each in error.errors} if error else {}
    return await turn.page(
        "requirements/new.html",
        status=200 if error is None else error.kind.status,
        section="/requirements",
        error=error,
        faults=faults,
        typed=turn.query if error is None else turn.form,
        kind=KINDS[kind],
        kinds=[KINDS[each] for each in KINDS if each in CREATED],
        fields=CREATED[kind],
        parent=parent,
        parent_field=PARENT_FIELD.get(kind, ""),
        parents=await parents_for(turn, kind),
        people=[each.username for each in people.items],
        types=types,
        priorities=list(PRIORITIES.items()),
    )


async def _types(turn: Turn) -> list[Any]:
    found = await turn.do("list_requirement_types")
    return [each.name for each in found.items]
