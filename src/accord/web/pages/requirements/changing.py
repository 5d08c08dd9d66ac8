"""Changing several items at once, all or none, and moving them in the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import UNSET, Struct

from accord.hub.domain.kinds import KINDS, Kind, parse_reference
from accord.hub.domain.statuses import STATUSES
from accord.hub.steps import MAX_STEPS
from accord.operations.errors import ForbiddenError, InvalidError, RateLimitedError, ServiceError
from accord.web.answers import Answer
from accord.web.forms import read_words
from accord.web.pages.requirements.tree import ROOT, tree_context
from accord.web.routing import Pages
from accord.web.turn import Turn

NOBODY: Final = "-"
"""What a form says for nobody: no username is so short."""
OFFERED: Final = 100
"""How many names a field offers; others can be typed."""

pages: Final = Pages()


class Step(Struct, frozen=True):
    """What shall be done to one item."""

    name: str
    operation: str
    arguments: dict[str, Any]


class Refused(Struct, frozen=True):
    """Why something cannot be done to one item."""

    name: str
    reason: str


@pages.post(f"{ROOT}/bulk")
async def change_many(turn: Turn) -> Answer:
    """Give all items that are ticked a status or an assignee, or put them under another."""
    names = list(dict.fromkeys(turn.form.every("id")))
    try:
        steps = _steps(turn, names)
        await turn.do(
            "apply_changes",
            steps=[{"operation": each.operation, "arguments": each.arguments} for each in steps],
        )
    except (ForbiddenError, RateLimitedError):
        raise
    except ServiceError as error:
        return await _refusal(turn, names, error)
    return turn.go(turn.form["back"], _said(turn, len(names)))


@pages.get(f"{ROOT}/move")
async def move_form(turn: Turn) -> Answer:
    return await _move_page(turn, turn.query["id"])


@pages.post(f"{ROOT}/move")
async def move(turn: Turn) -> Answer:
    name = turn.form["id"]
    where = turn.form.given("before", "after", "parent_id")
    try:
        outcome = await turn.outcome("move_item", id=name, **where)
    except ServiceError as error:
        if turn.is_partial:
            raise
        return await _move_page(turn, name, error)
    moved = outcome.result
    below = f" under {moved.parent_reference_id}" if moved.parent_reference_id else ""
    said = f"{moved.reference_id} is number {moved.place:,} of {moved.siblings:,}{below} now"
    back = f"/items/{moved.reference_id}"
    if turn.is_partial:
        piece = "requirements/_moved.html"
        return turn.piece(piece, said=said, undo=turn.undoable, back=back)
    return turn.go(back, said)


def _steps(turn: Turn, names: Sequence[str]) -> list[Step]:
    """What was asked for. Raises InvalidError."""
    form = turn.form
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
        steps += [Step(each, "move_item", {"id": each, "parent_id": parent}) for each in names]
    if len(steps) > MAX_STEPS:
        raise InvalidError("", f"at most {MAX_STEPS} changes are made together")
    return steps


def _update(name: str, values: dict[str, Any]) -> Step:
    reference = parse_reference(name)
    kind: Kind = "requirement" if reference is None else reference.kind
    return Step(name, f"update_{kind}", {"id": name, **values})


def _said(turn: Turn, count: int) -> str:
    """What was done, in a line."""
    form = turn.form
    told = [
        *([f"status {form['status']}"] if form["status"] else ()),
        *([f"assigned to {_who(form['assignee'])}"] if form["assignee"] else ()),
        *([f"under {form['parent_id'].strip().upper()}"] if form["parent_id"].strip() else ()),
    ]
    return f"{count} {'item' if count == 1 else 'items'} changed: {', '.join(told)}"


def _who(assignee: str) -> str:
    return "nobody" if assignee == NOBODY else assignee


async def _refusal(turn: Turn, names: list[str], error: ServiceError) -> Answer:
    """The tree with the same rows ticked, and beside it what stands in the way."""
    try:
        steps = _steps(turn, names)
        refused = [each for step in steps if (each := await _trial(turn, step)) is not None]
    except InvalidError:
        refused = []
    turn.query = read_words(urlsplit(turn.form["back"]).query)  # with the same open as before
    context = await tree_context(turn, None, ticked=names, base=ROOT)
    return await turn.page(
        "requirements/split.html",
        status=error.kind.status,
        **context,
        refused=refused,
        error=error,
        asked=len(names),
    )


async def _trial(turn: Turn, step: Step) -> Refused | None:
    """Why a step could not be done by itself; None where it could."""
    reference = parse_reference(step.name)
    if reference is not None and reference.kind not in STATUSES:
        kind = KINDS[reference.kind].title
        for field in ("status", "assignee"):
            if field in step.arguments:
                return Refused(step.name, f"{kind} has no {field}")
    status = step.arguments.get("status")
    if reference is not None and status and status not in STATUSES[reference.kind]:
        known = ", ".join(STATUSES[reference.kind])
        return Refused(step.name, f"{KINDS[reference.kind].title} has no status {status}: {known}")
    try:
        await turn.do(step.operation, **step.arguments, dry_run=True)
    except ServiceError as error:
        return Refused(step.name, error.errors[0].detail if error.errors else error.message)
    return None


async def _move_page(turn: Turn, name: str, error: ServiceError | None = None) -> Answer:
    path = (await turn.do("get_outline", selected=name, limit=1)).path
    if not path:
        raise InvalidError("id", f"{name[:64]} has no place in the tree")
    item, parent = path[-1], path[-2] if len(path) > 1 else None
    beside = await turn.do(
        "list_children", id=parent.reference_id if parent else UNSET, limit=OFFERED
    )
    return await turn.page(
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
        parents=await parents_for(turn, item.kind),
    )


async def parents_for(turn: Turn, kind: Kind) -> list[Any]:
    """What something of a kind may stand under: those that were changed last."""
    parent = KINDS[kind].parent
    if parent is None:
        return []
    found = await turn.do(
        "list_epics" if parent == "epic" else "list_user_stories",
        sort="-updated_at",
        fields=["title"],
        limit=OFFERED,
    )
    parents: list[Any] = found.items
    return parents
