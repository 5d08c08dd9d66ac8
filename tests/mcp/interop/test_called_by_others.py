"""Clients that others wrote call our server: the official SDKs of Python and TypeScript and
FastMCP, over stdio, Streamable HTTP and HTTP+SSE, in both eras."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.interop.commands import OURS, PEERS, output, python

MODERN, LEGACY = "2026-07-28", "2025-11-25"

CLIENTS = [
    ("mcp", "stdio", "auto", MODERN),
    ("mcp", "http", "legacy", LEGACY),
    ("mcp", "sse", "legacy", LEGACY),
    ("fastmcp", "http", "auto", MODERN),
    ("fastmcp", "stdio", "legacy", LEGACY),
    ("typescript 2", "http", "auto", MODERN),
    ("typescript 2", "stdio", "legacy", LEGACY),
    ("typescript 1", "http", "legacy", LEGACY),
    ("typescript 1", "sse", "legacy", LEGACY),
]
"""Each client over each transport or in each era, and all pairs of a transport and an era."""
REPETITIONS = [
    ("mcp", "http", "auto", MODERN),
    ("mcp", "stdio", "legacy", LEGACY),
    ("fastmcp", "stdio", "auto", MODERN),
    ("fastmcp", "http", "legacy", LEGACY),
    ("typescript 2", "stdio", "auto", MODERN),
    ("typescript 2", "http", "legacy", LEGACY),
    ("typescript 1", "stdio", "legacy", LEGACY),
]
"""All other combinations."""

SEEN: dict[str, Any] = {
    "server": "shop",
    "instructions": "Ask nicely.",
    "tools": ["add", "work", "fail", "ask", "tell", "where"],
    "sum": {"total": 3},
    "work": "done",
    "progress": [1, 2],
    "failed": True,
    "asked": "hello anna",
    "told": "a tale",
    "roots": "file:///work",
    "templates": ["weather://{city}"],
    "read": "rain in oslo",
    "prompts": ["greet"],
    "prompt": "hello you",
    "completed": ["anna", "anton"],
}
"""What every client reports, but for the version, and the code for a missing resource."""


@pytest.fixture
def client(peer: str, node: str) -> list[str]:
    """What runs a client."""
    if peer.startswith("typescript"):
        return [node, str(PEERS / "typescript.js"), peer.split()[1]]
    scripts = {"mcp": "official.py", "fastmcp": "fast.py"}
    return [python(peer), str(PEERS / scripts[peer])]


@pytest.mark.req("M-01", "M-05", "M-06", "M-09")
@pytest.mark.parametrize(
    ("peer", "transport", "mode", "version"),
    [*CLIENTS, *(pytest.param(*each, marks=pytest.mark.matrix) for each in REPETITIONS)],
)
def test_clients_of_others_find_everything(
    ours: str,
    packages: Path,
    client: list[str],
    peer: str,
    transport: str,
    mode: str,
    version: str,
) -> None:
    targets = {"stdio": json.dumps([*OURS, "stdio"]), "http": ours, "sse": f"{ours}/sse"}
    report = output(*client, transport, mode, targets[transport], packages=packages)
    # 2025-11-25, resources: -32002; 2026-07-28: -32602, to which TypeScript 2 turns the old one.
    missing = report.pop("missing")
    assert missing == -32602 if version == MODERN else missing in (-32002, -32602)
    assert report == {"version": version, **SEEN}
