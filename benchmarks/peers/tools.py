"""The tools that every MCP server here has. Runs in every environment, so it imports nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass
class Report:
    """What has an output schema and structured content with all of them."""

    text: str


async def echo(text: str) -> str:
    """Give a text back."""
    return text


async def report(text: str) -> Report:
    """Give a text back in an object."""
    return Report(text)


def more(count: int) -> list[Callable[..., Awaitable[str]]]:
    """Further tools that nobody calls, with parameters of several kinds."""
    return [_tool(number) for number in range(count)]


def _tool(number: int) -> Callable[..., Awaitable[str]]:
    async def look(query: str, limit: int = 10, tags: list[str] | None = None) -> str:
        """Look for something, and tell what was found.

        Whoever calls this gets at most as many lines as `limit` says.
        """
        return f"{query} {limit} {tags}"

    look.__name__ = look.__qualname__ = f"look_{number}"
    return look
