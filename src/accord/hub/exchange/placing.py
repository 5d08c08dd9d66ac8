"""A project into the database, row by row, through the operations that anybody calls.

What is there already, by its UUID or reference id, is brought to what the row says; other things
are created. An import by an administrator keeps who made things and when, as a record of the past;
that of anybody else makes them theirs, now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from accord.hub import links
from accord.hub.domain.folding import fold
from accord.hub.domain.kinds import Kind, Reference, parse_reference
from accord.hub.exchange.gathering import describe
from accord.hub.exchange.project import (
    MAX_ROWS,
    Comment,
    Fault,
    FormatError,
    Item,
    Label,
    Link,
    Numbered,
    Record,
    Type,
)
from accord.hub.exchange.report import Action, Row
from accord.hub.presentation import summary
from accord.hub.storage import comments, items, labels, people, relationships
from accord.hub.storage.items import ItemRow
from accord.operations.arguments import convert
from accord.operations.errors import InvalidError, NotFoundError, ServiceError
from accord.operations.registry import DRY_RUN, IDEMPOTENCY_KEY, Registry
from accord.operations.work import Work, is_uuid
from accord.store.errors import ConstraintError

ORDER: Final[dict[str, int]] = {
    kind: place
    for place, kind in enumerate(
        (
            *("type", "label", "epic", "user_story", "acceptance_criteria", "requirement"),
            *("steering_document", "prompt", "link", "comment"),
        )
    )
}
"""What is needed by others comes before them."""
FIELDS: Final[dict[str, str]] = {
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
"""Fields of a row, and what operations call them; `parent` depends on the kind."""
PARENTS: Final[dict[Kind, str]] = {
    "user_story": "epic_id",
    "acceptance_criteria": "user_story_id",
    "requirement": "user_story_id",
}
MAX_NUMBER: Final = 9_999_999
"""The greatest number of a reference id that an import can bring."""

LAST_NUMBER: Final = "SELECT last FROM counters WHERE kind = $1"
SET_NUMBER: Final = "UPDATE counters SET last = $2 WHERE kind = $1"

_TIME: Final = re.compile(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
)

Progress = Callable[[int, int], None]
"""Told how many of how many rows are done."""


class Placing:
    """One import."""

    def __init__(self, work: Work, *, partial: bool, progress: Progress | None = None) -> None:
        self._work = work
        self._partial = partial
        self._progress = progress
        self._registry = work.service(Registry)
        self._here: dict[str, str] = {}
        """The ids of what came with this import, by all names that its rows have for it."""

    async def place(self, rows: Iterable[Numbered]) -> list[Row]:
        """What became of the rows, in their order. Raises FormatError."""
        taken: list[Numbered] = []
        for numbered in rows:
            if len(taken) == MAX_ROWS:
                raise FormatError(f"there are more than {MAX_ROWS:,} rows")
            taken.append(numbered)
        taken.sort(key=lambda each: ORDER.get(_kind(each.record), 0))
        done = []
        for count, numbered in enumerate(taken, 1):
            done.append(await self._row(numbered))
            if self._progress is not None:
                self._progress(count, len(taken))
        return sorted(done, key=lambda row: row.row)

    async def _row(self, numbered: Numbered) -> Row:
        row = Row(
            row=numbered.row,
            kind=_kind(numbered.record),
            action="failed",
            reference_id="",
            title=_title(numbered.record),
        )
        if isinstance(numbered.record, Fault):
            row.errors = [numbered.record.detail]
            return row
        effects, hints = len(self._work.effects), len(self._work.hints)
        if self._partial:
            await self._work.db.execute("SAVEPOINT import_row")
        try:
            row.action = await self._put(numbered.record, row)
        except (ServiceError, ConstraintError) as error:
            if isinstance(error, ConstraintError) and not self._partial:
                raise  # PostgreSQL does nothing more in this transaction
            del self._work.effects[effects:], self._work.hints[hints:]
            row.errors = [
                error.message
                if isinstance(error, ServiceError)
                else "it contradicts what is there already"
            ]
            if self._partial:
                await self._work.db.execute("ROLLBACK TO SAVEPOINT import_row")
        if self._partial:
            await self._work.db.execute("RELEASE SAVEPOINT import_row")
        return row

    async def _put(self, record: Record, row: Row) -> Action:
        match record:
            case Item():
                return await self._put_item(record, row)
            case Link():
                return await self._put_link(record, row)
            case Comment():
                return await self._put_comment(record, row)
            case Label():
                return await self._put_label(record, row)
            case Type():
                return await self._put_type(record, row)

    # Items

    async def _put_item(self, item: Item, row: Row) -> Action:
        known = await self._known(item)
        if known is None:
            found = await self._create(item, row)
            action: Action = "created"
        else:
            before = len(self._work.effects)
            found = await self._update(item, known)
            action = "unchanged" if len(self._work.effects) == before else "updated"
        row.reference_id = found.reference_id
        for name in (item.reference_id, item.id, f"row {row.row}"):
            if name:
                self._here[_key(name)] = found.id
        return action

    async def _known(self, item: Item) -> ItemRow | None:
        """What the row is about, where that is here already. Raises ServiceError where its names
        say two things."""
        by_id = await items.lookup(self._work.db, item.id) if item.id else None
        if item.id and not is_uuid(item.id):
            raise InvalidError("id", f"{item.id[:64]!r} is no UUID")
        if by_id is None and item.reference_id and not item.id:
            by_id = await items.lookup(self._work.db, item.reference_id)
        if item.reference_id:
            reference = parse_reference(item.reference_id)
            if reference is None or reference.kind != item.kind or reference.number > MAX_NUMBER:
                raise InvalidError(
                    "reference_id", f"{item.reference_id[:64]!r} is no name of {item.kind}"
                )
        if by_id is not None and by_id.kind != item.kind:
            raise InvalidError("kind", f"{by_id.reference_id} is {by_id.kind}, not {item.kind}")
        return by_id

    async def _create(self, item: Item, row: Row) -> ItemRow:
        values = await self._arguments(item)
        if values.get("assignee"):
            values["assignee"] = await self._somebody(values["assignee"], "assignee", row)
        work = await self._as(item.creator, item.created_at, item.id, row)
        reference = parse_reference(item.reference_id or "")
        if reference is not None and await items.lookup(self._work.db, str(reference)):
            row.notes.append(f"{reference} is something else here")
            reference = None
        last = await self._begin_number(reference)
        made = await self._run(f"create_{item.kind}", work, **values)
        await self._end_number(reference, last)
        found = await items.find(self._work.db, made.id)
        await self._label(item, found, [])
        if item.active:
            await self._run("activate_prompt", self._work, id=found.id)
        return found

    async def _update(self, item: Item, known: ItemRow) -> ItemRow:
        now = await describe(self._work.db, known)
        differing = replace(
            item,
            **{
                name: UNSET
                for name in (*FIELDS, "parent")
                if getattr(item, name) == getattr(now, name)
            },
        )
        values = await self._arguments(differing)
        values = {name: value for name, value in values.items() if value is not UNSET}
        if values:
            await self._run(f"update_{item.kind}", self._work, id=known.id, **values)
        await self._label(item, known, now.labels or [])
        if item.active is not UNSET and item.active != now.active:
            verb = "activate" if item.active else "deactivate"
            await self._run(f"{verb}_prompt", self._work, id=known.id)
        return known

    async def _arguments(self, item: Item) -> dict[str, Any]:
        """What the row says, as operations take it."""
        values: dict[str, Any] = {}
        for field, name in FIELDS.items():
            value = getattr(item, field)
            if value is UNSET:
                continue
            if field == "acceptance_criteria" and value is not None:
                value = await self._id_of(value)
            elif field == "epics":
                value = [await self._id_of(each) for each in value]
            values[name] = value
        if item.parent:
            values[PARENTS.get(item.kind, "parent")] = await self._id_of(item.parent)
        return values

    async def _label(self, item: Item, found: ItemRow, now: list[str]) -> None:
        if item.labels is UNSET:
            return
        wanted = {fold(name): name for name in item.labels}
        for name in now:
            if fold(name) not in wanted:
                await self._run("unlabel_item", self._work, id=found.id, label=name)
        for key, name in wanted.items():
            if key not in map(fold, now):
                if await labels.find_named(self._work.db, name) is None:
                    await self._run("create_label", self._work, name=name)
                await self._run("label_item", self._work, id=found.id, label=name)

    async def _begin_number(self, reference: Reference | None) -> int:
        """Have the next item be called `reference`; the number that was given last."""
        if reference is None:
            return 0
        last: int = (await self._work.db.fetch(LAST_NUMBER, reference.kind))[0]["last"]
        if last != reference.number - 1:
            await self._work.db.execute(SET_NUMBER, reference.kind, reference.number - 1)
        return last

    async def _end_number(self, reference: Reference | None, last: int) -> None:
        if reference is not None and last > reference.number:
            await self._work.db.execute(SET_NUMBER, reference.kind, last)

    # Other things

    async def _put_link(self, link: Link, row: Row) -> Action:
        source, target = await self._id_of(link.source), await self._id_of(link.target)
        type = await relationships.find_type(self._work.db, link.type)
        known = await relationships.between(self._work.db, source, target, type)
        if known is None:
            self._work.caller.require("write", "create_relationship")
            id = link.id if await self._is_free(link.id, relationships.find) else UNSET
            work = await self._as(link.creator, link.created_at, id, row)
            known = await links.create(work, source, target, type.name)
            row.reference_id = known.reference
            return "created"
        row.reference_id = known.reference
        return "unchanged"

    async def _put_comment(self, comment: Comment, row: Row) -> Action:
        if comment.id and not await self._is_free(comment.id, comments.find):
            row.reference_id = comment.id
            return "unchanged"
        values = {
            "target_id": await self._id_of(comment.target),
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

    async def _put_label(self, label: Label, row: Row) -> Action:
        row.reference_id = label.name
        known = await labels.find_named(self._work.db, label.name)
        if known is None:
            await self._run("create_label", self._work, name=label.name, colour=label.colour)
            return "created"
        if known.colour == label.colour.lower():
            return "unchanged"
        await self._run("update_label", self._work, id=known.id, colour=label.colour)
        return "updated"

    async def _put_type(self, type: Type, row: Row) -> Action:
        row.reference_id = type.name
        values = {"name": type.name, "description": type.description}
        try:
            known = await self._run("get_requirement_type", self._work, name=type.name)
        except NotFoundError:
            await self._run("create_requirement_type", self._work, **values)
            return "created"
        if known.description == type.description:
            return "unchanged"
        await self._run("update_requirement_type", self._work, **values)
        return "updated"

    # Who, when, and what is meant

    async def _run(self, name: str, work: Work, /, **values: Any) -> Any:
        """What an operation gives, with arguments checked as on every face. Raises ServiceError."""
        operation = self._registry[name]
        self._work.caller.require(operation.right, name)
        arguments = convert(operation, values)
        for added in (DRY_RUN, IDEMPOTENCY_KEY):
            arguments.pop(added, None)
        return await operation.function(work, **arguments)

    async def _as(self, who: Any, when: Any, id: Any, row: Row) -> Work:
        """The work of whoever made what the row says, at that time."""
        caller, now, new_id = self._work.caller, self._work.now, self._work.new_id
        if caller.is_administrator:
            if who and who != caller.username:
                user_id = await self._user_id(who)
                if user_id is None:
                    row.notes.append(f"{who[:64]!r} is not known here: it belongs to you")
                else:
                    caller = replace(caller, user_id=user_id, username=who)
            if when:
                if not _TIME.fullmatch(when) or when > now:
                    raise InvalidError("created_at", f"{when[:40]!r} is no time of the past")
                now = when
        if id:
            new_id = _only(id.lower())
        return self._work.acting(caller, now=now, new_id=new_id)

    async def _user_id(self, name: str) -> str | None:
        try:
            found = await people.find_person(self._work.db, name, "creator", also_inactive=True)
        except InvalidError:
            return None
        return found.id

    async def _somebody(self, name: str, field: str, row: Row) -> str | None:
        """A person whom something new belongs to; nobody where that person is not known."""
        try:
            return (await people.find_person(self._work.db, name, field)).username
        except InvalidError:
            row.notes.append(f"{field}: {name[:64]!r} is not known here")
            return None

    async def _id_of(self, name: str) -> str:
        """The id of what a row names. Raises NotFoundError."""
        return self._here.get(_key(name)) or (await items.find(self._work.db, name)).id

    async def _is_free(self, id: Any, find: Callable[..., Any]) -> bool:
        """Whether an id can be given to something new. Raises InvalidError for one that is none."""
        if not id:
            return False
        if not is_uuid(id):
            raise InvalidError("id", f"{id[:64]!r} is no UUID")
        try:
            await find(self._work.db, id)
        except NotFoundError:
            return True
        return False


def _kind(record: Record | Fault) -> str:
    match record:
        case Item():
            return record.kind
        case Fault():
            return ""
    return type(record).__name__.lower()


def _title(record: Record | Fault) -> str:
    match record:
        case Item():
            return record.title or summary(record.description or "")
        case Link():
            return f"{record.source} {record.type} {record.target}"
        case Fault():
            return ""
        case Comment():
            return summary(record.text)
    return record.name


def _key(name: str) -> str:
    reference = parse_reference(name)
    return str(reference) if reference is not None else name.strip().lower()


def _only(id: str) -> Callable[[], str]:
    return lambda: id
