"""What an MCP server offers, as it says so: listed whole, and shown a line each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.cli.output import paint, printable
from accord.jsonrpc.call import decode_result
from accord.mcp.client.client import Client
from accord.mcp.client.paging import all_items
from accord.mcp.protocol.definitions import Prompt, Resource, ResourceTemplate, Tool


class _Page(Struct, frozen=True):
    items: list[Raw]
    next_cursor: str | UnsetType = UNSET


class Kind(Struct, frozen=True):
    """One kind of what servers list."""

    name: str
    """As a person says it."""
    member: str
    """The member of the list's result."""
    method: str
    feature: str
    """The capability that servers declare for it."""
    show: Callable[[Raw], str]


async def catalogue(client: Client, kinds: list[Kind]) -> dict[str, list[Raw]]:
    """All that the server lists of these kinds, exactly as it says it. Kinds that it does not
    declare are empty."""
    found = {}
    for kind in kinds:
        declared = getattr(client.capabilities, kind.feature) is not None
        found[kind.member] = await _listed(client, kind) if declared else []
    return found


async def _listed(client: Client, kind: Kind) -> list[Raw]:
    async def page(cursor: str | None) -> _Page:
        params: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        raw = await client.conversation.ask(kind.method, params)
        members: dict[str, Raw] = decode_result(raw, dict[str, Raw], kind.method)
        return _Page(
            decode_result(members.get(kind.member, Raw(b"[]")), list[Raw], kind.method),
            decode_result(members["nextCursor"], str, kind.method)
            if "nextCursor" in members
            else UNSET,
        )

    return await all_items(kind.method, page, lambda it: it.items)


def shown(found: dict[str, list[Raw]]) -> Iterator[str]:
    """The lines that tell of a catalogue."""
    for kind in KINDS.values():
        items = found.get(kind.member)
        if items:
            yield paint(kind.name, "key", sys.stdout)
            yield from (f"  {kind.show(item)}" for item in items)


def _tool(raw: Raw) -> str:
    tool = msgspec.json.decode(raw, type=Tool)
    known = tool.input_schema.get("properties")
    needed = tool.input_schema.get("required")
    names = list(known) if isinstance(known, dict) else []
    required = needed if isinstance(needed, list) else []
    parameters = ", ".join(name if name in required else f"[{name}]" for name in names)
    return _line(f"{tool.name}({parameters})", tool.title, tool.description)


def _resource(raw: Raw) -> str:
    resource = msgspec.json.decode(raw, type=Resource)
    return _line(resource.uri, resource.title or resource.name, resource.description)


def _template(raw: Raw) -> str:
    template = msgspec.json.decode(raw, type=ResourceTemplate)
    return _line(template.uri_template, template.title or template.name, template.description)


def _prompt(raw: Raw) -> str:
    prompt = msgspec.json.decode(raw, type=Prompt)
    parameters = ", ".join(it.name if it.required else f"[{it.name}]" for it in prompt.arguments)
    return _line(f"{prompt.name}({parameters})", prompt.title, prompt.description)


def _line(what: str, title: str, description: str) -> str:
    first = next(iter(description.strip().splitlines()), "") or title
    return f"{printable(what)}  {paint(printable(first), 'faint', sys.stdout)}" if first else what


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("tools", "tools", "tools/list", "tools", _tool),
        Kind("resources", "resources", "resources/list", "resources", _resource),
        Kind("templates", "resourceTemplates", "resources/templates/list", "resources", _template),
        Kind("prompts", "prompts", "prompts/list", "prompts", _prompt),
    )
}
