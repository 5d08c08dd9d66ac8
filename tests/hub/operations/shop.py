"""A small shop: an epic, two stories, acceptance criteria, requirements, a steering document."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from accord.operations.context import Caller
from accord.operations.operation import Outcome
from tests.hub.world import World


class Shop(Struct):
    """A hub with items that tests name by reference id.

    They are EP-001, US-001, US-002, AC-001, STD-001 and REQ-001 to REQ-004. REQ-004 is under
    US-002.
    """

    world: World

    @classmethod
    async def in_world(cls, world: World) -> Shop:
        call = world.call
        await call("create_epic", title="Checkout")
        await call("create_user_story", epic_id="EP-001", title="Pay by card")
        await call("create_user_story", epic_id="EP-001", title="Get a receipt")
        await call("create_acceptance_criteria", user_story_id="US-001", description="Paid once.")
        await call("create_steering_document", title="Security")
        for story, title in (
            ("US-001", "Charge"),
            ("US-001", "Refund"),
            ("US-001", "Log"),
            ("US-002", "Mail"),
        ):
            await call("create_requirement", user_story_id=story, type="Functional", title=title)
        return cls(world)

    async def call(self, name: str, /, caller: Caller | None = None, **arguments: Any) -> Any:
        return await self.world.call(name, caller, **arguments)

    async def outcome(
        self, name: str, /, caller: Caller | None = None, **arguments: Any
    ) -> Outcome:
        return await self.world.outcome(name, caller, **arguments)

    async def link(self, source: str, type: str, target: str) -> str:
        """Create a relationship; return its id."""
        made = await self.call("create_relationship", source_id=source, target_id=target, type=type)
        id: str = made.id
        return id

    async def edit(self, id: str, text: str) -> None:
        """Change the content of a requirement."""
        await self.call("update_requirement", id=id, description=text)
