"""Operations of a plugin: requirements that nobody has touched for a while."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from accord.plugins import Changed, Operations, Rest, Work, perform

operations: Final = Operations()

Days: TypeAlias = Annotated[int, Meta(ge=0, le=3_650, description="For how long.")]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=100)]


class StaleRequirement(Struct):
    reference_id: str
    title: str
    updated_at: str


class Nudged(Changed, kw_only=True):
    requirements: list[str]


@operations.read(right="read", rest=Rest("GET", "/stale-requirements"), tag="stale", cost=5)
async def find_stale_requirements(
    work: Work, *, days: Days = 90, limit: Limit = 20
) -> list[StaleRequirement]:
    """Find requirements that nobody has changed for some days, the oldest first."""
    before = datetime.fromisoformat(work.now) - timedelta(days=days)
    page = await perform(work, "list_requirements", sort="updated_at", limit=limit, detail="full")
    return [
        StaleRequirement(each.reference_id, each.title, each.updated_at)
        for each in page.items
        if datetime.fromisoformat(each.updated_at) <= before
    ]


@operations.write(right="comment", rest=Rest("POST", "/stale-requirements/nudges"), tag="stale")
async def nudge_stale_requirements(
    work: Work, *, text: Annotated[str, Meta(min_length=1, max_length=500)], days: Days = 90
) -> Nudged:
    """Comment on requirements that nobody has changed for some days, twenty at once."""
    stale = await find_stale_requirements(work, days=days)
    for each in stale:
        await perform(work, "add_comment", target_id=each.reference_id, text=text)
    return Nudged(requirements=[each.reference_id for each in stale])
