"""An assistant that may propose and nothing else: a program that uses the system over MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from accord.mcp import Client
from accord.operations.arguments import convert
from tests.web.house import House

NAME = "scribe"


def step(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"operation": operation, "arguments": arguments}


@asynccontextmanager
async def assistant(house: House, token: str) -> AsyncIterator[Client]:
    """A client with somebody's token."""
    async with Client(f"{house.url}/api/v1/mcp", name=NAME, version="1.0", auth=token) as client:
        yield client


async def propose(client: Client, reason: str, *steps: dict[str, Any]) -> str:
    """The id of a new proposal."""
    result = await client.call_tool("propose_changes", {"reason": reason, "steps": list(steps)})
    assert not result.is_error, result.text
    id: str = result.structured["id"]
    return id


async def proposed(house: House, reason: str, *steps: dict[str, Any]) -> str:
    """The id of a proposal of mara's, whose program is not there any more."""
    runner = house.system.runtime.runner
    operation = runner.registry["propose_changes"]
    mara = replace(await house.caller("mara"), face="mcp", client="Claude Code 2.1")
    arguments = {"reason": reason, "steps": list(steps)}
    outcome = await runner.run(operation, lambda: convert(operation, arguments), mara)
    id: str = outcome.result.id
    return id
