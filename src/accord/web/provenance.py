"""Through what somebody did something, in words. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import UnsetType

ASSISTANTS: Final = frozenset({"mcp", "a2a"})
"""Faces that programs use which write by themselves."""
FACES: Final = {
    "mcp": "an MCP client",
    "rest": "the REST interface",
    "rpc": "JSON-RPC",
    "a2a": "an agent",
    "cli": "the command line",
    "web": "",
    "system": "a workflow",
}


def through(face: str | UnsetType, client: str | UnsetType) -> str:
    """The program, or the face where it did not tell its name; empty for the pages, which everybody
    uses."""
    if isinstance(face, UnsetType) or face == "web":
        return ""
    return client if client and not isinstance(client, UnsetType) else FACES.get(face, face)


def is_assistant(face: str | UnsetType) -> bool:
    return face in ASSISTANTS
