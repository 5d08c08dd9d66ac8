"""Agents of the older plain format, on both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord.a2a import message_id
from accord.workflows.core.events import CallAgent
from tests.a2a.scripted import Asked, http
from tests.workflows.bridge.unruly import HANG, unruly
from tests.workflows.bridge.yard import RUN, Yard, until, working

pytestmark = pytest.mark.req("W-14")


@pytest.fixture
async def yard(migrated_url: str) -> AsyncIterator[Yard]:
    async with working(migrated_url) as made:
        yield made


def says(asked: Asked, **answer: Any) -> bytes:
    return http({"task_id": asked.json["task_id"], **answer})


async def test_the_older_format_is_spoken_to_those_who_have_not_moved(yard: Yard) -> None:
    async with unruly(
        lambda asked, n: says(asked, status="success", output={"n": 1}, error=None)
    ) as agent:
        await yard.register("old", f"{agent.url}work", wire="plain")
        told = await yard.told(await yard.ask("old", {"text": "hello"}, task="s"))
    (asked,) = agent.asked
    assert (asked.method, asked.path) == ("POST", "/work")
    assert asked.json == {"task_id": f"{RUN}/s", "input": {"text": "hello"}}
    assert asked.headers["idempotency-key"] == message_id(RUN, "s", "", "1")
    assert asked.headers["x-correlation-id"] == "c-7"
    assert (told.output, told.data, told.artifacts) == ({"n": 1}, None, None)


@pytest.mark.req("W-15")
async def test_a_call_that_is_repeated_has_the_same_ids(yard: Yard) -> None:
    async with unruly(lambda asked, n: says(asked, status="success", output=1)) as agent:
        await yard.register("old", agent.url, wire="plain")
        await yard.told(await yard.ask("old", task="s"))
        again = CallAgent(task="s@2", step="s", agent="old", input="hello", resumes="s")
        [id] = await yard.give(again)
        await yard.told(id)
    first, second = agent.asked
    assert first.json == second.json == {"task_id": f"{RUN}/s", "input": "hello"}
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        ({"error": {"code": "E1", "message": "no"}}, "E1", "no"),
        ({"error": {"code": 7, "message": "no"}}, "7", "no"),
        ({"error": "just text"}, "agent_error", "just text"),
        ({"error": {"code": None, "message": None}}, "agent_error", '{"code":null,"message":null}'),
        ({"error": ["no", 1]}, "agent_error", '["no",1]'),
        ({"error": {"reason": "no"}}, "agent_error", '{"reason":"no"}'),
        ({}, "agent_error", "the agent failed, and did not say why"),
    ],
)
async def test_failures_are_told(yard: Yard, answer: Any, code: str, message: str) -> None:
    async with unruly(lambda asked, n: says(asked, status="error", output=1, **answer)) as agent:
        await yard.register("old", agent.url, wire="plain")
        told = await yard.told(await yard.ask("old"))
    assert (told.error.code, told.error.message, len(agent.asked)) == (code, message, 1)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"task_id": "another", "status": "success"}, "the answer is for task 'another'"),
        ({"status": "success"}, "missing required field `task_id`"),
        ({"task_id": f"{RUN}/s", "status": "running"}, "the status is 'running', not 'success'"),
        ({"task_id": f"{RUN}/s"}, "the status is '', not 'success' or 'error'"),
        ([], "Expected `object`, got `array`"),
    ],
)
async def test_malformed_answers_fail_the_task(yard: Yard, answer: Any, message: str) -> None:
    async with unruly(lambda asked, n: http(answer)) as agent:
        await yard.register("old", agent.url, wire="plain")
        told = await yard.told(await yard.ask("old", task="s"))
    assert (told.error.code, len(agent.asked)) == ("malformed_answer", 1)
    assert message in told.error.message


@pytest.mark.req("W-23")
@pytest.mark.parametrize("status", ["done", "completed", "OK", "", None])
async def test_a_success_may_have_another_name(yard: Yard, status: str | None) -> None:
    said = {"output": "yes"} if status is None else {"output": "yes", "status": status}
    async with unruly(lambda asked, n: says(asked, **said)) as agent:
        await yard.register("old", agent.url, wire="plain")
        told = await yard.told(await yard.ask("old"))
    assert told.output == "yes"


@pytest.mark.req("W-23")
@pytest.mark.parametrize(
    ("answer", "output", "warning"),
    [
        ({"status": "success", "result": "yes"}, ..., "the whole of it is the output"),
        ({"status": "done", "answer": 1.5, "error": None}, ..., "the status is 'done'"),
        ({"status": None, "output": "yes"}, "yes", "the status is '': it is taken as 'success'"),
        ({"status": 3, "output": "yes"}, "yes", "the status is '3'"),
        ({"status": "success", "output": "yes", "error": []}, "yes", ""),
        ({"status": "success", "output": "yes", "error": False}, "yes", ""),
        ({"status": "success"}, None, ""),
    ],
)
async def test_a_success_is_understood_with_a_warning(
    yard: Yard, answer: Any, output: Any, warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with unruly(lambda asked, n: says(asked, **answer)) as agent:
        await yard.register("old", agent.url, wire="plain")
        told = await yard.told(await yard.ask("old", task="s"))
    whole = {"task_id": f"{RUN}/s", **answer}
    assert told.output == (whole if output is ... else output)
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert [warning in each for each in warnings] == ([True] if warning else [])


@pytest.mark.req("W-23")
@pytest.mark.parametrize("status", ["failed", "cancelled", ""])
async def test_a_failure_may_have_another_name(yard: Yard, status: str) -> None:
    async with unruly(
        lambda asked, n: says(asked, status=status, output="half", error="no model")
    ) as agent:
        await yard.register("old", agent.url, wire="plain")
        told = await yard.told(await yard.ask("old"))
    assert (told.error.code, told.error.message) == ("agent_error", "no model")


async def test_what_may_have_been_done_is_asked_again_with_the_same_key(yard: Yard) -> None:
    async with unruly(lambda asked, n: http({}, status=500)) as agent:
        await yard.register("old", agent.url, wire="plain")
        told = await yard.told(await yard.ask("old"))
    assert (told.error.code, told.attempts) == ("http_500", 3)
    assert len({asked.headers["idempotency-key"] for asked in agent.asked}) == 1


async def test_a_cancelled_call_ends_its_connection(yard: Yard) -> None:
    async with unruly(lambda asked, n: HANG) as agent:
        await yard.register("old", agent.url, wire="plain", timeout=60.0)
        id = await yard.ask("old")
        await agent.wait(1)
        await yard.cancel(id)
        row = await yard.in_state(id, "done")

        async def ended() -> bool:
            return agent.ended == 1

        await until(ended)
    assert row["outcome"] == "cancelled"
