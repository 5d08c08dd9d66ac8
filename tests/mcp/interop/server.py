"""The server that clients of others call: `python server.py stdio | http | token`.

Over HTTP it prints its URL, and serves the old HTTP+SSE below it, at /mcp/sse. With `token` it
lets nobody in without one.
"""

from __future__ import annotations

import asyncio
import sys

from msgspec import Struct

from accord.mcp import Accepted, Context, Server, TextContent, ToolError
from accord.mcp.server.auth.authenticator import StaticTokens

TOKEN = "a-token-of-anna"

server = Server("shop", version="1.0", instructions="Ask nicely.")


class Sum(Struct):
    total: int


class Name(Struct):
    name: str


@server.tool
async def add(a: int, b: int) -> Sum:
    """Adds."""
    return Sum(a + b)


@server.tool
async def work(steps: int, context: Context) -> str:
    """Tells how far it is."""
    for step in range(steps):
        context.progress(step + 1, steps, f"step {step + 1}")
    # The TypeScript SDKs lose progress that arrives together with the result.
    await asyncio.sleep(0.5)
    return "done"


@server.tool
async def fail() -> str:
    """Fails."""
    raise ToolError("broken")


@server.tool
async def ask(context: Context) -> str:
    """Asks the user."""
    answer = await context.elicit("Who are you?", Name)
    return f"hello {answer.content.name}" if isinstance(answer, Accepted) else answer.action


@server.tool
async def tell(context: Context) -> str:
    """Asks the client's model."""
    told = await context.sample("Say something", max_tokens=10)
    return told.content.text if isinstance(told.content, TextContent) else "?"


@server.tool
async def where(context: Context) -> str:
    """Asks where it may work."""
    return " ".join(root.uri for root in await context.roots())


@server.resource("weather://{city}")
async def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


@server.prompt
async def greet(name: str) -> str:
    """Greets."""
    return f"hello {name}"


@server.completion("greet", "name")
async def names(value: str) -> list[str]:
    return [name for name in ("anna", "anton", "bea") if name.startswith(value)]


def main(transport: str) -> None:
    if transport == "stdio":
        server.run("stdio:")
    else:
        server.run(
            "http://127.0.0.1:0/mcp",
            old_sse=True,
            auth=StaticTokens({TOKEN: "anna"}) if transport == "token" else None,
            on_listen=lambda serving: print(serving.url, flush=True),
        )


if __name__ == "__main__":
    main(sys.argv[1])
