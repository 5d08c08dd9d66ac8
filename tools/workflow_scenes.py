"""What is to be seen of workflows on the pictures of the pages: agents, definitions, runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from tests.web.house import Visitor
from tests.web.workshop import GATE, REVIEW, Workshop, workshop

NIGHTLY: Final = {
    "name": "nightly-lint",
    "description": "Looks for vague words in what changed during the day.",
    "on": [{"schedule": "0 3 * * 1-5", "timezone": "Europe/Berlin"}],
    "steps": [{"name": "rest", "type": "wait", "for": 0}],
}
TRIAGE: Final = {
    "name": "triage-requirement",
    "description": "Sorts new requirements, and asks whoever knows.",
    "on": ["requirement.created", {"webhook": "ticket-opened", "secret": "env:ACCORD_SECRET_T"}],
    "steps": [
        {
            "name": "load",
            "type": "call",
            "operation": "get_requirement",
            "input": {"id": "${input}"},
        },
        {
            "name": "urgent",
            "type": "condition",
            "if": "${steps.load.output.priority == 1}",
            "then": [{"name": "decide", "type": "wait", "approval": {"by": ["Administrator"]}}],
            "else": [{"name": "later", "type": "wait", "for": 0}],
        },
        {"name": "note", "type": "wait", "for": 0},
    ],
}
BROKEN: Final = """\
name: review-requirement
steps:
  - name: load
    type: call
    operation: get_requirment
    input: {id: "${input.requirement}"}
  - name: ask
    type: agent
    agent: ears-revew
    input: "${steps.lod.output.title}"
    timeout: 5m
"""


async def worked(visitor: Visitor) -> tuple[Workshop, str]:
    """A house in which much was run, and the run that is under way."""
    house = visitor.house
    shop = await house.stays.enter_async_context(workshop(house))
    await shop.save(NIGHTLY, TRIAGE, {**REVIEW, "description": f"{REVIEW['description']} "})
    for agent in shop.agents:
        await house.do("check_agent_health", name=agent)
    await shop.until(await shop.start("nightly-lint"), "completed")
    await shop.until(await shop.start("triage-requirement", "REQ-020", by="mara"), "completed")
    await shop.until(await shop.start("triage-requirement", "REQ-999", by="mara"), "failed")
    await shop.until(await shop.start("review-requirement", {"requirement": "REQ-999"}), "failed")
    await shop.until(await shop.start(str(GATE["name"]), by="mara"), "waiting")
    return shop, await under_way(shop)


async def under_way(shop: Workshop) -> str:
    """A run whose agents took their time, and one still does."""
    for each in shop.agents.values():
        each.go.clear()
    id = await shop.start("review-requirement", {"requirement": "REQ-012"}, by="mara")
    for name, agent in (("ambiguity", "ears-review"), ("testability", "test-ideas")):
        await asyncio.sleep(1.2)
        shop.agents[agent].go.set()
        await shop.until_step(id, name, "completed")
    await asyncio.sleep(2)
    return id


def workflow_page(path: str) -> Callable[[Visitor], Awaitable[None]]:
    """A page of a house in which much was run; `{id}` is the run under way."""

    async def scene(visitor: Visitor) -> None:
        _, id = await worked(visitor)
        await visitor.open(path.format(id=id))

    return scene


async def run_in_the_dark(visitor: Visitor) -> None:
    await visitor.page.emulate_media(color_scheme="dark")
    await workflow_page("/runs/{id}")(visitor)


async def edited(visitor: Visitor) -> None:
    await worked(visitor)
    await visitor.open("/workflows/review-requirement/edit")
    await visitor.page.get_by_label("Definition, as YAML or JSON").fill(BROKEN)
    await visitor.page.get_by_text("4 problems").wait_for()
