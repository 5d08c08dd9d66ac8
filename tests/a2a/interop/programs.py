"""Agents and clients that others wrote, as commands."""

from __future__ import annotations

from pathlib import Path

from tests.node_packages import node_packages
from tests.python_packages import python_packages

HERE = Path(__file__).parent
PEERS = HERE / "peers"


def agent_of(language: str) -> list[str]:
    """What runs an agent of theirs; the test skips where its packages cannot be had."""
    return program_of(language, "agent")


def client_of(language: str) -> list[str]:
    """What runs a client of theirs."""
    return program_of(language, "client")


def program_of(language: str, name: str) -> list[str]:
    if language == "python":
        return [python_packages(HERE), str(PEERS / f"{name}.py")]
    packages = node_packages(HERE)
    # A module is looked for beside the file that asks for it, so that the file is put there.
    script = packages.parent / f"{name}.mjs"
    script.write_bytes((PEERS / f"{name}.mjs").read_bytes())
    return ["node", str(script)]
