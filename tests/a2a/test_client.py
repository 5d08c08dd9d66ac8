"""What a client sends, and how it tells what came of it."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from accord.a2a import (
    AddressPolicy,
    AgentError,
    ApiKey,
    Bearer,
    CallError,
    Client,
    DefiniteError,
    PushConfig,
    Task,
    TaskResult,
    TaskState,
    Trace,
    UnknownOutcomeError,
    Wire,
    call,
)
from accord.a2a.protocol.calls import MAX_BODY_KEPT
from accord.a2a.protocol.card import AgentCard, Interface, encode_card
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.model import Message, StatusUpdate, TaskStatus, TextPart, Unrecognized
from accord.a2a.protocol.outcome import ResultError
from tests.a2a.scripted import HANG, LOCAL, Scripted, events, failed, http, result, scripted

DIRECT = {
    "kind": "message",
    "messageId": "x",
    "role": "agent",
    "parts": [{"kind": "text", "text": "hi"}],
}
SAID = Message(message_id="x", role="agent", parts=(TextPart(text="hi"),))
WORKING_10 = {"id": "r-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}}
DONE_10 = {
    "id": "r-1",
    "contextId": "c-1",
    "status": {"state": "TASK_STATE_COMPLETED"},
    "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}],
}


def old(agent: Scripted, **options: Any) -> Client:
    return Client(f"{agent.url}/agent", wire=Wire.V03, policy=LOCAL, **options)


def new(agent: Scripted, **options: Any) -> Client:
    return Client(f"{agent.url}/agent", wire=Wire.V10, policy=LOCAL, **options)


@pytest.mark.req("W-01")
async def test_a_request_is_sent_as_agents_expect_it() -> None:
    trace = Trace(
        correlation_id="run-7",
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    async with scripted(result(DIRECT)) as agent, old(agent, auth=Bearer("secret")) as client:
        assert await client.send("hello", id="t-1", message_id="m-1", trace=trace) == SAID
    (asked,) = agent.asked
    assert (asked.method, asked.path, asked.headers) == (
        "POST",
        "/agent",
        {
            "host": agent.url.removeprefix("http://"),
            "user-agent": "accord",
            "x-correlation-id": "run-7",
            "traceparent": trace.traceparent,
            "accept": "application/json",
            "content-type": "application/json",
            "authorization": "Bearer secret",
            "content-length": str(len(asked.body)),
        },
    )
    assert asked.json == {
        "jsonrpc": "2.0",
        "id": "t-1",
        "method": "message/send",
        "params": {
            "message": {
                "kind": "message",
                "messageId": "m-1",
                "role": "user",
                "parts": [{"kind": "text", "text": "hello"}],
            },
            "configuration": {"blocking": True},
        },
    }


async def test_a_request_of_1_0_says_its_version() -> None:
    async with (
        scripted(
            result({"message": {**DIRECT, "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}})
        ) as agent,
        new(agent, auth=ApiKey("k", header="X-Key"), headers={"x-more": "1"}) as client,
    ):
        answer = await client.send(
            "hello", id="t-1", message_id="m-1", blocking=False, context_id="c", task_id="r"
        )
    headers = agent.asked[0].headers
    assert answer == SAID
    assert [headers[name] for name in ("a2a-version", "x-key", "x-more")] == ["1.0", "k", "1"]
    assert agent.asked[0].json["params"] == {
        "message": {
            "messageId": "m-1",
            "role": "ROLE_USER",
            "parts": [{"text": "hello"}],
            "contextId": "c",
            "taskId": "r",
        },
        "configuration": {"returnImmediately": True},
    }


async def test_a_message_can_be_given_as_it_is() -> None:
    message = Message(message_id="own", role="user", parts=(TextPart(text="a"), TextPart(text="b")))
    async with scripted(result(DIRECT)) as agent, old(agent) as client:
        await client.send(message, id="t-1", message_id="unused")
    assert agent.asked[0].json["params"]["message"]["messageId"] == "own"


# Which failure is which

FAILURES: list[tuple[str, bytes, type[CallError], Any]] = [
    ("an error", failed(-32602, "no"), AgentError, -32602),
    ("an error with status 400", failed(-32602, "no", status=400), AgentError, -32602),
    ("an error with status 500", failed(-32602, "no", status=500), AgentError, -32602),
    ("an internal error", failed(-32603, "oops"), UnknownOutcomeError, -32603),
    ("a parse error without id", failed(-32700, "no", id=None), AgentError, -32700),
    (
        "an error for somebody else",
        failed(-32602, "no", id="z", status=400),
        DefiniteError,
        "http_400",
    ),
    ("not found", http(b"no", status=404), DefiniteError, "http_404"),
    ("unauthorized", http(b"no", status=401), DefiniteError, "http_401"),
    (
        "a redirect",
        http(b"", status=302, headers="location: http://evil/\r\n"),
        DefiniteError,
        "http_302",
    ),
    ("too many requests", http(b"no", status=429), UnknownOutcomeError, "http_429"),
    ("request timeout", http(b"no", status=408), UnknownOutcomeError, "http_408"),
    ("bad gateway", http(b"<html>", status=502), UnknownOutcomeError, "http_502"),
    ("the connection ends", b"", UnknownOutcomeError, "connection_lost"),
    ("the answer breaks off", http(b"{}")[:-1] + b"", UnknownOutcomeError, "timeout"),
    ("nothing comes", HANG, UnknownOutcomeError, "timeout"),
    ("no HTTP", b"SSH-2.0\r\n\r\n", DefiniteError, "malformed_answer"),
    ("HTML", http(b"<html>"), DefiniteError, "malformed_answer"),
    ("too large", http(b"x" * 2000), DefiniteError, "malformed_answer"),
    (
        "compressed",
        http(b"{}", headers="content-encoding: gzip\r\n"),
        DefiniteError,
        "malformed_answer",
    ),
]


@pytest.mark.req("W-03")
@pytest.mark.parametrize(
    ("answer", "kind", "code"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
async def test_definite_failures_are_told_from_unknown_outcomes(
    answer: bytes, kind: type[CallError], code: Any
) -> None:
    async with scripted(answer) as agent, old(agent, timeout=0.5, max_bytes=1000) as client:
        with pytest.raises(kind) as caught:
            await client.send("x", id="t-1", message_id="m-1")
    assert caught.value.code == code


LONG_BODY = b"x" * 100_000


@pytest.mark.req("W-03")
@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (http(b"<html>"), b"<html>"),
        (http(LONG_BODY), LONG_BODY[:MAX_BODY_KEPT]),
        (http(b'{"id":"z"}'), b'{"id":"z"}'),
        (http(b"gone", status=404), b"gone"),
        (http(LONG_BODY, status=502), LONG_BODY[:MAX_BODY_KEPT]),
    ],
)
async def test_what_was_answered_goes_along_for_the_log(answer: bytes, body: bytes) -> None:
    async with scripted(answer) as agent, old(agent) as client:
        with pytest.raises(CallError) as caught:
            await client.send("x", id="t-1", message_id="m-1")
    assert caught.value.body == body


async def test_a_card_that_is_none_goes_along_for_the_log() -> None:
    async with scripted(http(LONG_BODY)) as agent, Client(agent.url, policy=LOCAL) as client:
        with pytest.raises(CallError) as of_card:
            await client.card()
    assert of_card.value.body == LONG_BODY[:MAX_BODY_KEPT]


@pytest.mark.parametrize(("header", "after"), [("7", 7.0), ("9999999", 86_400.0), ("soon", None)])
async def test_agents_say_when_to_ask_again(header: str, after: float | None) -> None:
    answer = http(b"", status=503, headers=f"retry-after: {header}\r\n")
    async with scripted(answer) as agent, old(agent) as client:
        with pytest.raises(UnknownOutcomeError) as caught:
            await client.send("x", id="t-1", message_id="m-1")
    assert caught.value.retry_after == after


async def test_nobody_there_is_an_unknown_outcome() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        async with Client(url, wire=Wire.V03, policy=LOCAL) as client:
            with pytest.raises(UnknownOutcomeError, match="Connection refused") as caught:
                await client.send("x", id="t-1", message_id="m-1")
    assert caught.value.code == "unreachable"


@pytest.mark.parametrize("url", ["ws://a.example/", "http://", "ftp://a", "http://u:p@a.example/"])
def test_what_is_no_url_of_an_agent_is_refused(url: str) -> None:
    with pytest.raises(DefiniteError) as caught:
        Client(url)
    assert caught.value.code == "url"


def test_secrets_are_not_printed() -> None:
    assert (
        repr((Bearer("secret"), ApiKey("secret"))) == "(Bearer(…), ApiKey(…, header='x-api-key'))"
    )


# Addresses


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]"])
async def test_private_addresses_are_not_asked_unless_allowed(host: str) -> None:
    async with Client(f"http://{host}:1/", wire=Wire.V03) as client:
        with pytest.raises(DefiniteError, match="is private") as caught:
            await client.send("x", id="t-1", message_id="m-1")
    assert caught.value.code == "address_refused"


async def test_link_local_addresses_are_never_asked() -> None:
    async with Client("http://169.254.169.254/", wire=Wire.V03, policy=LOCAL) as client:
        with pytest.raises(DefiniteError, match="link-local"):
            await client.send("x", id="t-1", message_id="m-1")


async def test_what_was_judged_is_what_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves to something else the second time is not looked up a second time."""
    lookups: list[str] = []

    async with scripted(result(DIRECT)) as agent:
        port = int(agent.url.rpartition(":")[2])
        loop = asyncio.get_running_loop()
        real = loop.getaddrinfo

        async def rebinding(host: Any, *rest: Any, **options: Any) -> Any:
            if host == "agent.example":
                lookups.append(host)
                host = "127.0.0.1" if len(lookups) == 1 else "169.254.169.254"
            return await real(host, *rest, **options)

        monkeypatch.setattr(loop, "getaddrinfo", rebinding)
        policy = AddressPolicy(hosts=frozenset({"agent.example"}))
        async with Client(f"http://agent.example:{port}/", wire=Wire.V03, policy=policy) as client:
            assert await client.send("x", id="t-1", message_id="m-1") == SAID
    assert (lookups, agent.asked[0].headers["host"]) == (["agent.example"], f"agent.example:{port}")


# The card


def card(url: str, *versions: str) -> bytes:
    interfaces = tuple(Interface(url=url, version=version) for version in versions)
    return http(
        encode_card(AgentCard(name="a", description="b", version="1", interfaces=interfaces))
    )


@pytest.mark.req("W-12")
@pytest.mark.parametrize(
    ("versions", "method"),
    [
        (("1.0", "0.3"), "SendMessage"),
        (("0.3", "1.0"), "message/send"),
        (("9.9", "0.3"), "message/send"),
    ],
)
async def test_the_card_says_where_and_how(versions: tuple[str, ...], method: str) -> None:
    direct = {**DIRECT, "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}
    both = {**DIRECT, "message": direct}
    async with scripted(http(b"", status=404)) as agent:
        agent.answers += [card(f"{agent.url}/rpc", *versions), result(both), result(both)]
        async with Client(f"{agent.url}/team/a", policy=LOCAL) as client:
            for _ in range(2):
                assert await client.send("x", id="t-1", message_id="m-1") == SAID
    assert [(asked.method, asked.path) for asked in agent.asked] == [
        ("GET", "/team/a/.well-known/agent-card.json"),
        ("GET", "/.well-known/agent-card.json"),
        ("POST", "/rpc"),
        ("POST", "/rpc"),
    ]
    assert agent.asked[2].json["method"] == method


async def test_the_url_of_a_card_can_be_given() -> None:
    async with scripted() as agent:
        agent.answers.append(card(agent.url, "1.0"))
        async with Client(f"{agent.url}/cards/a.json", policy=LOCAL) as client:
            assert (await client.card()).name == "a"
    assert agent.asked[0].path == "/cards/a.json"


async def test_a_card_cannot_send_credentials_elsewhere() -> None:
    async with (
        scripted(card("http://127.0.0.1:1/", "1.0")) as agent,
        Client(agent.url, policy=LOCAL, auth=Bearer("secret")) as client,
    ):
        with pytest.raises(DefiniteError, match="elsewhere") as caught:
            await client.send("x", id="t-1", message_id="m-1")
    assert caught.value.code == "card"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (http(b"<html>"), "malformed_answer"),
        (http(b"", status=500), "http_500"),
        (card("http://127.0.0.1:1/", "9.9"), "card"),
        (card("ws://127.0.0.1:1/", "1.0"), "url"),
    ],
)
async def test_a_card_that_is_of_no_use_is_an_error(answer: bytes, code: str) -> None:
    async with scripted(answer) as agent, Client(agent.url, policy=LOCAL) as client:
        with pytest.raises(CallError) as caught:
            await client.send("x", id="t-1", message_id="m-1")
    assert caught.value.code == code


async def test_a_tenant_of_the_card_goes_along() -> None:
    async with scripted() as agent:
        body = {
            "name": "a",
            "supportedInterfaces": [
                {
                    "url": agent.url,
                    "protocolBinding": "JSONRPC",
                    "protocolVersion": "1.0",
                    "tenant": "acme",
                }
            ],
        }
        agent.answers += [http(body), result({"task": WORKING_10}), result(DONE_10, "1")]
        async with Client(agent.url, policy=LOCAL) as client:
            await client.send("x", id="t-1", message_id="m-1")
            await client.get("r-1")
    assert [asked.json["params"]["tenant"] for asked in agent.asked[1:]] == ["acme", "acme"]


# Tasks and streams


async def test_tasks_are_asked_about_and_cancelled() -> None:
    canceled = {"id": "r-1", "status": {"state": "TASK_STATE_CANCELED"}}
    async with (
        scripted(result(WORKING_10, "1"), result(canceled, "2")) as agent,
        new(agent) as client,
    ):
        got = await client.get("r-1", history_length=0)
        ended = await client.cancel("r-1")
    assert (got.status.state, ended.status.state) == (TaskState.WORKING, TaskState.CANCELED)
    assert [(asked.json["method"], asked.json["params"]) for asked in agent.asked] == [
        ("GetTask", {"id": "r-1", "historyLength": 0}),
        ("CancelTask", {"id": "r-1"}),
    ]


async def test_a_task_that_the_agent_forgot_is_an_unknown_outcome() -> None:
    answers = failed(-32001, "no such task", id="1"), failed(-32004, "no", id="2")
    async with scripted(*answers) as agent, old(agent) as client:
        with pytest.raises(UnknownOutcomeError, match="does not know its task any more") as caught:
            await client.get("r-1")
        with pytest.raises(AgentError):
            await client.get("r-1")
    assert caught.value.code == -32001


async def test_a_stream_is_told_while_it_comes() -> None:
    update = {"taskId": "r-1", "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"}}
    answer = events({"task": WORKING_10}, {"statusUpdate": update})
    async with scripted(answer) as agent, new(agent) as client:
        told = [event async for event in client.stream("x", id="t-1", message_id="m-1")]
    working, done = (TaskStatus(state=state) for state in (TaskState.WORKING, TaskState.COMPLETED))
    assert told == [
        Task(id="r-1", context_id="c-1", status=working),
        StatusUpdate(task_id="r-1", context_id="c-1", status=done),
    ]
    assert (agent.asked[0].headers["accept"], agent.asked[0].json["method"]) == (
        "text/event-stream",
        "SendStreamingMessage",
    )


async def test_a_task_can_be_followed() -> None:
    async with scripted(events({"task": WORKING_10}, id="1")) as agent, new(agent) as client:
        assert [type(event) async for event in client.subscribe("r-1")] == [Task]
    assert agent.asked[0].json["method"] == "SubscribeToTask"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (failed(-32004, "no streams"), -32004),
        (http(b"", status=503), "http_503"),
        (events({"task": WORKING_10}, cut=True), "connection_lost"),
        (events({"task": WORKING_10}, id="other"), "malformed_answer"),
        (events({"task": {**WORKING_10, "id": "x" * 2000}}), "malformed_answer"),
    ],
)
async def test_a_stream_that_breaks_says_how(answer: bytes, code: Any) -> None:
    async with scripted(answer) as agent, new(agent, max_bytes=1000) as client:
        with pytest.raises(CallError) as caught:
            async for _ in client.stream("x", id="t-1", message_id="m-1"):
                pass
    assert caught.value.code == code


async def test_an_answer_in_place_of_a_stream_is_taken() -> None:
    async with scripted(result({"task": WORKING_10})) as agent, new(agent) as client:
        assert [type(each) async for each in client.stream("x", id="t-1", message_id="m")] == [Task]


async def test_webhooks_are_set_and_deleted() -> None:
    config = PushConfig(url="https://example.com/hook", token="t")
    kept = {"taskId": "r-1", "url": "https://example.com/hook", "id": "p-1", "token": "t"}
    async with scripted(result(kept, "1"), result({}, "2")) as agent, new(agent) as client:
        assert (await client.set_push("r-1", config)).id == "p-1"
        await client.delete_push("r-1", "p-1")
    assert [(asked.json["method"], asked.json["params"]) for asked in agent.asked] == [
        (
            "CreateTaskPushNotificationConfig",
            {"taskId": "r-1", "url": "https://example.com/hook", "token": "t"},
        ),
        ("DeleteTaskPushNotificationConfig", {"taskId": "r-1", "id": "p-1"}),
    ]


# Whole calls


@pytest.mark.req("W-03", "W-04")
async def test_a_call_follows_a_task_until_it_is_done() -> None:
    answers = result({"task": WORKING_10}), result(WORKING_10, "1"), result(DONE_10, "2")
    async with scripted(*answers) as agent, new(agent) as client:
        told = await call(client, "x", task_id="t-1", message_id="m-1", polls=iter([0.0, 0.0]))
    assert told == TaskResult("t-1", "success", "done")
    assert [asked.json["method"] for asked in agent.asked] == ["SendMessage", "GetTask", "GetTask"]


QUESTION = {
    "id": "r-1",
    "status": {
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "x", "role": "ROLE_AGENT", "parts": [{"text": "Which city?"}]},
    },
}


@pytest.mark.req("W-04")
@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        (failed(-32602, "no"), -32602, "no"),
        (
            result({"task": {"id": "r", "status": {"state": "TASK_STATE_FAILED"}}}),
            "task_failed",
            "the task failed",
        ),
        (result({"task": QUESTION}), "input_required", "Which city?"),
    ],
)
async def test_a_call_tells_of_failures(answer: bytes, code: Any, message: str) -> None:
    async with scripted(answer) as agent, new(agent) as client:
        told = await call(client, "x", task_id="t-1", message_id="m-1")
    assert told == TaskResult("t-1", "error", None, ResultError(code, message))


@pytest.mark.parametrize("stopped", [result(DONE_10, "2"), failed(-32002, "too late", id="2")])
async def test_a_call_that_takes_too_long_stops_the_agent(stopped: bytes) -> None:
    answers = result({"task": WORKING_10}), result(WORKING_10, "1"), stopped
    async with scripted(*answers) as agent, new(agent) as client:
        told = await call(
            client, "x", task_id="t-1", message_id="m-1", within=0.3, polls=iter([0.0, 60.0])
        )
    assert told.error == ResultError("timeout", "the agent was not done within 0.3 s")
    assert json.loads(agent.asked[-1].body)["method"] == "CancelTask"


async def test_a_call_warns_of_an_answer_that_nobody_knows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scripted(result({"answer": 42})) as agent, old(agent) as client:
        told = await call(client, "x", task_id="t-1", message_id="m-1")
    assert told == TaskResult("t-1", "success", {"answer": 42})
    assert "neither a task nor a message" in caplog.text


BANANAS = {"id": "r-1", "status": {"state": "bananas"}, "artifacts": [{"parts": "half"}]}


@pytest.mark.req("W-23")
@pytest.mark.parametrize(
    ("answers", "output", "asked"),
    [
        ([result({"task": BANANAS}), failed(-32001, "no such task", id="1")], "half", 2),
        ([result({"task": BANANAS}), result(DONE_10, "1")], "done", 2),
        ([result({"task": BANANAS}), *(result(BANANAS, str(n)) for n in range(1, 9))], "half", 6),
        (
            [
                result({"task": BANANAS}),
                result({**BANANAS, "status": {"state": "thinking"}}, "1"),
                result({"message": "all"}, "2"),
            ],
            "all",
            3,
        ),
    ],
)
async def test_a_call_asks_about_an_unknown_state_before_it_takes_the_output(
    answers: list[bytes], output: str, asked: int
) -> None:
    async with scripted(*answers) as agent, new(agent) as client:
        told = await call(client, "x", task_id="t-1", message_id="m-1", polls=iter([0.0] * 9))
    assert (told.output, len(agent.asked)) == (output, asked)


@pytest.mark.req("W-23")
async def test_an_odd_event_does_not_end_a_stream(caplog: pytest.LogCaptureFixture) -> None:
    odd = {"status_update": {"task_id": "r-1", "status": "done"}}
    answer = events({"task": WORKING_10}, {"surprise": 1}, odd)
    async with scripted(answer) as agent, new(agent) as client:
        told = [event async for event in client.stream("x", id="t-1", message_id="m-1")]
    done = TaskStatus(state=TaskState.COMPLETED)
    assert told[1:] == [
        Unrecognized({"surprise": 1}),
        StatusUpdate(task_id="r-1", context_id="", status=done),
    ]
    assert "breaks the format" in caplog.text


@pytest.mark.req("W-23")
async def test_a_stream_in_place_of_an_answer_is_taken() -> None:
    async with scripted(events({"task": DONE_10})) as agent, new(agent) as client:
        received = await client.send_message("x", id="t-1", message_id="m-1")
    assert extract(received.answer).output == "done"


ON_ONE_LINE = b"".join(
    b"data: " + json.dumps({"jsonrpc": "2.0", "id": "t-1", "result": each}).encode() + b"\n"
    for each in ({"task": WORKING_10}, {"task": DONE_10})
)


@pytest.mark.req("W-23")
@pytest.mark.parametrize("body", [ON_ONE_LINE, b"\xef\xbb\xbf" + ON_ONE_LINE[:-1]])
async def test_events_are_taken_without_blank_lines_between_them(body: bytes) -> None:
    answer = http(body, kind="text/event-stream", headers="connection: close\r\n")
    async with scripted(answer, answer) as agent, new(agent) as client:
        told = [event async for event in client.stream("x", id="t-1", message_id="m-1")]
        received = await client.send_message("x", id="t-1", message_id="m-1")
    assert [each.status.state for each in told] == [TaskState.WORKING, TaskState.COMPLETED]  # type: ignore[union-attr]
    assert extract(received.answer).output == "done"


async def test_half_an_event_at_the_end_of_a_stream_is_none() -> None:
    answer = http(ON_ONE_LINE[:-9], kind="text/event-stream", headers="connection: close\r\n")
    async with scripted(answer) as agent, new(agent) as client:
        told = [event async for event in client.stream("x", id="t-1", message_id="m-1")]
    assert told == []


@pytest.mark.req("W-24")
@pytest.mark.parametrize(
    "answer",
    [
        http(b"<html>"),
        failed(-32602, "no model"),
        result({"task": {**DONE_10, "status": {"state": "TASK_STATE_FAILED"}}}),
    ],
)
async def test_a_call_that_fails_is_logged_as_an_error(
    answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted(answer) as agent, new(agent) as client:
        told = await call(client, "x", task_id="t-1", message_id="m-1")
    assert told.error is not None
    [record] = [each for each in caplog.records if each.name == "accord.a2a"]
    assert (record.levelname, told.error.message in record.getMessage()) == ("ERROR", True)


@pytest.mark.req("W-23")
async def test_a_task_is_one_however_it_is_written_and_a_message_is_none() -> None:
    answers = result({"result": BANANAS}, "1"), result({"message": "hi"}, "2")
    async with scripted(*answers) as agent, new(agent) as client:
        assert (await client.get("r-1")).id == "r-1"
        with pytest.raises(DefiniteError, match="asked for its task, and answered something else"):
            await client.get("r-1")
