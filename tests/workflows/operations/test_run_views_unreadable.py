"""Runs that this release cannot read are shown as far as it can, with the reason."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from msgspec import json

from accord.a2a.protocol.model import TaskState
from accord.operations.errors import ConflictError, NotFoundError
from accord.workflows.agent.operations import operations
from accord.workflows.agent.tasks import task_of
from accord.workflows.operations.run_views import shown_event
from tests.workflows.operations.office import GATE, PATIENCE, Office

HISTORY = "UPDATE run_history SET events = $2 WHERE run_id = $1"
STUCK = """
INSERT INTO run_inbox (message_id, run_id, shard, arrival, tries, due, problem)
VALUES ('m', $1, 99, '{}', 3, 2.0, '{"code":"newer_schema","message":"wait for it"}')
"""
NEWER = [
    {"type": "run_started", "schema": 1, "at": 1.0, "input": 1},
    {"type": "unheard_of", "schema": 99, "at": 2.0, "key": "ok", "wake": "soon"},
    {"type": 7, "schema": 1, "at": 1e300},
]
DEEP = "[" * 100_000 + "]" * 100_000


async def unreadable(office: Office, history: str) -> str:
    await office.save(GATE)
    id = await office.start("gate", by="uma")
    await office.until(id, "waiting")
    await office.local.store.execute(HISTORY, id, history)
    return id


@pytest.mark.req("W-16")
@pytest.mark.parametrize("history", [json.encode(NEWER).decode(), "no JSON", DEEP])
async def test_a_run_of_a_newer_release_is_shown_with_the_reason(
    busy: Office, history: str
) -> None:
    id = await unreadable(busy, history)
    run = await busy.call("get_run", id=id)
    assert (run.state, run.steps, run.approvals, run.input) == ("waiting", [], [], None)
    assert run.problem.code == ("newer_schema" if "unheard_of" in history else "unreadable")
    assert (await busy.call("get_run_history", id=id)).items[-1].type == "unreadable"
    assert run.problem.next_try is None
    assert [each.id for each in (await busy.call("list_runs")).items] == [id]
    assert (await busy.call("list_run_steps", id=id)).items == []
    assert (await busy.call("list_run_calls", id=id)).items == []
    runner, find = busy.local.runner, operations["find_task"]
    found = await runner.run(find, {"id": id}, busy.people["uma"])
    assert task_of(found.result).status.state is TaskState.WORKING


@pytest.mark.req("W-16")
async def test_only_cancelling_is_asked_of_what_cannot_be_read(busy: Office) -> None:
    id = await unreadable(busy, json.encode(NEWER).decode())
    for operation in ("retry_run", "pause_run", "resume_run", "approve_run"):
        with pytest.raises(ConflictError, match="the run cannot be read: a newer release"):
            await busy.call(operation, "uma", run=id)
    with pytest.raises(ConflictError, match="cannot be read"):
        await busy.call("get_run_step", id=id, step="ok")
    await busy.call("cancel_run", "uma", run=id)
    with pytest.raises(NotFoundError):
        await busy.call("get_run", id="nobody")


@pytest.mark.req("W-16")
async def test_what_happened_is_told_as_it_is_kept_and_others_are_followed(busy: Office) -> None:
    id = await unreadable(busy, json.encode(NEWER).decode())
    history = (await busy.call("get_run_history", id=id)).items
    assert [(each.type, each.at[:19], each.detail) for each in history[:3]] == [
        ("run_started", "1970-01-01T00:00:01", {"depth": 0, "input": 1}),
        ("unheard_of", "1970-01-01T00:00:02", {"key": "ok", "wake": "soon"}),
        ("unreadable", "1970-01-01T00:00:00", {}),
    ]
    other = await busy.start("gate", by="uma")
    async with asyncio.timeout(PATIENCE), aclosing(busy.local.watch.follow(id)) as following:
        first = [shown_event(*each).type for each in await anext(following)]
        await busy.until(other, "waiting")
        await busy.call("approve_run", "uma", run=other)
        await busy.local.watch.wait(other, PATIENCE)
    assert first[:2] == ["run_started", "unheard_of"]


@pytest.mark.req("W-16")
@pytest.mark.parametrize("time", ["1e300", "-1e300"])
async def test_times_beyond_the_calendar_are_shown_as_its_ends(busy: Office, time: str) -> None:
    id = await unreadable(busy, f'[{{"type":"run_started","schema":1,"at":{time}}}]')
    [event] = (await busy.call("get_run_history", id=id)).items
    assert event.at[:19] == ("1000-01-01T00:00:00" if "-" in time else "9999-12-31T23:59:59")
    assert (await busy.call("get_run", id=id)).id == id


@pytest.mark.req("W-16")
async def test_a_run_says_why_its_next_message_waits(busy: Office) -> None:
    await busy.save(GATE)
    id = await busy.start("gate")
    await busy.until(id, "waiting")
    assert (await busy.call("get_run", id=id)).problem is None
    await busy.local.store.execute(STUCK, id)
    run = await busy.call("get_run", id=id)
    assert (run.problem.code, run.problem.message) == ("newer_schema", "wait for it")
    assert run.problem.next_try.startswith("1970-01-01T00:00:02")
    assert len(run.steps) == 1
