"""A client of FastMCP: `python fast.py stdio | http MODE TARGET`.

Prints what came of everything it does. TARGET is a URL, or a command as JSON.
"""

# mypy: disable-error-code="import-not-found,unused-ignore"

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp import MCPError
from mcp.types import PromptReference


async def elicit(message: str, response_type: Any, params: Any, context: Any) -> Any:
    return response_type(name="anna")


async def sample(messages: Any, params: Any, context: Any) -> str:
    return "a tale"


def reached(transport: str, target: str) -> Any:
    if transport == "stdio":
        command, *args = json.loads(target)
        return StdioTransport(command=command, args=args)
    return target


async def main(transport: str, mode: str, target: str) -> None:
    progress: list[float] = []

    async def follow(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    async with Client(
        reached(transport, target),
        mode=mode,
        elicitation_handler=elicit,
        sampling_handler=sample,
        roots=["file:///work"],
    ) as client:

        async def text(tool: str, **more: Any) -> str:
            result = await client.call_tool(tool, more.pop("arguments", {}), **more)
            return str(result.content[0].text)

        report: dict[str, Any] = {
            "version": client.protocol_version,
            "server": client.server_info.name,
            "instructions": client.instructions,
            "tools": [tool.name for tool in await client.list_tools()],
            "sum": (await client.call_tool("add", {"a": 1, "b": 2})).structured_content,
            "work": await text("work", arguments={"steps": 2}, progress_handler=follow),
            "failed": (await client.call_tool("fail", {}, raise_on_error=False)).is_error,
            "asked": await text("ask"),
            "told": await text("tell"),
            "roots": await text("where"),
            "templates": [each.uri_template for each in await client.list_resource_templates()],
            "read": (await client.read_resource("weather://oslo"))[0].text,
            "prompts": [each.name for each in await client.list_prompts()],
            "prompt": (await client.get_prompt("greet", {"name": "you"})).messages[0].content.text,
            "completed": (
                await client.complete(
                    PromptReference(type="ref/prompt", name="greet"), {"name": "name", "value": "a"}
                )
            ).values,
        }
        try:
            await client.read_resource("nowhere://")
        except MCPError as error:
            report["missing"] = error.error.code
    report["progress"] = progress
    print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
