"""Whichever of several workers is scraped, the page has what all of them count."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from accord.app.health import WorkerMetrics, WorkerSocket, share_worker_metrics
from accord.telemetry.metrics import Exposition, Family
from tests.app.served import serving
from tests.store.cluster import Cluster

KEY = {"ACCORD_SECRET_KEY": "k" * 64}
REQUESTS = 24


@pytest.fixture
def folder() -> Iterator[Path]:
    # The path of a socket may have some hundred bytes, which those of tests exceed.
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def counting(count: int) -> Mapping[str, Family]:
    page = Exposition()
    page.family("calls", "counter", "Calls.", [((), count)])
    return page.families


async def gathered(metrics: WorkerMetrics) -> list[str]:
    page = Exposition()
    await metrics.gather(page)
    return [line for line in page.encode().decode().splitlines() if not line.startswith("#")]


async def test_each_of_them_tells_of_all(folder: Path) -> None:
    async with (
        share_worker_metrics(WorkerSocket(folder, 1), lambda: counting(3)) as first,
        share_worker_metrics(WorkerSocket(folder, 2), lambda: counting(4)) as second,
    ):
        both = [
            'accord_worker_up{worker="1"} 1',
            'accord_worker_up{worker="2"} 1',
            'calls{worker="1"} 3',
            'calls{worker="2"} 4',
        ]
        assert await gathered(first) == await gathered(second) == both


async def test_one_takes_the_place_of_another_that_was_killed(folder: Path) -> None:
    (folder / "1.sock").touch()
    async with share_worker_metrics(WorkerSocket(folder, 1), lambda: counting(1)) as first:
        assert await gathered(first) == ['accord_worker_up{worker="1"} 1', 'calls{worker="1"} 1']
    assert not (folder / "1.sock").exists()


async def test_one_that_was_killed_is_shown_to_be_missing(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with share_worker_metrics(WorkerSocket(folder, 1), lambda: counting(1)) as first:
        (folder / "2.sock").touch()
        assert await gathered(first) == [
            'accord_worker_up{worker="1"} 1',
            'accord_worker_up{worker="2"} 0',
            'calls{worker="1"} 1',
        ]
    assert "worker 2 does not tell what it counts" in caplog.text


async def test_a_scrape_of_two_workers_has_the_requests_to_both(
    tmp_path: Path, cluster: Cluster
) -> None:
    flags = ("--database", cluster.database(), "--workers", "2")
    async with serving(tmp_path / "data", *flags, env=KEY) as served:

        async def ask() -> None:
            # A connection for each, so that the kernel shares them among the workers.
            async with served.client() as client:
                assert (await client.get("/api/v1/epics")).status_code == 200

        await asyncio.gather(*(ask() for _ in range(REQUESTS)))
        async with httpx.AsyncClient(base_url=served.url) as client:
            page = (await client.get("/metrics")).text
        assert await served.stop() == 0
    up = re.findall(r'accord_worker_up\{worker="(\d)"\} 1', page)
    counted = re.findall(
        r'accord_http_requests_total\{worker="(\d)",face="rest",status="200"\} (\d+)', page
    )
    assert up == ["1", "2"]
    assert sum(int(count) for _, count in counted) == REQUESTS
    # What is in the database is counted once, whoever looks.
    assert 'accord_runs{state="running"} 0' in page.splitlines()
