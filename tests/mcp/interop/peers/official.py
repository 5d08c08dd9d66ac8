"""A client of the official SDK: `python official.py stdio | http | sse MODE TARGET`.

Prints what came of everything it does. TARGET is a URL, or a command as JSON.
"""

# mypy: disable-error-code="import-not-found,unused-ignore"

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    Root,
    TextContent,
)


async def elicit(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "anna"})


async def sample(context: Any, params: Any) -> CreateMessageResult:
    said = TextContent(type="text", text="a tale")
    return CreateMessageResult(role="assistant", content=said, model="m")


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///work")])


def reached(transport: str, target: str) -> Any:
    if transport == "stdio":
        command, *args = json.loads(target)
        return StdioServerParameters(command=command, args=args)
    return sse_client(target) if transport == "sse" else target


async def main(transport: str, mode: str, target: str) -> None:
    progress: list[float] = []

    async def follow(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    async with Client(
        reached(transport, target),
        mode=mode,
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=roots,
    ) as client:

        async def text(tool: str, **more: Any) -> str:
            result = await client.call_tool(tool, more.pop("arguments", {}), **more)
            return str(result.content[0].text)

        report: dict[str, Any] = {
            "version": client.protocol_version,
            "server": client.server_info.name,
            "instructions": client.instructions,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "sum": (await client.call_tool("add", {"a": 1, "b": 2})).structured_content,
            "work": await text("work", arguments={"steps": 2}, progress_callback=follow),
            "failed": (await client.call_tool("fail", {})).is_error,
            "asked": await text("ask"),
            "told": await text("tell"),
            "roots": await text("where"),
            "templates": [
                each.uri_template
                for each in (await client.list_resource_templates()).resource_templates
            ],
            "read": (await client.read_resource("weather://oslo")).contents[0].text,
            "prompts": [each.name for each in (await client.list_prompts()).prompts],
            "prompt": (await client.get_prompt("greet", {"name": "you"})).messages[0].content.text,
            "completed": (
                await client.complete(
                    PromptReference(type="ref/prompt", name="greet"), {"name": "name", "value": "a"}
                )
            ).completion.values,
        }
        try:
            await client.read_resource("nowhere://")
        except MCPError as error:
            report["missing"] = error.error.code
    report["progress"] = progress
    print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
