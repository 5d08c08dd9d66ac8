"""The documents and lists that a running system serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx
from msgspec import Struct

from accord.app.settings import Settings
from accord.app.system import MCP, REST, RPC, open_system, prepare
from accord.mcp.protocol.versions import VERSIONS, Era, era
from tools.snapshots.kept import as_json, as_sorted_json, on_one_line, without_version

Json = dict[str, Any]

PROMPT: Final = {"name": "reviewer", "title": "Reviewer", "description": "Reviews requirements."}
CLIENT: Final = {"name": "snapshots", "version": "1"}
META: Final = "io.modelcontextprotocol/"
LISTS: Final = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


class Served(Struct, frozen=True):
    """What a system told an administrator, with a database of its own and one prompt in it."""

    openapi: Json
    openrpc: Json
    card: Json
    mcp: dict[str, dict[str, Json]]
    """The results of MCP, by version and method; `hello` is how a client gets to know a server."""


async def ask() -> Served:
    """Start a system, ask it, stop it."""
    with TemporaryDirectory() as data:
        settings = Settings(data=data, port=0, plugins=[])
        first = await prepare(settings)
        assert first is not None, "the database is new"
        async with (
            open_system(settings) as system,
            httpx.AsyncClient(base_url=system.url, timeout=60) as client,
        ):
            token = await system.runtime.run("create_token", user=first.username, name="snapshots")
            client.headers["authorization"] = f"Bearer {token.result.token}"
            made = await client.post(f"{REST}/prompts", json={**PROMPT, "content": "Be brief."})
            made.raise_for_status()
            card = await _get(client, "/.well-known/agent-card.json")
            return Served(
                await _get(client, f"{REST}/openapi.json"),
                await _get(client, f"{RPC}/openrpc.json"),
                _without_address(card, system.url),
                {version: await _talk(client, version) for version in VERSIONS},
            )


def openapi(served: Served) -> str:
    """The OpenAPI document."""
    return as_sorted_json(served.openapi)


def openrpc(served: Served) -> str:
    """The OpenRPC document."""
    return as_sorted_json(served.openrpc)


def card(served: Served) -> str:
    """The card of the hub's agent."""
    return as_json(served.card)


def newest(method: str) -> Callable[[Served], str]:
    """What the newest version of MCP answers to a method."""
    return lambda served: as_json(served.mcp[VERSIONS[-1]][method])


def older_versions(served: Served) -> str:
    """For each version what it has otherwise than the next newer one."""
    newer = reversed(VERSIONS[1:])
    told = "\n".join(
        f"{old}, compared with {new}\n"
        + "".join(
            f"  {method}{line}\n"
            for method, result in served.mcp[new].items()
            for line in dict.fromkeys(_changes(result, served.mcp[old][method], ""))
        )
        for old, new in zip(reversed(VERSIONS[:-1]), newer, strict=True)
    )
    return without_version(told)


def _changes(new: Any, old: Any, place: str) -> Iterator[str]:
    """What differs, by place; elements of an array are compared in turn and have one place."""
    if isinstance(new, dict) and isinstance(old, dict):
        for name in [*new, *(each for each in old if each not in new)]:
            if name not in old:
                yield f"{place}.{name} is missing"
            elif name not in new:
                yield f"{place}.{name} is added: {on_one_line(old[name])}"
            else:
                yield from _changes(new[name], old[name], f"{place}.{name}")
    elif isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        for one, other in zip(new, old, strict=True):
            yield from _changes(one, other, f"{place}[]")
    elif new != old:
        yield f"{place} is {on_one_line(old)} instead of {on_one_line(new)}"


async def _get(client: httpx.AsyncClient, path: str) -> Json:
    answer = await client.get(path)
    answer.raise_for_status()
    document: Json = answer.json()
    return document


async def _talk(client: httpx.AsyncClient, version: str) -> dict[str, Json]:
    """Get to know the server by a version's rules, and ask for its lists."""
    headers = {"mcp-protocol-version": version, "accept": "application/json, text/event-stream"}
    params: Json = {}
    if era(version) is Era.HANDSHAKE:
        hello = await _call(
            client,
            "initialize",
            {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT},
            headers,
        )
        headers["mcp-session-id"] = hello.headers["mcp-session-id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        (await client.post(MCP, json=ready, headers=headers)).raise_for_status()
    else:
        params["_meta"] = {
            f"{META}protocolVersion": version,
            f"{META}clientInfo": CLIENT,
            f"{META}clientCapabilities": {},
        }
        hello = await _call(client, "server/discover", params, headers)
    found = {"hello": hello.json()["result"]}
    for method in LISTS:
        found[method] = (await _call(client, method, params, headers)).json()["result"]
        assert "nextCursor" not in found[method], "the snapshot has one page of it only"
    return found


async def _call(
    client: httpx.AsyncClient, method: str, params: Json, headers: Mapping[str, str]
) -> httpx.Response:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await client.post(MCP, json=request, headers={**headers, "mcp-method": method})
    answer.raise_for_status()
    assert "result" in answer.json(), answer.text
    return answer


def _without_address(value: Any, url: str) -> Any:
    """The value with URL in place of where this very system listened."""
    if isinstance(value, dict):
        return {name: _without_address(each, url) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_address(each, url) for each in value]
    return value.replace(url, "URL") if isinstance(value, str) else value
