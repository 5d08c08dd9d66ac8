"""The importer: write a project into the database, through the operations.

Rows of existing items (see `accord.hub.exchange.matching`) update them; others create items. Only
an administrator's import keeps creators and times; in others the caller is the creator, and the
time is that of the import. The report names the parts of rows that the hub does not keep.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from accord.hub import lifecycle
from accord.hub.domain.rules import (
    STATUSES,
    Reference,
    RuleError,
    check_transition,
    parse_reference,
)
from accord.hub.domain.text import fold
from accord.hub.exchange import matching
from accord.hub.exchange.exporter import describe
from accord.hub.exchange.matching import (
    ARGUMENTS,
    IMPORT_ORDER,
    Action,
    ImportedNames,
    ImportReport,
    ImportRow,
    Match,
    OnConflict,
    find_match,
    find_undirected,
    is_free,
    is_same_field,
    kind_of_record,
    report_of,
    title_of_record,
    with_known_status,
)
from accord.hub.exchange.project import (
    MAX_ROWS,
    MAX_SOURCE,
    Comment,
    Fault,
    FormatError,
    Item,
    Label,
    Link,
    NotKept,
    Numbered,
    Origin,
    Type,
    derived_id,
)
from accord.hub.lifecycle import check_line
from accord.hub.storage import comments, items, provenance, reference_data, relationships, rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.relationships import LinkRow
from accord.hub.storage.rows import PARENT_FIELD
from accord.operations.arguments import convert
from accord.operations.context import OperationContext
from accord.operations.errors import ConflictError, InvalidError, NotFoundError, ServiceError
from accord.operations.registry import DRY_RUN, IDEMPOTENCY_KEY, Registry
from accord.store.store import ConstraintError

_SAVEPOINT: Final = "import_row"
_TIME: Final = re.compile(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
)

Progress = Callable[[int, int], None]
"""A callback that is called with the number of finished rows and of all rows."""


class Importer:
    """One run of an import: it writes rows, and reports on each."""

    def __init__(
        self,
        work: OperationContext,
        *,
        partial: bool,
        source: str | None = None,
        on_conflict: OnConflict = "refuse",
        progress: Progress | None = None,
    ) -> None:
        self._work = work
        self._partial = partial
        self._source = source
        self._on_conflict = on_conflict
        self._progress = progress
        self._registry = work.service(Registry)
        self._names = ImportedNames()
        self._origin: Origin | None = None
        """The origin of the current row; None if the row is of this hub."""
        self._is_ours = False
        """True if the file or the caller declares that names in the file are names of this hub."""
        self._not_kept: Counter[str] = Counter()
        self._sources: dict[str, None] = {}

    async def import_rows(self, rows: Iterable[Numbered]) -> ImportReport:
        """Import the rows and report on each, in their order.

        Raises FormatError for an invalid text, and InvalidError without a valid source.
        """
        counted: list[tuple[Numbered, Origin | None]] = []
        origin: Origin | None = await self._named_origin()
        for numbered in rows:
            match numbered.record:
                case Origin() as found:
                    origin = await self._origin_of(found)
                case NotKept() as lost:
                    self._not_kept[lost.what] += lost.count
                case _:
                    if len(counted) == MAX_ROWS:
                        raise FormatError(f"there are more than {MAX_ROWS:,} rows")
                    counted.append((numbered, origin))
        counted.sort(key=lambda each: IMPORT_ORDER.get(kind_of_record(each[0].record), 0))
        done = []
        for count, (numbered, self._origin) in enumerate(counted, 1):
            done.append(await self._row(numbered))
            if self._progress is not None:
                self._progress(count, len(counted))
        return report_of(
            sorted(done, key=lambda row: row.row),
            sources=tuple(self._sources),
            not_kept=[NotKept(what, count) for what, count in self._not_kept.most_common()],
        )

    async def _named_origin(self) -> Origin | None:
        """Return the origin that the caller named; None without one, or for this hub."""
        return None if self._source is None else await self._origin_of(Origin(self._source))

    async def _origin_of(self, found: Origin) -> Origin | None:
        """Return the origin that the caller named, or else `found`; None for this hub."""
        if self._source is not None:
            found = Origin(self._source)
        source = " ".join(found.source.split())
        if not source:
            raise InvalidError(
                "source",
                "the file names no repository and no specification: name the source yourself, for "
                "example the project that the file is from",
            )
        if len(source) > MAX_SOURCE:
            raise InvalidError(
                "source",
                f"the source that the file names has {len(source):,} characters, the limit is "
                f"{MAX_SOURCE:,}: name a shorter one",
            )
        check_line("source", source)
        if source == await provenance.installation_id(self._work.db):
            self._is_ours = True
            return None
        self._sources[source] = None
        return Origin(source, certain=found.certain)

    async def _row(self, numbered: Numbered) -> ImportRow:
        """Import one row and report on it."""
        row = ImportRow(
            row=numbered.row,
            kind=kind_of_record(numbered.record),
            action="failed",
            reference_id="",
            title=title_of_record(numbered.record),
            notes=list(numbered.notes),
        )
        if numbered.not_kept:
            row.notes.append(f"not kept: {', '.join(numbered.not_kept)}")
            self._not_kept.update(numbered.not_kept)
        if isinstance(numbered.record, Fault):
            row.errors = [numbered.record.detail]
            return row
        effects, hints = len(self._work.effects), len(self._work.hints)
        # Without `partial` a single failed row rolls back the whole import in the end.
        if self._partial:
            await rows.savepoint(self._work.db, _SAVEPOINT)
        try:
            row.action = await self._put(numbered, row)
        except (ServiceError, ConstraintError) as error:
            if isinstance(error, ConstraintError) and not self._partial:
                raise  # PostgreSQL refuses further statements in a failed transaction
            del self._work.effects[effects:], self._work.hints[hints:]
            row.errors = [
                error.message
                if isinstance(error, ServiceError)
                else "it contradicts what is there already"
            ]
            if self._partial:
                await rows.roll_back(self._work.db, _SAVEPOINT)
        if self._partial:
            await rows.release(self._work.db, _SAVEPOINT)
        return row

    async def _put(self, numbered: Numbered, row: ImportRow) -> Action:
        record = numbered.record
        match record:
            case Item():
                return await self._put_item(numbered, record, row)
            case Link():
                return await self._put_link(record, row)
            case Comment():
                return await self._put_comment(record, row)
            case Label():
                return await self._put_label(record, row)
            case Type():
                return await self._put_type(record, row)
            case _:  # pragma: no cover
                raise AssertionError(record)

    # Items

    async def _put_item(self, numbered: Numbered, item: Item, row: ImportRow) -> Action:
        item = with_known_status(item)
        known = await find_match(self._work.db, numbered, item, self._origin, is_ours=self._is_ours)
        if known.item is not None and known.item.id in self._names.rows:
            if not item.foreign_id or self._names.has_foreign(known.foreign_id, self._origin):
                other = self._names.rows[known.item.id]
                raise InvalidError("id", f"row {other:,} is about {known.item.reference_id} too")
            known = Match(foreign_id=known.foreign_id)  # two foreign ids with one UUID
        if known.doubt and self._on_conflict == "create" and not known.is_named:
            known = Match(foreign_id=known.foreign_id)
        if known.item is None:
            found = await self._create(item, known.foreign_id, row)
            action: Action = "created"
        else:
            before = len(self._work.effects)
            is_refused = bool(known.doubt) and self._on_conflict != "update"
            refused = known.foreign_id or items.stored_name(item.reference_id or "")
            # A doubtful match is refused only if it changes the item, which is known after the
            # update. Unless the update ends well, later rows must attach nothing to the item.
            if is_refused:
                self._names.refuse(refused, self._origin, row.row)
            found = await self._update(item, known.item, row)
            action = "unchanged" if len(self._work.effects) == before else "updated"
            if is_refused and action == "updated":
                raise ConflictError(known.doubt)
            self._names.allow(refused, self._origin)
            if known.unclaimed and (action == "updated" or known.is_former or not known.doubt):
                await self._claim(item, found, known.foreign_id)
        row.reference_id = found.reference_id
        self._names.add(found.id, item, known.foreign_id, self._origin, row.row)
        return action

    async def _create(self, item: Item, foreign_id: str, row: ImportRow) -> ItemRow:
        values = await self._arguments(item)
        await self._tolerate_assignee(values, None, row)
        id = await self._free_id(item, foreign_id)
        work = await self._as(item.creator, item.created_at, id, row)
        reference = parse_reference(item.reference_id or "")
        if reference is not None and await items.lookup(self._work.db, str(reference)):
            row.notes.append(f"{reference} is something else here")
            reference = None
        last = await self._begin_number(reference)
        made = await self._run(f"create_{item.kind}", work, **values)
        await self._end_number(reference, last)
        self._note_not_kept(item, row)
        found = await items.find(self._work.db, made.id)
        await self._claim(item, found, foreign_id)
        await self._label(item, found, [])
        if item.active:
            await self._activate(found, row)
        return found

    async def _free_id(self, item: Item, foreign_id: str) -> str | UnsetType:
        """Return the row's id if it is free, else one derived from its foreign id, or UNSET."""
        if item.id and await items.lookup(self._work.db, item.id) is None:
            return item.id
        if self._origin is None or not foreign_id:
            return UNSET
        derived = derived_id(self._origin.source, foreign_id)
        return UNSET if await items.lookup(self._work.db, derived) else derived

    async def _claim(self, item: Item, found: ItemRow, foreign_id: str) -> None:
        """Record the source and the foreign id of an item that has none yet."""
        if item.source and item.foreign_id:
            source, foreign_id = item.source, item.foreign_id
        elif self._origin is not None and foreign_id:
            source = self._origin.source
        else:
            return
        if await provenance.find_source(self._work.db, source, foreign_id) is None:
            await provenance.add_source(self._work, found, source, foreign_id)

    async def _activate(self, found: ItemRow, row: ImportRow) -> None:
        """Activate an imported prompt.

        A prompt of another source never replaces the active prompt.
        """
        active = await items.active_prompt(self._work.db)
        if active and self._origin is not None:
            row.notes.append(f"not activated: {active.reference_id} is the active prompt here")
            return
        if active:
            row.notes.append(f"activated in place of {active.reference_id}")
        await self._run("activate_prompt", self._work, id=found.id)

    async def _update(self, item: Item, known: ItemRow, row: ImportRow) -> ItemRow:
        now = await describe(self._work.db, known)
        differing = replace(
            item,
            **{name: UNSET for name in (*ARGUMENTS, "parent") if is_same_field(item, now, name)},
        )
        values = await self._arguments(differing)
        values = {name: value for name, value in values.items() if value is not UNSET}
        await self._tolerate_assignee(values, now.assignee or None, row)
        self._tolerate_status(values, known, row)
        if values:
            await self._run(f"update_{item.kind}", self._work, id=known.id, **values)
        await self._label(item, known, now.labels or [])
        if item.active and not now.active:
            await self._activate(known, row)
        elif item.active is False and now.active:
            await self._run("deactivate_prompt", self._work, id=known.id)
        self._note_what_stays(item, now, row)
        return known

    def _note_not_kept(self, item: Item, row: ImportRow) -> None:
        """Add a note on the fields of a row that are ignored if the row creates an item."""
        lost = []
        if item.version not in (UNSET, 1):
            lost.append("version")
        if item.updated_at not in (UNSET, item.created_at):
            lost.append("updated_at")
        if lost:
            row.notes.append(f"not kept: {', '.join(lost)}")
            self._not_kept.update(lost)

    def _note_what_stays(self, item: Item, now: Item, row: ImportRow) -> None:
        """Add notes on the fields of a row that an update leaves as they are."""
        if item.reference_id and parse_reference(item.reference_id) != parse_reference(
            str(now.reference_id)
        ):
            row.notes.append(f"{item.reference_id} is called {now.reference_id} here")
        if item.creator and fold(item.creator) != fold(str(now.creator)):
            row.notes.append(f"creator stays {now.creator}")
        if item.created_at and item.created_at != now.created_at:
            row.notes.append("created_at stays as it is")
        if not item.id and self._origin is None and not is_same_field(item, now, "title"):
            row.notes.append(f"found by its reference id; its title was {str(now.title)[:80]!r}")

    def _tolerate_status(self, values: dict[str, Any], known: ItemRow, row: ImportRow) -> None:
        """Keep the current status if it may not change to the status in the row.

        A status that no item of the kind can have stays in `values`, so that the update refuses it.
        """
        if values.get("status") not in STATUSES.get(known.kind, ()):
            return
        try:
            check_transition(known.kind, known.status, values["status"])
        except RuleError as error:
            row.notes.append(f"status stays {known.status}: {error}")
            del values["status"]

    async def _tolerate_assignee(
        self, values: dict[str, Any], now: str | None, row: ImportRow
    ) -> None:
        """Keep the current assignee if the row names an unknown person."""
        name = values.get("assignee")
        if not name:
            return
        try:
            found = await reference_data.find_person(self._work.db, name, "assignee")
        except InvalidError:
            stays = f", {now} stays" if now else ""
            row.notes.append(f"assignee: {name[:64]!r} is not known here{stays}")
            if now is None:
                values["assignee"] = None
            else:
                del values["assignee"]
        else:
            values["assignee"] = found.username

    async def _arguments(self, item: Item) -> dict[str, Any]:
        """Return the values of a row as arguments of the create or update operation."""
        values: dict[str, Any] = {}
        for field, name in ARGUMENTS.items():
            value = getattr(item, field)
            if value is UNSET:
                continue
            if field == "acceptance_criteria" and value is not None:
                value = await self._names.find(self._work.db, self._origin, value)
            elif field == "epics":
                value = [
                    await self._names.find(self._work.db, self._origin, each) for each in value
                ]
            values[name] = value
        if item.parent:
            values[PARENT_FIELD.get(item.kind, "parent")] = await self._names.find(
                self._work.db, self._origin, item.parent
            )
        return values

    async def _label(self, item: Item, found: ItemRow, now: list[str]) -> None:
        if item.labels is UNSET:
            return
        labels = {fold(name): name for name in item.labels}
        for name in now:
            if fold(name) not in labels:
                await self._run("unlabel_item", self._work, id=found.id, label=name)
        for key, name in labels.items():
            if key not in map(fold, now):
                if await reference_data.find_label_named(self._work.db, name) is None:
                    await self._run("create_label", self._work, name=name)
                await self._run("label_item", self._work, id=found.id, label=name)

    async def _begin_number(self, reference: Reference | None) -> int:
        """Make the next item get the number of `reference`; return the last number used.

        `_end_number` restores the counter.
        """
        if reference is None:
            return 0
        last = await items.last_number(self._work.db, reference.kind)
        if last != reference.number - 1:
            await items.set_last_number(self._work.db, reference.kind, reference.number - 1)
        return last

    async def _end_number(self, reference: Reference | None, last: int) -> None:
        if reference is not None and last > reference.number:
            await items.set_last_number(self._work.db, reference.kind, last)

    # Links, comments, labels and types

    async def _put_link(self, link: Link, row: ImportRow) -> Action:
        source, target = (
            await self._names.find(self._work.db, self._origin, link.source),
            await self._names.find(self._work.db, self._origin, link.target),
        )
        meaning = await self._meaning_of(link, row)
        if meaning.is_reversed:
            source, target = target, source
        known, action = await self._linked(link, source, target, meaning.type, row)
        row.reference_id = known.reference
        return action

    async def _meaning_of(self, link: Link, row: ImportRow) -> matching.TypeMapping:
        """Return the hub's relationship type for a link, and whether its ends are swapped.

        Raises InvalidError if a file of this hub has an unknown type.
        """
        known = await relationships.types(self._work.db)
        if self._origin is None:
            found = relationships.chosen_type(known, link.type, "type")
            return matching.TypeMapping(found.name)
        inverses = {type.inverse: type.name for type in known if not type.is_symmetric}
        meaning = matching.map_type(link.type, {type.name for type in known}, inverses)
        if meaning is not None:
            return meaning
        row.notes.append(
            f"the hub has no relationship type {link.type[:64]!r}: {matching.UNDIRECTED}, which "
            "has no direction"
        )
        self._not_kept[f"direction and type of {link.type[:64]!r}"] += 1
        return matching.TypeMapping(matching.UNDIRECTED)

    async def _linked(
        self, link: Link, source: str, target: str, type: str, row: ImportRow
    ) -> tuple[LinkRow, Action]:
        """Create or retype the relationship for a link; return it with the action taken.

        A link of another source that would close a cycle gets the undirected type `relates_to`.
        """
        of_type = await relationships.find_type(self._work.db, type)
        known = await relationships.between(self._work.db, source, target, of_type)
        if known is not None:
            return known, "unchanged"
        former = await find_undirected(self._work.db, link, self._origin, source, target)
        self._work.caller.require("write", "create_relationship")
        id = link.id if await is_free(self._work.db, link.id, relationships.find) else UNSET
        work = await self._as(link.creator, link.created_at, id, row)
        try:
            if former is not None:
                return await lifecycle.retype_link(work, former, of_type.name), "updated"
            return await lifecycle.create_link(work, source, target, of_type.name), "created"
        except ConflictError as error:
            if self._origin is None or "path" not in error.data:
                raise
        row.notes.append(
            f"{type} would close a circle: {matching.UNDIRECTED}, which has no direction"
        )
        self._not_kept[f"direction of {type}"] += 1
        return await self._linked(link, source, target, matching.UNDIRECTED, row)

    async def _put_comment(self, comment: Comment, row: ImportRow) -> Action:
        if comment.id and not await is_free(self._work.db, comment.id, comments.find):
            row.reference_id = comment.id
            await self._compare_comment(comment, row)
            return "unchanged"
        values = {
            "target_id": await self._names.find(self._work.db, self._origin, comment.target),
            "text": comment.text,
            "reply_to": comment.reply_to or None,
            "quote": comment.quote,
            "quote_position": comment.quote_position,
        }
        work = await self._as(comment.author, comment.created_at, comment.id, row)
        made = await self._run("add_comment", work, **values)
        row.reference_id = made.id
        if comment.resolved:
            resolver = await self._as(comment.resolved_by or UNSET, UNSET, UNSET, row)
            await self._run("resolve_comment", resolver, id=made.id)
        return "created"

    async def _compare_comment(self, comment: Comment, row: ImportRow) -> None:
        known = await comments.find(self._work.db, str(comment.id))
        if (known.text, bool(known.resolved)) != (comment.text, comment.resolved):
            row.notes.append("the comment is there already and stays as it is")

    async def _put_label(self, label: Label, row: ImportRow) -> Action:
        row.reference_id = label.name
        known = await reference_data.find_label_named(self._work.db, label.name)
        if known is None:
            await self._run("create_label", self._work, name=label.name, colour=label.colour)
            return "created"
        if known.colour == label.colour.lower():
            return "unchanged"
        if self._leaves(row, f"the colour {known.colour}"):
            return "unchanged"
        await self._run("update_label", self._work, id=known.id, colour=label.colour)
        return "updated"

    async def _put_type(self, type: Type, row: ImportRow) -> Action:
        row.reference_id = type.name
        values = {"name": type.name, "description": type.description}
        try:
            known = await self._run("get_requirement_type", self._work, name=type.name)
        except NotFoundError:
            await self._run("create_requirement_type", self._work, **values)
            return "created"
        if known.description == type.description:
            return "unchanged"
        if self._leaves(row, "another description"):
            return "unchanged"
        await self._run("update_requirement_type", self._work, **values)
        return "updated"

    def _leaves(self, row: ImportRow, what: str) -> bool:
        """Return whether the import leaves a label or type unchanged; if so, add a note."""
        if self._origin is None or self._on_conflict == "update":
            return False
        row.notes.append(f"it has {what} here and stays as it is")
        return True

    # Actor, time and names

    async def _run(self, name: str, work: OperationContext, /, **values: Any) -> Any:
        """Check the arguments of an operation as every adapter does, and run it.

        Raises ServiceError if the importing caller lacks the right, or if the operation fails.
        """
        operation = self._registry[name]
        # The right of the importing caller: `work` may act as the creator named in the file.
        self._work.caller.require(operation.right, name)
        arguments = convert(operation, values)
        for added in (DRY_RUN, IDEMPOTENCY_KEY):
            arguments.pop(added, None)
        return await operation.function(work, **arguments)

    async def _as(self, creator: Any, time: Any, id: Any, row: ImportRow) -> OperationContext:
        """Return a context that acts as the creator in the row, at the time in the row."""
        caller, now, new_id = self._work.caller, self._work.now, self._work.new_id
        if caller.is_administrator:
            if creator and creator != caller.username:
                user_id = await self._user_id(creator)
                if user_id is None:
                    row.notes.append(f"{creator[:64]!r} is not known here: it belongs to you")
                else:
                    caller = replace(caller, user_id=user_id, username=creator)
            if time:
                if not _TIME.fullmatch(time) or time > now:
                    raise InvalidError("created_at", f"{time[:40]!r} is no time of the past")
                now = time
        elif time or (creator and fold(creator) != fold(caller.username)):
            note = "only an administrator's import keeps who made it and when"
            if note not in row.notes:
                row.notes.append(note)
        if id:
            new_id = _only(id.lower())
        return self._work.acting(caller, now=now, new_id=new_id)

    async def _user_id(self, name: str) -> str | None:
        try:
            found = await reference_data.find_person(
                self._work.db, name, "creator", also_inactive=True
            )
        except InvalidError:
            return None
        return found.id


def _only(id: str) -> Callable[[], str]:
    return lambda: id
