"""A worker and its tasks: taking, limits, cancelling, closing, leases and fences, on both engines."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord.a2a import UnknownOutcomeError
from accord.a2a.protocol.errors import DefiniteError
from accord.store import open_store
from accord.telemetry.metrics import Exposition
from accord.workflows.bridge.task import (
    ClaimedTask,
    Outcome,
    Progress,
    TaskFailure,
    TaskSuccess,
    Terms,
)
from accord.workflows.bridge.worker import TaskWorker
from accord.workflows.bus.bus import EmbeddedBus
from accord.workflows.core.definition import Retry
from accord.workflows.core.events import CallAgent, TaskSucceeded
from accord.workflows.storage.leases import Membership
from tests.workflows.bridge.yard import RUN, SOON, Tasks, Yard, until, working


class Hands:
    """A caller that does what inputs say, and keeps what it did."""

    def __init__(self, **terms: Any) -> None:
        self.terms_of: dict[str, Terms] = {}
        self.usual = Terms(retry=SOON, **terms)
        self.called: list[ClaimedTask] = []
        self.cancelled: list[ClaimedTask] = []
        self.gate = asyncio.Event()
        self.busy: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def terms(self, target: str) -> Terms:
        return self.terms_of.get(target, self.usual)

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        self.called.append(task)
        self.busy[task.target] += 1
        self.most[task.target] = max(self.most[task.target], self.busy[task.target])
        try:
            return await self._do(task, progress)
        finally:
            self.busy[task.target] -= 1

    async def _do(self, task: ClaimedTask, progress: Progress) -> Outcome:
        match task.command.input:
            case "wait":
                await self.gate.wait()
            case "follow":
                if not task.remote_task:
                    await progress("r-1", "ctx-1")
                await self.gate.wait()
            case "fail":
                return TaskFailure(code="no", message="it failed")
            case "lost":
                raise UnknownOutcomeError("lost", "nobody answered")
            case "wrong":
                raise DefiniteError("wrong", "it is wrong")
            case "bug":
                raise ZeroDivisionError
        return TaskSuccess(output=task.command.input)

    async def cancel(self, task: ClaimedTask) -> None:
        self.cancelled.append(task)

    @property
    def tasks(self) -> list[str]:
        return [task.task for task in self.called]


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
async def yard(migrated_url: str, hands: Hands) -> AsyncIterator[Yard]:
    async with working(migrated_url, {"agent": hands}, drain=0.2) as made:
        yield made
        hands.gate.set()


def call(task: str, input: Any = "x", agent: str = "a", **options: Any) -> CallAgent:
    return CallAgent(task=task, step=task, agent=agent, input=input, **options)


async def test_many_tasks_are_done_each_once(yard: Yard, hands: Hands) -> None:
    ids = await yard.give(*(call(f"t{n}", n) for n in range(500)))
    await yard.told(ids[-1])
    await until(lambda: _empty(yard))
    rows = await yard.store.fetch("SELECT message_id FROM run_inbox")
    assert sorted(row["message_id"] for row in rows) == sorted(f"{id}/done" for id in ids)
    assert sorted(hands.tasks) == sorted(f"t{n}" for n in range(500))


async def _empty(yard: Yard) -> bool:
    return yard.worker.in_flight == 0


async def _not_busy(hands: Hands) -> bool:
    return not any(hands.busy.values())


async def test_a_target_has_no_more_at_once_than_it_may(yard: Yard, hands: Hands) -> None:
    hands.terms_of["small"] = Terms(concurrency=3)
    ids = await yard.give(*(call(f"t{n}", "wait", "small") for n in range(20)))
    await until(lambda: _called(hands, 3))
    hands.gate.set()
    for id in ids:
        await yard.told(id)
    assert hands.most["small"] == 3


async def _called(hands: Hands, count: int) -> bool:
    return len(hands.called) >= count


async def test_one_slow_target_does_not_starve_the_others(migrated_url: str, hands: Hands) -> None:
    hands.terms_of["slow"] = Terms(concurrency=2)
    async with working(migrated_url, {"agent": hands}, most=100, drain=0.2) as yard:
        slow = await yard.give(*(call(f"s{n}", "wait", "slow") for n in range(200)))
        fast = await yard.give(*(call(f"f{n}", "x", "fast") for n in range(50)))
        for id in fast:
            await yard.told(id)
        assert yard.worker.in_flight <= 100
        assert hands.most == {"slow": 2, "fast": hands.most["fast"]}
        hands.gate.set()
        await yard.told(slow[-1])


async def test_tasks_wait_until_they_are_due(yard: Yard, hands: Hands) -> None:
    policy = Retry(attempts=2, initial_delay=0.3, jitter=False)
    before = time.monotonic()
    told = await yard.told((await yard.give(call("t", "lost", retry=policy)))[0])
    assert time.monotonic() - before >= 0.3
    assert (told.error.code, told.attempts, len(hands.called)) == ("lost", 2, 2)
    assert [task.attempt for task in hands.called] == [1, 2]
    assert [task.fence for task in hands.called] == [1, 2]


async def test_a_caller_with_a_bug_fails_its_task_only(yard: Yard) -> None:
    bad, good = await yard.give(call("bad", "bug"), call("good"))
    assert (await yard.told(bad)).error.code == "internal"
    assert (await yard.told(good)).output == "x"


TASK = """
INSERT INTO tasks (id, run_id, task, kind, target, command, state, remote_task, created_at)
VALUES ($1, 'r', $1, 'agent', 'a', $2, 'ready', 'r-1', 0) RETURNING id
"""
NEWER = '{"type": "call_agent", "schema": 99}'


async def test_a_command_that_cannot_be_read_fails_its_task_only(yard: Yard) -> None:
    await yard.store.write(TASK, "broken", "{")
    await yard.store.notify("tasks_ready")
    assert (await yard.told("broken")).error.code == "unreadable_command"


@pytest.mark.req("W-16")
async def test_a_command_of_a_newer_release_waits_for_a_bridge_of_that(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    await yard.store.write(TASK, "newer", NEWER)
    query = "SELECT * FROM tasks WHERE id = 'newer' AND state = 'ready' AND fence = $1 AND due > 0"
    for times in (1, 2):
        await yard.store.notify("tasks_ready")
        [row] = await until(lambda n=times: yard.store.fetch(query, n))  # type: ignore[misc]
        assert row["due"] <= time.time() + 60.0
        assert (row["attempt"], row["remote_task"]) == (1, "r-1")
        await yard.store.execute("UPDATE tasks SET due = 0 WHERE id = 'newer'")
    told = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert [each.getMessage() for each in told] == [
        "task newer waits for a bridge of a newer release: schema 99 is newer than 2, "
        "the newest that is known here"
    ]
    await yard.cancel("newer")
    assert (await yard.in_state("newer", "done"))["outcome"] == "cancelled"
    assert await yard.arrivals("newer") == []


# Cancelling


async def test_a_cancelled_task_is_stopped_and_nobody_hears_of_it(yard: Yard, hands: Hands) -> None:
    [id] = await yard.give(call("t", "wait"))
    await until(lambda: _called(hands, 1))
    await yard.cancel(id)
    row = await yard.in_state(id, "done")
    assert (row["outcome"], row["owner"], await yard.arrivals(id)) == ("cancelled", None, [])
    assert hands.busy["a"] == 0


async def test_the_other_side_hears_that_a_task_it_began_is_cancelled(
    migrated_url: str,
) -> None:
    hands = Hands(follows=True)
    async with working(migrated_url, {"agent": hands}) as yard:
        [id] = await yard.give(call("t", "follow"))
        await until(lambda: _remote(yard, id))
        await yard.cancel(id)
        assert (await yard.in_state(id, "done"))["outcome"] == "cancelled"
    assert [task.remote_task for task in hands.cancelled] == ["r-1"]


async def _remote(yard: Tasks, id: str) -> bool:
    return bool((await yard.row(id))["remote_task"])


async def test_what_was_sent_is_waited_for_so_that_it_can_be_cancelled(migrated_url: str) -> None:
    """The id of what the other side began is known only when it has answered."""
    begun, answer = asyncio.Event(), asyncio.Event()

    class Slow(Hands):
        async def _do(self, task: ClaimedTask, progress: Progress) -> Outcome:
            begun.set()
            await answer.wait()
            await progress("r-9", "")
            raise AssertionError("it is cancelled by then")

    hands = Slow(follows=True)
    async with working(migrated_url, {"agent": hands}) as yard:
        [id] = await yard.give(call("t"))
        await begun.wait()
        await yard.cancel(id)
        await asyncio.sleep(0.3)
        assert hands.busy["a"] == 1
        answer.set()
        row = await yard.in_state(id, "done")
    assert (row["outcome"], row["remote_task"]) == ("cancelled", "r-9")
    assert [task.remote_task for task in hands.cancelled] == ["r-9"]


async def test_a_task_that_is_cancelled_before_it_arrives_is_never_begun(
    yard: Yard, hands: Hands
) -> None:
    await yard.cancel(f"{RUN}/late")
    late, other = await yard.give(call("late"), call("other"))
    await yard.told(other)
    row = await yard.row(late)
    assert (row["state"], row["outcome"], row["cancelled"]) == ("done", "cancelled", 1)
    assert hands.tasks == ["other"]


async def test_a_cancelled_task_for_nobody_is_just_cancelled(migrated_url: str) -> None:
    async with working(migrated_url) as yard:
        yard.membership.lost.set()
        id = await yard.ask("nobody")
        await yard.cancel(id)
        yard.membership.lost.clear()
        assert (await yard.in_state(id, "done"))["outcome"] == "cancelled"
        assert (await yard.arrivals(id), await yard.letters()) == ([], [])


async def test_a_cancelled_task_that_is_done_stays_as_it_is(yard: Yard) -> None:
    [id] = await yard.give(call("t"))
    await yard.told(id)
    await yard.cancel(id)
    row = await yard.row(id)
    assert (row["outcome"], row["cancelled"]) == ("success", 0)


async def test_a_task_that_asks_can_be_cancelled(yard: Yard, hands: Hands) -> None:
    [id] = await yard.give(call("t", "wait"))
    await until(lambda: _called(hands, 1))
    await yard.store.write(
        "UPDATE tasks SET state = 'asking', owner = NULL, remote_task = 'r-1', fence = 9"
        " WHERE id = $1 RETURNING id",
        id,
    )
    await yard.cancel(id)
    await yard.in_state(id, "done")
    assert [task.remote_task for task in hands.cancelled] == ["r-1"]


# Ending


async def test_close_lets_calls_finish_and_gives_the_rest_back(migrated_url: str) -> None:
    hands = Hands(concurrency=2)
    async with working(migrated_url, {"agent": hands}, drain=5.0) as yard:
        ids = await yard.give(*(call(f"t{n}", "wait") for n in range(3)))
        await until(lambda: _called(hands, 2))
        asyncio.get_running_loop().call_later(0.2, hands.gate.set)
    async with open_store(migrated_url, durable=False) as store:
        tasks = Tasks(store)
        rows = [await tasks.row(id) for id in ids]
    assert [row["state"] for row in rows] == ["done", "done", "ready"]
    assert [row["owner"] for row in rows] == [None] * 3


async def test_close_gives_back_what_takes_too_long(migrated_url: str) -> None:
    hands = Hands(follows=True)
    async with working(migrated_url, {"agent": hands}, drain=0.1) as yard:
        long, followed = await yard.give(call("long", "wait"), call("followed", "follow"))
        await until(lambda: _remote(yard, followed))
        await until(lambda: _called(hands, 2))
    async with open_store(migrated_url, durable=False) as store:
        tasks = Tasks(store)
        rows = [await tasks.row(id) for id in (long, followed)]
    given = [(row["state"], row["owner"], row["remote_task"], row["attempt"]) for row in rows]
    assert given == [("ready", None, "", 1), ("ready", None, "r-1", 1)]
    assert hands.cancelled == []


# Leases and fences


@pytest.mark.req("W-09")
async def test_the_tasks_of_one_that_died_are_taken_over_and_followed(
    migrated_url: str,
) -> None:
    first, second = Hands(follows=True), Hands(follows=True)
    async with working(migrated_url, {"agent": first}, lease=0.5, drain=0.0) as dying:
        [id] = await dying.give(call("t", "follow"))
        await until(lambda: _remote(dying, id))
        await _die(dying)
        async with working(migrated_url, {"agent": second}) as living:
            await until(lambda: _called(second, 1))
            second.gate.set()
            told = await living.told(id)
            row = await living.row(id)
    assert isinstance(told, TaskSucceeded)
    assert [task.remote_task for task in second.called] == ["r-1"]
    assert (row["fence"], row["outcome"]) == (2, "success")


async def _die(yard: Yard) -> None:
    """It does not say any more that it lives, and goes on all the same."""
    yard.membership._renewing.cancel()  # type: ignore[union-attr]  # as SIGSTOP would


async def test_what_a_stopped_worker_writes_late_is_refused(migrated_url: str) -> None:
    """Rule 8: a smaller fence is refused. Both did the work; the outcome of one counts."""
    first, second = Hands(), Hands()
    async with working(migrated_url, {"agent": first}, lease=0.3, poll=60.0) as stopped:
        [id] = await stopped.give(call("t", "wait"))
        await until(lambda: _called(first, 1))
        await _die(stopped)
        async with working(migrated_url, {"agent": second}) as living:
            await until(lambda: _called(second, 1))
            first.gate.set()  # it ends here while the other has it
            await until(lambda: _empty(stopped))
            assert await living.arrivals(id) == []
            assert (await living.row(id))["state"] == "running"
            second.gate.set()
            told = await living.told(id)
            assert await living.arrivals(id) == [told]
        page = Exposition()
        stopped.worker.write(page)
    assert b"accord_tasks_lost_total 1\n" in page.encode()


async def test_a_worker_stops_what_others_took(migrated_url: str) -> None:
    first, second = Hands(), Hands()
    async with working(migrated_url, {"agent": first}, lease=0.3, poll=0.1) as robbed:
        [id] = await robbed.give(call("t", "wait"))
        await until(lambda: _called(first, 1))
        await robbed.store.write(
            "UPDATE tasks SET owner = 'another', fence = fence + 1 RETURNING id"
        )
        await robbed.store.write(
            "INSERT INTO members (id, kind, since, until) VALUES ('another', 'bridge', 0, $1)"
            " RETURNING id",
            time.time() + 1_000,
        )
        await until(lambda: _empty(robbed))
        await until(lambda: _not_busy(first))
        assert (await robbed.row(id))["owner"] == "another"
    assert (first.cancelled, second.called) == ([], [])


async def test_nothing_is_begun_while_the_lease_may_be_over(yard: Yard, hands: Hands) -> None:
    yard.membership.lost.set()
    [id] = await yard.give(call("t"))
    await asyncio.sleep(0.3)
    assert hands.called == []
    yard.membership.lost.clear()
    assert (await yard.told(id)).output == "x"


async def test_two_workers_share_the_work(migrated_url: str) -> None:
    first, second = Hands(concurrency=2), Hands(concurrency=2)
    async with (
        working(migrated_url, {"agent": first}, most=4) as one,
        working(migrated_url, {"agent": second}, most=4),
    ):
        ids = await one.give(*(call(f"t{n}", "wait") for n in range(40)))
        await until(lambda: _called(first, 2))
        await until(lambda: _called(second, 2))
        first.gate.set()
        second.gate.set()
        for id in ids:
            await one.told(id)
    assert sorted(first.tasks + second.tasks) == sorted(f"t{n}" for n in range(40))


async def test_only_the_kinds_that_there_are_callers_for_are_taken(
    yard: Yard, hands: Hands
) -> None:
    await yard.store.write(
        "INSERT INTO tasks (id, run_id, task, kind, target, command, state, created_at)"
        " VALUES ('o', 'r', 'o', 'operation', 'x', '{}', 'ready', 0) RETURNING id"
    )
    [id] = await yard.give(call("t"))
    await yard.told(id)
    assert (await yard.row("o"))["state"] == "ready"


# Those who are ill


async def test_a_target_that_fails_is_left_alone_and_its_tasks_lose_no_attempts(
    migrated_url: str,
) -> None:
    clock = [time.time()]
    hands = Hands()
    async with working(migrated_url, {"agent": hands}, poll=0.05, now=lambda: clock[0]) as yard:
        once = Retry(attempts=1)
        for n in range(5):
            [id] = await yard.give(call(f"bad{n}", "lost", retry=once))
            await yard.told(id)
        assert yard.worker.breakers() == {("agent", "a"): "open"}
        ids = await yard.give(*(call(f"t{n}", "wait") for n in range(5)))
        [other] = await yard.give(call("other", "x", "b"))
        assert (await yard.told(other)).output == "x"
        await asyncio.sleep(0.2)
        assert [(await yard.row(id))["state"] for id in ids] == ["ready"] * 5
        page = Exposition()
        yard.worker.write(page)
        assert b'accord_task_breakers{kind="agent",target="a",state="open"} 1\n' in page.encode()
        clock[0] += 61.0
        await until(lambda: _called(hands, 9))
        await asyncio.sleep(0.2)
        assert (len(hands.called), hands.busy["a"]) == (9, 3)
        hands.gate.set()
        told = [await yard.told(id) for id in ids]
        assert yard.worker.breakers()["agent", "a"] == "closed"
    assert [each.attempts for each in told] == [1] * 5


async def test_what_waits_for_one_that_is_left_alone_can_be_cancelled(
    yard: Yard, hands: Hands
) -> None:
    for n in range(5):
        [id] = await yard.give(call(f"bad{n}", "lost", retry=Retry(attempts=1)))
        await yard.told(id)
    [id] = await yard.give(call("t"))
    await yard.cancel(id)
    assert (await yard.in_state(id, "done"))["outcome"] == "cancelled"


async def test_failures_of_the_work_itself_open_no_breaker(yard: Yard) -> None:
    for n in range(12):
        [id] = await yard.give(call(f"t{n}", "fail" if n % 2 else "wrong"))
        await yard.told(id)
    assert yard.worker.breakers() == {("agent", "a"): "closed"}


# Numbers


@pytest.mark.req("W-10")
async def test_what_was_done_is_counted(yard: Yard, hands: Hands) -> None:
    once = Retry(attempts=2, initial_delay=0.0, failures="all")
    for input in ("x", "fail", "lost"):
        [id] = await yard.give(call(f"t-{input}", input, retry=once))
        await yard.told(id)
    page = Exposition()
    yard.worker.write(page)
    lines = page.encode().decode().splitlines()
    assert [line for line in lines if line.startswith(("accord_tasks_ended", "accord_task_r"))] == [
        'accord_tasks_ended_total{kind="agent",outcome="error"} 2',
        'accord_tasks_ended_total{kind="agent",outcome="success"} 1',
        "accord_task_retries_total 2",
    ]
    calls = [line for line in lines if line.startswith("accord_task_calls_total")]
    assert calls == [
        'accord_task_calls_total{kind="agent",target="a",answered="no"} 2',
        'accord_task_calls_total{kind="agent",target="a",answered="yes"} 3',
    ]


async def test_a_worker_can_be_made_without_a_loop_of_its_own(migrated_url: str) -> None:
    """It begins with `start`, and `close` without it is fine."""
    async with open_store(migrated_url, durable=False) as store:
        worker = TaskWorker(store, Membership(store, "bridge"), EmbeddedBus(), {"agent": Hands()})
        await worker.close()
        assert worker.in_flight == 0
