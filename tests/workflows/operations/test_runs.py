"""Runs are started, watched and commanded by those who may, and told clearly when not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from accord.operations.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from accord.workflows.core.errors import MAX_OUTPUT_BYTES
from tests.workflows.operations.office import ECHO, GATE, Office

NEEDS = {**GATE, "name": "needs", "input": {"type": "object", "required": ["text"]}}
HEAR = {"name": "hear", "steps": [{"name": "on", "type": "wait", "signal": "go"}]}


async def test_a_run_begins_as_somebody_started_it(office: Office) -> None:
    await office.save(GATE)
    caller = replace(
        office.token("uma", "run", "read", id="11111111-2222-4333-8444-555555555555"),
        correlation_id="0af7651916cd43dd8448eb211c80319c",
        face="mcp",
    )
    run = await office.call("run_workflow", caller, name="gate", input={"a": 1})
    assert (run.state, run.started_by, run.origin) == ("pending", "uma", "mcp")
    [row] = await office.local.store.fetch("SELECT * FROM runs WHERE id = $1", run.id)
    assert (row["scopes"], row["token_id"]) == ("read run", caller.token_id)
    assert row["traceparent"].startswith(f"00-{caller.correlation_id}-")
    assert [(step.key, step.type, step.state) for step in run.steps] == [("ok", "wait", "pending")]


async def test_its_input_has_to_fit(office: Office) -> None:
    await office.save(NEEDS)
    with pytest.raises(InvalidError, match="input: the value lacks 'text'"):
        await office.call("run_workflow", name="needs", input={})
    with pytest.raises(InvalidError, match="over the limit"):
        await office.call("run_workflow", name="needs", input={"text": "x" * MAX_OUTPUT_BYTES})
    with pytest.raises(NotFoundError, match="there are needs"):
        await office.call("run_workflow", name="other")
    assert (await office.call("list_runs")).total == 0


async def test_the_same_key_starts_nothing_again(office: Office) -> None:
    await office.save(GATE)
    first = await office.outcome("run_workflow", name="gate", idempotency_key="order-7")
    again = await office.outcome("run_workflow", name="gate", idempotency_key="order-7")
    assert (again.replayed, again.result["id"]) == (True, first.result.id)
    assert (await office.call("list_runs")).total == 1


async def test_a_dry_run_starts_nothing(office: Office) -> None:
    await office.save(GATE)
    preview = await office.call("run_workflow", name="gate", dry_run=True)
    assert [(each.action, each.kind) for each in preview.changes] == [("created", "run")]
    assert (await office.call("list_runs")).total == 0
    assert await office.local.store.fetch("SELECT id FROM run_inbox") == []


async def test_whoever_starts_one_may_wait_for_its_end(busy: Office) -> None:
    await busy.save(ECHO)
    run = await busy.call("run_workflow", name="echo", input="echo hello", wait=20)
    assert (run.state, run.output, run.input) == ("completed", "hello", "echo hello")
    assert [(step.name, step.state, step.attempts, step.output) for step in run.steps] == [
        ("ask", "completed", 1, "hello")
    ]
    again = await busy.call("run_workflow", name="echo", input="slow 30", wait=0.05)
    assert again.state in ("pending", "running")
    await busy.call("cancel_run", run=again.id)
    assert (await busy.ended(again.id)).state == "cancelled"


async def test_runs_are_listed_newest_first_by_what_is_asked(office: Office) -> None:
    await office.save(GATE, HEAR)
    ids = [await office.start("gate", by=who) for who in ("uma", "otto", "uma")]
    other = await office.start("hear")
    page = await office.call("list_runs", limit=3)
    assert [each.id for each in page.items] == [other, *reversed(ids[1:])]
    rest = await office.call("list_runs", limit=3, cursor=page.next_cursor)
    assert [each.id for each in rest.items] == [ids[0]]

    async def found(**wanted: Any) -> list[str]:
        listed = await office.call("list_runs", **wanted)
        assert listed.total == len(listed.items)
        return [each.id for each in listed.items]

    assert await found(workflow="gate", started_by="uma") == [ids[2], ids[0]]
    assert await found(workflow="hear@1") == [other]
    assert await found(workflow="hear@2") == []
    assert len(await found(state="pending")) == 4
    assert await found(state="failed") == []
    assert await found(parent_run=other) == []


async def test_only_administrators_command_the_runs_of_others(office: Office) -> None:
    await office.save(HEAR)
    id = await office.start("hear", by="uma")
    for operation, more in (
        ("cancel_run", {}),
        ("pause_run", {}),
        ("resume_run", {}),
        ("retry_run", {}),
        ("signal_run", {"name": "go"}),
    ):
        with pytest.raises(ForbiddenError, match="belongs to somebody else"):
            await office.call(operation, "otto", run=id, **more)
    assert (await office.call("get_run", "otto", id=id)).id == id
    await office.call("pause_run", "uma", run=id)
    await office.call("cancel_run", "ada", run=id)


@pytest.mark.req("W-07")
async def test_a_run_is_paused_resumed_and_signalled(busy: Office) -> None:
    await busy.save(HEAR)
    id = await busy.start("hear", by="uma")
    waiting = await busy.until(id, "waiting")
    assert waiting.signals == ["go"]
    await busy.call("pause_run", "uma", run=id)
    await busy.until(id, "paused")
    with pytest.raises(ConflictError, match="paused already"):
        await busy.call("pause_run", "uma", run=id)
    await busy.call("signal_run", "uma", run=id, name="go", id="1", payload={"n": 1})
    await busy.call("signal_run", "uma", run=id, name="go", id="1", payload={"n": 2})
    await busy.call("resume_run", "uma", run=id)
    run = await busy.ended(id)
    assert (run.state, run.output) == ("completed", {"n": 1})
    for operation in ("cancel_run", "pause_run", "resume_run", "retry_run"):
        with pytest.raises(ConflictError, match="completed"):
            await busy.call(operation, "uma", run=id)


async def test_a_signal_before_the_beginning_is_kept(office: Office) -> None:
    await office.save(HEAR)
    id = await office.start("hear")
    run = await office.call("signal_run", run=id, name="go")
    assert run.state == "pending"
    with pytest.raises(ConflictError, match="the run did not start"):
        await office.call("resume_run", run=id)
    with pytest.raises(InvalidError, match="payload"):
        await office.call("signal_run", run=id, name="go", payload="x" * (MAX_OUTPUT_BYTES + 1))


@pytest.mark.req("W-07")
async def test_a_run_that_failed_goes_on_from_where_it_did(busy: Office) -> None:
    twice = {
        "name": "twice",
        "steps": [
            {"name": "first", "type": "agent", "agent": "demo", "input": "echo one"},
            {"name": "second", "type": "agent", "agent": "late", "input": "echo two"},
        ],
        "output": ["${steps.first.output}", "${steps.second.output}"],
    }
    demo = await busy.call("get_agent", name="demo")
    await busy.call("create_agent", name="late", url=demo.url, active=False)
    await busy.save(twice)
    id = await busy.start("twice")
    run = await busy.ended(id)
    assert run.error is not None
    assert (run.state, run.error.code, run.error.step) == ("failed", "inactive_agent", "second")
    with pytest.raises(ConflictError, match="no step 'third' was started"):
        await busy.call("retry_run", run=id, step="third")
    await busy.call("update_agent", name="late", active=True)
    await busy.call("retry_run", run=id)
    run = await busy.until(id, "completed")
    assert run.output == ["one", "two"]
    events = [each.type for each in (await busy.call("get_run_history", id=id)).items]
    assert events.count("run_finished") == 2
    assert events.count("task_succeeded") == 2


async def test_history_and_steps_come_in_pages(busy: Office) -> None:
    count = {
        "name": "count",
        "steps": [
            {
                "name": "each",
                "type": "loop",
                "over": "${input}",
                "body": [{"name": "rest", "type": "wait", "for": 0}],
            }
        ],
    }
    await busy.save(count)
    id = await busy.start("count", [1, 2, 3])
    await busy.ended(id)
    first = await busy.call("get_run_history", id=id, limit=2)
    assert ([each.sequence for each in first.items], first.has_more) == ([1, 2], True)
    assert (await busy.call("get_run_history", id=id, after=2**31 - 1)).items == []
    rest = await busy.call("get_run_history", id=id, after=2)
    assert rest.items[-1].type == "run_finished"
    end = await busy.call("get_run_history", id=id, last=True, limit=2)
    assert (end.items, end.has_more) == (rest.items[-2:], False)
    page = await busy.call("list_run_steps", id=id, limit=3)
    assert [each.key for each in page.items] == ["each", "rest[0]", "rest[1]"]
    last = await busy.call("list_run_steps", id=id, limit=3, cursor=page.next_cursor)
    assert ([each.key for each in last.items], last.total) == (["rest[2]"], 4)


async def test_children_are_named_by_their_parent(busy: Office) -> None:
    outer = {"name": "outer", "steps": [{"name": "inner", "type": "workflow", "workflow": "hear"}]}
    await busy.save(HEAR, outer)
    id = await busy.start("outer", by="uma")
    run = await busy.until(id, "running")
    while not run.children:
        run = await busy.call("get_run", id=id)
    [child] = run.children
    assert (child.workflow, child.step) == ("hear", "inner")
    await busy.until(child.id, "waiting")
    await busy.call("signal_run", "uma", run=child.id, name="go", payload="done")
    assert (await busy.ended(id)).output == "done"
    listed = await busy.call("list_runs", parent_run=id)
    assert [(each.id, each.origin, each.started_by) for each in listed.items] == [
        (child.id, "workflow", "uma")
    ]


async def test_what_is_no_run_is_not_found(office: Office) -> None:
    for operation in ("get_run", "get_run_history", "list_run_steps"):
        with pytest.raises(NotFoundError, match="there is no run 'x'"):
            await office.call(operation, id="x")
    with pytest.raises(NotFoundError):
        await office.call("cancel_run", run="x")
