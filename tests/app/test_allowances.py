"""Every answer to a program says what its caller has left, whatever it speaks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from accord.app.settings import Settings
from accord.app.system import open_system, prepare

LIMIT = 1_000
LEFT = re.compile(r'"calls";r=(\d+);t=\d+')
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def modern(method: str, **params: Any) -> tuple[dict[str, Any], Mapping[str, str]]:
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **ACCEPT}
    name = params.get("name") or params.get("uri")
    if name:
        headers["Mcp-Name"] = name
    return rpc(method, **params, _meta=META), headers


def left(answer: httpx.Response) -> int:
    """How many calls are left, by the header that every answer has."""
    assert answer.headers["ratelimit-policy"] == f'"calls";q={LIMIT};w=60', answer.text
    found = LEFT.fullmatch(answer.headers["ratelimit"])
    assert found is not None
    return int(found[1])


@pytest.mark.req("H-43")
async def test_answers_say_what_is_left(migrated_url: str, tmp_path: Path) -> None:
    is_shared = migrated_url.startswith("postgres")
    settings = Settings(
        data=str(tmp_path / "data"),
        database=migrated_url if is_shared else "",
        secret_key="5" * 64 if is_shared else "",
        port=0,
        log_level="error",
        rate_limit=LIMIT,
        rate_burst=LIMIT,
    )
    first = await prepare(settings)
    assert first is not None
    async with (
        open_system(settings) as system,
        httpx.AsyncClient(
            base_url=system.url,
            headers={"authorization": f"Bearer {first.token}"},
            trust_env=False,
        ) as client,
    ):
        answers = [await client.get("/api/v1/epics")]
        answers.append(await client.post("/rpc", json=rpc("list_epics")))
        answers.append(await client.post("/rpc", json=[rpc("list_epics"), rpc("list_epics")]))
        answers.append(await client.post("/a2a", json=rpc("tasks/get", id="nothing")))
        answers.append(await client.get("/.well-known/agent-card.json"))
        for method, params in (
            ("tools/call", {"name": "list_epics", "arguments": {}}),
            ("tools/call", {"name": "get_epic", "arguments": {"id": "EP-999"}}),
            ("resources/read", {"uri": "epic://EP-999"}),
            ("tools/list", {}),
        ):
            body, headers = modern(method, **params)
            answers.append(await client.post("/api/v1/mcp", json=body, headers=headers))
        plain = rpc("tools/call", name="list_epics", arguments={})
        answers.append(await client.post("/api/v1/mcp", json=plain))
        answers.append(await client.post("/api/v1/mcp", json=[plain, {**plain, "id": 2}]))
        session = await _session(client)
        answers.append(await client.post("/api/v1/mcp", json=plain, headers=session))
        remaining = [left(each) for each in answers]
        assert all(0 < each < LIMIT for each in remaining)
        assert remaining[-1] < remaining[0]


async def _session(client: httpx.AsyncClient) -> dict[str, str]:
    begin = rpc(
        "initialize",
        protocolVersion="2025-11-25",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )
    begun = await client.post("/api/v1/mcp", json=begin, headers=ACCEPT)
    session = {"mcp-session-id": begun.headers["mcp-session-id"], **ACCEPT}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    await client.post("/api/v1/mcp", json=ready, headers=session)
    return session


@pytest.mark.req("H-43")
async def test_who_calls_too_often_is_told_the_same_everywhere(
    migrated_url: str, tmp_path: Path
) -> None:
    is_shared = migrated_url.startswith("postgres")
    settings = Settings(
        data=str(tmp_path / "data"),
        database=migrated_url if is_shared else "",
        secret_key="5" * 64 if is_shared else "",
        port=0,
        log_level="error",
        rate_limit=60,
        rate_burst=3,
    )
    first = await prepare(settings)
    assert first is not None
    async with (
        open_system(settings) as system,
        httpx.AsyncClient(
            base_url=system.url,
            headers={"authorization": f"Bearer {first.token}"},
            trust_env=False,
        ) as client,
    ):
        for _ in range(10):
            await client.get("/api/v1/epics")
        body, headers = modern("tools/call", name="list_epics", arguments={})
        for answer in (
            await client.get("/api/v1/epics"),
            await client.post("/rpc", json=rpc("list_epics")),
            await client.post("/api/v1/mcp", json=body, headers=headers),
        ):
            assert answer.status_code == 429
            assert answer.headers["ratelimit-policy"].startswith('"calls";q=3;w=')
            assert int(answer.headers["retry-after"]) > 0
