"""A client of the official SDK that works with a hub: `python official.py MODE URL TOKEN`.

Prints the results of all its calls.
"""

# mypy: disable-error-code="import-not-found,unused-ignore"

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client, MCPError
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ResourceTemplateReference


async def main(mode: str, url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):

        async def call(tool: str, **arguments: Any) -> Any:
            return await client.call_tool(tool, arguments)

        epic = (await call("create_epic", title="Checkout")).structured_content
        await call("create_user_story", epic_id=epic["reference_id"], title="Pay by card")
        wrong = await call("create_epic", title="")
        ref = ResourceTemplateReference(type="ref/resource", uri="epic://{id}")
        report: dict[str, Any] = {
            "version": client.protocol_version,
            "instructions": client.instructions,
            "tools": len((await client.list_tools()).tools),
            "got": (await call("get_epic", id=epic["id"])).structured_content["title"],
            "found": (await call("search_global", query="card")).structured_content["total"],
            "wrong": [wrong.is_error, wrong.structured_content["error"]["errors"]],
            "templates": len((await client.list_resource_templates()).resource_templates),
            "resources": [each.uri for each in (await client.list_resources()).resources][-2:],
            "read": json.loads((await client.read_resource("epic://EP-001")).contents[0].text)[
                "reference_id"
            ],
            "prompts": [each.name for each in (await client.list_prompts()).prompts],
            "prompt": (await client.get_prompt("be-kind")).messages[0].content.text,
            "completed": (
                await client.complete(ref, {"name": "id", "value": "ep"})
            ).completion.values,
        }
        try:
            await client.read_resource("epic://EP-404")
        except MCPError as error:
            report["missing"] = error.error.code
        print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
