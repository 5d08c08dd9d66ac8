"""A client of the official SDK in a session of the handshake era: `python official.py URL TOKEN`.

Calls a tool for each line that it is given, and prints what came of it.
"""

# mypy: disable-error-code="import-not-found,unused-ignore"

from __future__ import annotations

import asyncio
import json
import sys

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def main(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
    ):
        while line := await asyncio.to_thread(sys.stdin.readline):
            made = await client.call_tool("create_epic", {"title": line.strip()})
            print(json.dumps([client.protocol_version, made.structured_content["title"]]))
            sys.stdout.flush()


asyncio.run(main(*sys.argv[1:]))
