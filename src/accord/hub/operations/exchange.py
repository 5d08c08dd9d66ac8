"""Import and export."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from accord.hub.entities import Id
from accord.hub.exchange.formats import FormatName, Formats
from accord.hub.exchange.gathering import gather
from accord.hub.exchange.identity import OnConflict
from accord.hub.exchange.importing import import_text, parse
from accord.hub.exchange.project import MAX_CHARACTERS, MAX_SOURCE
from accord.hub.exchange.report import Report
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Work

operations: Final = Registry()

IMPORTED: Final = (
    *("changes", "revisions", "items", "item_labels", "item_sources", "labels", "counters"),
    *("comments", "relationships", "relationship_types", "requirement_types", "steering_links"),
    *("lint_suppressions", "search_entries", "search_words", "search_spellings"),
)
"""The tables that an import writes to."""

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
    work: Work, *, format: FormatName = "json", epic_id: Id | None = None
) -> Export:
    """Export everything, or one epic with what belongs to it. JSON is complete; the others have no
    comments."""
    project = await gather(work.db, epic_id)
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
    work: Work,
    *,
    format: FormatName,
    content: Content,
    partial: bool = False,
    source: SourceName | None = None,
    on_conflict: Conflict = "refuse",
) -> Report:
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
