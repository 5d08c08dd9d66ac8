"""One import, all or nothing unless it is asked for otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from accord.hub.exchange.formats import Formats
from accord.hub.exchange.identity import OnConflict
from accord.hub.exchange.placing import Placing, Progress
from accord.hub.exchange.project import MAX_ROWS, FormatError, NotKept, Numbered, Origin
from accord.hub.exchange.report import Report
from accord.operations.errors import InvalidError
from accord.operations.work import Work

MAX_TOLD: Final = 100
"""The maximum number of failed rows in an error."""


class Parsed(Struct, frozen=True):
    """The rows of a text, read before the transaction began."""

    rows: tuple[Numbered, ...]


async def parse(work: Work, arguments: Mapping[str, Any]) -> Parsed:
    """Read the text of an import in a thread. Raises InvalidError.

    Parsing may take seconds; neither the event loop nor other writes have to wait for it.
    """
    read = work.service(Formats)[arguments["format"]].read
    try:
        return Parsed(await asyncio.to_thread(_rows, read, arguments["content"]))
    except FormatError as error:
        raise InvalidError("content", str(error)) from None


def _rows(read: Callable[[str], Iterable[Numbered]], content: str) -> tuple[Numbered, ...]:
    """Return the rows of a text, at most `MAX_ROWS` + 1.

    The importer refuses the extra row.
    """
    rows: list[Numbered] = []
    imported = 0
    for row in read(content):
        rows.append(row)
        imported += not isinstance(row.record, Origin | NotKept)
        if imported > MAX_ROWS:
            break
    return tuple(rows)


async def import_text(
    work: Work,
    *,
    format: str,
    content: str,
    partial: bool,
    source: str | None = None,
    on_conflict: OnConflict = "refuse",
    progress: Progress | None = None,
) -> Report:
    """Import the rows of a text.

    Raises InvalidError with the failed rows if not all rows can be imported; with `partial` only if
    the text cannot be read.
    """
    placing = Placing(
        work, partial=partial, source=source, on_conflict=on_conflict, progress=progress
    )
    try:
        prepared = work.prepared
        is_parsed = isinstance(prepared, Parsed)
        rows = prepared.rows if is_parsed else work.service(Formats)[format].read(content)
        report = await placing.place(rows)
    except FormatError as error:
        raise InvalidError("content", str(error)) from None
    if report.failed and not partial:
        failed = [row for row in report.rows if row.action == "failed"]
        raise InvalidError(
            "content",
            f"{len(failed):,} of {len(report.rows):,} rows cannot be imported, so nothing was; "
            f"row {failed[0].row:,}: {failed[0].errors[0]}",
            rows=failed[:MAX_TOLD],
        )
    return report
