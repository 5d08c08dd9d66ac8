"""One import, all or nothing unless it is asked for otherwise."""

from __future__ import annotations

from typing import Final

from accord.hub.exchange.formats import Formats
from accord.hub.exchange.identity import OnConflict
from accord.hub.exchange.placing import Placing, Progress
from accord.hub.exchange.project import FormatError
from accord.hub.exchange.report import Report
from accord.operations.errors import InvalidError
from accord.operations.work import Work

MAX_TOLD: Final = 100
"""How many rows that failed an error tells."""


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
    """Put the rows of a text into the database. Raises InvalidError, which tells the rows that
    failed, where not all can be imported; with `partial` only where none can be read."""
    placing = Placing(
        work, partial=partial, source=source, on_conflict=on_conflict, progress=progress
    )
    try:
        report = await placing.place(work.service(Formats)[format].read(content))
    except FormatError as error:
        raise InvalidError("content", str(error)) from None
    rows = report.rows
    if report.failed and not partial:
        failed = [row for row in rows if row.action == "failed"]
        raise InvalidError(
            "content",
            f"{len(failed):,} of {len(rows):,} rows cannot be imported, so nothing was; "
            f"row {failed[0].row:,}: {failed[0].errors[0]}",
            rows=failed[:MAX_TOLD],
        )
    return report
