"""Bridges that are killed and stopped for real, and databases that go away. The agents keep what
they were asked: that is compared with what the runs were told."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from accord.a2a import message_id
from accord.app.database import MIGRATIONS
from accord.store import open_store
from tests.a2a.scripted import Asked
from tests.patience import PATIENCE
from tests.store.cluster import Cluster, running_cluster
from tests.workflows.bridge.unruly import HANG, done, reply, task03, unruly
from tests.workflows.bridge.yard import RUN, Tasks, Yard, until, working

pytestmark = pytest.mark.req("W-09")

LEASE = 1.0
ROOT = Path(__file__).parents[3]


@pytest.fixture
def url(cluster: Cluster, migrated_database: str) -> Iterator[str]:
    """Only PostgreSQL has bridges of their own."""
    made = cluster.database(template=migrated_database)
    yield made
    cluster.drop(made)


@asynccontextmanager
async def bridge(url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A bridge that runs, until it is killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.workflows.bridge.process", url, str(LEASE)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            assert (await process.stdout.readline()).startswith(b"ready ")
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_a_task_that_the_agent_began_is_followed_when_its_bridge_is_killed(url: str) -> None:
    """Rule 1: the id of the agent's task is stored before anything else is done with it."""
    killed = asyncio.Event()

    def answer(asked: Asked, n: int) -> bytes:
        if asked.json["method"] == "message/send":
            return reply(asked, task03("working"))
        return done(asked, "followed") if killed.is_set() else reply(asked, task03("working"))

    async with open_store(url, durable=False) as store, unruly(answer) as agent:
        tasks = Tasks(store)
        await tasks.register("a", agent.url)
        async with bridge(url) as process:
            id = await tasks.ask("a")
            await agent.wait(2)
            process.kill()
            await process.wait()
        killed.set()
        async with bridge(url):
            told = await tasks.told(id)
    assert (told.output, told.attempts) == ("followed", 1)
    assert agent.methods.count("message/send") == 1


async def test_a_task_of_which_nothing_is_known_is_sent_again_as_the_same_message(
    url: str,
) -> None:
    """Rule 2: our own crash is an unknown outcome."""

    def answer(asked: Asked, n: int) -> bytes:
        return HANG if n == 1 else done(asked, "again")

    async with open_store(url, durable=False) as store, unruly(answer) as agent:
        tasks = Tasks(store)
        await tasks.register("a", agent.url)
        async with bridge(url) as process:
            id = await tasks.ask("a", task="s")
            await agent.wait(1)
            process.kill()
            await process.wait()
        async with bridge(url):
            told = await tasks.told(id)
    assert (told.output, told.attempts) == ("again", 1)
    assert agent.message_ids == [message_id(RUN, "s", "", "1")] * 2


async def test_a_bridge_that_was_stopped_past_its_lease_writes_nothing(url: str) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        if n > 1:
            return done(asked, "second")
        process.send_signal(signal.SIGSTOP)
        return done(asked, "first")

    async with open_store(url, durable=False) as store, unruly(answer) as agent:
        tasks = Tasks(store)
        await tasks.register("a", agent.url)
        async with bridge(url) as process:
            id = await tasks.ask("a")
            await agent.wait(1)
            async with bridge(url):
                told = await tasks.told(id)
                process.send_signal(signal.SIGCONT)
                other = await tasks.ask("a")
                await tasks.told(other)
                await asyncio.sleep(0.5)
                assert await tasks.arrivals(id) == [told]
                row = await tasks.row(id)
    assert told.output == "second"
    assert (row["fence"], row["outcome"]) == (2, "success")


async def test_cancelling_reaches_the_agent_also_when_its_bridge_is_dead(url: str) -> None:
    """Rule 7: cancel is a message to the bridge too."""

    def answer(asked: Asked, n: int) -> bytes:
        state = "canceled" if asked.json["method"] == "tasks/cancel" else "working"
        return reply(asked, task03(state))

    async with open_store(url, durable=False) as store, unruly(answer) as agent:
        tasks = Tasks(store)
        await tasks.register("a", agent.url)
        async with bridge(url) as process:
            id = await tasks.ask("a")
            await agent.wait(2)
            process.kill()
            await process.wait()
        await tasks.cancel(id)
        async with bridge(url):
            row = await tasks.in_state(id, "done")
    assert (row["outcome"], agent.methods[-1]) == ("cancelled", "tasks/cancel")
    assert agent.methods.count("message/send") == 1


async def test_what_ends_while_the_database_is_away_is_kept_and_nobody_is_asked_twice() -> None:
    gate = asyncio.Event()
    with running_cluster() as cluster:
        url = cluster.database("away")
        async with open_store(url, durable=False) as store:
            for part, folder in MIGRATIONS.items():
                await store.migrate(part, folder)
        async with unruly(lambda asked, n: done(asked)) as agent:
            slow = agent.connected

            async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await gate.wait()
                await slow(reader, writer)

            server = await asyncio.start_server(connected, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            async with working(url, lease=0.5, poll=0.1, durable=True) as yard:
                await yard.register("a", f"http://127.0.0.1:{port}/", timeout=30.0)
                ids = [await yard.ask("a") for _ in range(5)]
                await until(lambda: _holds(yard, 5))
                await asyncio.to_thread(cluster.stop)
                gate.set()
                await agent.wait(5)
                await until(lambda: _lost(yard.membership.lost))
                await asyncio.to_thread(cluster.start)
                told = [await yard.told(id, patience=40.0) for id in ids]
            server.close()
    assert [each.output for each in told] == ["done"] * 5
    assert [each.attempts for each in told] == [1] * 5
    assert len(agent.asked) == 5


async def _holds(yard: Yard, count: int) -> bool:
    return yard.worker.in_flight == count


async def _lost(lost: asyncio.Event) -> bool:
    return lost.is_set()
