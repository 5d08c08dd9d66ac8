"""Calls of the steps of a run, and one step in detail."""

from __future__ import annotations

import pytest

from accord.operations.errors import NotFoundError
from tests.workflows.operations.office import ECHO, GATE, Office, executing


async def test_a_step_tells_its_input_and_what_it_called(busy: Office) -> None:
    await busy.save(ECHO)
    id = await busy.start("echo", "echo hello")
    await busy.ended(id)
    step = await busy.call("get_run_step", id=id, step="ask")
    assert (step.state, step.input, step.output) == ("completed", "echo hello", "hello")
    [call] = step.calls
    assert (call.kind, call.target, call.state, call.outcome) == (
        "agent",
        "demo",
        "done",
        "success",
    )
    assert (call.attempt, call.next_try, call.step) == (1, None, "ask")
    assert (len(call.message_id), call.remote_task != "") == (36, True)
    assert call.finished_at >= call.started_at
    page = await busy.call("list_run_calls", id=id)
    assert (page.items, page.total) == ([call], 1)
    assert (await busy.call("list_run_calls", id=id, open=True)).items == []


async def test_calls_of_a_loop_belong_to_their_rounds_and_come_in_pages(busy: Office) -> None:
    ask = {"name": "ask", "type": "agent", "agent": "demo", "input": "echo ${loop.item}"}
    loop = {"name": "each", "type": "loop", "over": "${input}", "body": [ask]}
    await busy.save({"name": "many", "steps": [loop]})
    id = await busy.start("many", ["a", "b", "c"])
    await busy.ended(id)
    second = await busy.call("get_run_step", id=id, step="ask[1]")
    assert (second.input, second.output, len(second.calls)) == ("echo b", "b", 1)
    first = await busy.call("list_run_calls", id=id, limit=2)
    rest = await busy.call("list_run_calls", id=id, limit=2, cursor=first.next_cursor)
    assert [each.step for each in (*first.items, *rest.items)] == ["ask[0]", "ask[1]", "ask[2]"]
    assert rest.total == 3


async def test_a_step_names_the_runs_that_it_started(busy: Office) -> None:
    outer = {
        "name": "outer",
        "steps": [{"name": "inner", "type": "workflow", "workflow": "echo", "input": "echo hi"}],
    }
    await busy.save(ECHO, outer)
    id = await busy.start("outer")
    await busy.ended(id)
    step = await busy.call("get_run_step", id=id, step="inner")
    assert [(each.workflow, each.state) for each in step.children] == [("echo", "completed")]
    assert step.calls == []


async def test_what_has_not_begun_has_no_input(busy: Office) -> None:
    steps = [*GATE["steps"], {"name": "ask", "type": "agent", "agent": "demo"}]
    await busy.save({"name": "gated", "steps": steps})
    id = await busy.start("gated")
    await busy.until(id, "waiting")
    step = await busy.call("get_run_step", id=id, step="ask")
    assert (step.state, step.input, step.calls, step.children) == ("pending", None, [], [])
    with pytest.raises(NotFoundError, match="no step 'other'"):
        await busy.call("get_run_step", id=id, step="other")


async def test_a_run_tells_its_trace(office: Office) -> None:
    await office.save(GATE)
    run = await office.call("get_run", id=await office.start("gate"))
    assert len(run.trace_id) == 32


async def test_workflows_are_listed_with_what_starts_them_and_their_last_run(
    office: Office,
) -> None:
    on = [
        "epic.created",
        {"schedule": "0 9 * * 1", "timezone": "Europe/Berlin"},
        {"webhook": "built", "secret": "env:ACCORD_SECRET_BUILT"},
    ]
    await office.save(GATE, {**GATE, "name": "moved", "on": on})
    first = await office.start("gate")
    last = await office.start("gate")
    gate, moved = (await office.call("list_workflows")).items
    assert first != last
    assert (gate.last_run.id, gate.last_run.state, gate.triggers) == (last, "pending", [])
    assert moved.last_run is None
    assert moved.triggers == [
        "epic.created",
        "schedule 0 9 * * 1 Europe/Berlin",
        "webhook built",
    ]


async def test_agents_tell_whether_they_are_left_alone_where_that_is_known(office: Office) -> None:
    async with executing(office):
        assert (await office.call("get_agent", name="demo")).breaker == "closed"
    assert (await office.call("get_agent", name="demo")).breaker is None
