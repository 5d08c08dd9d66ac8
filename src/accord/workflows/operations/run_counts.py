"""How runs are: how many of the last days are in which state."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Work
from accord.workflows.core.state import RunStatus
from accord.workflows.operations.moments import now_of, text_of
from accord.workflows.storage.backlog import RUNS_SINCE

operations: Final = Registry()

Days: TypeAlias = Annotated[int, Meta(ge=1, le=90)]

_DAY: Final = 86_400


class RunCounts(Struct, kw_only=True):
    """Runs that were started since a time, by their state; states of none are left out."""

    since: str
    total: int
    by_state: dict[RunStatus, int]


@operations.read(rest=Rest("GET", "/run-counts"), tag="runs", tool=False)
async def count_runs(work: Work, *, days: Days = 7) -> RunCounts:
    """Count the runs of the last days by state."""
    since = now_of(work) - days * _DAY
    rows = await work.db.fetch(RUNS_SINCE, since)
    counts: dict[RunStatus, int] = {row["status"]: row["total"] for row in rows if row["total"]}
    return RunCounts(since=text_of(since), total=sum(counts.values()), by_state=counts)
