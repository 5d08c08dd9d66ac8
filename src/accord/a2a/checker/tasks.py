"""Checks of tasks, streams and error answers."""

from __future__ import annotations

from typing import Any, Final
from uuid import uuid4

import msgspec

from accord.a2a.checker.messages import MessageChecks, read_strictly
from accord.a2a.checker.probes import (
    ErrorReply,
    ProbeFailure,
    ProbeResponse,
    ResultReply,
    RpcProbe,
    RpcReply,
    read_reply,
    read_reply_value,
    reply_value_faults,
)
from accord.a2a.protocol.card import AgentCard
from accord.a2a.protocol.errors import ERROR_KINDS, TASK_NOT_FOUND
from accord.a2a.protocol.fields import METHODS, VERSION, Verb, Wire
from accord.a2a.protocol.formats import FORMATS, UNREADABLE
from accord.a2a.protocol.model import (
    RESTING,
    TERMINAL,
    Answer,
    ArtifactUpdate,
    Event,
    Message,
    Send,
    Task,
    TaskQuery,
    TaskState,
)
from accord.a2a.protocol.requests import message_of
from accord.jsonrpc.protocol.codec import decode_json

NO_METHOD: Final = "accord/no-such-method"
NO_VERSION: Final = "9.9"


async def check_errors(rpc: RpcProbe) -> None:
    """Requests that are wrong, each in one way."""
    broken = await rpc.post(b'{"jsonrpc": "2.0", "id": ', None)
    _expect(rpc, "error-parse", broken, -32700)
    id = rpc.new_id()
    no_request = await rpc.post(msgspec.json.encode({"jsonrpc": "2.0", "id": id}), id)
    _expect(rpc, "error-request", no_request, -32600)
    _expect(rpc, "error-method", await rpc.call(NO_METHOD, {}), -32601)
    _expect(rpc, "error-params", await rpc.ask(Verb.SEND, {}), -32602)
    if rpc.wire is Wire.V03:
        rpc.skipped("error-version", "0.3 has no header for versions")
    else:
        method = METHODS[rpc.wire][Verb.GET]
        reply = await rpc.call(method, {"id": "x"}, {VERSION: NO_VERSION})
        _expect(rpc, "error-version", reply, -32009)


def _expect(rpc: RpcProbe, rule: str, reply: RpcReply, code: int) -> None:
    if isinstance(reply, ErrorReply) and reply.code == code:
        rpc.passed(rule)
    else:
        rpc.failed(rule, f"it was {'a result' if isinstance(reply, ResultReply) else reply}")


NOT_CANCELABLE: Final = ERROR_KINDS["TASK_NOT_CANCELABLE"].code
_NO_TASKS: Final = "the agent answers with messages, and has no tasks"


async def check_tasks(
    rpc: RpcProbe, sending: MessageChecks, answer: Answer | None, long: str
) -> None:
    """`answer` is what a message was answered with; `long` a text that takes a while, if any."""
    task = answer if isinstance(answer, Task) and answer.id else None
    if task is None:
        for rule in ("task-get", "cancel-over", "cancel-running"):
            rpc.skipped(rule, _NO_TASKS if answer is not None else "there is no task")
    else:
        await _check_get(rpc, task)
        await _check_finished(rpc, task)
        await _check_running(rpc, sending, long)
    await _check_unknown(rpc, "task-unknown", Verb.GET)
    await _check_unknown(rpc, "cancel-unknown", Verb.CANCEL)


async def _ask(rpc: RpcProbe, verb: Verb, task_id: str) -> RpcReply:
    return await rpc.ask(verb, FORMATS[rpc.wire].task_params(TaskQuery(id=task_id)))


async def _check_get(rpc: RpcProbe, task: Task) -> None:
    reply = await _ask(rpc, Verb.GET, task.id)
    if not isinstance(reply, ResultReply):
        rpc.failed("task-get", f"it was {reply}")
        return
    try:
        got = FORMATS[rpc.wire].read_task(reply.raw)
    except UNREADABLE as error:
        rpc.failed("task-get", str(error))
        return
    if got.id != task.id:
        rpc.failed("task-get", f"the id was {task.id[:80]!r}, and is {got.id[:80]!r}")
    elif task.status.state in TERMINAL and got.status.state != task.status.state:
        rpc.failed("task-get", f"it was {task.status.state}, and is {got.status.state}")
    else:
        rpc.passed("task-get")


async def _check_finished(rpc: RpcProbe, task: Task) -> None:
    if task.status.state not in TERMINAL:
        rpc.skipped("cancel-over", "the task is not over")
        return
    reply = await _ask(rpc, Verb.CANCEL, task.id)
    if isinstance(reply, ErrorReply) and reply.code == NOT_CANCELABLE:
        rpc.passed("cancel-over")
    else:
        rpc.failed("cancel-over", f"it was {_task_with_id(reply)}")


async def _check_running(rpc: RpcProbe, sending: MessageChecks, long: str) -> None:
    if not long:
        rpc.skipped("cancel-running", "no text was given that takes a while (--long TEXT)")
        return
    task = await sending.begin(long)
    if task is None or task.status.state in TERMINAL:
        rpc.skipped("cancel-running", "the task of --long was over at once")
        return
    reply = await _ask(rpc, Verb.CANCEL, task.id)
    try:
        if isinstance(reply, ResultReply):
            state = FORMATS[rpc.wire].read_task(reply.raw).status.state
            if state is TaskState.CANCELED:
                rpc.passed("cancel-running")
            else:
                rpc.failed("cancel-running", f"the task is {state}")
            return
        rpc.failed("cancel-running", f"it was {reply}")
    except UNREADABLE as error:
        rpc.failed("cancel-running", str(error))


async def _check_unknown(rpc: RpcProbe, rule: str, verb: Verb) -> None:
    reply = await _ask(rpc, verb, str(uuid4()))
    if isinstance(reply, ErrorReply) and reply.code == TASK_NOT_FOUND:
        rpc.passed(rule)
    else:
        rpc.failed(rule, f"it was {_task_with_id(reply)}")


def _task_with_id(reply: RpcReply) -> str:
    return "a result" if isinstance(reply, ResultReply) else str(reply)


EVENT_STREAM: Final = "text/event-stream"
_STREAM_RULES: Final = ("stream-type", "stream-events", "stream-end")
_REFUSAL_CODES: Final = (-32004, -32601)


async def check_stream(rpc: RpcProbe, text: str, card: AgentCard | None) -> None:
    """Check that streams are there, or not, as the card says."""
    if card is None:
        for rule in (*_STREAM_RULES, "stream-refused"):
            rpc.skipped(rule, "there is no card that says whether there are streams")
        return
    id = rpc.new_id()
    message = message_of(text, message_id=str(uuid4()))
    params = FORMATS[rpc.wire].send_params(Send(message=message))
    method = METHODS[rpc.wire][Verb.STREAM]
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    response = await rpc.look(msgspec.json.encode(request), {"accept": EVENT_STREAM})
    if card.streaming:
        rpc.skipped("stream-refused", "the card says that there are streams")
        _check_promised(rpc, response, id)
    else:
        for rule in _STREAM_RULES:
            rpc.skipped(rule, "the card does not say that there are streams")
        _check_refused(rpc, response)


def _check_refused(rpc: RpcProbe, response: ProbeResponse | ProbeFailure) -> None:
    reply = read_reply(response)
    if isinstance(reply, ErrorReply) and reply.code in _REFUSAL_CODES:
        rpc.passed("stream-refused")
    else:
        what = reply if isinstance(reply, ErrorReply) else "something else"
        rpc.failed("stream-refused", f"it was {what}")


def _check_promised(rpc: RpcProbe, response: ProbeResponse | ProbeFailure, id: str) -> None:
    if isinstance(response, ProbeFailure) or response.content_type != EVENT_STREAM:
        why = (
            response.why
            if isinstance(response, ProbeFailure)
            else f"the type is {response.content_type[:80]!r}"
        )
        reply = read_reply(response)
        rpc.failed("stream-type", f"it was {reply}" if isinstance(reply, ErrorReply) else why)
        for rule in _STREAM_RULES[1:]:
            rpc.skipped(rule, "there was no stream")
        return
    rpc.passed("stream-type")
    last = _check_events(rpc, response, id)
    if last is None:
        rpc.skipped("stream-end", "there is no last event")
    else:
        _check_end(rpc, response, last)


def _check_events(rpc: RpcProbe, response: ProbeResponse, id: str) -> Event | None:
    """Return the last event if all events are valid."""
    last: Event | None = None
    for data in response.events:
        value = _decode_event(data)
        reply = read_reply_value(value, response)
        problems = reply_value_faults(value, id)
        if problems or not isinstance(reply, ResultReply):
            rpc.failed("stream-events", problems[0][1] if problems else f"it was {reply}")
            return None
        try:
            last = read_strictly(rpc.wire, reply)
        except UNREADABLE as error:
            rpc.failed("stream-events", str(error))
            return None
    if last is None:
        rpc.failed("stream-events", "there was none")
    else:
        rpc.passed("stream-events", f"{len(response.events):,} events")
    return last


def _check_end(rpc: RpcProbe, response: ProbeResponse, last: Event) -> None:
    if not response.ended:
        rpc.failed("stream-end", "the stream was still open when patience was over")
    elif not isinstance(last, Message) and (
        isinstance(last, ArtifactUpdate) or last.status.state not in RESTING
    ):
        rpc.failed("stream-end", "it ended, and the last event told of no end")
    elif rpc.wire is Wire.V03 and not _is_final(_decode_event(response.events[-1])):
        rpc.failed("stream-end", 'the last status has no "final": true')
    else:
        rpc.passed("stream-end")


def _is_final(value: Any) -> bool:
    result = value["result"]
    return result.get("kind") != "status-update" or result.get("final") is True


def _decode_event(data: bytes) -> Any:
    try:
        return decode_json(data)
    except msgspec.DecodeError:
        return None
