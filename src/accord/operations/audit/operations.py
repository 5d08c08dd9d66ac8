"""Audit events as clients see them: lists, verification, and the export of the whole trail.

Operations on the trail are for administrators. An export is JSON lines, or CSV for spreadsheets;
its last line is the head of the chain. Keep exports where nobody who can write to the database can
change them: the head in an export shows later whether records were cut off from the trail.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from accord.operations.audit.record import Chain, ChainHead, Result
from accord.operations.audit.storage import EXPORT_SEALED, EXPORT_UNSEALED, READ_HEAD, EventQuery
from accord.operations.audit.trail import AuditTrail
from accord.operations.audit.verify import VerificationReport, value_in
from accord.operations.context import OperationContext
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, page_of
from accord.operations.registry import Registry
from accord.store.store import ReadTransaction, Row, Store


class AuditEvent(Struct, frozen=True, kw_only=True):
    """Who did what. `sequence`, `previous_hash` and `hash` are there once it is sealed, a second
    later at most."""

    sequence: int | None
    id: str
    time: str
    actor: str
    actor_id: str
    via: str
    face: str
    token_id: str
    token: str = ""
    """The name of the token, if the token still exists."""
    client: str
    address: str
    operation: str
    target: str
    change_id: str
    before_hash: str
    after_hash: str
    outcome: str
    error: str
    correlation_id: str
    states: str
    mac: str
    previous_hash: str | None
    hash: str | None


def event_of(row: Row) -> AuditEvent:
    return AuditEvent(**{name: row[name] for name in AuditEvent.__struct_fields__})


ExportFormat: TypeAlias = Literal["jsonl", "csv"]
EXPORT_FORMATS: Final[tuple[ExportFormat, ...]] = ("jsonl", "csv")
EXPORT_PAGE: Final = 1000

EXPORT_FIELDS: Final = tuple(name for name in AuditEvent.__struct_fields__ if name != "token")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters of a CSV cell that a spreadsheet would run as a formula."""

Write: TypeAlias = Callable[[bytes], object]


async def export_trail(
    store: Store, key: bytes, write: Write, *, format: ExportFormat
) -> ChainHead | None:
    """Write the whole trail from one snapshot; return its head, or None.

    None means that the trail has no head, or one that was not written with `key`.
    `write` is called with each piece of the export: sealed records in the order of the chain,
    unsealed records, then the head. Raises StoreError if the database cannot be read.
    """
    chain = Chain(key)
    lines = _json_line if format == "jsonl" else _csv_line

    async def read(db: ReadTransaction) -> ChainHead | None:
        rows = await db.fetch(READ_HEAD)
        head = chain.head(rows[0]["value"]) if rows else None
        if format == "csv":
            write(_csv_row(("kind", *EXPORT_FIELDS)))
        await _write_all(db, lambda row: write(lines("event", _event(row))))
        write(lines("head", {} if head is None else msgspec.json.decode(chain.signed(head))))
        return head

    return await store.read(read, snapshot=True)


async def _write_all(db: ReadTransaction, give: Callable[[Row], object]) -> None:
    after = 0
    while rows := await db.fetch(EXPORT_SEALED, after, EXPORT_PAGE):
        for row in rows:
            give(row)
        after = rows[-1]["sequence"]
    last = ("", "")
    while rows := await db.fetch(EXPORT_UNSEALED, *last, EXPORT_PAGE):
        for row in rows:
            give(row)
        last = (rows[-1]["time"], rows[-1]["id"])


def _event(row: Row) -> dict[str, Any]:
    return {name: value_in(row, name) for name in EXPORT_FIELDS}


def _json_line(kind: str, members: dict[str, Any]) -> bytes:
    line = members if kind == "event" else {"head": members or None}
    return msgspec.json.encode(line) + b"\n"


def _csv_line(kind: str, members: dict[str, Any]) -> bytes:
    return _csv_row((kind, *(_cell(members.get(name)) for name in EXPORT_FIELDS)))


def _csv_row(cells: tuple[str, ...]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


operations = Registry()

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]
Time: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z)?$",
        description="A day or a time in UTC: 2026-11-15, 2026-11-15T09:30:00Z.",
    ),
]


@operations.read(right="admin", rest=Rest("GET", "/audit-events"), tool=False, tag="audit", cost=5)
async def list_audit_events(
    work: OperationContext,
    *,
    actor: Name | None = None,
    operation: Name | None = None,
    outcome: Result | None = None,
    target: Name | None = None,
    since: Time | None = None,
    until: Time | None = None,
    reads: bool = True,
    count_to: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[AuditEvent]:
    """Who did what, newest first. `actor` is a username or a user id, `target` a reference id,
    `since` is included and `until` is not. With `reads` false what only read, and was let, is left
    out. With `count_to` no more than so many are counted, as a trail can be long."""
    query = EventQuery()
    query.match(
        {
            "actor": actor,
            "operation": operation,
            "outcome": outcome,
            "target": None if target is None else _literally(target),
            "since": None if since is None else _time(since),
            "until": None if until is None else _time(until),
        }
    )
    if not reads:
        query.without_reads([each.name for each in work.service(Registry) if not each.writes])
    sql, values = query.count(count_to)
    [counted] = await work.db.fetch(sql, *values)
    if cursor is not None:
        query.before(*cursor_keys(cursor, tuple[str, str]))
    sql, values = query.page(limit + 1)
    rows = await work.db.fetch(sql, *values)
    return page_of(
        [event_of(row) for row in rows],
        limit=limit,
        total=counted["total"],
        key=lambda event: (event.time, event.id),
    )


@operations.read(
    right="admin",
    rest=Rest("GET", "/audit-events/verification"),
    tool=False,
    tag="audit",
    cost=50,
    snapshot=True,
)
async def verify_audit_trail(work: OperationContext) -> VerificationReport:
    """Verify the audit trail, and the data against it. What is not as it was written is in
    `findings`, what an older release did not keep enough of in `unproven`."""
    return await work.service(AuditTrail).verify(work.db)


def _literally(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return text


def _time(text: str) -> str:
    """Return a time in its stored form, with microseconds, so that it sorts."""
    if "T" not in text:
        return text
    head, _, fraction = text.removesuffix("Z").partition(".")
    seconds = head if head.count(":") == 2 else f"{head}:00"
    return f"{seconds}.{fraction:0<6}Z"
