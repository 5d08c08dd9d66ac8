"""Ids, states, errors, polling, and how news change a task."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from accord.a2a.protocol.calls import is_answer
from accord.a2a.protocol.errors import (
    AgentError,
    RefusedError,
    UnknownOutcomeError,
    error_from_answer,
    error_from_status,
    failure,
    from_wire_unmapped,
)
from accord.a2a.protocol.model import (
    STATE_NAMES_10,
    Artifact,
    ArtifactUpdate,
    DataPart,
    StatusUpdate,
    Task,
    TaskState,
    TaskStatus,
    TextPart,
    message_id,
    updated,
)
from accord.a2a.protocol.outcome import poll_intervals
from tests.a2a.values import ASKED, SAID, TASK


def test_the_same_work_has_the_same_message_id() -> None:
    ids = [
        message_id("run", "step", "0", "1"),
        message_id("run", "step", "0", "1"),
        message_id("run", "step", "0", "2"),
        message_id("run", "step", "1", "1"),
        message_id("run", "ste", "p0", "1"),
    ]
    assert ids[0] == ids[1] == "0d8f7af3-a364-5213-b662-a7ae02a605e0"
    assert len(set(ids)) == 4


def test_states_have_the_names_of_both_formats() -> None:
    assert STATE_NAMES_10[TaskState.INPUT_REQUIRED] == "TASK_STATE_INPUT_REQUIRED"
    assert STATE_NAMES_10[TaskState.UNKNOWN] == "TASK_STATE_UNSPECIFIED"
    assert len(set(STATE_NAMES_10.values())) == len(TaskState)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *[(code, AgentError) for code in (-32700, -32600, -32601, -32602, -32000, 7)],
        *[(code, AgentError) for code in range(-32009, -32000)],
        (-32603, UnknownOutcomeError),
    ],
)
def test_codes_say_whether_it_may_have_happened(code: int, kind: type[Exception]) -> None:
    assert type(error_from_answer(code, "x")) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *[(status, UnknownOutcomeError) for status in (408, 429, 500, 502, 503, 504)],
        *[(status, RefusedError) for status in (301, 400, 401, 403, 404, 413, 422)],
    ],
)
def test_statuses_say_whether_it_may_have_happened(status: int, kind: type[Exception]) -> None:
    error = error_from_status(status, "x", retry_after=3.0)
    assert (type(error), error.code, error.retry_after) == (kind, f"http_{status}", 3.0)


def test_errors_of_servers_say_their_reason() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": "a2a-protocol.org"}
    plain, told = failure("TASK_NOT_FOUND"), failure("VERSION_NOT_SUPPORTED", "no", requested="9")
    assert [(each.code, each.message, each.data) for each in (plain, told)] == [
        (-32001, "There is no such task", [{**info, "reason": "TASK_NOT_FOUND"}]),
        (
            -32009,
            "no",
            [{**info, "reason": "VERSION_NOT_SUPPORTED", "metadata": {"requested": "9"}}],
        ),
    ]
    assert type(from_wire_unmapped(-32602, "x")).__name__ == "InvalidParamsError"


@pytest.mark.parametrize(
    ("body", "answers"),
    [
        (b'{"jsonrpc": "2.0", "id": "t", "error": {"code": -32602, "message": "x"}}', True),
        (b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "x"}}', True),
        (b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32603, "message": "x"}}', False),
        (b'{"jsonrpc": "2.0", "id": "u", "error": {"code": -32602, "message": "x"}}', False),
        (b'{"jsonrpc": "2.0", "id": "t", "result": 1}', False),
        (b"<html>", False),
    ],
)
def test_errors_are_told_from_pages_of_proxies(body: bytes, answers: bool) -> None:
    assert is_answer(body, "t") is answers


def test_polls_grow_up_to_a_limit() -> None:
    assert list(islice(poll_intervals(1.0, 2.0, 5.0), 5)) == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_history_is_cut_at_its_old_end() -> None:
    assert [TASK.with_history(length).history for length in (None, 0, 1, 9)] == [
        (ASKED, SAID),
        (),
        (SAID,),
        (ASKED, SAID),
    ]


def of_status(state: TaskState, message: Any = None) -> StatusUpdate:
    return StatusUpdate(
        task_id="r", context_id="c", status=TaskStatus(state=state, message=message)
    )


def of_artifact(id: str, *parts: Any, append: bool = False, **metadata: Any) -> ArtifactUpdate:
    artifact = Artifact(artifact_id=id, parts=parts, metadata=metadata)
    return ArtifactUpdate(task_id="r", context_id="c", artifact=artifact, append=append)


def test_events_change_a_task() -> None:
    task = Task(id="r", context_id="c", status=TaskStatus(state=TaskState.SUBMITTED))
    for event in (
        of_status(TaskState.WORKING, SAID),
        of_artifact("a", TextPart(text="one "), k=1),
        of_artifact("a", TextPart(text="two"), DataPart(data=1), append=True, j=2),
        of_artifact("a", DataPart(data=2), append=True),
        of_artifact("b", TextPart(text="x")),
        of_artifact("b", TextPart(text="y")),
        of_artifact("b", append=True),
        of_status(TaskState.COMPLETED),
    ):
        task = updated(task, event)
    assert task == Task(
        id="r",
        context_id="c",
        status=TaskStatus(state=TaskState.COMPLETED),
        history=(SAID,),
        artifacts=(
            Artifact(
                artifact_id="a",
                parts=(TextPart(text="one two"), DataPart(data=1), DataPart(data=2)),
                metadata={"k": 1, "j": 2},
            ),
            Artifact(artifact_id="b", parts=(TextPart(text="y"),)),
        ),
    )
