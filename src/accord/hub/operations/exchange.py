"""Import and export."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from accord.hub.entities import Id
from accord.hub.exchange.formats import FormatName, Formats
from accord.hub.exchange.gathering import gather
from accord.hub.exchange.importing import import_text
from accord.hub.exchange.project import MAX_CHARACTERS
from accord.hub.exchange.report import Report
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Work

operations: Final = Registry()

Content: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_CHARACTERS)]


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
        content=of_format.write(project),
    )


@operations.write(
    destructive=True, rest=Rest("POST", "/import"), tag="exchange", tool=False, cost=50
)
async def import_items(
    work: Work, *, format: FormatName, content: Content, partial: bool = False
) -> Report:
    """Import a file: create what is new, change what is there by its id. All or nothing, unless
    `partial`."""
    return await import_text(work, format=format, content=content, partial=partial)
