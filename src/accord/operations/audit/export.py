"""Audit events as clients see them, and the export of all: JSON lines, or CSV for spreadsheets.

The last line of an export is the head. If the export is stored out of reach of those who can write
to the database, the head shows later whether records were cut off.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from accord.operations.audit.record import Chain, ChainHead
from accord.operations.audit.storage import EXPORT_SEALED, EXPORT_UNSEALED, READ_HEAD
from accord.operations.audit.verify import value_in
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
PAGE: Final = 1000

FIELDS: Final = tuple(name for name in AuditEvent.__struct_fields__ if name != "token")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters of a cell that a spreadsheet would run as a formula."""

Write: TypeAlias = Callable[[bytes], object]


async def export_trail(
    store: Store, key: bytes, write: Write, *, format: ExportFormat
) -> ChainHead | None:
    """Write the whole trail from one snapshot; return the head if it is genuine.

    Sealed records come first, in the order of the chain, then the unsealed ones; `write` gets them
    in pieces. Raises StoreError.
    """
    chain = Chain(key)
    lines = _json_line if format == "jsonl" else _csv_line

    async def read(db: ReadTransaction) -> ChainHead | None:
        rows = await db.fetch(READ_HEAD)
        head = chain.head(rows[0]["value"]) if rows else None
        if format == "csv":
            write(_csv_row(("kind", *FIELDS)))
        await _write_all(db, lambda row: write(lines("event", _event(row))))
        write(lines("head", {} if head is None else msgspec.json.decode(chain.signed(head))))
        return head

    return await store.read(read, snapshot=True)


async def _write_all(db: ReadTransaction, give: Callable[[Row], object]) -> None:
    after = 0
    while rows := await db.fetch(EXPORT_SEALED, after, PAGE):
        for row in rows:
            give(row)
        after = rows[-1]["sequence"]
    last = ("", "")
    while rows := await db.fetch(EXPORT_UNSEALED, *last, PAGE):
        for row in rows:
            give(row)
        last = (rows[-1]["time"], rows[-1]["id"])


def _event(row: Row) -> dict[str, Any]:
    return {name: value_in(row, name) for name in FIELDS}


def _json_line(kind: str, told: dict[str, Any]) -> bytes:
    line = told if kind == "event" else {"head": told or None}
    return msgspec.json.encode(line) + b"\n"


def _csv_line(kind: str, told: dict[str, Any]) -> bytes:
    return _csv_row((kind, *(_cell(told.get(name)) for name in FIELDS)))


def _csv_row(cells: tuple[str, ...]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
