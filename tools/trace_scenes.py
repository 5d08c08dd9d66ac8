"""Pictures of traceability, baselines, changes and proposals: what is to be seen on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from tests.web.house import House, Visitor
from tests.web.proposing import proposed, step

SAILINGS: Final = (
    "When a passenger searches for two harbours and a date, the booking service shall list all "
    "sailings of that day that still have free seats, in order of departure."
)


async def stage(house: House) -> None:
    """Some changes since the season opened, so that links are suspect."""
    do = house.do
    await do("edit_text", id="REQ-006", old="15 minutes", new="20 minutes")
    await do("update_requirement", id="REQ-001", title="List free sailings", description=SAILINGS)
    await do("delete_requirement", id="REQ-005", force=True)
    await do("create_requirement", user_story_id="US-001", title="Show how full a sailing is")


def after_changes(path: str) -> Callable[[Visitor], Awaitable[None]]:
    async def scene(visitor: Visitor) -> None:
        await stage(visitor.house)
        await visitor.open(path)

    return scene


async def compared(visitor: Visitor) -> None:
    await stage(visitor.house)
    [baseline] = (await visitor.house.do("list_baselines")).items
    await visitor.open(f"/baselines/{baseline.id}/compare")


async def proposal(visitor: Visitor) -> None:
    house = visitor.house
    await proposed(
        house,
        "Obsolete since the counter closes",
        step("update_requirement", id="REQ-009", status="Obsolete"),
    )
    id = await proposed(
        house,
        "Say how long a reservation is held in one place only",
        step("edit_text", id="REQ-007", old="within 15 minutes", new="within the time of REQ-006"),
        step("create_relationship", source_id="REQ-008", target_id="REQ-007", type="depends_on"),
        step(
            "create_requirement",
            user_story_id="US-002",
            title="Tell that a reservation ends",
            description="The booking service shall tell the passenger quickly when it ends.",
        ),
    )
    await visitor.open(f"/proposals/{id}")


SCENES: Final[dict[str, Callable[[Visitor], Awaitable[None]]]] = {
    "traceability": after_changes("/traceability"),
    "matrix": after_changes("/traceability/matrix?epic=EP-001"),
    "graph": after_changes("/traceability/graph?item=REQ-006&impact=yes"),
    "suspects": after_changes("/traceability/suspects"),
    "baselines": compared,
    "proposal": proposal,
}
"""By name: `graph` becomes web-graph.png."""
