"""Workflows for tests of the pages: agents that are in the test, and runs that are under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from accord.a2a import Agent
from accord.a2a.server.serving import serve
from accord.workflows.operations.run_views import Run
from tests.patience import PATIENCE as PATIENCE
from tests.web.house import House

AGENTS = ("ears-review", "threat-model", "test-ideas")

REVIEW = {
    "name": "review-requirement",
    "description": "Three agents review a requirement; somebody decides what is written down.",
    "input": {
        "type": "object",
        "required": ["requirement"],
        "properties": {"requirement": {"type": "string", "description": "Such as REQ-001."}},
    },
    "steps": [
        {
            "name": "load",
            "type": "call",
            "operation": "get_requirement",
            "input": {"id": "${input.requirement}"},
        },
        {
            "name": "reviews",
            "type": "parallel",
            "branches": {
                name: [
                    {
                        "name": name,
                        "type": "agent",
                        "agent": agent,
                        "input": "${steps.load.output.title}",
                    }
                ]
                for name, agent in zip(
                    ("ambiguity", "security", "testability"), AGENTS, strict=True
                )
            },
        },
        {"name": "approval", "type": "wait", "approval": {"by": ["Administrator"]}},
        {
            "name": "write-back",
            "type": "loop",
            "over": "${[steps.ambiguity.output, steps.security.output]}",
            "body": [
                {
                    "name": "comment",
                    "type": "call",
                    "operation": "add_comment",
                    "input": {"target_id": "${input.requirement}", "text": "${loop.item}"},
                }
            ],
        },
    ],
    "output": "${steps.reviews.output}",
}
"""As in the sketch of a run."""
GATE = {
    "name": "gate",
    "steps": [{"name": "ok", "type": "wait", "approval": {"by": ["Administrator"]}}],
    "output": "${steps.ok.output.reason}",
}


class Reviewer(Agent):
    """Says what it was asked; one that is held waits to be let go."""

    def __init__(self, name: str) -> None:
        super().__init__(name, description=f"Looks at requirements: {name}.")
        self.go = asyncio.Event()
        self.go.set()
        self.texts: list[str] = []
        self.skill(self.review)

    async def review(self, text: str) -> str:
        """Says something about a text."""
        self.texts.append(text)
        await self.go.wait()
        return f"{self.name}: {text}"


class Workshop:
    """A house with agents."""

    def __init__(self, house: House, agents: dict[str, Reviewer]) -> None:
        self.house = house
        self.agents = agents

    async def save(self, *definitions: dict[str, Any]) -> None:
        for each in definitions:
            await self.house.do("create_workflow", definition=each)

    async def start(self, name: str, input: Any = None, by: str = "admin") -> str:
        id: str = (await self.house.do("run_workflow", by, name=name, input=input)).id
        return id

    async def until(self, id: str, *states: str) -> Run:
        """A run, once it is in one of these states."""
        async with asyncio.timeout(PATIENCE):
            while True:
                run: Run = await self.house.do("get_run", id=id)
                if run.state in states:
                    return run
                await asyncio.sleep(0.02)

    async def until_step(self, id: str, name: str, state: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                run: Run = await self.house.do("get_run", id=id)
                if any(each.name == name and each.state == state for each in run.steps):
                    return
                await asyncio.sleep(0.02)

    async def under_way(self) -> str:
        """A run of REVIEW in which one agent is still at work."""
        self.agents["threat-model"].go.clear()
        id = await self.start("review-requirement", {"requirement": "REQ-001"})
        await self.until_step(id, "ambiguity", "completed")
        await self.until_step(id, "testability", "completed")
        await self.until_step(id, "security", "running")
        return id


@asynccontextmanager
async def workshop(house: House) -> AsyncIterator[Workshop]:
    """Agents at work, registered, with the workflow that asks them."""
    async with AsyncExitStack() as stack:
        agents = {name: Reviewer(name) for name in AGENTS}
        for name, agent in agents.items():
            serving = await stack.enter_async_context(serve(agent, "http://127.0.0.1:0/", drain=0))
            await house.do("create_agent", name=name, url=serving.url)
        shop = Workshop(house, agents)
        await shop.save(REVIEW, GATE)
        try:
            yield shop
        finally:
            for agent in agents.values():
                agent.go.set()
