"""An executor on both engines: everything that a run can do, through the tables alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from time import time
from typing import Any

import pytest
from msgspec import json

from accord.store import Store, open_store
from accord.telemetry.metrics import Exposition
from accord.workflows.core.events import (
    ApprovalGiven,
    Arrival,
    CancelRequested,
    Command,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    SignalReceived,
    TaskAsked,
    TaskFailed,
    TaskSucceeded,
    decode_command,
)
from accord.workflows.core.state import Failure
from accord.workflows.executor.decision import child_id
from accord.workflows.storage.history import HISTORY_WAKE
from tests.patience import PATIENCE
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


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        yield opened


def agent(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "agent", "agent": "a", **more}


EVERYTHING = {
    "name": "everything",
    "steps": [
        agent("first", input="${input.text}"),
        {"name": "own", "type": "call", "operation": "get_it", "input": {"id": 1}},
        {"name": "tool", "type": "call", "mcp": {"server": "files", "tool": "read"}},
        {"name": "method", "type": "call", "rpc": {"url": "http://h/", "method": "add"}},
        {
            "name": "both",
            "type": "parallel",
            "branches": {"left": [agent("l")], "right": [agent("r")]},
        },
        {"name": "choice", "type": "condition", "if": "${input.flag}", "then": [agent("yes")]},
        {"name": "each", "type": "loop", "over": [1, 2, 3], "body": [agent("item")]},
        {"name": "pause", "type": "wait", "for": 0.05},
        {"name": "child", "type": "workflow", "workflow": "inner", "input": {"n": 1}},
        {"name": "word", "type": "wait", "signal": "word"},
        {"name": "approve", "type": "wait", "approval": {"by": ["ann"]}},
    ],
    "output": {
        "both": "${steps.both.output}",
        "each": "${steps.each.output}",
        "child": "${steps.child.output}",
        "word": "${steps.word.output}",
        "by": "${steps.approve.output.by}",
    },
}
INNER = {"name": "inner", "input": {"type": "object", "required": ["n"]}, "steps": [agent("deep")]}


@pytest.mark.req("W-07")
async def test_a_run_of_every_type_of_step_ends(store: Store) -> None:
    await save(store, INNER)
    await save(store, EVERYTHING)
    async with executing(store) as executor, Bridge(store):
        [run] = await begin(store, "everything", {"text": "hi", "flag": True})
        await send(store, run, SignalReceived(at=time(), name="word", id="1", payload="ok"))
        await until_task(store, f"{run}/item[2]", "done")
        await until(lambda: store.fetch("SELECT 1 FROM approvals WHERE state = 'open'"))
        await until_status(store, run, "waiting")
        await send(store, run, ApprovalGiven(at=time(), task="approve", approved=True, by="ann"))
        await until_finished(store, [run])
        assert await outcome(store, run) == (
            "completed",
            {
                "both": {"left": "l", "right": "r"},
                "each": ["item[0]", "item[1]", "item[2]"],
                "child": "deep",
                "word": "ok",
                "by": "ann",
            },
        )
    assert (executor.metrics.started, executor.metrics.finished) == (2, {"completed": 2})
    kinds = await store.fetch("SELECT task, kind, target FROM tasks WHERE run_id = $1", run)
    assert {row["task"]: (row["kind"], row["target"]) for row in kinds} == {
        "first": ("agent", "a"),
        "own": ("operation", "get_it"),
        "tool": ("tool", "files"),
        "method": ("method", "http://h/"),
        "l": ("agent", "a"),
        "r": ("agent", "a"),
        "yes": ("agent", "a"),
        **{f"item[{index}]": ("agent", "a") for index in range(3)},
    }
    loaded = await load(store, run)
    assert await folded(store, run) == loaded.state
    assert (loaded.row.snapshot_at, loaded.row.next_timer) == (loaded.state.applied, None)
    [approval] = await store.fetch("SELECT task, step, approvers, state FROM approvals")
    assert tuple(approval[name] for name in ("task", "step", "approvers", "state")) == (
        "approve",
        "approve",
        '["ann"]',
        "closed",
    )
    assert await store.fetch("SELECT id FROM run_inbox") == []


async def test_a_task_knows_the_trace_and_the_correlation_of_its_run(store: Store) -> None:
    await save(store, {"name": "one", "steps": [agent("ask", input="hi")]})
    async with executing(store):
        [run] = await begin(store, "one", correlation_id="c-1", traceparent="00-ab-cd-01")
        await until_task(store, f"{run}/ask")
    [row] = await store.fetch("SELECT command, traceparent, correlation_id FROM tasks")
    assert (row["traceparent"], row["correlation_id"]) == ("00-ab-cd-01", "c-1")
    command = decode_command(row["command"].encode())
    assert (command.task, getattr(command, "input", None)) == ("ask", "hi")


async def test_a_run_that_waits_is_woken_by_its_timer_and_fails_by_its_deadline(
    store: Store,
) -> None:
    await save(store, {"name": "slow", "steps": [agent("ask", timeout=0.1)]})
    async with executing(store):
        [run] = await begin(store, "slow")
        await until_finished(store, [run])
    assert await outcome(store, run) == ("failed", "timeout")
    [task] = await store.fetch("SELECT state, cancelled FROM tasks")
    assert (task["state"], task["cancelled"]) == ("ready", 1)


# Children


PARENT = {
    "name": "parent",
    "steps": [{"name": "child", "type": "workflow", "workflow": "inner", "input": {"n": 1}}],
}


async def test_a_child_acts_as_its_parent_does_and_gets_the_newest_version(store: Store) -> None:
    await save(store, INNER)
    await save(store, INNER | {"steps": [agent("newer")]}, version=2)
    await save(store, INNER | {"steps": [agent("inactive")]}, version=3)
    await store.execute("UPDATE workflows SET active = 0 WHERE version = 3")
    await save(store, PARENT)
    async with executing(store), Bridge(store):
        [run] = await begin(store, "parent", correlation_id="c", traceparent="t")
        await until_finished(store, [run])
    assert await outcome(store, run) == ("completed", "newer")
    row = (await load(store, child_id(run, "child"))).row
    assert (row.version, row.origin, row.parent_run, row.parent_task) == (
        *(2, "workflow"),
        *(run, "child"),
    )
    assert (row.starter.username, row.correlation_id, row.traceparent) == ("ann", "c", "t")


async def test_a_child_of_a_named_version_gets_that(store: Store) -> None:
    await save(store, INNER)
    await save(store, INNER | {"steps": [agent("newer")]}, version=2)
    step = PARENT["steps"][0] | {"workflow": "inner@1"}  # type: ignore[operator]
    await save(store, {"name": "parent", "steps": [step]})
    async with executing(store), Bridge(store):
        [run] = await begin(store, "parent")
        await until_finished(store, [run])
    assert await outcome(store, run) == ("completed", "deep")


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"workflow": "nobody", "input": {"n": 1}}, "unknown_workflow"),
        ({"workflow": "inner@7", "input": {"n": 1}}, "unknown_workflow"),
        ({"workflow": "inner", "input": {"m": 1}}, "invalid_input"),
    ],
)
async def test_a_child_that_cannot_start_fails_its_step(
    store: Store, step: dict[str, Any], code: str
) -> None:
    await save(store, INNER)
    await save(store, {"name": "parent", "steps": [{"name": "child", "type": "workflow", **step}]})
    async with executing(store):
        [run] = await begin(store, "parent")
        await until_finished(store, [run])
    assert await outcome(store, run) == ("failed", code)


async def test_the_failure_of_a_child_says_which_run_and_step_failed(store: Store) -> None:
    await save(store, INNER)
    await save(store, PARENT)

    def fail(command: Command) -> Arrival:
        return TaskFailed(at=time(), task=command.task, error=Failure("broken", "it broke"))

    async with executing(store), Bridge(store, fail):
        [run] = await begin(store, "parent")
        await until_finished(store, [run])
    child = child_id(run, "child")
    assert (await load(store, run)).state.error == Failure(
        "broken", "it broke", "child", {"run": child, "step": "deep"}
    )


async def test_a_child_is_cancelled_with_its_parent_and_so_are_its_tasks(store: Store) -> None:
    await save(store, INNER)
    await save(store, PARENT)
    async with executing(store):
        [run] = await begin(store, "parent")
        child = child_id(run, "child")
        await until_task(store, f"{child}/deep")
        await send(store, run, CancelRequested(at=time(), by="ann"))
        await until_finished(store, [run, child])
    assert await outcome(store, run) == ("cancelled", "cancelled")
    assert await outcome(store, child) == ("cancelled", "cancelled")
    [task] = await store.fetch("SELECT cancelled FROM tasks")
    assert task["cancelled"] == 1


# What people do


async def test_a_run_is_paused_and_resumed(store: Store) -> None:
    await save(store, {"name": "two", "steps": [agent("a"), agent("b")]})
    async with executing(store):
        [run] = await begin(store, "two")
        await until_task(store, f"{run}/a")
        await send(store, run, PauseRequested(at=time()))
        await until_status(store, run, "paused")
        async with Bridge(store):
            await until_task(store, f"{run}/a", "done")
            await until(lambda: _is_empty(store, "run_inbox"))
            assert await outcome(store, run) == ("paused", None)
            await send(store, run, ResumeRequested(at=time()))
            await until_finished(store, [run])
    assert await outcome(store, run) == ("completed", "b")


async def test_a_failed_run_goes_on_from_a_step(store: Store) -> None:
    await save(store, {"name": "two", "steps": [agent("a"), agent("b")]})
    answers: dict[str, Arrival] = {
        "a": TaskSucceeded(at=0.0, task="a", output=1),
        "b": TaskFailed(at=0.0, task="b", error=Failure("broken", "")),
        "b@2": TaskSucceeded(at=0.0, task="b@2", output="at last"),
    }
    async with executing(store), Bridge(store, lambda command: answers[command.task]):
        [run] = await begin(store, "two")
        await until_finished(store, [run])
        assert await outcome(store, run) == ("failed", "broken")
        await send(store, run, RetryRequested(at=time(), step="b"))
        await until_status(store, run, "completed")
    assert await outcome(store, run) == ("completed", "at last")
    rows = await store.fetch("SELECT task FROM tasks ORDER BY task")
    assert [row["task"] for row in rows] == ["a", "b", "b@2"]


async def test_an_agent_that_asks_is_given_what_a_signal_says(store: Store) -> None:
    await save(store, {"name": "one", "steps": [agent("ask")]})
    given: list[Command] = []

    def answer(command: Command) -> Arrival:
        given.append(command)
        if len(given) == 1:
            return TaskAsked(at=time(), task=command.task, prompt="which?")
        return TaskSucceeded(at=time(), task=command.task, output="done")

    async with executing(store), Bridge(store, answer):
        [run] = await begin(store, "one")
        await until_status(store, run, "waiting")
        [row] = await store.fetch("SELECT state FROM tasks")
        assert row["state"] == "asking"
        await send(store, run, SignalReceived(at=time(), name="ask", id="1", payload={"it": 1}))
        await until_finished(store, [run])
    assert await outcome(store, run) == ("completed", "done")
    [row] = await store.fetch("SELECT continuation, continued FROM tasks")
    assert (json.decode(row["continuation"]), row["continued"]) == ({"it": 1}, 1)


@pytest.mark.parametrize("way", ["rejected", "timeout", "cancelled"])
async def test_an_approval_is_closed_however_it_ends(store: Store, way: str) -> None:
    limit = 0.05 if way == "timeout" else 60
    step = {"name": "ok", "type": "wait", "approval": {"by": ["ann"], "timeout": limit}}
    await save(store, {"name": "wait", "steps": [step]})
    async with executing(store):
        [run] = await begin(store, "wait")
        await until(lambda: store.fetch("SELECT 1 FROM approvals"))
        if way == "rejected":
            no = ApprovalGiven(at=time(), task="ok", approved=False, by="ann")
            await send(store, run, no)
        elif way == "cancelled":
            await send(store, run, CancelRequested(at=time()))
        await until_finished(store, [run])
    assert (await outcome(store, run))[1] == way
    [row] = await store.fetch("SELECT state FROM approvals")
    assert row["state"] == "closed"


async def test_an_approval_that_was_asked_for_before_a_restart_is_closed_too(store: Store) -> None:
    step = {"name": "ok", "type": "wait", "approval": {"by": ["ann"]}}
    await save(store, {"name": "wait", "steps": [step]})
    async with executing(store):
        [run] = await begin(store, "wait")
        await until(lambda: store.fetch("SELECT 1 FROM approvals"))
    async with executing(store):
        await send(store, run, ApprovalGiven(at=time(), task="ok", approved=True, by="ann"))
        await until_finished(store, [run])
    [row] = await store.fetch("SELECT state FROM approvals")
    assert row["state"] == "closed"


# Long runs


async def test_a_long_run_is_snapshotted_now_and_then_and_goes_on_after_a_restart(
    store: Store,
) -> None:
    loop = {"name": "each", "type": "loop", "over": "${input}", "body": [agent("item")]}
    await save(
        store, {"name": "long", "steps": [loop, {"name": "w", "type": "wait", "signal": "s"}]}
    )
    async with executing(store), Bridge(store):
        [run] = await begin(store, "long", list(range(100)))
        await until_status(store, run, "waiting")
    loaded = await load(store, run)
    assert 100 <= loaded.row.snapshot_at < loaded.state.applied
    async with executing(store):
        await send(store, run, SignalReceived(at=time(), name="s", id="1"))
        await until_finished(store, [run])
    assert await folded(store, run) == (await load(store, run)).state


async def test_a_step_costs_no_write_to_the_row_of_its_run(store: Store) -> None:
    steps = [agent(f"s{index}") for index in range(20)]
    await save(store, {"name": "long", "steps": steps})
    seen: set[tuple[Any, ...]] = set()
    query = "SELECT status, next_timer, finished_at, snapshot_at FROM runs"
    async with executing(store):
        [run] = await begin(store, "long")
        await until_task(store, f"{run}/s0")
        for index in range(19):
            await send(store, run, TaskSucceeded(at=time(), task=f"s{index}"))
            await until_task(store, f"{run}/s{index + 1}")
            [row] = await store.fetch(query)
            seen.add(tuple(row[place] for place in range(4)))
    assert len(seen) == 1


# What others see


async def test_watchers_are_woken_and_counts_and_logs_tell_what_happened(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await save(store, {"name": "one", "steps": [agent("a")]})
    woken = asyncio.Event()
    stop = await store.listen(HISTORY_WAKE, woken.set)
    caplog.set_level(logging.INFO, "accord.workflows")
    async with executing(store) as executor, Bridge(store):
        [run] = await begin(store, "one", correlation_id="c-7")
        async with asyncio.timeout(PATIENCE):
            await woken.wait()
        await until_finished(store, [run])
    stop()
    page = Exposition()
    executor.metrics.write(page)
    told = [record.getMessage() for record in caplog.records if run in record.getMessage()]
    assert told == [
        f"run {run} of one@1 started, correlation id c-7",
        f"run {run} of one@1 completed, correlation id c-7",
    ]
    lines = page.encode().decode().splitlines()
    assert "accord_runs_decided_total 2" in lines
    for event in ("run_started", "step_started", "task_succeeded", "run_finished"):
        assert f'accord_run_events_total{{type="{event}"}} 1' in lines
    assert 'accord_runs_finished_total{state="completed"} 1' in lines


async def _is_empty(store: Store, table: str) -> bool:
    return not await store.fetch(f"SELECT 1 FROM {table}")
