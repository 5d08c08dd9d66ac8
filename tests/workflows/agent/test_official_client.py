"""The official SDK's client has a conversation with workflows, in both formats."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from accord.a2a import Wire
from accord.app.settings import Settings
from tests.a2a.interop.programs import program_of
from tests.workflows.agent.served import prepare, serving

SAID = [
    ["ROLE_USER", "x"],
    ["ROLE_AGENT", "hear waits for the signal go"],
    ["ROLE_USER", "now"],
]


@pytest.fixture(scope="module")
def conversation() -> list[str]:
    """The command of a program that talks by the official client."""
    return program_of("python", "conversation")


@pytest.mark.timeout(300)
@pytest.mark.req("W-25", "W-26")
@pytest.mark.parametrize("wire", Wire, ids=str)
async def test_the_official_client_goes_on_over_several_turns(
    tmp_path: Path, wire: Wire, conversation: list[str]
) -> None:
    settings = Settings(data=str(tmp_path / "data"), port=0, allow_private_agents=True)
    async with serving(settings, await prepare(settings)) as world:
        process = await asyncio.create_subprocess_exec(
            *conversation,
            *(world.url, wire.value, world.token),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    report = json.loads(out)
    unchosen = report.pop("unchosen")
    assert "must be a workflow: approve, ask, break, count, greet" in unchosen
    assert report == {
        "first": ["TASK_STATE_COMPLETED", "Hello Ann"],
        "second": ["TASK_STATE_COMPLETED", "Hello Bob"],
        "same": True,
        "answered": ["TASK_STATE_COMPLETED", "now"],
        "history None": SAID,
        "history 0": [],
        "history 1": SAID[-1:],
    }
