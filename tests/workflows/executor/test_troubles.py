"""What goes wrong, on both engines: it is bounded, counted, told, and holds up nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import time
from typing import Any
from uuid import uuid4

import pytest

from accord.store import Store, open_store
from accord.store.errors import ConstraintError
from accord.workflows.core.commands import Command
from accord.workflows.core.events import (
    Arrival,
    CancelRequested,
    SignalReceived,
    TaskFailed,
    TaskSucceeded,
    encode_event,
)
from accord.workflows.core.state import Failure
from accord.workflows.executor.agenda import LOOK_SECONDS
from accord.workflows.executor.mailbox import MOST_TRIES
from accord.workflows.storage.history import Entry, append_history
from accord.workflows.storage.inbox import WAKE
from accord.workflows.storage.shards import shard_of
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
        clock.ahead += 10.0
        await store.notify(WAKE)
        rows = await store.fetch("SELECT * FROM dead_letters ORDER BY body")
        return [{name: row[name] for name in columns} for row in rows] * (len(rows) == count)

    letters: list[dict[str, Any]] = await until(found)
    return letters


# Poison


async def test_a_message_that_nobody_understands_becomes_a_dead_letter_and_others_move_on(
    store: Store,
) -> None:
    clock = Clock()
    [run, other] = await begin(store, "wait", count=2)
    newer = '{"type":"signal_received","schema":99,"at":1,"name":"s","id":"1"}'
    decided = '{"type":"timer_fired","schema":1,"at":1,"key":"w","kind":"wake"}'
    await poison(store, run, "nonsense", newer, decided)
    async with executing(store, now=clock) as executor:
        await until_status(store, other, "waiting")
        for each in (run, other):
            await send(store, each, SignalReceived(at=time(), name="s", id="1"))
        await until_finished(store, [run, other])
        letters = await until_given_up(store, clock, 3)
    letter = {"kind": "message", "topic": "run_inbox", "run_id": run, "attempts": MOST_TRIES}
    assert letters == sorted(
        [
            letter | {"code": "DecodeError", "body": "nonsense"},
            letter | {"code": "NewerSchemaError", "body": newer},
            letter | {"code": "ValueError", "body": decided},
        ],
        key=lambda each: str(each["body"]),
    )
    assert (executor.counts.dead_letters, executor.counts.undecided) == (3, 15)
    assert await store.fetch("SELECT id FROM run_inbox") == []


async def test_a_run_that_cannot_be_decided_on_gives_up_its_message_and_others_move_on(
    store: Store,
) -> None:
    clock = Clock()
    async with executing(store):
        [run, other] = await begin(store, "wait", count=2)
        for each in (run, other):
            await until_status(store, each, "waiting")
    newer = '[{"type":"unheard_of","schema":99,"at":1}]'
    await store.execute("UPDATE run_history SET events = $2 WHERE run_id = $1", run, newer)
    async with executing(store, now=clock):
        for each in (run, other):
            await send(store, each, SignalReceived(at=time(), name="s", id="1"))
        await until_finished(store, [other])
        [letter] = await until_given_up(store, clock, 1)
    assert (letter["run_id"], letter["code"]) == (run, "NewerSchemaError")


async def test_a_run_whose_time_cannot_be_decided_on_does_not_hold_up_others(store: Store) -> None:
    clock = Clock()
    await save(store, {"name": "nap", "steps": [{"name": "w", "type": "wait", "for": 50}]})
    async with executing(store, now=clock):
        [run, other] = await begin(store, "nap", count=2)
        for each in (run, other):
            await until_status(store, each, "waiting")
    newer = '[{"type":"unheard_of","schema":99,"at":1}]'
    await store.execute("UPDATE run_history SET events = $2 WHERE run_id = $1", run, newer)
    clock.ahead += 60.0
    async with executing(store, now=clock) as executor:
        await until_finished(store, [other])
        query = "SELECT id FROM runs WHERE id = $1 AND next_timer > $2"
        await until(lambda: store.fetch(query, run, clock()))
    assert executor.counts.undecided == 1


async def test_a_message_that_commits_after_later_ones_were_read_is_not_missed(
    store: Store,
) -> None:
    async with executing(store):
        [run] = await begin(store, "wait")
        looks = time() + 3 * LOOK_SECONDS

        async def has_looked_often() -> bool:
            await send(store, run, SignalReceived(at=time(), name="other", id="1"))
            return time() > looks

        await until(has_looked_often, pause=0.1)
        late = encode_event(SignalReceived(at=time(), name="s", id="2")).decode()
        await store.execute(LATE[store.engine], run, shard_of(run), late)
        await store.notify(WAKE)
        await until_finished(store, [run])


async def test_a_message_for_a_run_that_is_not_there_is_dropped(store: Store) -> None:
    async with executing(store) as executor:
        await send(store, "nobody", CancelRequested(at=time()))
        await until(lambda: _is_empty(store))
    assert executor.counts.ignored == 1


# Rule 6: one bad run must not take the others along


async def test_a_run_that_cannot_be_written_does_not_take_others_along(store: Store) -> None:
    clock = Clock()
    runs = await begin(store, "wait", count=5)
    bad, *good = runs
    entry = Entry(bad, 1, 0, "[]")
    await store.transact(lambda db: append_history(db, [entry]))
    async with executing(store, now=clock) as executor:
        for run in good:
            await until_status(store, run, "waiting")
        [letter] = await until_given_up(store, clock, 1)
    assert (letter["run_id"], letter["code"]) == (bad, "ConstraintError")
    assert (executor.counts.decided, executor.counts.undecided) == (4, MOST_TRIES)


# Rule 3: one outcome, one event


async def test_no_two_can_write_the_same_part_of_a_history(store: Store) -> None:
    [run] = await begin(store, "wait")
    entry = Entry(run, 1, 1, "[]")
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
    assert executor.counts.ignored == 4
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
    assert executor.counts.ignored == bridge.doubled


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
    assert executor.counts.undecided == 0
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
        await store.notify(WAKE)
        await until(lambda: store.fetch("SELECT id FROM run_inbox WHERE tries = 2"))


async def _is_empty(store: Store) -> bool:
    return not await store.fetch("SELECT 1 FROM run_inbox")
