"""Operations for import and export.

An import is all or nothing unless it is `partial`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct

from accord.hub.entities import Id
from accord.hub.exchange.exporter import read_project
from accord.hub.exchange.formats import FormatName, Formats
from accord.hub.exchange.importer import Importer, Progress
from accord.hub.exchange.matching import ImportReport, OnConflict
from accord.hub.exchange.project import (
    MAX_CHARACTERS,
    MAX_ROWS,
    MAX_SOURCE,
    FormatError,
    NotKept,
    Numbered,
    Origin,
)
from accord.operations.context import OperationContext
from accord.operations.errors import InvalidError
from accord.operations.operation import Rest
from accord.operations.registry import Registry

MAX_FAILED_ROWS: Final = 100
"""The maximum number of failed rows in an error."""


class ParsedImport(Struct, frozen=True):
    """The rows of a text, read before the transaction began."""

    rows: tuple[Numbered, ...]


async def parse(work: OperationContext, arguments: Mapping[str, Any]) -> ParsedImport:
    """Parse the text of an import in a thread.

    Parsing may take seconds, and must not block the event loop or other writes. Raises InvalidError
    if the text violates its format.
    """
    read = work.service(Formats)[arguments["format"]].read
    try:
        return ParsedImport(await asyncio.to_thread(_rows, read, arguments["content"]))
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
    work: OperationContext,
    *,
    format: str,
    content: str,
    partial: bool,
    source: str | None = None,
    on_conflict: OnConflict = "refuse",
    progress: Progress | None = None,
) -> ImportReport:
    """Import the rows of a text.

    Raises InvalidError if the text cannot be read. Without `partial` it is also raised if any row
    cannot be imported; the error then names the failed rows.
    """
    importer = Importer(
        work, partial=partial, source=source, on_conflict=on_conflict, progress=progress
    )
    try:
        prepared = work.prepared
        is_parsed = isinstance(prepared, ParsedImport)
        rows = prepared.rows if is_parsed else work.service(Formats)[format].read(content)
        report = await importer.import_rows(rows)
    except FormatError as error:
        raise InvalidError("content", str(error)) from None
    if report.failed and not partial:
        failed = [row for row in report.rows if row.action == "failed"]
        raise InvalidError(
            "content",
            f"{len(failed):,} of {len(report.rows):,} rows cannot be imported, so nothing was; "
            f"row {failed[0].row:,}: {failed[0].errors[0]}",
            rows=failed[:MAX_FAILED_ROWS],
        )
    return report


operations: Final = Registry()

IMPORTED: Final = (
    *("changes", "revisions", "items", "item_labels", "item_sources", "labels", "counters"),
    *("comments", "relationships", "relationship_types", "requirement_types", "steering_links"),
    *("lint_suppressions", "search_entries", "search_words", "search_spellings"),
)
"""The tables that an import writes to; a dry run of an import uses copies of them."""

Content: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_CHARACTERS)]
SourceName: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_SOURCE,
        description="The project, repository or hub that the file is from: names in it are names "
        "of this source. Without it, the repository or specification that the file names; files "
        "that name none are files of this hub.",
    ),
]
Conflict: TypeAlias = Annotated[
    OnConflict,
    Meta(
        description="For rows about an item that another source created: refuse the row, update "
        "the item, or create a new item."
    ),
]


class Export(Struct, kw_only=True):
    """A file."""

    format: str
    media_type: str
    file_name: str
    items: int
    """How many items are in it."""
    content: str


@operations.read(rest=Rest("GET", "/export"), tag="exchange", snapshot=True, tool=False, cost=20)
async def export_items(
    work: OperationContext, *, format: FormatName = "json", epic_id: Id | None = None
) -> Export:
    """Export everything, or one epic with what belongs to it. JSON is complete; the others have no
    comments."""
    project = await read_project(work.db, epic_id)
    of_format = work.service(Formats)[format]
    return Export(
        format=format,
        media_type=of_format.media_type,
        file_name=f"requirements{of_format.suffixes[0]}",
        items=len(project.items),
        # With SQLite the operation already runs in a thread.
        content=(
            of_format.write(project)
            if work.engine == "sqlite"
            else await asyncio.to_thread(of_format.write, project)
        ),
    )


@operations.write(
    destructive=True,
    rest=Rest("POST", "/import"),
    tag="exchange",
    tool=False,
    cost=50,
    prepare=parse,
    prepare_optional=True,
    rehearsed_on=IMPORTED,
)
async def import_items(
    work: OperationContext,
    *,
    format: FormatName,
    content: Content,
    partial: bool = False,
    source: SourceName | None = None,
    on_conflict: Conflict = "refuse",
) -> ImportReport:
    """Import a file: create what is new, change what is there by its id. All or nothing, unless
    `partial`. The report names everything that is not kept."""
    return await import_text(
        work,
        format=format,
        content=content,
        partial=partial,
        source=source,
        on_conflict=on_conflict,
    )
