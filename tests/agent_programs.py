"""The agents in examples/agents, as commands that serve them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.installing import note_installation

AGENTS = Path(__file__).parent.parent / "examples" / "agents"
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


@cache
def _built() -> str:
    made = Path(mkdtemp(prefix="accord-go-")) / "agent"
    command = [_found("go"), "build", "-o", str(made), str(AGENTS / "go" / "main.go")]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return str(made)
