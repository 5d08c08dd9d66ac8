"""Clients that others wrote call our agent: the official SDKs of Python and JavaScript, in both
formats."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from accord.a2a import Wire
from tests.a2a.interop.programs import client_of
from tests.interop.programs import serving

pytestmark = pytest.mark.timeout(180)

SEEN: dict[str, Any] = {
    "name": "demo",
    "skills": ["shout", "echo", "add"],
    "shout": ["TASK_STATE_COMPLETED", "HELLO", ""],
    "got": ["TASK_STATE_COMPLETED", "HELLO", ""],
    "echo": "echo: hi",
    "sum": 3,
    "asking": ["TASK_STATE_INPUT_REQUIRED", "", "Which city?"],
    "answered": ["TASK_STATE_COMPLETED", "rain in Oslo", ""],
    "rejected": ["TASK_STATE_REJECTED", "", "not today"],
    "stream": ["task", "status_update", "artifact_update", "artifact_update", "status_update"],
    "cancelled": "TASK_STATE_CANCELED",
    "unknown": "TaskNotFoundError",
}
"""What every client reports."""


@pytest.fixture
def ours() -> Iterator[str]:
    """The URL of our agent."""
    with serving([sys.executable, "-m", "tests.a2a.interop.server"]) as url:
        yield url


@pytest.fixture
def client(language: str) -> list[str]:
    return client_of(language)


@pytest.mark.req("W-12")
@pytest.mark.parametrize("wire", list(Wire))
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_clients_of_others_use_our_agent(
    ours: str, client: list[str], language: str, wire: Wire
) -> None:
    done = subprocess.run(
        [*client, ours, wire.value],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report.pop("followed")[-1] == "status_update"
    report["unknown"] = report["unknown"].removeprefix("JsonRpc")
    assert report == SEEN
