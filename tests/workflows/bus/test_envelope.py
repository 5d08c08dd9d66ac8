"""Messages of the topics."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from msgspec import json

from accord.workflows.bus.bus import EnvelopeError, RunAnnouncement
from accord.workflows.bus.envelope import (
    CancelRun,
    MessageOrigin,
    SignalRun,
    StartRun,
    TaskAnswered,
    encode,
    message_of,
    read_answer,
    read_origin,
    read_request,
    read_to_bridge,
    run_events,
    task_answered,
    task_cancelled,
    task_sent,
)
from accord.workflows.core.definition import RpcTarget
from accord.workflows.core.events import (
    Arrival,
    CallMethod,
    PauseRequested,
    TaskAsked,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.state import Failure
from accord.workflows.storage.messages import RunMessage
from accord.workflows.storage.tasks import NewTask

RUN = "0197a000-0000-7000-8000-000000000001"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def test_a_task_and_its_end_are_read_as_they_were_written() -> None:
    target = RpcTarget(url="http://a/", method="m")
    command = CallMethod(task="t@2", step="t", target=target, input=[1], deadline=9.0)
    sent = task_sent(NewTask(run_id=RUN, command=command, at=5.0, correlation_id="c"))
    assert (sent.kind, sent.agent, sent.task_id) == ("method", "http://a/", f"{RUN}/t@2")
    assert read_to_bridge(encode(sent).encode()) == sent
    cancelled = task_cancelled(sent.task_id, 6.0)
    assert (cancelled.run_id, cancelled.message_id) == (RUN, f"{RUN}/t@2/cancel")
    assert read_to_bridge(encode(cancelled).encode()) == cancelled


@given(VALUES, VALUES)
def test_what_came_of_a_task_is_what_arrives(one: object, other: object) -> None:
    arrivals: list[Arrival] = [
        TaskSucceeded(at=1.5, task="a[0]", output=one, data=other, artifacts=one, attempts=2),
        TaskFailed(at=1.5, task="a", error=Failure("code", "text", "s", other), attempts=7),
        TaskAsked(at=1.5, task="b", prompt=one),
    ]
    for arrival in arrivals:
        message = RunMessage("m", RUN, arrival, "00-trace", "c-1")
        answered = task_answered(message)
        assert answered is not None
        assert message_of(read_answer(encode(answered).encode())) == message


def test_what_is_no_result_stays_what_it_is() -> None:
    assert task_answered(RunMessage("m", RUN, PauseRequested(at=1.0))) is None


def test_what_others_ask_for_is_read_strictly() -> None:
    head = b'{"schema":1,"message_id":"m",'
    run = b'"run_id":"%s"' % RUN.encode()
    assert read_request(head + b'"type":"start","workflow":"w","started_by":"ann"}') == StartRun(
        schema=1, message_id="m", workflow="w", started_by="ann"
    )
    assert read_request(head + run + b',"type":"cancel","by":"ann"}') == CancelRun(
        schema=1, message_id="m", run_id=UUID(RUN), by="ann"
    )
    assert read_request(
        head + run + b',"type":"signal","name":"n","id":"i","more":1}'
    ) == SignalRun(schema=1, message_id="m", run_id=UUID(RUN), name="n", id="i")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "unreadable"),
        (b"\xff", "unreadable"),
        (b"[" * 5_000, "unreadable"),
        (b'"text"', "unreadable"),
        (b'{"type":"start"}', "unreadable"),
        (b'{"schema":"1","type":"start"}', "unreadable"),
        (b'{"schema":2,"type":"teleport"}', "newer_schema"),
        (b'{"schema":1,"type":"teleport","message_id":"m"}', "unreadable"),
        (b'{"schema":1,"type":"signal","message_id":"m","run_id":"1","name":"n"}', "unreadable"),
        (b'{"schema":1,"type":"start","message_id":"m m","workflow":"w","started_by":"a"}',
         "unreadable"),
        (b'{"schema":1,"type":"start","message_id":"m","workflow":"\\u0000","started_by":"a"}',
         "unreadable"),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_says_why(data: bytes, code: str) -> None:
    with pytest.raises(EnvelopeError) as caught:
        read_request(data)
    assert caught.value.code == code


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (read_request, read_answer, read_to_bridge):
        with pytest.raises(EnvelopeError):
            read(data)
    assert read_origin(data) == MessageOrigin()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"task_id": "other/t"}, "not one of the run"),
        ({"error": {"code": "c", "message": "m"}}, "if and only if"),
        ({"status": "error"}, "if and only if"),
        ({"status": "maybe"}, "Invalid enum value"),
    ],
)
def test_a_result_makes_sense_or_is_refused(changes: dict[str, object], problem: str) -> None:
    sound = TaskAnswered(
        message_id="m", run_id="r", task_id="r/t", status="success", created_at=1.0
    )
    message = {**json.decode(encode(sound)), **changes}
    with pytest.raises(EnvelopeError, match=problem):
        read_answer(json.encode(message))


def test_decisions_are_told_as_they_were_recorded() -> None:
    told = run_events(RunAnnouncement("r", 3, '[{"a": 1}]', 2.0, "c", "t"))
    assert json.decode(encode(told))["events"] == [{"a": 1}]
    assert read_origin(encode(told)) == MessageOrigin("r/3", "c", "t")
