"""Files that hold servers, and the running of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from tests.cli.command import COMMAND, PATIENCE, environment

WEATHER = '''
import time
from accord.mcp import Context, Server
from accord.mcp.protocol.content import ResourceContents

print("running the file")
server = Server("weather", version="1.0", instructions="Ask for a city.")

@server.tool
async def forecast(city: str, days: int = 3) -> dict[str, int]:
    """The temperature of some days."""
    print("forecasting")
    return {city: days}

@server.tool(inline=True)
def add(a: int, b: int) -> int:
    return a + b

@server.tool
async def fail() -> str:
    raise ValueError("secret")

@server.tool
async def report(context: Context) -> str:
    context.progress(1, 2, "half")
    context.info("begun")
    return "one\\ntwo \\x1b[31m"

@server.tool
def block() -> str:
    time.sleep(600)
    return "never"

@server.resource("weather://{city}")
def weather(city: str) -> str:
    return f"sun in {city}"

@server.resource("weather://picture")
def picture() -> bytes:
    return b"\\x00\\x01"

@server.prompt
def plan(city: str, days: str = "1") -> str:
    """Plans a stay."""
    return f"Plan {days} days in {city}"
'''

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}


@contextmanager
def run(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """`accord mcp run` with these arguments, until the block ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, "mcp", "run", *arguments],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=environment(),
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def ask(process: subprocess.Popen[bytes], message: dict[str, Any]) -> Any:
    """The next message that a server over stdio sends."""
    tell(process, message)
    assert process.stdout is not None
    return msgspec.json.decode(process.stdout.readline())


def tell(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(message) + b"\n")
    process.stdin.flush()


def call(tool: str, *, id: int = 2, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """`accord mcp run … --http`: its URL."""
    with run(*arguments) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if b" listening on " in line:
                yield line.decode().split(" listening on ")[1].split(" ")[0]
                break
        process.terminate()
        process.communicate(timeout=PATIENCE)
