"""The model, written and read again in both formats, and what readers refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from accord.a2a.protocol.calls import (
    message_of,
    push_request,
    send_request,
    set_push_request,
    task_request,
)
from accord.a2a.protocol.fields import Verb, Wire, wire_asked, wire_of_card
from accord.a2a.protocol.formats import FORMATS, UNREADABLE, V10
from accord.a2a.protocol.model import (
    DataPart,
    Event,
    FilePart,
    ListQuery,
    Message,
    PushConfig,
    PushQuery,
    Send,
    Task,
    TaskPush,
    TaskQuery,
    TaskState,
    TextPart,
)
from accord.jsonrpc.protocol.messages import encode
from tests.a2a.schemas import validate
from tests.a2a.values import ASKED, EVENTS, PUSH, SAID, TASK, events

both = pytest.mark.parametrize("wire", list(Wire))

SEND = Send(
    message=ASKED,
    blocking=False,
    history_length=3,
    accepted_output_modes=("text/plain",),
    push=PUSH,
    metadata={"k": "v"},
)


@both
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_come_back_as_they_were(wire: Wire, event: Event) -> None:
    form = FORMATS[wire]
    assert form.read_event(encode(form.event(event))) == event


@both
@given(event=events)
def test_any_event_comes_back_as_it_was(wire: Wire, event: Event) -> None:
    form = FORMATS[wire]
    assert form.read_event(encode(form.event(event))) == event


@both
@pytest.mark.parametrize("answer", [TASK, replace(SAID, context_id="c-1")])
def test_answers_come_back_as_they_were(wire: Wire, answer: Task | Message) -> None:
    form = FORMATS[wire]
    assert form.read_answer(encode(form.answer(answer))) == answer


@both
@pytest.mark.parametrize("send", [SEND, Send(message=SAID)])
def test_what_is_sent_is_what_an_agent_reads(wire: Wire, send: Send) -> None:
    form = FORMATS[wire]
    assert form.read_send(encode(form.send_params(send))) == send


@both
def test_questions_about_tasks_and_webhooks_come_back_as_they_were(wire: Wire) -> None:
    form = FORMATS[wire]
    query = TaskQuery(id="r-1", history_length=0)
    asked = PushQuery(task_id="r-1", config_id="p-1")
    for push in (
        TaskPush(task_id="r-1", config=PUSH),
        TaskPush(task_id="r", config=PushConfig(url="u")),
    ):
        assert form.read_push_params(encode(form.push_params(push))) == push
        assert form.read_push(encode(form.push(push))) == push.config
    assert form.read_task(encode(form.task(TASK))) == TASK
    assert form.read_task_query(encode(form.task_params(query))) == query
    assert form.read_push_query(encode(form.push_query_params(asked))) == asked


def test_media_types_and_names_of_all_parts_are_kept_by_1_0() -> None:
    parts = (
        TextPart(text="# x", media_type="text/markdown", name="x.md"),
        DataPart(data=[1], media_type="application/json"),
    )
    message = replace(SAID, parts=parts)
    assert V10.read_event(encode(V10.event(message))) == message


def test_a_tenant_goes_along_in_1_0() -> None:
    send = Send(message=SAID, tenant="acme")
    query = TaskQuery(id="r-1", tenant="acme")
    assert V10.read_send(encode(V10.send_params(send))) == send
    assert V10.read_task_query(encode(V10.task_params(query))) == query


def test_the_names_of_the_proto_file_are_read_too() -> None:
    raw = b"""{"message": {"message_id": "m", "role": "ROLE_USER", "context_id": "c",
        "parts": [{"data": {"message_id": 1}}], "metadata": {"task_id": 2}},
        "configuration": {"return_immediately": true, "history_length": 1}}"""
    assert V10.read_send(raw) == Send(
        message=Message(
            message_id="m",
            role="user",
            parts=(DataPart(data={"message_id": 1}),),
            context_id="c",
            metadata={"task_id": 2},
        ),
        blocking=False,
        history_length=1,
    )


def test_lists_of_tasks_are_asked_for_in_pages() -> None:
    raw = b"""{"contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 2, "pageToken": "7",
        "historyLength": 0, "statusTimestampAfter": "2026-11-15T09:30:00Z", "includeArtifacts": true}"""
    assert [
        V10.read_list_query(each) for each in (raw, b"{}", b'{"status": "TASK_STATE_UNSPECIFIED"}')
    ] == [
        ListQuery(
            context_id="c",
            state=TaskState.WORKING,
            page_size=2,
            page_token="7",
            history_length=0,
            updated_after="2026-11-15T09:30:00Z",
            include_artifacts=True,
        ),
        ListQuery(),
        ListQuery(),
    ]
    written = V10.tasks([TASK], next_page="", size=1, total=5)
    assert json.loads(encode(written)) == {
        "tasks": [json.loads(encode(V10.task(TASK)))],
        "nextPageToken": "",
        "pageSize": 1,
        "totalSize": 5,
    }


def test_lists_of_webhooks_and_nothing_are_written_by_each_format() -> None:
    pushes = [TaskPush(task_id="r", config=PushConfig(url="u", id="p"))]
    written = [json.loads(encode(FORMATS[wire].pushes(pushes))) for wire in Wire]
    assert written == [
        [{"taskId": "r", "pushNotificationConfig": {"url": "u", "id": "p"}}],
        {"configs": [{"taskId": "r", "url": "u", "id": "p"}]},
    ]
    assert [FORMATS[wire].nothing() for wire in Wire] == [None, {}]


MESSAGE_03 = '{"kind": "message", "messageId": "m", "role": "user", "parts": [%s]}'


@pytest.mark.parametrize(
    ("wire", "reader", "raw", "why"),
    [
        (
            Wire.V03,
            "read_event",
            MESSAGE_03 % '{"kind": "text"}',
            "a part of kind 'text' has no member 'text'",
        ),
        (
            Wire.V03,
            "read_event",
            MESSAGE_03 % '{"kind": "video"}',
            "a part is of kind 'video', which is not text, file or data",
        ),
        (
            Wire.V03,
            "read_event",
            MESSAGE_03 % '{"kind": "image"}',
            "a part is of kind 'image', which is not text, file or data",
        ),
        (Wire.V03, "read_event", MESSAGE_03 % '{"text": "x"}', "a part has no kind"),
        (
            Wire.V03,
            "read_event",
            MESSAGE_03 % '{"kind": "file", "file": {}}',
            "a file has either bytes or a uri",
        ),
        (
            Wire.V03,
            "read_task",
            '{"id": "r", "contextId": "c", "status": {"state": "completed"}}',
            "a task has no kind",
        ),
        (Wire.V03, "read_answer", '{"status": {"state": "completed"}}', "the result has no kind"),
        (Wire.V03, "read_answer", '{"kind": "x", "parts": []}', 'the result is of kind "x"'),
        (
            Wire.V03,
            "read_event",
            MESSAGE_03.replace("user", "boss") % "",
            "a message's role is 'boss', not user or agent",
        ),
        (
            Wire.V03,
            "read_event",
            '{"kind": "news"}',
            "an event is of kind 'news', which nobody knows",
        ),
        (Wire.V03, "read_event", "{}", "Object missing required field `kind`"),
        (
            Wire.V03,
            "read_task_query",
            '{"id": "r", "historyLength": -1}',
            "historyLength must not be below zero",
        ),
        (
            Wire.V03,
            "read_task",
            '{"id": "r", "contextId": "c"}',
            "Object missing required field `status`",
        ),
        (
            Wire.V10,
            "read_event",
            "{}",
            "an event has one of task, message, statusUpdate and artifactUpdate",
        ),
        (
            Wire.V10,
            "read_task_query",
            '{"id": "r", "historyLength": -1}',
            "historyLength must not be below zero",
        ),
        (
            Wire.V10,
            "read_list_query",
            '{"pageSize": 101}',
            "pageSize must be from 1 to 100, got 101",
        ),
        (Wire.V10, "read_push_params", '{"url": "u"}', "taskId is missing"),
    ],
)
def test_what_is_wrong_is_said(wire: Wire, reader: str, raw: str, why: str) -> None:
    with pytest.raises(UNREADABLE) as caught:
        getattr(FORMATS[wire], reader)(raw.encode())
    assert str(caught.value) == why


def test_clients_of_0_3_may_leave_out_kinds_and_write_null() -> None:
    raw = b"""{"message": {"messageId": "m", "role": "user", "contextId": null, "metadata": null,
        "parts": [{"text": "a"}, {"data": {"n": 2.0}}, {"file": {"uri": "u", "name": null}}]}}"""
    assert FORMATS[Wire.V03].read_send(raw).message == Message(
        message_id="m",
        role="user",
        parts=(TextPart(text="a"), DataPart(data={"n": 2}), FilePart(url="u")),
    )


@pytest.mark.parametrize(
    ("version", "asked", "card"),
    [
        ("", Wire.V03, None),
        ("0.3", Wire.V03, Wire.V03),
        (" 0.3.0 ", Wire.V03, None),
        ("1.0", Wire.V10, Wire.V10),
        ("1.0.1", Wire.V10, Wire.V10),
        ("0.2.6", None, Wire.V03),
        ("1.1", None, None),
        ("2.0", None, None),
        ("one", None, None),
    ],
)
def test_versions_name_formats(version: str, asked: Wire | None, card: Wire | None) -> None:
    assert (wire_asked(version), wire_of_card(version)) == (asked, card)


def requests() -> list[tuple[str, bytes]]:
    """Every request of 0.3, and what it is called."""
    wire = Wire.V03
    query, asked = TaskQuery(id="r-1", history_length=2), PushQuery(task_id="r-1", config_id="p-1")
    just = TaskQuery(id="r-1")
    return [
        ("SendMessageRequest", send_request(wire, "1", SEND)),
        (
            "SendMessageRequest",
            send_request(wire, "1", Send(message=message_of(None, message_id="m"))),
        ),
        ("SendStreamingMessageRequest", send_request(wire, "1", SEND, stream=True)),
        ("GetTaskRequest", task_request(wire, "1", Verb.GET, query)),
        ("CancelTaskRequest", task_request(wire, "1", Verb.CANCEL, just)),
        ("TaskResubscriptionRequest", task_request(wire, "1", Verb.SUBSCRIBE, just)),
        (
            "SetTaskPushNotificationConfigRequest",
            set_push_request(wire, "1", TaskPush(task_id="r", config=PUSH)),
        ),
        ("GetTaskPushNotificationConfigRequest", push_request(wire, "1", Verb.GET_PUSH, asked)),
        (
            "DeleteTaskPushNotificationConfigRequest",
            push_request(wire, "1", Verb.DELETE_PUSH, asked),
        ),
    ]


@pytest.mark.parametrize(
    ("definition", "request_"), requests(), ids=[name for name, _ in requests()]
)
def test_requests_are_what_the_official_schema_says(definition: str, request_: bytes) -> None:
    validate(json.loads(request_), definition)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_are_what_the_official_schema_says(event: Event) -> None:
    result: Any = json.loads(encode(FORMATS[Wire.V03].event(event)))
    validate({"jsonrpc": "2.0", "id": 1, "result": result}, "SendStreamingMessageResponse")


@pytest.mark.req("W-25")
def test_a_message_alone_comes_back_as_it_was() -> None:
    assert V10.read_message(encode(V10.message(SAID))) == SAID
