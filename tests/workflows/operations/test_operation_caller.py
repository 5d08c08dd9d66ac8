"""Steps that call operations act as whoever started the run, as they are now."""

from __future__ import annotations

from typing import Any

import pytest

from accord.operations.errors import ServiceError
from accord.workflows.bridge.callers import OperationCaller
from accord.workflows.bridge.task import TaskSuccess, claimed_task
from accord.workflows.core.events import CallOperation
from accord.workflows.storage.tasks import NewTask
from tests.workflows.operations.office import Office


def calling(operation: str, input: Any = None, **more: Any) -> dict[str, Any]:
    step = {"name": "do", "type": "call", "operation": operation, "input": input, **more}
    return {"name": "doing", "steps": [step]}


@pytest.mark.req("W-07")
async def test_what_a_run_writes_is_its_starters(busy: Office) -> None:
    await busy.save(calling("create_epic", {"title": "${input.title}"}))
    run = await busy.ended(await busy.start("doing", {"title": "Payments"}, by="uma"))
    assert (run.state, run.output["creator"], run.output["title"]) == (
        "completed",
        "uma",
        "Payments",
    )
    events = await busy.call("list_audit_events", operation="create_epic")
    assert [(each.actor, each.client) for each in events.items] == [("uma", "workflow doing@1")]
    assert [each.correlation_id for each in events.items] == [run.correlation_id]


@pytest.mark.req("W-15")
async def test_an_operation_whose_outcome_is_unknown_is_not_done_twice(office: Office) -> None:
    await office.save(calling("create_epic", {"title": "Payments"}))
    run = await office.start("doing", by="uma")
    caller = OperationCaller(office.local.runner)
    made = []
    for task, resumes in (("do", ""), ("do@2", "do"), ("do@3", "do"), ("do@4", "")):
        command = CallOperation(
            task=task, step="do", operation="create_epic", input={"title": "T"}, resumes=resumes
        )
        given = claimed_task(NewTask(run_id=run, command=command, at=1.0))
        outcome = await caller.call(given, _progress)
        assert isinstance(outcome, TaskSuccess)
        made.append(outcome.output["id"])
    assert made[0] == made[1] == made[2] != made[3]


async def _progress(task: str, context: str) -> None:
    raise AssertionError("operations are done at once")


@pytest.mark.parametrize(
    ("operation", "input", "code"),
    [
        ("create_epic", {"title": ""}, "validation_failed"),
        ("create_epic", "${input}", "validation_failed"),
        ("get_epic", {"id": "EP-404"}, "not_found"),
        ("create_prompt", {"name": "x", "content": "x"}, "insufficient_permissions"),
    ],
)
async def test_a_refusal_is_a_failed_step_with_its_code(
    busy: Office, operation: str, input: Any, code: str
) -> None:
    await busy.save(calling(operation, input))
    run = await busy.ended(await busy.start("doing", by="uma"))
    assert run.error is not None
    assert (run.state, run.error.code, run.error.step) == ("failed", code, "do")


async def test_the_role_of_now_counts(busy: Office) -> None:
    await busy.save(calling("create_epic", {"title": "Payments"}))
    await busy.call("update_user", id="uma", role="Commenter")
    run = await busy.ended(await busy.start("doing", by="uma"))
    assert run.error is not None
    assert run.error.code == "insufficient_permissions"
    await busy.call("update_user", id="uma", role="User", active=False)
    run = await busy.ended(await busy.start("doing", by="uma"))
    assert run.error is not None
    assert "uma is not active any more" in run.error.message


async def test_the_scopes_of_the_token_bind_and_end_with_it(busy: Office) -> None:
    await busy.save(calling("create_epic", {"title": "Payments"}))
    weak = busy.token("uma", "run", "read")
    run = await busy.ended(await busy.start("doing", by=weak))
    assert run.error is not None
    assert "scope 'write'" in run.error.message
    made = (
        await busy.local.run("create_token", user="uma", name="t", scopes=["run", "write", "read"])
    ).result
    strong = busy.token("uma", "run", "write", "read", id=made.id)
    assert (await busy.ended(await busy.start("doing", by=strong))).state == "completed"
    await busy.local.run("revoke_token", id=made.id)
    run = await busy.ended(await busy.start("doing", by=strong))
    assert run.error is not None
    assert "was revoked" in run.error.message


async def test_runs_neither_approve_nor_make_tokens(office: Office) -> None:
    for operation in ("approve_run", "create_token", "change_own_password", "set_password"):
        with pytest.raises(ServiceError, match="there is no operation"):
            await office.save(calling(operation))


async def test_a_run_may_start_runs_but_not_for_ever(busy: Office) -> None:
    again = calling("run_workflow", {"name": "doing"})
    await busy.save({**again, "steps": [{"name": "do", "type": "wait", "for": 0}]})
    await busy.save(again)
    await busy.ended(await busy.start("doing"))
    while (await busy.call("list_runs", state="failed")).total == 0:
        pending = await busy.call("list_runs", state="pending")
        for run in pending.items:
            await busy.ended(run.id)
    [failed] = (await busy.call("list_runs", state="failed")).items
    run = await busy.call("get_run", id=failed.id)
    assert "one after the other" in run.error.message
