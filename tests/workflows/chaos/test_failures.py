"""What failure does, as people see it: whole runs at a server of its own, for each way in which an
agent can fail. What is killed is the affair of `test_rounds`."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec import Struct

from tests.a2a.scripted import Asked, http
from tests.app.desk import ALLOWED, Desk, at
from tests.app.served import serving
from tests.workflows.bridge.unruly import CUT, HANG, Answer, done, refuse, reply, task03, unruly

RETRY = {"attempts": 3, "initial_delay": 0.05, "max_delay": 0.1, "jitter": False}
NOWHERE = "http://127.0.0.1:9/"


def ended(state: str) -> Answer:
    return lambda asked, n: reply(asked, task03(state))


def status(number: int) -> Answer:
    return lambda asked, n: http({}, status=number)


def first(answer: bytes) -> Answer:
    """Only the first request fails."""
    return lambda asked, n: answer if n == 1 else done(asked)


def forgetful(asked: Asked, n: int) -> bytes:
    """Begins a task, forgets it, and does it the second time."""
    if asked.json["method"] == "tasks/get":
        return refuse(asked, -32001, "there is no such task")
    return reply(asked, task03("working")) if n == 1 else done(asked)


def asking(asked: Asked, n: int) -> bytes:
    """Needs to know something first."""
    if asked.json["method"] == "message/send" and "taskId" in asked.json["params"]["message"]:
        return done(asked, asked.json["params"]["message"]["parts"][0]["text"])
    return reply(asked, task03("input-required"))


def other_version(asked: Asked, n: int) -> bytes:
    return http({"jsonrpc": "1.0", "id": asked.json["id"], "result": task03("completed", "x")})


def other_id(asked: Asked, n: int) -> bytes:
    return http({"jsonrpc": "2.0", "id": "another", "result": task03("completed", "x")})


class Row(Struct, frozen=True):
    """What an agent does, and what has to come of it: the state of the run, its output or the code
    of its error, the attempts, how many message ids they had, and the dead letters."""

    answer: Answer | None
    expected: tuple[str, str, int, int, int]
    failures: str = "unknown"


BAD = ("failed", "malformed_answer", 1, 1, 1)

ROWS: dict[str, Row] = {
    # The agent answers an error, fails, rejects.
    "error": Row(lambda asked, n: refuse(asked, -32602, "no"), ("failed", "-32602", 1, 1, 1)),
    "failed": Row(ended("failed"), ("failed", "task_failed", 1, 1, 1)),
    "rejected": Row(ended("rejected"), ("failed", "task_rejected", 1, 1, 1)),
    "failed, retried as the policy says": Row(
        ended("failed"), ("failed", "task_failed", 3, 3, 1), "all"
    ),
    "error, retried as the policy says": Row(
        lambda asked, n: refuse(asked, -32602, "no") if n == 1 else done(asked),
        ("completed", "done", 2, 2, 0),
        "all",
    ),
    # It cannot be reached, 5xx, 429, timeout.
    "unreachable": Row(None, ("failed", "unreachable", 3, 0, 1)),
    "500": Row(status(500), ("failed", "http_500", 3, 1, 1)),
    "internal error": Row(
        lambda asked, n: refuse(asked, -32603, "no"), ("failed", "-32603", 3, 1, 1)
    ),
    "503": Row(status(503), ("failed", "http_503", 3, 1, 1)),
    "429": Row(status(429), ("failed", "http_429", 3, 1, 1)),
    "timeout": Row(lambda asked, n: HANG, ("failed", "timeout", 3, 1, 1)),
    "cut": Row(lambda asked, n: CUT, ("failed", "connection_lost", 3, 1, 1)),
    "503 once": Row(first(http({}, status=503)), ("completed", "done", 2, 1, 0)),
    "cut once": Row(first(CUT), ("completed", "done", 2, 1, 0)),
    # It was restarted and forgot its task.
    "forgot": Row(forgetful, ("completed", "done", 2, 1, 0)),
    # It needs input.
    "asks": Row(asking, ("completed", "blue", 1, 2, 0)),
    # Malformed, wrong version, wrong id.
    "malformed": Row(lambda asked, n: http(b"<html>"), BAD),
    "wrong version": Row(other_version, BAD),
    "wrong id": Row(other_id, BAD),
}


@pytest.mark.req("W-05", "W-06", "W-09")
async def test_each_failure_of_an_agent_comes_to_what_is_promised(tmp_path: Path) -> None:
    async with serving(tmp_path / "data", *ALLOWED) as served, at(served) as desk:
        found = await asyncio.gather(*(play(desk, n, row) for n, row in enumerate(ROWS.values())))
        letters = (await desk.get("/dead-letters?limit=100"))["items"]
    targets = [letter["target"] for letter in letters]
    counted = [(*each, targets.count(f"agent-{n}")) for n, each in enumerate(found)]
    assert dict(zip(ROWS, counted, strict=True)) == {name: r.expected for name, r in ROWS.items()}


async def play(desk: Desk, number: int, row: Row) -> tuple[str, str, int, int]:
    """A run that asks such an agent: its state, output or error, attempts, and message ids."""
    name = f"agent-{number}"
    async with AsyncExitStack() as stack:
        agent = None if row.answer is None else await stack.enter_async_context(unruly(row.answer))
        url = NOWHERE if agent is None else agent.url
        retry = {**RETRY, "failures": row.failures}
        given = {"name": name, "url": url, "wire": "a2a-0.3", "timeout": 1, "retry": retry}
        await desk.post("/agents", given, expect=201)
        step = {"name": "ask", "type": "agent", "agent": name, "input": "hello"}
        await desk.post("/workflows", {"name": f"ask-{number}", "steps": [step]}, expect=201)
        id = await desk.start(f"ask-{number}")
        run = await desk.until(id, "completed", "failed", "waiting")
        if run["state"] == "waiting":
            await desk.post(f"/runs/{id}/signal", {"name": "ask", "payload": "blue"})
            run = await desk.ended(id)
        ids = set() if agent is None else set(agent.message_ids)
    [told] = run["steps"]
    outcome = run["output"] if run["error"] is None else run["error"]["code"]
    return run["state"], outcome, told["attempts"], len(ids)
