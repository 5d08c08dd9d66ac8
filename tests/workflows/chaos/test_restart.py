"""A server alone on its data, which was killed, goes on as soon as it is back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.app.desk import ALLOWED, at, working
from tests.app.served import serving
from tests.patience import PATIENCE


@pytest.mark.req("W-09")
async def test_after_a_kill_nobody_waits_for_the_lease_of_the_last_server(tmp_path: Path) -> None:
    step = {"name": "ask", "type": "agent", "agent": "worker", "input": "hold on"}
    flags = (*ALLOWED, "--lease-seconds", "600")
    async with working() as (agent, url):
        async with serving(tmp_path / "data", *flags) as served:
            async with at(served) as admin:
                await admin.prepare(url, {"name": "one", "steps": [step]})
                id = await admin.start("one")
                async with asyncio.timeout(PATIENCE):
                    await agent.began.wait()
            served.process.kill()
            await served.process.wait()
        agent.go.set()
        async with serving(tmp_path / "data", *flags) as served, at(served) as admin:
            assert (await admin.ended(id))["output"] == "HOLD ON"
    assert agent.texts == ["hold on"]
