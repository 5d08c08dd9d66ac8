"""Requests as they are sent, and answers as they are understood, in both formats."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from accord.a2a.protocol.calls import message_of, read_answer, send_request
from accord.a2a.protocol.errors import CallError, DefiniteError
from accord.a2a.protocol.fields import Wire
from accord.a2a.protocol.model import Send
from accord.a2a.protocol.outcome import (
    DoneOutcome,
    FailedOutcome,
    UnclearOutcome,
    WaitingOutcome,
    WorkingOutcome,
    error_result,
    outcome_of,
    success_result,
)
from tests.a2a.golden.transcript import Scene, scenes

SCENES = [scene for wire in Wire for scene in scenes(wire)]


def named(scene: Scene) -> str:
    return f"{scene.wire.value} {scene.title}"


@pytest.mark.req("W-01", "W-02")
@pytest.mark.parametrize("scene", [each for each in SCENES if "sent" in each.parts], ids=named)
def test_input_becomes_a_request(scene: Scene) -> None:
    message = message_of(scene.parts["input"], message_id="m-1")
    sent = send_request(scene.wire, "t-1", Send(message=message))
    assert json.loads(sent) == scene.parts["sent"]


@pytest.mark.req("W-03")
@pytest.mark.parametrize("scene", SCENES, ids=named)
def test_an_answer_is_understood(scene: Scene) -> None:
    body = json.dumps(scene.parts["answer"]).encode()
    assert meaning(body, scene.wire) == scene.parts["meant"]


def meaning(body: bytes, wire: Wire) -> dict[str, Any]:
    """What an answer means, as the transcripts write it."""
    try:
        outcome = outcome_of(read_answer(body, "t-1", wire))
    except CallError as failed:
        definite = isinstance(failed, DefiniteError)
        return {"error": failed.code, "message": failed.message, "definite": definite}
    match outcome:
        case DoneOutcome():
            return as_done(outcome)
        case UnclearOutcome(task_id, done):
            return {"unclear": task_id, **as_done(done)}
        case FailedOutcome(code, message):
            return {"failed": code, "message": message}
        case WorkingOutcome(task_id):
            return {"working": task_id}
        case WaitingOutcome(task_id, context_id, state, question):
            return {
                "waiting": task_id,
                "context": context_id,
                "state": state.value,
                "question": question,
            }


def as_done(done: DoneOutcome) -> dict[str, Any]:
    it = done.extracted
    meant = {
        "done": it.output,
        "data": list(it.data),
        "files": [file.url or file.content for file in it.files],
        "warning": it.warning,
    }
    return {name: each for name, each in meant.items() if each or name == "done"}


@pytest.mark.req("W-04")
def test_results_have_one_form() -> None:
    failed = FailedOutcome("task_failed", "no model")
    assert [
        msgspec.to_builtins(each)
        for each in (success_result("t", {"a": 1}), error_result("t", failed))
    ] == [
        {"task_id": "t", "status": "success", "output": {"a": 1}, "error": None},
        {
            "task_id": "t",
            "status": "error",
            "output": None,
            "error": {"code": "task_failed", "message": "no model"},
        },
    ]


def test_a_malformed_answer_keeps_its_body_for_the_log() -> None:
    body = b"<html>" + b"x" * 100_000
    with pytest.raises(CallError) as caught:
        read_answer(body, "t-1", Wire.V03)
    assert (len(caught.value.body), str(caught.value)[:60]) == (
        64 * 1024,
        "the agent's answer is not valid: Parse error: JSON is malfor",
    )
