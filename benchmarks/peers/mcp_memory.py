"""A client and a server of the official MCP SDK in one process, one call after the other."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import json
import sys

from mcp import Client

from benchmarks.peers.mcp_server import make
from benchmarks.peers.slices import measure_async


async def main(mode: str, text: str, *, tuned: bool) -> None:
    """`auto` is what a client does that is told nothing: it speaks 2026-07-28 here."""
    async with Client(make(5, tuned=tuned), mode=mode) as client:

        async def repeat(count: int) -> None:
            for _ in range(count):
                result = await client.call_tool("echo", {"text": text})
                if result.content[0].text != text:
                    raise AssertionError(f"expected {text!r}, got {result!r}")

        first = await client.call_tool("echo", {"text": text})
        await measure_async(json.dumps(first.content[0].text), repeat)


asyncio.run(main(sys.argv[1], sys.argv[2], tuned=sys.argv[3:] == ["tuned"]))
