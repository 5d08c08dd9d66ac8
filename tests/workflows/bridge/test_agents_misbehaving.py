"""Tasks of agents that break the protocol, on both engines."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable

import pytest

from accord.a2a import message_id
from accord.a2a.protocol.outcome import MAX_UNCLEAR
from accord.workflows.bridge.outcomes import MAX_STORED_ANSWER
from accord.workflows.core.definition import Retry
from accord.workflows.core.events import CallAgent, TaskFailed, TaskSucceeded
from tests.a2a.protocol.test_tolerant import MESSAGES, TASKS
from tests.a2a.scripted import Asked, http
from tests.workflows.bridge.unruly import (
    CUT,
    HANG,
    Answer,
    Unruly,
    done,
    refuse,
    reply,
    task03,
    unruly,
)
from tests.workflows.bridge.yard import RUN, Yard, working

HUGE = b'{"jsonrpc":"2.0","id":"x","result":"' + b"x" * 5_000_000 + b'"}'


@pytest.fixture
async def yard(migrated_url: str) -> AsyncIterator[Yard]:
    async with working(migrated_url) as made:
        yield made


async def outcome(yard: Yard, answer: Answer, **options: object) -> tuple[TaskFailed, Unruly]:
    """What the run is told, and all that the agent was asked."""
    async with unruly(answer) as agent:
        await yard.register("a", agent.url, timeout=0.3)
        told = await yard.told(await yard.ask("a", task="s", **options))
    return told, agent


def other_version(asked: Asked, n: int) -> bytes:
    return http({"jsonrpc": "1.0", "id": asked.json["id"], "result": {}})


def other_id(asked: Asked, n: int) -> bytes:
    return http({"jsonrpc": "2.0", "id": "another", "result": task03("completed", "x")})


def nothing(asked: Asked, n: int) -> bytes:
    return http({"jsonrpc": "2.0", "id": asked.json["id"]})


def both(asked: Asked, n: int) -> bytes:
    error = {"code": 1, "message": "x"}
    return http({"jsonrpc": "2.0", "id": asked.json["id"], "result": {}, "error": error})


@pytest.mark.req("W-03", "W-05")
@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        (other_version, "malformed_answer", "the agent's answer is not valid"),
        (other_id, "malformed_answer", "the answer's id is"),
        (nothing, "malformed_answer", "the agent's answer is not valid"),
        (both, "malformed_answer", "the agent's answer is not valid"),
        (lambda asked, n: http(b"<html>"), "malformed_answer", "the agent's answer is not valid"),
        (lambda asked, n: http(HUGE), "malformed_answer", "over the limit of 4,194,304 bytes"),
        (lambda asked, n: b"SSH-2.0\r\n\r\n", "malformed_answer", "not HTTP"),
        (lambda asked, n: refuse(asked, -32602, "no"), "-32602", "no"),
        (lambda asked, n: refuse(asked, 7, "no", status=400), "7", "no"),
        (lambda asked, n: http({}, status=404), "http_404", "the agent answered HTTP 404"),
        (
            lambda asked, n: http({}, status=307, headers="location: http://127.0.0.1:1/\r\n"),
            "http_307",
            "which is not followed",
        ),
    ],
)
async def test_what_is_certain_to_have_failed_fails_at_once(
    yard: Yard, answer: Answer, code: str, message: str
) -> None:
    told, agent = await outcome(yard, answer)
    assert (told.error.code, told.attempts, len(agent.asked)) == (code, 1, 1)
    assert message in told.error.message
    [(kind, run, task, target, *said, body, attempts)] = await yard.letters()
    assert (kind, run, task, target) == ("task", RUN, "s", "a")
    assert said == [told.error.code, told.error.message]
    assert (body, attempts) == ('"hello"', 1)
    assert (await yard.row(f"{RUN}/s"))["outcome"] == "error"


@pytest.mark.req("W-05", "W-06")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda asked, n: http({}, status=503), "http_503"),
        (lambda asked, n: http({}, status=429), "http_429"),
        (lambda asked, n: CUT, "connection_lost"),
        (lambda asked, n: b"HTTP/1.1 200 x\r\ncontent-length: 50\r\n\r\n{", "timeout"),
        (lambda asked, n: HANG, "timeout"),
        (lambda asked, n: refuse(asked, -32603, "oops"), "-32603"),
    ],
)
async def test_what_may_have_been_done_is_sent_again_as_the_same_message(
    yard: Yard, answer: Answer, code: str
) -> None:
    told, agent = await outcome(yard, answer)
    assert (told.error.code, told.attempts) == (code, 3)
    assert agent.message_ids == [message_id(RUN, "s", "", "1")] * 3
    assert [asked.json["id"] for asked in agent.asked] == [f"{RUN}/s"] * 3
    [letter] = await yard.letters()
    assert (letter[4], letter[7]) == (code, 3)


@pytest.mark.req("W-06")
async def test_an_agent_that_recovers_is_fine(yard: Yard) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        return http({}, status=500) if n < 3 else done(asked, "at last")

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a"))
    assert (told.output, told.attempts, len(set(agent.message_ids))) == ("at last", 3, 1)
    assert await yard.letters() == []


@pytest.mark.req("W-06")
async def test_a_definite_failure_is_tried_again_as_a_new_message_if_the_policy_says_so(
    yard: Yard,
) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        return reply(asked, task03("failed")) if n < 3 else done(asked)

    policy = Retry(initial_delay=0.01, jitter=False, failures="all")
    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a", task="s", retry=policy))
    assert isinstance(told, TaskSucceeded)
    assert agent.message_ids == [message_id(RUN, "s", "", group) for group in "123"]


@pytest.mark.req("W-15")
async def test_a_call_that_is_repeated_is_the_same_message_until_it_turns_out_to_be_cancelled(
    yard: Yard,
) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        return reply(asked, task03("canceled")) if n < 2 else done(asked)

    policy = Retry(attempts=1, initial_delay=0.01, jitter=False)
    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        command = CallAgent(task="s[1]@3", step="s[1]", agent="a", retry=policy, resumes="s[1]@2")
        [id] = await yard.give(command, attempt_group=4)
        told = await yard.told(id)
    assert isinstance(told, TaskSucceeded)
    assert agent.message_ids == [message_id(RUN, "s", "[1]", group) for group in ("4@2", "5@2")]
    assert [asked.json["id"] for asked in agent.asked] == [f"{RUN}/s[1]@2"] * 2


@pytest.mark.req("W-15")
@pytest.mark.parametrize(
    ("answer", "unknown"),
    [
        (lambda asked, n: http({}, status=503), True),
        (lambda asked, n: http({}, status=503 if n == 1 else 403), True),
        (lambda asked, n: http({}, status=403), False),
        (lambda asked, n: refuse(asked, -32602, "no"), False),
        (lambda asked, n: reply(asked, task03("failed")), False),
    ],
)
async def test_a_failure_says_whether_the_outcome_is_unknown(
    yard: Yard, answer: Answer, unknown: bool
) -> None:
    told, _ = await outcome(yard, answer)
    assert told.error.unknown is unknown


@pytest.mark.req("W-06")
async def test_an_agent_is_left_alone_as_long_as_it_wants(yard: Yard) -> None:
    times: list[float] = []

    def answer(asked: Asked, n: int) -> bytes:
        times.append(asyncio.get_running_loop().time())
        if n == 1:
            return http({}, status=429, headers="retry-after: 1\r\n")
        return done(asked)

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        await yard.told(await yard.ask("a"))
    assert times[1] - times[0] >= 1.0


async def test_an_agent_that_forgot_its_task_gets_the_same_message_again(yard: Yard) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        match asked.json["method"]:
            case "message/send" if n == 1:
                return reply(asked, task03("working", id="r-1"))
            case "message/send":
                return reply(asked, task03("working", id="r-2"))
            case _ if asked.json["params"]["id"] == "r-1":
                return refuse(asked, -32001, "no such task")
        return done(asked)

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a", task="s"))
    assert (told.output, told.attempts) == ("done", 2)
    assert agent.methods == ["message/send", "tasks/get", "message/send", "tasks/get"]
    assert agent.message_ids == [message_id(RUN, "s", "", "1")] * 2


async def test_an_agent_that_always_forgets_is_given_up(yard: Yard) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        if asked.json["method"] == "message/send":
            return reply(asked, task03("working"))
        return refuse(asked, -32001, "no such task")

    told, agent = await outcome(yard, answer)
    assert (told.error.code, told.attempts) == ("-32001", 3)
    assert agent.methods == ["message/send", "tasks/get"] * 3


async def test_questions_about_a_task_may_stay_unanswered_for_a_while(yard: Yard) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        if n == 1:
            return reply(asked, task03("working"))
        return http({}, status=502) if n in (2, 3, 5, 6) else reply(asked, _later(n))

    def _later(n: int) -> object:
        return task03("completed", "done") if n > 6 else task03("working")

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a"))
    assert (told.output, told.attempts) == ("done", 1)
    assert agent.methods.count("message/send") == 1


async def test_nobody_is_asked_after_the_deadline(yard: Yard) -> None:
    async with unruly(lambda asked, n: done(asked)) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a", deadline=1.0))
    assert (told.error.code, agent.asked) == ("timeout", [])


async def test_a_call_ends_with_the_time_of_its_step(yard: Yard) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        return reply(asked, task03("canceled" if "cancel" in asked.json["method"] else "working"))

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a", deadline=time.time() + 0.5))
    assert (told.error.code, told.attempts) == ("timeout", 1)
    assert agent.methods[-1] == "tasks/cancel"


@pytest.mark.req("W-05", "W-10", "W-24")
async def test_the_log_says_what_was_wrong_without_secrets(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    body = b'{"oops": 1, "password": "hunter2", "more": "' + b"x" * 100_000 + b'"}'
    caplog.set_level(logging.DEBUG, "accord.bridge")
    told, _ = await outcome(yard, lambda asked, n: http(body))
    [record] = [each for each in caplog.records if each.levelname != "DEBUG"]
    assert record.levelname == "ERROR"
    assert (
        record.getMessage()
        == f"task {RUN}/s: failed for good: {told.error.message} (malformed_answer)"
    )
    about = {name: getattr(record, name) for name in ("task_id", "agent", "correlation_id")}
    assert about == {"task_id": f"{RUN}/s", "agent": "a", "correlation_id": "c-7"}
    said = record.__dict__["body"]
    assert said.startswith('{"oops": 1, "password": "[redacted]"')
    assert len(said) < 20_000


@pytest.mark.req("W-17")
async def test_what_was_answered_is_kept_with_the_failed_step_bounded_and_without_secrets(
    yard: Yard,
) -> None:
    body = b'{"oops": 1, "password": "hunter2", "more": "' + b"x" * 100_000 + b'"}'
    told, _ = await outcome(yard, lambda asked, n: http(body))
    answered = told.error.details["answered"]
    assert answered.startswith('{"oops": 1, "password": "[redacted]", "more": "xxx')
    assert (len(answered), answered[-1]) == (MAX_STORED_ANSWER + 1, "…")


@pytest.mark.req("W-24")
@pytest.mark.parametrize(
    ("answer", "message", "body"),
    [
        (lambda asked, n: refuse(asked, -32602, "no"), "no (-32602)", '"message": "no"'),
        (lambda asked, n: http(b"gone", status=404), "HTTP 404 (http_404)", "gone"),
        (
            lambda asked, n: reply(asked, task03("failed", "half")),
            "the task failed (task_failed)",
            '"text": "half"',
        ),
        (
            lambda asked, n: reply(asked, {"status": {"state": "working"}}),
            "no id to follow it by (malformed_answer)",
            '"working"',
        ),
    ],
)
async def test_what_fails_for_good_is_logged_as_an_error_with_what_was_answered(
    yard: Yard, caplog: pytest.LogCaptureFixture, answer: Answer, message: str, body: str
) -> None:
    await outcome(yard, answer)
    [record] = [each for each in caplog.records if each.name == "accord.bridge"]
    assert (record.levelname, message in record.getMessage()) == ("ERROR", True)
    assert body in record.__dict__["body"]
    about = {name: getattr(record, name) for name in ("task_id", "agent", "correlation_id")}
    assert set(about.values()) == {record.__dict__["task_id"], "a", "c-7"}


@pytest.mark.req("W-24")
async def test_an_attempt_that_is_made_again_is_a_warning_and_the_last_one_an_error(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    await outcome(yard, lambda asked, n: http(b"down", status=503))
    records = [each for each in caplog.records if " failed " in each.getMessage()]
    assert [each.levelname for each in records] == ["WARNING", "WARNING", "ERROR"]
    assert [each.__dict__["body"] for each in records] == ["down"] * 3


# Answers that are nearly right


@pytest.mark.req("W-23")
async def test_output_is_found_in_every_answer_that_is_nearly_right(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    odd = {**TASKS, **MESSAGES}

    def answer(asked: Asked, n: int) -> bytes:
        return reply(asked, odd[asked.json["params"]["message"]["parts"][0]["text"]])

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        told = {name: await yard.told(await yard.ask("a", name)) for name in odd}
    assert {name: getattr(each, "output", each) for name, each in told.items()} == dict.fromkeys(
        odd, "yes"
    )
    warned = [each for each in caplog.records if each.levelname == "WARNING"]
    assert len(warned) == len(odd)
    assert all(hasattr(each, "task_id") for each in warned)


@pytest.mark.req("W-23")
async def test_a_task_that_is_followed_may_end_with_an_answer_that_is_nearly_right(
    yard: Yard,
) -> None:
    odd = iter([*TASKS.values(), *MESSAGES.values()])

    def answer(asked: Asked, n: int) -> bytes:
        if asked.json["method"] == "message/send":
            return reply(asked, task03("in_progress"))
        return reply(asked, next(odd))

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        told = [await yard.told(await yard.ask("a")) for _ in range(len(TASKS) + len(MESSAGES))]
    assert {each.output for each in told} == {"yes"}


@pytest.mark.req("W-23")
async def test_a_result_without_text_is_the_output_in_the_spelling_of_the_agent(
    yard: Yard,
) -> None:
    result = {**task03("completed"), "artifacts": [{"artifactId": "a", "parts": [{"x": 1}]}]}
    async with unruly(lambda asked, n: reply(asked, result)) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a"))
    assert told.output == result


@pytest.mark.req("W-23")
@pytest.mark.parametrize(
    ("after", "output"),
    [
        (lambda asked: reply(asked, task03("completed", "all")), "all"),
        (lambda asked: reply(asked, task03("bananas", "half")), "half"),
        (lambda asked: refuse(asked, -32001, "no such task"), "half"),
        (lambda asked: refuse(asked, -32601, "no such method"), "half"),
    ],
)
async def test_a_task_in_an_unknown_state_is_asked_about_before_its_output_is_taken(
    yard: Yard, after: Callable[[Asked], bytes], output: str
) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        is_first = asked.json["method"] == "message/send"
        return reply(asked, task03("bananas", "half")) if is_first else after(asked)

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a"))
    assert told.output == output
    assert 2 <= len(agent.asked) <= 1 + MAX_UNCLEAR
    assert agent.methods.count("message/send") == 1


@pytest.mark.req("W-10")
async def test_requests_answers_and_outputs_are_logged(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "accord.bridge")
    async with unruly(lambda asked, n: done(asked, "the token=abc123 is " + "x" * 5_000)) as agent:
        await yard.register("a", agent.url)
        await yard.told(await yard.ask("a", {"text": "hi", "api_key": "k-1"}, task="s"))
    sent, received, succeeded = (
        (record.levelname, record.getMessage()) for record in caplog.records
    )
    assert sent[0] == received[0] == "DEBUG"
    assert '"message/send"' in sent[1]
    assert "k-1" not in sent[1]
    assert '"completed"' in received[1]
    assert succeeded[0] == "INFO"
    assert succeeded[1].startswith(f"task {RUN}/s: succeeded with the token=[redacted] is xxx")
    assert succeeded[1].endswith("… (5,020 characters)")
