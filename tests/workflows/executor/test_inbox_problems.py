"""What goes wrong, on both engines: it is bounded, counted, told, and holds up nobody else."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from time import time
from typing import Any
from uuid import uuid4

import pytest

from accord.store import Store, open_store
from accord.store.store import ConstraintError
from accord.workflows.core.events import (
    Arrival,
    CancelRequested,
    Command,
    RetryRequested,
    SignalReceived,
    TaskFailed,
    TaskSucceeded,
    encode_event,
)
from accord.workflows.core.state import Failure
from accord.workflows.executor.inbox import CHECK_SECONDS, MAX_TRIES
from accord.workflows.storage.history import RunHistoryRow, append_history
from accord.workflows.storage.leases import shard_of
from accord.workflows.storage.messages import INBOX_WAKE, MAX_DELAY_SECONDS
from tests.workflows.executor.world import (
    Bridge,
    begin,
    executing,
    folded,
    load,
    outcome,
    save,
    send,
    until,
    until_finished,
    until_status,
    until_task,
)

POISON = "INSERT INTO run_inbox (message_id, run_id, shard, arrival) VALUES ($1, $2, $3, $4)"
LATE = {
    engine: f"""
    INSERT INTO run_inbox (id, message_id, run_id, shard, arrival) {how} VALUES (1, 'late', $1, $2, $3)
    """
    for engine, how in (("sqlite", ""), ("postgresql", "OVERRIDING SYSTEM VALUE"))
}


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        await save(opened, {"name": "two", "steps": [agent("a"), agent("b")]})
        await save(
            opened, {"name": "wait", "steps": [{"name": "w", "type": "wait", "signal": "s"}]}
        )
        yield opened


def agent(name: str) -> dict[str, Any]:
    return {"name": name, "type": "agent", "agent": "a"}


class Clock:
    """Jumps as told."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time() + self.ahead


async def poison(store: Store, run: str, *arrivals: str) -> None:
    for arrival in arrivals:
        await store.execute(POISON, str(uuid4()), run, shard_of(run), arrival)


async def until_given_up(store: Store, clock: Clock, count: int) -> list[dict[str, Any]]:
    """The letters, once there are as many as that; nobody waits for the time between tries."""
    columns = ("kind", "topic", "run_id", "code", "body", "attempts")

    async def found() -> list[dict[str, Any]]:
        clock.ahead += 60.0
        await store.notify(INBOX_WAKE)
        rows = await store.fetch("SELECT * FROM dead_letters ORDER BY body")
        return [{name: row[name] for name in columns} for row in rows] * (len(rows) == count)

    letters: list[dict[str, Any]] = await until(found)
    return letters


# Poison


DECIDED = '{"type":"timer_fired","schema":1,"at":1,"key":"w","kind":"wake"}'
UNKNOWN = '{"type":"unheard_of","schema":1,"at":1}'
DEEP = DECIDED.replace("1", "[" * 100_000 + "]" * 100_000)


@pytest.mark.req("W-16")
@pytest.mark.parametrize(
    "arrival", ["nonsense", DECIDED, UNKNOWN, DEEP], ids=["text", "decided", "unknown", "deep"]
)
async def test_a_message_that_cannot_be_read_waits_and_others_move_on(
    store: Store, caplog: pytest.LogCaptureFixture, arrival: str
) -> None:
    clock = Clock()
    [run, other] = await begin(store, "wait", count=2)
    await poison(store, run, arrival)
    async with executing(store, now=clock) as executor:
        await until_tried(store, clock, run, 8)
        await send(store, run, SignalReceived(at=time(), name="t", id="1"))
        await send(store, other, SignalReceived(at=time(), name="s", id="1"))
        await until_finished(store, [other])
        await until(lambda: _are_postponed(store, run, 1))  # the signal was taken
        [row] = await store.fetch(POSTPONED, run)
        assert 0 < row["due"] - clock() <= 60
        problem = (await load(store, run)).problem
        assert problem is not None
        assert problem.code == "unreadable"
        assert problem.message.startswith("a message for it cannot be read by this release: ")
        assert len(errors(caplog)) == 1
        # Somebody repairs it.
        signal = encode_event(SignalReceived(at=time(), name="s", id="2")).decode()
        await store.execute("UPDATE run_inbox SET arrival = $1", signal)
        clock.ahead += 60.0
        await store.notify(INBOX_WAKE)
        await until_finished(store, [run])
    assert (await load(store, run)).problem is None
    assert executor.metrics.dead_letters == 0


async def test_a_message_that_could_not_be_read_for_a_day_becomes_a_dead_letter(
    store: Store,
) -> None:
    clock = Clock()
    [run] = await begin(store, "wait")
    await poison(store, run, "nonsense", DECIDED)
    await store.execute("UPDATE run_inbox SET tries = $1", MAX_TRIES - 1)
    async with executing(store, now=clock) as executor:
        letters = await until_given_up(store, clock, 2)
        await send(store, run, SignalReceived(at=time(), name="s", id="1"))
        await until_finished(store, [run])
    letter = {"kind": "message", "topic": "run_inbox", "run_id": run, "attempts": MAX_TRIES}
    assert letters == sorted(
        [
            letter | {"code": "DecodeError", "body": "nonsense"},
            letter | {"code": "UnreadableMessageError", "body": DECIDED},
        ],
        key=lambda each: str(each["body"]),
    )
    assert executor.metrics.dead_letters == 2
    assert await store.fetch("SELECT id FROM run_inbox") == []
    assert MAX_TRIES * MAX_DELAY_SECONDS == 24 * 3_600


NEWER = '{"type":"signal_received","schema":99,"at":1,"name":"s","id":"1"}'
NEWER_HISTORY = '[{"type":"unheard_of","schema":99,"at":1}]'
KEEP_HISTORY = "UPDATE run_history SET events = $2 WHERE run_id = $1"
POSTPONED = "SELECT tries, due, problem FROM run_inbox WHERE run_id = $1 ORDER BY id"


async def until_tried(store: Store, clock: Clock, run: str, times: int) -> list[Any]:
    """Messages of a run, once all were tried so often; nobody waits for the time between tries."""

    async def found() -> list[Any]:
        clock.ahead += 10.0
        await store.notify(INBOX_WAKE)
        rows = await store.fetch(POSTPONED, run)
        return list(rows) if rows and min(row["tries"] for row in rows) >= times else []

    rows: list[Any] = await until(found)
    return rows


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "accord.workflows" and record.levelno >= logging.ERROR
    ]


@pytest.mark.req("W-16")
async def test_a_message_of_a_newer_release_waits_for_it_and_its_run_goes_on(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    [run] = await begin(store, "two")
    await poison(store, run, NEWER)
    async with executing(store, now=clock) as executor:
        await until_tried(store, clock, run, 8)
        await send(store, run, TaskSucceeded(at=time(), task="a", output=1))
        await until_task(store, f"{run}/b")
        [row] = await store.fetch(POSTPONED, run)
    assert 0 < row["due"] - clock() <= 60
    assert "schema 99" in row["problem"]
    assert executor.metrics.dead_letters == 0
    assert len(errors(caplog)) == 1
    problem = (await load(store, run)).problem
    assert problem is not None
    assert problem.code == "newer_schema"


@pytest.mark.req("W-16")
async def test_a_run_of_a_newer_release_waits_for_it_and_goes_on_in_order(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with executing(store):
        [run, other] = await begin(store, "wait", count=2)
        for each in (run, other):
            await until_status(store, each, "waiting")
    [row] = await store.fetch("SELECT events FROM run_history WHERE run_id = $1", run)
    await store.execute(KEEP_HISTORY, run, NEWER_HISTORY)
    async with executing(store, now=clock):
        for each in (run, other):
            await send(store, each, SignalReceived(at=time(), name="s", id="1"))
        await until_finished(store, [other])
        await until_tried(store, clock, run, 7)
    loaded = await load(store, run)
    assert (loaded.row.status, loaded.state.status) == ("waiting", "waiting")
    assert loaded.problem is not None
    assert loaded.unreadable is not None
    assert (loaded.problem.code, loaded.unreadable.code) == ("newer_schema",) * 2
    assert [each for each in errors(caplog) if run in each] == errors(caplog)
    assert len(errors(caplog)) == 1
    assert await store.fetch("SELECT id FROM dead_letters") == []
    # What came first waits the longest; when the cause is gone all of it is taken in order.
    async with executing(store, now=clock):
        await send(store, run, CancelRequested(at=time()))
        await until(lambda: _are_postponed(store, run, 2))
    await store.execute(KEEP_HISTORY, run, row["events"])
    await store.execute("UPDATE run_inbox SET due = $1 + 50 WHERE tries > 1", clock())
    async with executing(store, now=clock):
        await send(store, run, RetryRequested(at=time()))
        await until_finished(store, [run])
    loaded = await load(store, run)
    assert (loaded.state.status, loaded.problem, loaded.unreadable) == ("completed", None, None)
    assert await _is_empty(store)


async def _are_postponed(store: Store, run: str, count: int) -> bool:
    rows = await store.fetch(POSTPONED, run)
    return len(rows) == count and all(row["tries"] for row in rows)


@pytest.mark.req("W-16")
async def test_a_run_whose_workflow_cannot_be_read_waits_until_it_can(store: Store) -> None:
    clock = Clock()
    [row] = await store.fetch("SELECT definition FROM workflows WHERE name = 'wait'")
    change = "UPDATE workflows SET definition = $1 WHERE name = 'wait'"
    await store.execute(change, '{"name":"wait","steps":[],"of_a_newer_release":1}')
    [run] = await begin(store, "wait")
    async with executing(store, now=clock):
        await until_tried(store, clock, run, 6)
        problem = (await load(store, run)).problem
        assert problem is not None
        assert problem.code == "unreadable"
        await store.execute(change, row["definition"])
        clock.ahead += 60.0
        await store.notify(INBOX_WAKE)
        await until_status(store, run, "waiting")
    assert (await load(store, run)).problem is None


@pytest.mark.req("W-16")
async def test_a_run_whose_time_cannot_be_decided_on_does_not_hold_up_others(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    await save(store, {"name": "nap", "steps": [{"name": "w", "type": "wait", "for": 50}]})
    async with executing(store, now=clock):
        [run, other] = await begin(store, "nap", count=2)
        for each in (run, other):
            await until_status(store, each, "waiting")
    [row] = await store.fetch("SELECT events FROM run_history WHERE run_id = $1", run)
    await store.execute(KEEP_HISTORY, run, NEWER_HISTORY)
    clock.ahead += 60.0
    query = "SELECT id FROM runs WHERE id = $1 AND next_timer > $2"
    async with executing(store, now=clock) as executor:
        await until_finished(store, [other])
        for _ in range(2):
            await until(lambda: store.fetch(query, run, clock()))
            problem = (await load(store, run)).problem
            assert problem is not None
            assert problem.code == "newer_schema"
            clock.ahead += 61.0
        await until(lambda: store.fetch(query, run, clock()))
        await store.execute(KEEP_HISTORY, run, row["events"])
        clock.ahead += 61.0
        await until_finished(store, [run])
    assert executor.metrics.undecided == 3
    assert len(errors(caplog)) == 1
    assert (await load(store, run)).problem is None


async def test_a_message_that_commits_after_later_ones_were_read_is_not_missed(
    store: Store,
) -> None:
    async with executing(store):
        [run] = await begin(store, "wait")
        looks = time() + 3 * CHECK_SECONDS

        async def has_looked_often() -> bool:
            await send(store, run, SignalReceived(at=time(), name="other", id="1"))
            return time() > looks

        await until(has_looked_often, pause=0.1)
        late = encode_event(SignalReceived(at=time(), name="s", id="2")).decode()
        await store.execute(LATE[store.engine], run, shard_of(run), late)
        await store.notify(INBOX_WAKE)
        await until_finished(store, [run])


async def test_a_message_for_a_run_that_is_not_there_is_dropped(store: Store) -> None:
    async with executing(store) as executor:
        await send(store, "nobody", CancelRequested(at=time()))
        await until(lambda: _is_empty(store))
    assert executor.metrics.ignored == 1


# Rule 6: one bad run must not take the others along


async def test_a_run_that_cannot_be_written_does_not_take_others_along(store: Store) -> None:
    clock = Clock()
    runs = await begin(store, "wait", count=5)
    bad, *good = runs
    entry = RunHistoryRow(bad, 1, 0, "[]")
    await store.transact(lambda db: append_history(db, [entry]))
    async with executing(store, now=clock) as executor:
        for run in good:
            await until_status(store, run, "waiting")
        await until_tried(store, clock, bad, 6)
        problem = (await load(store, bad)).problem
        assert problem is not None
        assert problem.code == "not_stored"
        await store.execute("DELETE FROM run_history WHERE run_id = $1", bad)
        clock.ahead += 60.0
        await store.notify(INBOX_WAKE)
        await until_status(store, bad, "waiting")
    assert (executor.metrics.decided, executor.metrics.dead_letters) == (5, 0)


# Rule 3: one outcome, one event


async def test_no_two_can_write_the_same_part_of_a_history(store: Store) -> None:
    [run] = await begin(store, "wait")
    entry = RunHistoryRow(run, 1, 1, "[]")
    await store.transact(lambda db: append_history(db, [entry]))
    with pytest.raises(ConstraintError):
        await store.transact(lambda db: append_history(db, [entry]))


async def test_the_first_outcome_of_a_task_wins_and_later_ones_are_counted(store: Store) -> None:
    async with executing(store) as executor:
        [run] = await begin(store, "two")
        await until_task(store, f"{run}/a")
        late = TaskFailed(at=time(), task="a", error=Failure("late", ""))
        first = TaskSucceeded(at=time(), task="a", output="first")
        await send(store, run, first, late, TaskSucceeded(at=time(), task="a", output="third"))
        await until_task(store, f"{run}/b")
        await send(store, run, late)
        await until(lambda: _is_empty(store))
        await send(store, run, TaskSucceeded(at=time(), task="b", output=2))
        await until_finished(store, [run])
        await send(store, run, late)
        await until(lambda: _is_empty(store))
    state = (await load(store, run)).state
    assert (state.steps["a"].output, state.status, state.applied) == ("first", "completed", 6)
    assert executor.metrics.ignored == 4
    assert await folded(store, run) == state


async def test_duplicates_and_any_order_are_ignored_and_counted(store: Store) -> None:
    steps = [
        {
            "name": "all",
            "type": "parallel",
            "branches": {f"b{each}": [agent(f"x{each}"), agent(f"y{each}")] for each in range(5)},
        }
    ]
    await save(store, {"name": "wide", "steps": steps})
    async with executing(store) as executor, Bridge(store, double=0.1) as bridge:
        runs = await begin(store, "wide", count=40)
        await until_finished(store, runs)
        await until(lambda: _is_empty(store))
    expected = {f"b{each}": f"y{each}" for each in range(5)}
    assert [await outcome(store, run) for run in runs] == [("completed", expected)] * 40
    assert bridge.doubled > 10
    assert executor.metrics.ignored == bridge.doubled


# Clocks


async def test_a_clock_that_jumps_loses_nothing_and_does_nothing_twice(store: Store) -> None:
    clock = Clock()
    steps = [agent("a"), {"name": "nap", "type": "wait", "for": 0.05}, agent("b")]
    await save(store, {"name": "naps", "steps": steps})

    def answer(command: Command) -> Arrival:
        clock.ahead = {0.0: 3600.0, 3600.0: -3600.0}.get(clock.ahead, 0.0)
        return TaskSucceeded(at=clock(), task=command.task, output=command.task)

    async with executing(store, now=clock) as executor, Bridge(store, answer):
        runs = await begin(store, "naps", count=10)

        async def finished() -> bool:
            clock.ahead += 3600.0  # it was put back, and people put it right
            rows = await store.fetch("SELECT id FROM runs WHERE finished_at IS NULL")
            return not rows

        await until(finished)
    results = {await outcome(store, run) for run in runs}
    # Some were late for the deadline of an hour, by a clock that is an hour ahead.
    assert results <= {("completed", "b"), ("failed", "timeout")}
    assert executor.metrics.undecided == 0
    for run in runs:
        state = await folded(store, run)
        assert state == (await load(store, run)).state


async def test_a_message_is_tried_again_though_the_clock_was_put_back(store: Store) -> None:
    clock = Clock()
    clock.ahead = 3600.0
    [run] = await begin(store, "wait")
    await poison(store, run, "nonsense")
    async with executing(store, now=clock):
        await until(lambda: store.fetch("SELECT id FROM run_inbox WHERE tries = 1"))
        clock.ahead = 0.0
        await store.notify(INBOX_WAKE)
        await until(lambda: store.fetch("SELECT id FROM run_inbox WHERE tries = 2"))


async def _is_empty(store: Store) -> bool:
    return not await store.fetch("SELECT 1 FROM run_inbox")
