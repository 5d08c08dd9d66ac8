"""A client and a server of ours in one process, one call after the other."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import cast

from accord.mcp import Client
from accord.mcp.client.client import Mode
from benchmarks.ours.mcp_server import make
from benchmarks.peers.slices import measure_async


async def main(mode: Mode, kind: str, text: str) -> None:
    async with Client(make(5, inline=kind == "inline"), mode=mode) as client:

        async def repeat(count: int) -> None:
            for _ in range(count):
                result = await client.call_tool("echo", {"text": text})
                if result.text != text:
                    raise AssertionError(f"expected {text!r}, got {result!r}")

        first = await client.call_tool("echo", {"text": text})
        await measure_async(json.dumps(first.text), repeat)


asyncio.run(main(cast(Mode, sys.argv[1]), sys.argv[2], sys.argv[3]))
