"""Clients by others work with the whole system, over HTTP with a token, in both eras."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.app.served import Served, accord, serving
from tests.mcp.conformance import suite
from tests.mcp.interop.commands import output, python
from tests.mcp.server.http.service import request
from tests.node_packages import node_packages

MODERN, LEGACY = "2026-07-28", "2025-11-25"
PEERS = Path(__file__).parent / "peers"
INTEROP = Path(__file__).parents[2] / "mcp" / "interop"
CONFORMANCE = Path(suite.__file__).parent

CLIENTS = [
    ("mcp", "auto", MODERN),
    ("mcp", "legacy", LEGACY),
    ("typescript 1", "legacy", LEGACY),
    ("typescript 2", "auto", MODERN),
    ("typescript 2", "legacy", LEGACY),
]


async def post(served: Served, token: str, method: str, **params: Any) -> Any:
    """Return the result of a plain request."""
    async with served.client(token) as client:
        answer = await client.post("/api/v1/mcp", json=request(method, params))
    return answer.json()["result"]


async def call(served: Served, tool: str, **arguments: Any) -> Any:
    found = await post(served, served.token, "tools/call", name=tool, arguments=arguments)
    return found["structuredContent"]


@pytest.fixture
def packages(peer: str) -> Path | None:
    """Return the folder with the Node packages that a client needs."""
    return node_packages(INTEROP) if peer.startswith("typescript") else None


@pytest.fixture
def client(peer: str) -> list[str]:
    """Return the command that runs a client."""
    if peer == "mcp":
        return [python(peer), str(PEERS / "official.py")]
    node = str(suite.node(node_packages(CONFORMANCE)))
    return [node, str(PEERS / "typescript.js"), peer.split()[1]]


@pytest.mark.req("H-03", "H-06", "H-07", "H-08", "H-09", "H-10")
@pytest.mark.parametrize(("peer", "mode", "version"), CLIENTS)
async def test_clients_of_others_work_with_the_hub(
    tmp_path: Path,
    client: list[str],
    packages: Path | None,
    peer: str,
    mode: str,
    version: str,
) -> None:
    data = tmp_path / "data"
    async with serving(data) as served:
        _, _, _ = await accord("user", "create", "uma", "--role", "user", "--data", str(data))
        made = await accord(
            *("token", "create", "--user", "uma", "--name", "laptop", "--data", str(data))
        )
        token = made[1].strip()
        await call(served, "create_prompt", name="be-kind", content="Be kind.")
        await call(served, "activate_prompt", id="be-kind")
        tools = len((await post(served, token, "tools/list"))["tools"])
        report = await asyncio.to_thread(
            output,
            *client,
            *(mode, f"{served.url}/api/v1/mcp", token),
            packages=packages,
        )
        missing = report.pop("missing")
        assert missing == -32602 if version == MODERN else missing in (-32002, -32602)
        wrong = report.pop("wrong")
        assert wrong[0] is True
        assert wrong[1][0]["pointer"] == ("/title" if peer == "mcp" else "/limit")
        assert report == {
            "version": version,
            "instructions": "Be kind.",
            "tools": tools,
            "got": "Checkout",
            "found": 1,
            "templates": report["templates"],
            "resources": ["user-story://US-001", "prompt://PROMPT-001"],
            "read": "EP-001",
            "prompts": ["be-kind"],
            "prompt": "Be kind.",
            "completed": ["EP-001"],
        }
        assert token not in served.log
