"""A server or its database is killed while it commits: nothing acknowledged is lost.

ACCORD_RACES=100 makes it some more rounds (`make races`).
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from accord.store import Store, open_store
from tests.app.served import Served, accord, serving
from tests.hub.races.line import Line, lines
from tests.hub.races.racing import FLAGS, SECRET, faults_in
from tests.hub.races.writers import Writers
from tests.patience import PATIENCE
from tests.store.cluster import Cluster, running_cluster

TIMES = int(os.environ.get("ACCORD_RACES", "1"))
ROUNDS = 2 + TIMES // 5
AT_ONCE = 8

BACKENDS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'accord'
"""


@pytest.fixture
def fragile() -> Iterator[Cluster]:
    """A PostgreSQL that may be crashed, as it is nobody else's."""
    with running_cluster() as found:
        yield found


async def verified(data: Path, database: str) -> None:
    """The audit trail is whole."""
    environ = {**SECRET, **({} if database.startswith("sqlite") else {"ACCORD_DATABASE": database})}
    code, out, err = await accord("audit", "verify", "--data", str(data), env=environ)
    assert (code, err) == (0, ""), out


async def ready(served: Served) -> None:
    """Until it says that it is."""
    async with asyncio.timeout(PATIENCE), served.client() as client:
        while (await client.get("/readyz")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.timeout(300 * TIMES)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_a_server_that_is_killed_loses_nothing_that_it_acknowledged(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(9)
    data = tmp_path / "data"
    database = f"sqlite://{data}/accord.db"
    flags: tuple[str, ...] = FLAGS
    if engine == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        database = cluster.database()
        flags = (*FLAGS, "--database", database)
    writers = Writers()
    for _ in range(ROUNDS):
        async with serving(data, *flags, env=SECRET) as served:
            async with lines(served.url, served.token, AT_ONCE) as callers:
                tasks = [asyncio.create_task(writers.write(line)) for line in callers]
                await writers.acknowledgements(chance.randint(1, 200))
                served.process.kill()
                await asyncio.gather(*tasks)
            assert await served.process.wait() == -signal.SIGKILL
        async with open_store(database) as store:
            await writers.check(store)
    async with serving(data, *flags, env=SECRET) as served:
        await ready(served)
    assert set(writers.statuses) <= {200, 201}
    await verified(data, database)


async def kill_backend(store: Store, chance: random.Random, cluster: Cluster) -> None:
    """PostgreSQL takes all connections down and recovers when one of its processes is killed."""
    rows = await store.fetch(BACKENDS)
    os.kill(chance.choice([row["pid"] for row in rows]), signal.SIGKILL)


async def end_backends(store: Store, chance: random.Random, cluster: Cluster) -> None:
    """As an administrator ends connections."""
    await store.fetch(f"SELECT pg_terminate_backend(pid) FROM ({BACKENDS}) AS found")


async def restart(store: Store, chance: random.Random, cluster: Cluster) -> None:
    await asyncio.to_thread(cluster.stop)
    await asyncio.to_thread(cluster.start)


@pytest.mark.timeout(300 * TIMES)
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_server_survives_its_database(
    tmp_path: Path, fragile: Cluster, workers: int
) -> None:
    chance = random.Random(9)
    data, database = tmp_path / "data", fragile.database()
    flags = ("--database", database, "--workers", str(workers))
    writers = Writers()
    async with serving(data, *FLAGS, *flags, env=SECRET) as served:
        async with lines(served.url, served.token, AT_ONCE) as callers:
            tasks = [asyncio.create_task(writers.write(line)) for line in callers]
            for number in range(1 + ROUNDS):
                await writers.acknowledgements(chance.randint(20, 100))
                crash = (kill_backend, end_backends, restart)[number % 3]
                async with open_store(database) as store:
                    await crash(store, chance, fragile)
                await ready(served)
            await writers.acknowledgements(50)
            writers.over = True
            await asyncio.gather(*tasks)
        assert await served.stop() == 0
        assert faults_in(served.log) == []
    assert set(writers.statuses) == {200, 201, 503}
    async with open_store(database) as store:
        await writers.check(store)
    await verified(data, database)


@pytest.mark.req("H-02")
async def test_where_one_of_two_processes_is_killed_the_other_goes_on(
    tmp_path: Path, cluster: Cluster
) -> None:
    data, database = tmp_path / "data", cluster.database()
    flags = ("--database", database, "--workers", "2")
    writers = Writers()
    async with serving(data, *FLAGS, *flags, env=SECRET) as served:
        async with lines(served.url, served.token, AT_ONCE) as callers:
            tasks = [asyncio.create_task(writers.write(line)) for line in callers]
            await writers.acknowledgements(100)
            os.kill(children_of(served.process.pid)[0], signal.SIGKILL)
            await writers.acknowledgements(100)
            writers.over = True
            await asyncio.gather(*tasks)
        await served.stop()
        assert "ended with exit code 137; another takes its place now" in served.log
        assert faults_in(served.log) == []
    assert set(writers.statuses) == {200, 201}
    async with open_store(database) as store:
        await writers.check(store)
    await verified(data, database)


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in text.split()]


async def test_while_the_database_is_away_everything_says_so_and_then_goes_on(
    tmp_path: Path, fragile: Cluster
) -> None:
    data, database = tmp_path / "data", fragile.database()
    async with (
        serving(data, *FLAGS, "--database", database, env=SECRET) as served,
        lines(served.url, served.token, 3) as callers,
        served.client() as client,
    ):
        assert await statuses(callers) == [200, 201, 200]
        fragile.stop()
        assert await statuses(callers) == [503, 503, 503]
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/healthz")).status_code == 200
        fragile.start()
        await ready(served)
        assert await statuses(callers) == [200, 201, 200]
        await served.stop()
        assert faults_in(served.log) == []
    await verified(data, database)


async def statuses(callers: list[Line]) -> list[int]:
    """What a read, a write and a tool are answered with, asked at once."""
    reading, writing, calling = callers
    answers = await asyncio.gather(
        reading.ask("GET", "/epics?limit=1"),
        writing.ask("POST", "/epics", {"title": "E"}),
        calling.tool("list_epics", limit=1),
    )
    return [each.status for each in answers]
