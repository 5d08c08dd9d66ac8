"""What the whole system says of itself: its documents and lists, asked of a system that is started
for it, with a database of its own. How pages look is not its matter."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import Request, urlopen

import msgspec
from msgspec import Struct

from accord.app.composition import all_operations
from accord.app.settings import Settings
from accord.app.system import MCP, REST, RPC, open_system, prepare
from accord.mcp import Client
from accord.mcp.protocol.definitions import Resource, ResourceTemplate, Tool
from accord.operations.operation import Operation

Json = dict[str, Any]


class Described(Struct, frozen=True):
    """All of it, as an administrator gets it."""

    openapi: Json
    openrpc: Json
    tools: list[Tool]
    resources: list[Resource]
    templates: list[ResourceTemplate]
    operations: Mapping[str, Operation]
    """What the documents were made from, by name."""


def ask() -> Described:
    """Start a system, ask it, stop it."""
    with TemporaryDirectory() as data:
        return asyncio.run(_ask(Settings(data=data, port=0, workflows="elsewhere", plugins=[])))


async def _ask(settings: Settings) -> Described:
    first = await prepare(settings)
    assert first is not None, "the database is new"
    async with open_system(settings) as system:
        async with Client(f"{system.url}{MCP}", auth=first.token) as client:
            tools = await client.list_tools()
            resources = await client.list_resources()
            templates = await client.list_resource_templates()
        return Described(
            await asyncio.to_thread(_fetch, f"{system.url}{REST}/openapi.json", first.token),
            await asyncio.to_thread(_fetch, f"{system.url}{RPC}/openrpc.json", first.token),
            tools,
            resources,
            templates,
            {each.name: each for each in all_operations()},
        )


def _fetch(url: str, token: str) -> Json:
    request = Request(url, headers={"Authorization": f"Bearer {token}"})
    with urlopen(request) as answer:
        document: Json = msgspec.json.decode(answer.read())
    return document
