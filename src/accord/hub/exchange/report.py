"""What became of every row of an import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from accord.hub.exchange.project import NotKept
from accord.operations.work import Changed

Action: TypeAlias = Literal["created", "updated", "unchanged", "failed"]


class Row(Struct, kw_only=True):
    """What became of one row."""

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


class Report(Changed, kw_only=True):
    """What became of all rows."""

    created: int
    updated: int
    unchanged: int
    failed: int
    rows: list[Row]
    sources: list[str]
    """The sources of the rows; none where they are this hub's own."""
    not_kept: list[NotKept]
    """The parts of the file that the hub has no place for, the most frequent first."""


def report_of(
    rows: list[Row], *, sources: Sequence[str] = (), not_kept: Sequence[NotKept] = ()
) -> Report:
    actions = [row.action for row in rows]
    return Report(
        created=actions.count("created"),
        updated=actions.count("updated"),
        unchanged=actions.count("unchanged"),
        failed=actions.count("failed"),
        rows=rows,
        sources=list(sources),
        not_kept=list(not_kept),
    )
