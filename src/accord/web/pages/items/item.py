"""An item of whatever kind, as its page shows it."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, Struct

from accord.hub.domain.kinds import KINDS, Kind, KindOf, parse_reference
from accord.hub.domain.statuses import TRANSITIONS
from accord.operations.errors import NotFoundError, StaleError
from accord.web.turn import Turn

PARENTS: Final[dict[Kind, str]] = {
    "user_story": "epic",
    "acceptance_criteria": "user_story",
    "requirement": "user_story",
}
"""What the fields that name the parent begin with."""


class Item(Struct, frozen=True, kw_only=True):
    """What there is to see of it; what its kind does not have is None."""

    kind: KindOf
    reference_id: str
    version: int
    title: str | None
    heading: str
    """What it is about, in one line; acceptance criteria have no title."""
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
    """Of a steering document: those that it guides."""

    @property
    def path(self) -> str:
        return f"/items/{self.reference_id}"

    @property
    def has_assignee(self) -> bool:
        return self.status is not None

    @property
    def following(self) -> tuple[str, ...]:
        """The statuses that may follow."""
        return TRANSITIONS.get(self.kind.kind, {}).get(self.status or "", ())

    @property
    def label(self) -> str:
        """What it is, in a word or two."""
        return self.type or self.kind.title


async def find_item(turn: Turn, id: str) -> Item:
    """The item that a path names. Raises NotFoundError."""
    reference = parse_reference(id)
    if reference is None:
        raise NotFoundError(f"there is no item {id[:64]!r}")
    if reference.kind == "prompt":
        raise NotFoundError(f"{reference} is a prompt: it is shown among the prompts")
    entity = await turn.do(f"get_{reference.kind}", id=str(reference))
    return item_of(KINDS[reference.kind], entity)


def item_of(kind: KindOf, entity: Any) -> Item:
    """What an operation gave, as an item."""

    def given(name: str) -> Any:
        value = getattr(entity, name, None)
        return None if value is UNSET else value

    title, parent = given("title"), PARENTS.get(kind.kind)
    epics = given("epics")
    return Item(
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


async def save(turn: Turn, item: Item, version: str, **values: Any) -> Item:
    """Write fields of an item, of which somebody saw `version`. What others did to other fields in
    between is no conflict. Raises ServiceError; StaleError where they changed the same ones."""
    operation = f"update_{item.kind.kind}"
    asked = {"id": item.reference_id, **values}
    try:
        entity = await turn.do(operation, **asked, expected_version=version or UNSET)
    except StaleError as error:
        changed = {each.field for each in error.data.get("differences", ())}
        if changed & values.keys():
            raise
        current = error.data["current_version"]
        entity = await turn.do(operation, **asked, expected_version=current)
    return item_of(item.kind, entity)
