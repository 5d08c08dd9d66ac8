"""One of those who are asked decides; nobody else does, and no program by accident."""

from __future__ import annotations

import pytest

from accord.a2a.protocol.model import DataPart
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError
from accord.workflows.agent.operations import operations
from accord.workflows.agent.tasks import task_of
from tests.workflows.operations.office import GATE, Office

TWO = {
    "name": "two",
    "steps": [
        {
            "name": "both",
            "type": "parallel",
            "branches": {
                "left": [{"name": "a", "type": "wait", "approval": {"by": ["uma"]}}],
                "right": [
                    {"name": "b", "type": "wait", "approval": {"by": ["Otto"], "timeout": 60}}
                ],
            },
        }
    ],
}


@pytest.mark.req("W-07")
async def test_people_and_roles_that_are_named_decide(busy: Office) -> None:
    await busy.save(GATE)
    for who in ("uma", "ada"):
        id = await busy.start("gate", by="otto")
        waiting = await busy.until(id, "waiting")
        assert [(each.key, each.by) for each in waiting.approvals] == [
            ("ok", ["uma", "administrator"])
        ]
        with pytest.raises(ForbiddenError, match="ok is decided by uma or administrator"):
            await busy.call("approve_run", "otto", run=id)
        await busy.call("approve_run", who, run=id, reason=f"says {who}")
        run = await busy.ended(id)
        assert (run.state, run.output, run.approvals) == ("completed", f"says {who}", [])
        [step] = run.steps
        assert (step.output["approved"], step.output["by"]) == (True, who)


PUBLISH = {
    "name": "publish",
    "steps": [
        {"name": "draft", "type": "agent", "agent": "demo", "input": "echo The text."},
        {
            "name": "ok",
            "type": "wait",
            "approval": {
                "by": ["uma"],
                "message": "Publish ${steps.draft.output}",
                "data": {"text": "${steps.draft.output}", "length": "${size(steps.draft.output)}"},
            },
        },
    ],
}


@pytest.mark.req("W-18")
async def test_who_decides_is_shown_a_message_and_data_everywhere(busy: Office) -> None:
    await busy.save(PUBLISH)
    id = await busy.start("publish")
    run = await busy.until(id, "waiting")
    data = {"text": "The text.", "length": 9}
    [waiting] = run.approvals
    assert (waiting.message, waiting.data) == ("Publish The text.", data)
    assert [(each.kind, each.step, each.what) for each in run.waits] == [("approval", "ok", "uma")]
    [listed] = (await busy.call("list_approvals", "uma")).items
    assert (listed.message, listed.data) == (waiting.message, data)
    step = await busy.call("get_run_step", id=id, step="ok")
    assert step.input == {"message": waiting.message, "data": data}
    find = operations["find_task"]
    task = task_of((await busy.local.runner.run(find, {"id": id}, busy.people["ada"])).result)
    assert task.status.message is not None
    assert task.status.message.text == "ok waits for the approval of uma: Publish The text."
    assert {"kind": "approval", "step": "ok", "data": data} in [
        wait
        for part in task.status.message.parts
        if isinstance(part, DataPart)
        for wait in part.data["waits"]
    ]
    await busy.local.store.execute("UPDATE approvals SET shown = NULL")
    [older] = (await busy.call("list_approvals", "uma")).items
    assert (older.message, older.data) == ("", None)


@pytest.mark.req("W-18")
async def test_a_run_says_what_it_waits_for(busy: Office) -> None:
    branches = {
        "signal": [{"name": "hear", "type": "wait", "signal": "go", "timeout": 900}],
        "time": [{"name": "nap", "type": "wait", "for": 900}],
        "child": [{"name": "below", "type": "workflow", "workflow": "gate"}],
        "agent": [{"name": "ask", "type": "agent", "agent": "demo", "input": "ask a name"}],
    }
    await busy.save(GATE, {"name": "all", "steps": [
        {"name": "p", "type": "parallel", "branches": branches}
    ]})  # fmt: skip
    id = await busy.start("all")
    run = await busy.until(id, "waiting", "running")
    while run.waits[-1].kind != "question":
        run = await busy.call("get_run", id=id)
    assert [(each.kind, each.step, each.what) for each in run.waits] == [
        ("signal", "hear", "go"),
        ("time", "nap", ""),
        ("run", "below", "gate"),
        ("question", "ask", "demo"),
    ]
    assert all(each.until for each in run.waits[:2])
    assert not run.waits[2].until


async def test_a_refusal_is_a_decision_too(busy: Office) -> None:
    await busy.save(GATE)
    id = await busy.start("gate")
    await busy.until(id, "waiting")
    await busy.call("approve_run", run=id, approved=False, reason="not now")
    run = await busy.ended(id)
    assert run.state == "failed"
    assert run.error is not None
    assert "not now" in run.error.message


async def test_a_token_decides_only_with_the_scope(busy: Office) -> None:
    await busy.save(GATE)
    id = await busy.start("gate")
    await busy.until(id, "waiting")
    with pytest.raises(ForbiddenError, match="scope 'approve'"):
        await busy.call("approve_run", busy.token("uma", "run", "write", "read"), run=id)
    await busy.call("approve_run", busy.token("uma", "approve"), run=id)
    assert (await busy.ended(id)).state == "completed"


@pytest.mark.req("H-31")
@pytest.mark.parametrize("started", ["in a session", "with a token"])
async def test_nobody_approves_with_a_token_a_run_that_they_started(
    busy: Office, started: str
) -> None:
    await busy.save(GATE)
    robot = busy.token("uma", "run", "approve", "read")
    id = await busy.start("gate", by="uma" if started == "in a session" else robot)
    await busy.until(id, "waiting")
    for token in (robot, busy.token("uma", "approve")):
        with pytest.raises(ForbiddenError, match="nobody approves with a token what they started"):
            await busy.call("approve_run", token, run=id)
    assert (await busy.call("get_run", id=id)).state == "waiting"
    await busy.call("approve_run", "uma", run=id)
    assert (await busy.ended(id)).state == "completed"


@pytest.mark.req("H-31")
async def test_a_token_may_refuse_what_its_owner_started(busy: Office) -> None:
    await busy.save(GATE)
    id = await busy.start("gate", by="uma")
    await busy.until(id, "waiting")
    await busy.call("approve_run", busy.token("uma", "approve"), run=id, approved=False)
    assert (await busy.ended(id)).state == "failed"


async def test_where_several_wait_one_is_named(busy: Office) -> None:
    await busy.save(TWO)
    id = await busy.start("two")
    await busy.until(id, "waiting")
    with pytest.raises(InvalidError, match="name one of those that wait: a, b"):
        await busy.call("approve_run", "uma", run=id)
    with pytest.raises(ForbiddenError):
        await busy.call("approve_run", "uma", run=id, step="b")
    mine = await busy.call("list_approvals", "otto")
    assert [(each.run_id, each.key, each.workflow) for each in mine.items] == [(id, "b", "two")]
    assert mine.items[0].deadline is not None
    assert (await busy.call("list_approvals", "carl")).items == []
    await busy.call("approve_run", "uma", run=id, step="a")
    await busy.call("approve_run", "otto", run=id, step="b")
    assert (await busy.ended(id)).state == "completed"
    assert (await busy.call("list_approvals", "otto")).total == 0
    with pytest.raises(ConflictError, match="waits for nobody's decision"):
        await busy.call("approve_run", "otto", run=id, step="b")


async def test_what_waits_comes_in_pages(busy: Office) -> None:
    await busy.save(GATE)
    ids = [await busy.start("gate") for _ in range(3)]
    for id in ids:
        await busy.until(id, "waiting")
    first = await busy.call("list_approvals", "uma", limit=2)
    rest = await busy.call("list_approvals", "uma", limit=2, cursor=first.next_cursor)
    assert (first.total, rest.has_more) == (3, False)
    assert {each.run_id for each in (*first.items, *rest.items)} == set(ids)
