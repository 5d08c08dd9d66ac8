"""The agents in examples/agents, as commands that serve them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installing import install_once, note_installation

AGENTS = Path(__file__).parent.parent / "examples" / "agents"
CACHE = Path(__file__).parent.parent / ".cache"
LANGUAGES = ("python", "node", "go")


def example(language: str) -> list[str]:
    """What serves an example at a free port; the test skips where the language is not there."""
    match language:
        case "python":
            return [sys.executable, str(AGENTS / "python" / "agent.py"), "0"]
        case "node":
            return [_found("node"), str(AGENTS / "node" / "agent.mjs"), "0"]
        case _:
            note_installation("the agent in Go")
            return [_built(), "0"]


def _found(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"only on machines with {program}")
    return found


def _built() -> str:
    source = AGENTS / "go" / "main.go"
    made = CACHE / "agent-go" / hashlib.sha256(source.read_bytes()).hexdigest()[:16]

    def build(folder: Path) -> None:
        command = [_found("go"), "build", "-o", str(folder / "agent"), str(source)]
        subprocess.run(command, check=True, capture_output=True, text=True)

    install_once(made, build)
    return str(made / "agent")
