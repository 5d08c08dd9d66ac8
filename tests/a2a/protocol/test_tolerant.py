"""Answers that are nearly right: their output is found, with a warning that says what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accord.a2a.protocol.calls import (
    MAX_BODY_KEPT,
    MAX_REPAIRED,
    is_answer,
    read_answer,
    read_event,
    read_result,
)
from accord.a2a.protocol.errors import AgentError, MalformedAnswerError, UnknownOutcomeError
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.fields import Wire
from accord.a2a.protocol.model import (
    Artifact,
    ArtifactUpdate,
    Message,
    StatusUpdate,
    Task,
    TaskState,
    TaskStatus,
    Unrecognized,
)
from accord.a2a.protocol.outcome import (
    DoneOutcome,
    FailedOutcome,
    UnclearOutcome,
    WaitingOutcome,
    WorkingOutcome,
    outcome_of,
)
from accord.a2a.protocol.tolerant import MAX_WARNINGS

pytestmark = pytest.mark.req("W-23")

TEXT = {"kind": "text", "text": "yes"}
PART = {"text": "yes"}
DONE = {"state": "completed"}
DONE_10 = {"state": "TASK_STATE_COMPLETED"}
MADE = [{"artifactId": "a", "parts": [TEXT]}]
IDS = {"kind": "task", "id": "r-1", "contextId": "c-1"}


def body_of(result: Any, **envelope: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": "t-1", "result": result, **envelope}).encode()


def done(body: bytes, wire: Wire = Wire.V03, **options: Any) -> DoneOutcome:
    found = outcome_of(read_answer(body, "t-1", wire, **options))
    assert isinstance(found, DoneOutcome)
    return found


def said(role: str, text: str, **members: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"kind": "text", "text": text}], **members}


TASKS: dict[str, Any] = {
    "artifact without artifactId": {**IDS, "status": DONE, "artifacts": [{"parts": [TEXT]}]},
    "status message without messageId": {
        **IDS,
        "status": {**DONE, "message": said("agent", "yes")},
    },
    "task without status": {**IDS, "artifacts": MADE},
    "status is null": {**IDS, "status": None, "artifacts": MADE},
    "status without state": {**IDS, "status": {}, "artifacts": MADE},
    "image part beside the text": {
        **IDS,
        "status": DONE,
        "artifacts": [
            {"artifactId": "a", "parts": [{"kind": "image", "data": "aGk=", "mimeType": "x"}, TEXT]}
        ],
    },
    "role assistant": {
        **IDS,
        "status": DONE,
        "history": [said("user", "no", messageId="1"), said("assistant", "yes", messageId="2")],
    },
    "state done": {**IDS, "status": {"state": "done"}, "artifacts": MADE},
    "state Completed": {**IDS, "status": {"state": "Completed"}, "artifacts": MADE},
    "state COMPLETE": {**IDS, "status": {"state": "COMPLETE"}, "artifacts": MADE},
    "state success": {**IDS, "status": {"state": "success"}, "artifacts": MADE},
    "state ok": {**IDS, "status": {"state": "ok"}, "artifacts": MADE},
    "state finished": {**IDS, "status": {"state": "finished"}, "artifacts": MADE},
    "state of 1.0 in 0.3": {**IDS, "status": DONE_10, "artifacts": MADE},
    "state by its number": {**IDS, "status": {"state": 3}, "artifacts": MADE},
    "state by its number as a text": {**IDS, "status": {"state": "3"}, "artifacts": MADE},
    "state by its number with a point": {**IDS, "status": {"state": 3.0}, "artifacts": MADE},
    "task without contextId": {"kind": "task", "id": "r-1", "status": DONE, "artifacts": MADE},
    "task without id": {"kind": "task", "contextId": "c-1", "status": DONE, "artifacts": MADE},
    "task without kind": {"id": "r-1", "contextId": "c-1", "status": DONE, "artifacts": MADE},
    "part without kind": {
        **IDS,
        "status": DONE,
        "artifacts": [{"artifactId": "a", "parts": [PART]}],
    },
    "part of a type": {
        **IDS,
        "status": DONE,
        "artifacts": [{"artifactId": "a", "parts": [{"type": "text", "text": "yes"}]}],
    },
    "parts are a list of lists": {
        **IDS,
        "status": DONE,
        "artifacts": [{"artifactId": "a", "parts": [[TEXT]]}],
    },
    "artifacts are a list of lists": {**IDS, "status": DONE, "artifacts": [[[MADE[0]]]]},
    "history in a member messages": {
        **IDS,
        "status": DONE,
        "messages": [said("user", "no"), said("assistant", "yes")],
    },
    "status is a word": {**IDS, "status": "completed", "artifacts": MADE},
    "state beside the status": {**IDS, "status": None, "state": "completed", "artifacts": MADE},
    "parts null, and text in the history": {
        **IDS,
        "status": DONE,
        "artifacts": [{"artifactId": "a", "parts": None}],
        "history": [said("agent", "yes", messageId="1")],
    },
    "snake case": {
        "kind": "task",
        "id": "r-1",
        "context_id": "c-1",
        "status": DONE,
        "artifacts": [{"artifact_id": "a", "parts": [TEXT]}],
    },
    "one part instead of a list": {
        **IDS,
        "status": DONE,
        "artifacts": [{"artifactId": "a", "parts": TEXT}],
    },
    "parts are a text": {**IDS, "status": DONE, "artifacts": [{"artifactId": "a", "parts": "yes"}]},
    "a part is a text": {
        **IDS,
        "status": DONE,
        "artifacts": [{"artifactId": "a", "parts": ["yes"]}],
    },
    "artifacts are one artifact": {**IDS, "status": DONE, "artifacts": MADE[0]},
    "artifacts are an object by name": {
        **IDS,
        "status": DONE,
        "artifacts": {"answer": {"parts": [TEXT]}},
    },
    "artifacts are texts by name": {**IDS, "status": DONE, "artifacts": {"answer": "yes"}},
    "artifacts are texts": {**IDS, "status": DONE, "artifacts": ["yes"]},
    "an artifact is null": {**IDS, "status": DONE, "artifacts": [None, *MADE]},
    "artifacts are parts": {**IDS, "status": DONE, "artifacts": [TEXT]},
    "member artifact": {**IDS, "status": DONE, "artifact": MADE[0]},
    "artifact with content": {
        **IDS,
        "status": DONE,
        "artifacts": [{"artifactId": "a", "content": "yes"}],
    },
    "status message is a text": {**IDS, "status": {**DONE, "message": "yes"}},
    "message beside the status": {**IDS, "status": "completed", "message": "yes"},
    "status message with content": {
        **IDS,
        "status": {**DONE, "message": {"role": "agent", "content": "yes"}},
    },
    "status message of parts only": {**IDS, "status": {**DONE, "message": [TEXT]}},
    "history is one message": {**IDS, "status": DONE, "history": said("agent", "yes")},
    "history with texts and nulls": {**IDS, "status": DONE, "history": [None, "no", "yes"]},
    "history without roles": {
        **IDS,
        "status": DONE,
        "history": [said("user", "no"), {"parts": [TEXT]}],
    },
    "history ends with a tool": {
        **IDS,
        "status": DONE,
        "history": [said("agent", "yes"), said("tool", "no"), said("system", "no")],
    },
    "history with numbered roles": {
        **IDS,
        "status": DONE,
        "history": [{"role": 2, "parts": [TEXT]}, {"role": 1, "parts": [{"text": "no"}]}],
    },
    "an empty text in the artifacts": {
        **IDS,
        "status": {**DONE, "message": said("agent", "yes")},
        "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": ""}]}],
    },
    "output in a member of its own": {"id": 7, "status": "completed", "output": "yes"},
    "parts of the task itself": {**IDS, "status": DONE, "parts": [TEXT]},
    "inside of a list": [{**IDS, "status": DONE, "artifacts": MADE}],
    "inside of task": {"task": {**IDS, "status": DONE, "artifacts": MADE}},
    "inside of result": {"result": {**IDS, "status": DONE, "artifacts": MADE}},
    "an id that is none": {"id": True, "contextId": [], "status": "done", "artifacts": MADE},
    "an id that is a number": {"id": 7, "contextId": 8, "status": DONE, "artifacts": MADE},
    "metadata that is a text": {**IDS, "metadata": "x", "status": DONE, "artifacts": MADE},
    "extensions that are one": {
        **IDS,
        "status": DONE,
        "artifacts": [{**MADE[0], "extensions": "x"}],
    },
}
MESSAGES: dict[str, Any] = {
    "a message without messageId": {"kind": "message", "role": "agent", "parts": [TEXT]},
    "a message without role": {"kind": "message", "messageId": "m", "parts": [TEXT]},
    "a message without kind": {"messageId": "m", "role": "agent", "parts": [TEXT]},
    "parts are a list of lists of a message": {"parts": [[TEXT]]},
    "a message with the role assistant": {"kind": "message", **said("assistant", "yes")},
    "a message with content": {"role": "agent", "content": "yes"},
    "a message with a list of content": {"content": [{"type": "text", "text": "yes"}]},
    "a message with text": {"role": "agent", "text": "yes"},
    "a message without parts": {"kind": "message", "content": TEXT},
    "a message of one part": {"kind": "message", "part": TEXT},
    "inside of message": {"message": said("agent", "yes")},
    "message is a text": {"message": "yes"},
    "inside of data": {"data": {"parts": [TEXT]}},
    "a part alone": TEXT,
    "a list of parts": [TEXT],
    "parts with content": {"parts": [{"type": "text", "content": "yes"}]},
    "parts with value": {"parts": [{"type": "text", "value": "yes"}]},
    "parts inside of root": {"parts": [{"root": TEXT}]},
    "text inside of text": {"parts": [{"text": {"text": "yes"}}]},
    "an unknown kind with a text": {"parts": [{"kind": "markdown", "text": "yes"}]},
    "kinds in capitals": {"parts": [{"kind": "TEXT", "text": "yes"}]},
    "a part that is null": {"parts": [None, TEXT]},
    "a part that is a number": {"parts": [7, TEXT]},
    "an unknown part": {"parts": [{"kind": "widget", "widget": 1}, TEXT]},
    "a file without content": {"parts": [{"kind": "file", "file": {}}, TEXT]},
    "a file that is its address": {"parts": [{"kind": "file", "file": "https://x/y"}, TEXT]},
    "a file with both": {"parts": [{"kind": "file", "file": {"bytes": "aGk=", "uri": "u"}}, TEXT]},
    "an image by its address": {"parts": [{"type": "image", "image": {"url": "u"}}, TEXT]},
    "data that is null": {"parts": [{"kind": "data", "data": None}, {"kind": "odd"}, TEXT]},
}


@pytest.mark.parametrize("wire", Wire, ids=lambda wire: wire.value)
@pytest.mark.parametrize("result", [*TASKS.values(), *MESSAGES.values()], ids=[*TASKS, *MESSAGES])
def test_output_is_found_whatever_is_odd_about_the_result(result: Any, wire: Wire) -> None:
    extracted = done(body_of(result), wire).extracted
    assert extracted.output == "yes"
    assert extracted.warning != ""


@pytest.mark.parametrize("result", TASKS.values(), ids=list(TASKS))
def test_a_task_that_is_asked_for_is_read_as_one_that_is_answered(result: Any) -> None:
    for wire in Wire:
        assert done(body_of(result), wire, task=True).extracted.output == "yes"


def test_warnings_say_what_is_wrong() -> None:
    result = {**IDS, "status": {"state": "done"}, "artifacts": [{"parts": {"text": 4}}]}
    extracted = done(body_of(result)).extracted
    assert extracted.output == "4"
    assert extracted.warning == (
        "the result breaks the format: Expected `array`, got `object` - at "
        "`$.artifacts[0].parts`; the state 'done' is taken as 'completed'; an artifact has no "
        "artifactId; the parts are no list; the text of a part is no text"
    )


def test_warnings_are_few() -> None:
    parts = [{"kind": f"k-{number}", "text": "x"} for number in range(100)]
    received = read_answer(body_of({"parts": parts}), "t-1", Wire.V03)
    assert len(received.warnings) == MAX_WARNINGS + 1


def test_files_and_data_are_kept_beside_the_text() -> None:
    parts = [
        {"kind": "image", "image": {"bytes": "aGk=", "mime_type": "image/png"}, "name": "a.png"},
        {"kind": "file", "file": {"uri": "https://x/y"}},
        {"kind": "widget", "data": {"n": 1.0}},
        {"kind": "widget", "size": 2},
        7,
        TEXT,
    ]
    extracted = done(body_of({"parts": parts})).extracted
    assert extracted.output == "yes"
    assert [(each.content, each.url, each.name, each.media_type) for each in extracted.files] == [
        ("aGk=", "", "a.png", "image/png"),
        (None, "https://x/y", "", ""),
    ]
    assert extracted.data == ({"n": 1}, {"kind": "widget", "size": 2}, 7)


# Where there is no text

WHOLE: list[Any] = [
    {**IDS, "status": DONE, "artifacts": [{"artifactId": "a", "parts": [{"kind": "widget"}]}]},
    {**IDS, "status": {"state": "done"}, "artifacts": None},
    {"kind": "message", "role": "agent", "parts": []},
    {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "data", "data": 1}]},
    {"answer": 42.0},
    {"status": "active", "name": "Bob"},
    {"status": {"code": 200}, "message": {"id": 1}},
    {"status": 200, "body": {"x": 1}},
    {"content": []},
    [1, 2],
    [{"x": 1}],
    ["a", {"text": "b"}],
    "done",
    7,
    None,
]


@pytest.mark.parametrize("wire", Wire, ids=lambda wire: wire.value)
@pytest.mark.parametrize("result", WHOLE, ids=json.dumps)
def test_a_result_without_text_is_the_output_as_it_came(result: Any, wire: Wire) -> None:
    extracted = done(body_of(result), wire).extracted
    assert extracted.output == result
    assert extracted.warning != ""


# States

PARTIAL = {"artifacts": MADE}


@pytest.mark.parametrize(
    "state",
    ["in_progress", "IN-PROGRESS", "running", "Thinking", "queued", "TASK_STATE_WORKING", 2],
)
def test_work_in_progress_is_followed_whatever_it_is_called(state: Any) -> None:
    received = read_answer(body_of({**IDS, "status": {"state": state}, **PARTIAL}), "t-1", Wire.V03)
    assert outcome_of(received) == WorkingOutcome("r-1")
    without_id = {"status": {"state": state}, **PARTIAL}
    found = outcome_of(read_answer(body_of(without_id), "t-1", Wire.V03))
    assert isinstance(found, FailedOutcome)
    assert found.code == "malformed_answer"


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("error", "task_failed"),
        ("FAILURE", "task_failed"),
        ("timed out", "task_failed"),
        ("TASK_STATE_FAILED", "task_failed"),
        ("refused", "task_rejected"),
        ("cancelled", "task_canceled"),
        (5, "task_canceled"),
    ],
)
def test_a_failure_is_none_the_less_for_its_name(state: Any, code: str) -> None:
    result = {**IDS, "status": {"state": state, "message": "no model"}, **PARTIAL}
    for wire in Wire:
        found = outcome_of(read_answer(body_of(result), "t-1", wire))
        assert found == FailedOutcome(code, "no model")


@pytest.mark.parametrize(
    "result",
    [
        {"status": "error", "error": "no model"},
        {"status": "error", "error": {"message": "no model"}},
        {"status": "error", "message": "no model"},
        {**IDS, "status": {"state": "failed", "reason": "no model"}, "output": "half"},
        {**IDS, "status": {"state": "failed"}, "details": "no model"},
        {**IDS, "status": {"state": "failed"}, "detail": "no model", "artifacts": MADE},
    ],
)
def test_the_reason_of_a_failure_is_found(result: Any) -> None:
    found = outcome_of(read_answer(body_of(result), "t-1", Wire.V03))
    assert found == FailedOutcome("task_failed", "no model")


def test_a_failure_without_a_reason_is_one() -> None:
    found = outcome_of(read_answer(body_of({"status": "error", "error": 5}), "t-1", Wire.V03))
    assert found == FailedOutcome("task_failed", "the task failed")


def test_a_question_is_one_whatever_it_is_called() -> None:
    result = {**IDS, "status": {"state": "input_required", "message": "Which city?"}}
    assert outcome_of(read_answer(body_of(result), "t-1", Wire.V10)) == WaitingOutcome(
        "r-1", "c-1", TaskState.INPUT_REQUIRED, "Which city?"
    )


@pytest.mark.parametrize("wire", Wire)
def test_a_question_keeps_its_context_in_snake_case(wire: Wire) -> None:
    task = {"id": "r-1", "context_id": "c-1", "status": {"state": "input-required"}}
    result: dict[str, Any] = task
    if wire is Wire.V10:  # which fits the format but for that
        result = {"task": {**task, "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}}
    assert outcome_of(read_answer(body_of(result), "t-1", wire)) == WaitingOutcome(
        "r-1", "c-1", TaskState.INPUT_REQUIRED, ""
    )


@pytest.mark.parametrize("state", ["bananas", 99, ["x"], "unknown", "TASK_STATE_UNSPECIFIED"])
def test_a_state_that_nobody_knows_is_no_success_at_once(state: Any) -> None:
    result = {**IDS, "status": {"state": state}}
    assert outcome_of(read_answer(body_of(result), "t-1", Wire.V03)) == WorkingOutcome("r-1")
    found = outcome_of(read_answer(body_of({**result, **PARTIAL}), "t-1", Wire.V03))
    assert isinstance(found, UnclearOutcome)
    assert (found.task_id, found.done.extracted.output) == ("r-1", "yes")
    without_id = {"kind": "task", "status": {"state": state}}
    nothing = outcome_of(read_answer(body_of(without_id), "t-1", Wire.V03))
    assert isinstance(nothing, FailedOutcome)
    taken = done(body_of({**without_id, **PARTIAL})).extracted
    assert taken.output == "yes"
    assert "the state of the task is not known" in taken.warning


def test_a_state_elsewhere_counts() -> None:
    result = {"artifacts": MADE, "state": "failed"}
    found = outcome_of(read_answer(body_of(result), "t-1", Wire.V03))
    assert found == FailedOutcome("task_failed", "the task failed")


def test_a_task_that_says_nothing_is_asked_about() -> None:
    assert outcome_of(read_answer(body_of(IDS), "t-1", Wire.V03)) == WorkingOutcome("r-1")


def test_a_task_of_a_program_in_an_unknown_state_is_no_success() -> None:
    task = Task(id="r-1", status=TaskStatus(state=TaskState.UNKNOWN))
    assert outcome_of(task) == WorkingOutcome("r-1")


# The envelope


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + body_of("yes"),
        b"\xef\xbb\xbf \n" + body_of("yes") + b"\n\n",
        body_of("yes", error=None),
        b"\xef\xbb\xbf[" + body_of("yes", error=None) + b"]",
        body_of("yes", odd=1),
        body_of("yes", data="\ud83d cut"),
        body_of("yes", line="a\nb").replace(b"a\\nb", b"a\nb"),
        body_of("yes", score=float("nan")),
        body_of("yes", name="x").replace(b'"x"', b'"\xe9"'),
    ],
)
def test_harmless_faults_of_the_envelope_are_forgiven(body: bytes) -> None:
    received = read_answer(body, "t-1", Wire.V03)
    assert received.answer == Unrecognized("yes")
    assert bool(received.warnings) is (b'"odd"' not in body)


def test_a_number_is_the_id_that_it_spells() -> None:
    body = b'{"jsonrpc":"2.0","id":7,"result":"yes"}'
    received = read_answer(body, "7", Wire.V03)
    assert received.warnings[0] == 'the answer\'s id is the number 7, not "7"'
    with pytest.raises(AgentError):
        read_answer(b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}', "7", Wire.V03)


@pytest.mark.req("W-03")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (body_of("x", id="t-2"), 'the answer\'s id is "t-2", not "t-1"'),
        (body_of("x", id=None), 'the answer\'s id is null, not "t-1"'),
        (body_of("x", id=1), 'the answer\'s id is 1, not "t-1"'),
        (b'{"jsonrpc":"2.0","result":"x"}', "a response needs an 'id'"),
        (body_of("x", jsonrpc="1.0"), "'jsonrpc' must be"),
        (body_of("x", jsonrpc=2.0), "'jsonrpc' must be"),
        (b'{"id":"t-1","result":"x"}', "'jsonrpc' is missing"),
        (body_of("x", error={"code": 1, "message": "m"}), "not both"),
        (b'{"jsonrpc":"2.0","id":"t-1"}', "'method' is missing"),
        (b"[%s,%s]" % (body_of("x"), body_of("x")), "no response"),
        (b"[[%s]]" % body_of("x"), "no response"),
        (b"[1]", "no response"),
        (b"<html>", "JSON is malformed"),
        (b"{yes}", "JSON is malformed"),
        (b"", "the message is empty"),
        (b"{" * 1000, "nested"),
        (b'{"a":' * 1000, "nested"),
        (b'{"jsonrpc":"2.0","id":"t-1","result":1e999}', "out of range"),
        (b'{"x":NaN' + b" " * MAX_REPAIRED + b"}", "malformed"),
        (b"\xef\xbb\xbf<html>", "JSON is malformed"),
        (b"\xef\xbb\xbf" + body_of("x", id="t-2"), 'the answer\'s id is "t-2"'),
    ],
)
def test_other_faults_of_the_envelope_are_fatal(body: bytes, why: str) -> None:
    with pytest.raises(MalformedAnswerError) as caught:
        read_answer(body, "t-1", Wire.V03)
    assert why in caught.value.message
    assert caught.value.body == body[:MAX_BODY_KEPT]


@pytest.mark.parametrize("error", ["no model", {"message": "no model"}])
def test_an_error_that_is_none_says_what_it_says(error: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": "t-1", "error": error}).encode()
    with pytest.raises(MalformedAnswerError, match='; it says "no model"'):
        read_answer(body, "t-1", Wire.V03)


def test_an_error_beside_a_null_is_one() -> None:
    body = body_of(None, error={"code": -32603, "message": "oops"})
    assert is_answer(body, "t-1")
    with pytest.raises(UnknownOutcomeError) as caught:
        read_answer(body, "t-1", Wire.V03)
    assert (caught.value.code, caught.value.body) == (-32603, body)


@pytest.mark.parametrize("result", [None, {}, [], ""])
def test_nothing_is_no_task(result: Any) -> None:
    with pytest.raises(MalformedAnswerError, match="asked for its task, and answered nothing"):
        read_answer(body_of(result), "t-1", Wire.V03, task=True)


def test_results_of_other_methods_are_read_as_before() -> None:
    assert read_result(b"\xef\xbb\xbf" + body_of(1), "t-1", bytes) == b"1"
    with pytest.raises(MalformedAnswerError, match="the agent's result is not valid: invalid lit"):
        read_result(body_of("x"), "t-1", int)


# Events


def test_events_are_read_with_the_same_patience() -> None:
    status = {"task_id": "r-1", "status": {"state": "done"}}
    artifact = {"task_id": "r-1", "artifact": {"parts": "yes"}, "append": True, "lastChunk": True}
    found = [
        read_event(body_of(event), "t-1", Wire.V10)
        for event in (
            {"status_update": status},
            {"kind": "status-update", **status},
            status,
            {"artifact_update": artifact},
            {"kind": "artifact_update", **artifact},
            artifact,
        )
    ]
    assert [type(each.event) for each in found] == [StatusUpdate] * 3 + [ArtifactUpdate] * 3
    assert all(each.warnings for each in found)
    first, *_, last = (each.event for each in found)
    assert isinstance(first, StatusUpdate)
    assert (first.task_id, first.status.state) == ("r-1", TaskState.COMPLETED)
    assert isinstance(last, ArtifactUpdate)
    assert (last.append, last.last_chunk, last.artifact.artifact_id) == (True, True, "")


def test_an_event_may_be_an_answer_or_nothing_known() -> None:
    task = read_event(body_of({**IDS, "status": {"state": "done"}}), "t-1", Wire.V10).event
    assert isinstance(task, Task)
    for odd in ({"surprise": 1}, {"taskId": "r-1"}, 7):
        assert read_event(body_of(odd), "t-1", Wire.V10).event == Unrecognized(odd)


def stream(*results: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % body_of(each) for each in results)


def test_a_stream_in_place_of_an_answer_is_gathered() -> None:
    working = {**IDS, "status": {"state": "working"}}
    part = {"kind": "artifact-update", "taskId": "r-1", "contextId": "c-1"}
    end = {"kind": "status-update", "taskId": "r-1", "contextId": "c-1", "status": DONE}
    events = [
        working,
        {**part, "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "y"}]}},
        {
            **part,
            "append": True,
            "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "es"}]},
        },
        {"surprise": 1},
        end,
    ]
    for body in (stream(*events), stream(*events[1:]), b":\n\n" + stream(*events).rstrip()):
        extracted = done(body).extracted
        assert extracted.output == "yes"
        assert "a stream of events" in extracted.warning


def test_a_stream_of_a_message_or_of_its_own_is_taken() -> None:
    assert done(stream({"parts": [TEXT]})).extracted.output == "yes"
    assert done(b"\n" + stream("yes")).extracted.output == "yes"
    with pytest.raises(MalformedAnswerError, match="without an event"):
        read_answer(b": nothing\n\n", "t-1", Wire.V03)


def test_artifacts_keep_what_they_say_of_themselves() -> None:
    made = {"artifact_id": "a", "name": "n", "description": "d", "parts": [TEXT], "metadata": {}}
    extracted = done(body_of({**IDS, "status": DONE, "artifacts": [made]})).extracted
    (artifact,) = extracted.artifacts
    assert isinstance(artifact, Artifact)
    assert (artifact.artifact_id, artifact.name, artifact.description) == ("a", "n", "d")


def test_an_answer_alone_is_written_in_one_zero_where_it_has_no_text() -> None:
    status = TaskStatus(state=TaskState.COMPLETED)
    assert extract(Task(id="r", status=status)).output == {
        "id": "r",
        "status": {"state": "TASK_STATE_COMPLETED"},
    }
    message = Message(message_id="m", role="agent", parts=())
    assert extract(message).output == {"messageId": "m", "role": "ROLE_AGENT", "parts": []}
