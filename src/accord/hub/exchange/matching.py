"""Match imported rows with items and types of this hub, and report on each.

Names in a file belong to its source: `REQ-1` of one project is not `REQ-1` of another. An item that
did not come from the source of a row is found by its UUID, or by the id that earlier releases gave
it. Such a match is doubtful, and the importer changes the item only if the caller allows it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import replace

from accord.hub.domain.rules import KINDS, STATUSES, parse_reference
from accord.hub.exchange.project import (
    MAX_FOREIGN_ID,
    Comment,
    Fault,
    Item,
    Label,
    Link,
    NotKept,
    Numbered,
    Origin,
    Record,
    Type,
    derived_id,
)
from accord.hub.lifecycle import check_line
from accord.hub.presentation import summary
from accord.hub.storage import items, provenance, relationships, revisions
from accord.hub.storage.items import ItemRow
from accord.hub.storage.relationships import LinkRow
from accord.operations.choices import equivalent
from accord.operations.context import Changed, Database, is_uuid
from accord.operations.errors import InvalidError, NotFoundError

UNDIRECTED: Final = "relates_to"
"""The relationship type for imported links with a type that the hub does not have."""
SUFFIXES: Final = ("_relationship", "_relation", "_link", "_requirement", "_req")
SYNONYMS: Final[dict[str, tuple[str, bool]]] = {
    **dict.fromkeys(
        ("parent", "derive", "derives", "derived", "derived_from", "is_derived_from", "derivereq"),
        ("derives_from", False),
    ),
    **dict.fromkeys(("child", "source_of", "derives_to"), ("derives_from", True)),
    **dict.fromkeys(("refine", "refinement"), ("refines", False)),
    "refined_by": ("refines", True),
    **dict.fromkeys(("satisfy", "satisfaction"), ("satisfies", False)),
    "satisfied_by": ("satisfies", True),
    **dict.fromkeys(("verify", "verification"), ("verifies", False)),
    "verified_by": ("verifies", True),
    **dict.fromkeys(("depends", "depend", "dependency"), ("depends_on", False)),
    "block": ("blocks", False),
    "blocked_by": ("blocks", True),
    "duplicate": ("duplicates", False),
    **dict.fromkeys(("conflict", "conflicts"), ("conflicts_with", False)),
    **dict.fromkeys(("relates", "related", "related_to"), (UNDIRECTED, False)),
}
"""The hub's type for a relationship type of other tools, by the name in other tools.

The second value is true if source and target are swapped.

A `Parent` relation of StrictDoc goes from the child to the parent."""


class TypeMapping(Struct, frozen=True):
    """A relationship type of the hub, and whether a link's ends must be swapped."""

    type: str
    is_reversed: bool = False


def map_type(name: str, types: Collection[str], inverses: Mapping[str, str]) -> TypeMapping | None:
    """Return the hub's equivalent of another tool's relationship type, or None.

    `types` are the names of the hub's types; `inverses` maps their inverse names to these names.
    """
    key = relationships.type_key(name)
    while True:
        if key in types:
            return TypeMapping(key)
        if key in inverses:
            return TypeMapping(inverses[key], is_reversed=True)
        if key in SYNONYMS and SYNONYMS[key][0] in types:
            return TypeMapping(*SYNONYMS[key])
        suffix = next((each for each in SUFFIXES if key.endswith(each)), None)
        if suffix is None:
            return None
        key = key.removesuffix(suffix)


Action: TypeAlias = Literal["created", "updated", "unchanged", "failed"]


class ImportRow(Struct, kw_only=True):
    """What became of one row."""

    __schema_name__ = "Row"

    row: int
    kind: str
    action: Action
    reference_id: str
    """What it is called here."""
    title: str = ""
    """What the row says that it is about."""
    errors: list[str] = []
    notes: list[str] = []
    """What was done otherwise than the row says."""


class ImportReport(Changed, kw_only=True):
    """What became of all rows."""

    __schema_name__ = "Report"

    created: int
    updated: int
    unchanged: int
    failed: int
    rows: list[ImportRow]
    sources: list[str]
    """The sources of the rows; none where they are this hub's own."""
    not_kept: list[NotKept]
    """The parts of the file that the hub has no place for, the most frequent first."""


def report_of(
    rows: list[ImportRow], *, sources: Sequence[str] = (), not_kept: Sequence[NotKept] = ()
) -> ImportReport:
    """Return the report of an import, with the numbers of rows by action."""
    actions = [row.action for row in rows]
    return ImportReport(
        created=actions.count("created"),
        updated=actions.count("updated"),
        unchanged=actions.count("unchanged"),
        failed=actions.count("failed"),
        rows=rows,
        sources=list(sources),
        not_kept=list(not_kept),
    )


SourceName: TypeAlias = tuple[str, str]
"""A source (empty for this hub) and a name that the source uses."""
OnConflict: TypeAlias = Literal["refuse", "update", "create"]
"""The treatment of a row that matches an item of another source."""

MAX_NUMBER: Final = 9_999_999
"""The greatest number in a reference id that an import may use."""


class Match(Struct, frozen=True, kw_only=True):
    """The item that a row is about, and whether the row's origin may change it."""

    item: ItemRow | None = None
    foreign_id: str = ""
    """The name of the item in the origin; empty if the row has no name or no origin."""
    doubt: str = ""
    """The reason that changing the item needs the caller's permission; empty if it does not."""
    is_named: bool = False
    """True if the source of the file is uncertain, so the caller has to name the source."""
    unclaimed: bool = False
    """True if the item has no source yet, so the origin of the row can become its source."""
    is_former: bool = False
    """True if an earlier release of Accord imported the item, with the same foreign id."""


class ImportedNames:
    """The items of one import, by all names that its rows use for them.

    A name counts together with its source, because two sources may use the same name.
    """

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        """The number of the row in this import, by item id."""
        self._here: dict[SourceName, str] = {}
        """Item ids, by source and by reference id, UUID or row number.

        The keys have the spelling in which the hub stores them."""
        self._foreign: dict[SourceName, str] = {}
        """Item ids, by source and foreign id. Letter case and spaces of foreign ids count."""
        self._everywhere: defaultdict[str, set[str]] = defaultdict(set)
        """Item ids, by foreign id alone, without the source.

        A relation may name an object of another specification, or of another file in the same
        archive."""
        self._refused: dict[SourceName, int] = {}
        """The row number of each refused item, by source and name of the item.

        Links and comments may not refer to a refused item."""

    def has_foreign(self, foreign_id: str, origin: Origin | None) -> bool:
        """Return whether a row with this foreign id was imported."""
        return _in_source(foreign_id, origin) in self._foreign

    def refuse(self, name: str, origin: Origin | None, row: int) -> None:
        """Make references to a name fail, because its row is refused."""
        self._refused[_in_source(name, origin)] = row

    def allow(self, name: str, origin: Origin | None) -> None:
        """Let references to a name succeed again, after `refuse`."""
        self._refused.pop(_in_source(name, origin), None)

    def add(self, id: str, item: Item, foreign_id: str, origin: Origin | None, row: int) -> None:
        """Add an imported item with the names in its row."""
        self.rows[id] = row
        if foreign_id:
            self._foreign[_in_source(foreign_id, origin)] = id
            self._everywhere[foreign_id].add(id)
        for name in (item.reference_id, item.id, f"row {row}"):
            if name:
                self._here[_in_source(items.stored_name(name), origin)] = id

    async def find(self, db: Database, origin: Origin | None, name: str) -> str:
        """Return the id of the item that rows of `origin` refer to by `name`.

        Raises NotFoundError if there is no such item, or if its row is refused.
        """
        exact, folded = _in_source(name, origin), _in_source(items.stored_name(name), origin)
        found = self._foreign.get(exact) or self._here.get(folded)
        if found is not None:
            return found
        refused = self._refused.get(exact) or self._refused.get(folded)
        if refused is not None:
            raise NotFoundError(f"row {refused:,}, which it names, is refused")
        if origin is not None:
            # A reference id of another source must not match one of ours.
            row = await provenance.find_source(db, origin.source, name[:MAX_FOREIGN_ID])
            if row is not None:
                return row.item_id
            everywhere = self._everywhere.get(name, set())
            if len(everywhere) == 1:
                return next(iter(everywhere))
            if not is_uuid(name):
                raise NotFoundError(f"there is no item {name[:64]!r} of {origin.source!r}")
        return (await items.find(db, name)).id


def _in_source(name: str, origin: Origin | None) -> SourceName:
    return ("" if origin is None else origin.source, name)


def check_names(item: Item) -> None:
    """Raise InvalidError if a row has an id that no item of its kind can have.

    Checks the UUID, the reference id, the foreign id and the source.
    """
    if item.id and not is_uuid(item.id):
        raise InvalidError("id", f"{item.id[:64]!r} is no UUID")
    if item.reference_id:
        reference = parse_reference(item.reference_id)
        if reference is None or reference.kind != item.kind or reference.number > MAX_NUMBER:
            raise InvalidError(
                "reference_id", f"{item.reference_id[:64]!r} is no name of {item.kind}"
            )
    for field, value in (("foreign_id", item.foreign_id), ("source", item.source)):
        if value:
            check_line(field, value)
            if len(value) > MAX_FOREIGN_ID:
                raise InvalidError(
                    field, f"{len(value):,} characters exceed the limit of {MAX_FOREIGN_ID:,}"
                )


def foreign_id_of(item: Item) -> str:
    """Return the name that the origin of a row uses for its item."""
    if item.foreign_id and not item.source:
        return item.foreign_id
    if item.reference_id:
        return str(parse_reference(item.reference_id))
    return (item.id or "").lower()


async def find_match(
    db: Database, numbered: Numbered, item: Item, origin: Origin | None, *, is_ours: bool = False
) -> Match:
    """Return the item of the hub that a row is about.

    `is_ours` is true for files that declare their names to be names of this hub. Raises
    InvalidError if a name of the row is invalid, or if the item is of another kind.
    """
    check_names(item)
    if origin is not None:
        found = await _foreign(db, numbered, item, origin)
    else:
        found = await _find_own(db, item, is_ours=is_ours)
    if found.item is not None and found.item.kind != item.kind:
        known, kind = found.item, KINDS[item.kind].title.lower()
        raise InvalidError(
            "kind",
            f"{known.reference_id} is {KINDS[known.kind].title.lower()}, not {kind}",
        )
    return found


async def _find_own(db: Database, item: Item, *, is_ours: bool) -> Match:
    if item.id:
        return Match(item=await items.lookup(db, item.id))
    known = await items.lookup(db, item.reference_id) if item.reference_id else None
    if known is None or is_ours or await _has_heading(db, item, known):
        return Match(item=known)
    # Most likely the REQ-001 of another project: the file names neither a source nor UUIDs.
    return Match(
        item=known,
        doubt=(
            f"{known.reference_id} is {_heading(known)[:80]!r} here, and the file does not say "
            "that it is from this hub: name the source of the file, or import with "
            "on_conflict=update to change the item, or on_conflict=create for a new one"
        ),
    )


async def _has_heading(db: Database, item: Item, known: ItemRow) -> bool:
    """Return whether the item has the title of the row, or had it earlier."""
    field = _heading_field(known)
    heading = getattr(item, field)
    if heading is UNSET or heading.strip() == _heading(known).strip():
        return True
    former = await revisions.former_values(db, known, field)
    return heading.strip() in {each.strip() for each in former}


def _heading(known: ItemRow) -> str:
    heading: str = getattr(known, _heading_field(known))
    return heading


def _heading_field(known: ItemRow) -> str:
    """Return the field with the heading of an item.

    It is the title, or the description of acceptance criteria, which have no title.
    """
    return "description" if known.kind == "acceptance_criteria" else "title"


async def _foreign(db: Database, numbered: Numbered, item: Item, origin: Origin) -> Match:
    name = foreign_id_of(item)
    if not name:
        return Match()
    row = await provenance.find_source(db, origin.source, name)
    known = await items.lookup(db, derived_id(origin.source, name) if row is None else row.item_id)
    if known is not None:
        return _of_this_source(known, name, origin, unclaimed=row is None)
    known = await items.lookup(db, item.id) if item.id else None
    is_former = known is None and bool(numbered.former_id)
    if is_former:
        known = await items.lookup(db, numbered.former_id)
    if known is None:
        return Match(foreign_id=name)
    of_it = await provenance.sources_of_item(db, known.id)
    if of_it is None:
        return Match(
            item=known,
            foreign_id=name,
            unclaimed=True,
            is_former=is_former,
            doubt=_doubt(
                known,
                "an earlier release imported it without its source"
                if is_former
                else "it was created here, or imported by a release that kept no sources",
                origin,
            ),
        )
    if of_it.source == origin.source or (
        item.source and (of_it.source, of_it.foreign_id) == (item.source, item.foreign_id)
    ):
        return _of_this_source(known, name, origin, unclaimed=False)
    if is_former:  # the former id belongs to the item of another source
        return Match(foreign_id=name)
    return Match(
        item=known,
        foreign_id=name,
        doubt=_doubt(known, f"it came from {of_it.source!r}", origin),
    )


def _of_this_source(known: ItemRow, name: str, origin: Origin, *, unclaimed: bool) -> Match:
    doubt = (
        ""
        if origin.certain
        else (
            f"{known.reference_id} came from {origin.source!r}, an id that other files may have "
            f"too: name the source, {origin.source!r} if this is the same document, else another"
        )
    )
    return Match(
        item=known, foreign_id=name, doubt=doubt, is_named=bool(doubt), unclaimed=unclaimed
    )


def _doubt(known: ItemRow, why: str, origin: Origin) -> str:
    return (
        f"{known.reference_id} is not of {origin.source!r}: {why}; import with on_conflict=update "
        "to change it, or on_conflict=create for a new item"
    )


IMPORT_ORDER: Final[dict[str, int]] = {
    kind: place
    for place, kind in enumerate(
        (
            *("type", "label", "epic", "user_story", "acceptance_criteria", "requirement"),
            *("steering_document", "prompt", "link", "comment"),
        )
    )
}
"""Kinds in the order of import: dependencies first."""
ARGUMENTS: Final[dict[str, str]] = {
    "title": "title",
    "description": "description",
    "status": "status",
    "priority": "priority",
    "type": "type",
    "assignee": "assignee",
    "acceptance_criteria": "acceptance_criteria_id",
    "epics": "epic_ids",
    "name": "name",
    "content": "content",
    "role": "role",
}
"""The name of the operation argument for each field of a row, by field. The argument for `parent`
is in `PARENT_FIELD`."""


def kind_of_record(record: Record | Fault | Origin | NotKept) -> str:
    """Return the kind of a record as import reports name it.

    The kind is empty for rows that are no records, such as faults.
    """
    match record:
        case Item():
            return record.kind
        case Fault() | Origin() | NotKept():
            return ""
        case Type():
            return "type"
        case Label():
            return "label"
        case Link():
            return "link"
        case Comment():
            return "comment"


def title_of_record(record: Record | Fault | Origin | NotKept) -> str:
    """Return the title of a record as import reports show it.

    The title is empty for rows that are no records, such as faults.
    """
    match record:
        case Item():
            return record.title or summary(record.description or "")
        case Link():
            return f"{record.source} {record.type} {record.target}"
        case Fault() | Origin() | NotKept():
            return ""
        case Comment():
            return summary(record.text)
    return record.name


def with_known_status(item: Item) -> Item:
    """Return the item with its status in the spelling of the hub.

    `in progress` becomes `In Progress`.
    """
    if not item.status:
        return item
    known = equivalent(item.status, STATUSES.get(item.kind, ()))
    return item if known is None else replace(item, status=known)


def is_same_field(item: Item, now: Item, field: str) -> bool:
    """Return whether a row leaves a field of an item unchanged.

    Spaces around a title do not count, since Markdown documents do not keep them.
    """
    value, known = getattr(item, field), getattr(now, field)
    if field == "title" and isinstance(value, str) and isinstance(known, str):
        return value.strip() == known.strip()
    return value is UNSET or value == known


async def find_undirected(
    db: Database, link: Link, origin: Origin | None, source: str, target: str
) -> LinkRow | None:
    """Return the undirected link that an earlier release created for a link.

    Returns None if there is none.
    """
    if origin is None or not link.id:
        return None
    try:
        known = await relationships.find(db, link.id)
    except NotFoundError:
        return None
    is_former = (known.source_id, known.type) == (source, UNDIRECTED)
    return known if is_former and known.target_id == target else None


async def is_free(
    db: Database, id: Any, find: Callable[[Database, str], Awaitable[object]]
) -> bool:
    """Return whether no record has this id yet; False if no id is given.

    `find` looks up a record of the same kind by id, and raises NotFoundError if there is none.
    Raises InvalidError if the id is no UUID.
    """
    if not id:
        return False
    if not is_uuid(id):
        raise InvalidError("id", f"{id[:64]!r} is no UUID")
    try:
        await find(db, id)
    except NotFoundError:
        return True
    return False
