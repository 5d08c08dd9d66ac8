"""Executors and bridges as processes of their own, and several workers, on PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.app.desk import ALLOWED, at, working
from tests.app.served import PATIENCE, serving
from tests.store.cluster import Cluster

KEY = {"ACCORD_SECRET_KEY": "k" * 64}
FAST = ("--lease-seconds", "1")
STEPS = {
    "name": "steps",
    "steps": [
        {"name": "first", "type": "agent", "agent": "worker", "input": "first"},
        {"name": "held", "type": "agent", "agent": "worker", "input": "hold on"},
        {"name": "epic", "type": "call", "operation": "create_epic", "input": {"title": "x"}},
    ],
    "output": "${steps.held.output}",
}


@asynccontextmanager
async def part(
    name: str, data: Path, url: str, *flags: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`accord executor` or `accord bridge`, running."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "accord", name, "--data", str(data), "--database", url),
        *(*FAST, *flags),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **KEY},
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            said = (await process.stdout.readline()).decode()
        assert said.startswith(f"{name} "), said
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(PATIENCE):
            await process.wait()


@pytest.mark.req("W-09")
async def test_parts_that_are_killed_are_replaced_by_others(
    tmp_path: Path, cluster: Cluster
) -> None:
    url = cluster.database()
    data = tmp_path / "data"
    flags = ("--database", url, "--workflows", "elsewhere", *ALLOWED)
    async with (
        working() as (agent, agent_url),
        serving(data, *flags, env=KEY) as served,
        at(served) as admin,
    ):
        await admin.prepare(agent_url, STEPS)
        id = await admin.start("steps")
        async with (
            part("executor", data, url) as executor,
            part("bridge", data, url, *ALLOWED) as bridge,
        ):
            async with asyncio.timeout(PATIENCE):
                await agent.began.wait()
            bridge.kill()
            executor.kill()
            await asyncio.gather(bridge.wait(), executor.wait())
        agent.go.set()
        async with part("executor", data, url), part("bridge", data, url, *ALLOWED):
            ended = await admin.ended(id)
        assert (ended["state"], ended["output"]) == ("completed", "HOLD ON")
        assert agent.texts == ["first", "hold on"]
        assert (await admin.get("/epics"))["total"] == 1


async def test_a_part_answers_probes_and_ends_well(tmp_path: Path, cluster: Cluster) -> None:
    url = cluster.database()
    data = tmp_path / "data"
    async with serving(data, "--database", url, "--workflows", "elsewhere", env=KEY):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "accord", "executor", "--data", str(data), "--database", url),
            *("--probes", "http://127.0.0.1:0"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **KEY},
        )
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            said = (await process.stdout.readline()).decode()
        found = re.search(r"probes at (\S+) ", said)
        assert found is not None, said
        async with httpx.AsyncClient(base_url=found[1]) as client:
            assert (await client.get("/readyz")).json() == {"status": "ready"}
            assert "accord_executor_shards 32" in (await client.get("/metrics")).text
        process.terminate()
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 0


@pytest.mark.req("W-09")
async def test_workers_share_the_runs(tmp_path: Path, cluster: Cluster) -> None:
    url = cluster.database()
    flags = ("--database", url, "--workers", "2", *ALLOWED, *FAST)
    quick = {
        "name": "quick",
        "steps": [{"name": "ask", "type": "agent", "agent": "worker", "input": "${input}"}],
    }
    async with (
        working() as (_, agent_url),
        serving(tmp_path / "data", *flags, env=KEY) as served,
        at(served) as admin,
    ):
        await admin.prepare(agent_url, quick)
        ids = [await admin.start("quick", f"run {number}") for number in range(20)]
        outputs = [(await admin.ended(id))["output"] for id in ids]
        assert outputs == [f"RUN {number}" for number in range(20)]
        assert await served.stop() == 0
