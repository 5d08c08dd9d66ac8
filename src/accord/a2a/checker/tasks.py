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
from accord.jsonrpc.nesting import decode_json

NO_METHOD: Final = "accord/no-such-method"
NO_VERSION: Final = "9.9"


async def check_errors(talk: RpcProbe) -> None:
    """Requests that are wrong, each in one way."""
    broken = await talk.post(b'{"jsonrpc": "2.0", "id": ', None)
    _expect(talk, "error-parse", broken, -32700)
    id = talk.new_id()
    no_request = await talk.post(msgspec.json.encode({"jsonrpc": "2.0", "id": id}), id)
    _expect(talk, "error-request", no_request, -32600)
    _expect(talk, "error-method", await talk.call(NO_METHOD, {}), -32601)
    _expect(talk, "error-params", await talk.ask(Verb.SEND, {}), -32602)
    if talk.wire is Wire.V03:
        talk.skipped("error-version", "0.3 has no header for versions")
    else:
        method = METHODS[talk.wire][Verb.GET]
        said = await talk.call(method, {"id": "x"}, {VERSION: NO_VERSION})
        _expect(talk, "error-version", said, -32009)


def _expect(talk: RpcProbe, rule: str, said: RpcReply, code: int) -> None:
    if isinstance(said, ErrorReply) and said.code == code:
        talk.passed(rule)
    else:
        talk.failed(rule, f"it was {'a result' if isinstance(said, ResultReply) else said}")


NOT_CANCELABLE: Final = ERROR_KINDS["TASK_NOT_CANCELABLE"].code
_NO_TASKS: Final = "the agent answers with messages, and has no tasks"


async def check_tasks(
    talk: RpcProbe, sending: MessageChecks, answer: Answer | None, long: str
) -> None:
    """`answer` is what a message was answered with; `long` a text that takes a while, if any."""
    task = answer if isinstance(answer, Task) and answer.id else None
    if task is None:
        for rule in ("task-get", "cancel-over", "cancel-running"):
            talk.skipped(rule, _NO_TASKS if answer is not None else "there is no task")
    else:
        await _check_get(talk, task)
        await _check_finished(talk, task)
        await _check_running(talk, sending, long)
    await _check_unknown(talk, "task-unknown", Verb.GET)
    await _check_unknown(talk, "cancel-unknown", Verb.CANCEL)


async def _ask(talk: RpcProbe, verb: Verb, task_id: str) -> RpcReply:
    return await talk.ask(verb, FORMATS[talk.wire].task_params(TaskQuery(id=task_id)))


async def _check_get(talk: RpcProbe, task: Task) -> None:
    said = await _ask(talk, Verb.GET, task.id)
    if not isinstance(said, ResultReply):
        talk.failed("task-get", f"it was {said}")
        return
    try:
        got = FORMATS[talk.wire].read_task(said.raw)
    except UNREADABLE as error:
        talk.failed("task-get", str(error))
        return
    if got.id != task.id:
        talk.failed("task-get", f"the id was {task.id[:80]!r}, and is {got.id[:80]!r}")
    elif task.status.state in TERMINAL and got.status.state != task.status.state:
        talk.failed("task-get", f"it was {task.status.state}, and is {got.status.state}")
    else:
        talk.passed("task-get")


async def _check_finished(talk: RpcProbe, task: Task) -> None:
    if task.status.state not in TERMINAL:
        talk.skipped("cancel-over", "the task is not over")
        return
    said = await _ask(talk, Verb.CANCEL, task.id)
    if isinstance(said, ErrorReply) and said.code == NOT_CANCELABLE:
        talk.passed("cancel-over")
    else:
        talk.failed("cancel-over", f"it was {_task_with_id(said)}")


async def _check_running(talk: RpcProbe, sending: MessageChecks, long: str) -> None:
    if not long:
        talk.skipped("cancel-running", "no text was given that takes a while (--long TEXT)")
        return
    task = await sending.begin(long)
    if task is None or task.status.state in TERMINAL:
        talk.skipped("cancel-running", "the task of --long was over at once")
        return
    said = await _ask(talk, Verb.CANCEL, task.id)
    try:
        if isinstance(said, ResultReply):
            state = FORMATS[talk.wire].read_task(said.raw).status.state
            if state is TaskState.CANCELED:
                talk.passed("cancel-running")
            else:
                talk.failed("cancel-running", f"the task is {state}")
            return
        talk.failed("cancel-running", f"it was {said}")
    except UNREADABLE as error:
        talk.failed("cancel-running", str(error))


async def _check_unknown(talk: RpcProbe, rule: str, verb: Verb) -> None:
    said = await _ask(talk, verb, str(uuid4()))
    if isinstance(said, ErrorReply) and said.code == TASK_NOT_FOUND:
        talk.passed(rule)
    else:
        talk.failed(rule, f"it was {_task_with_id(said)}")


def _task_with_id(said: RpcReply) -> str:
    return "a result" if isinstance(said, ResultReply) else str(said)


EVENT_STREAM: Final = "text/event-stream"
_STREAM_RULES: Final = ("stream-type", "stream-events", "stream-end")
_REFUSAL_CODES: Final = (-32004, -32601)


async def check_stream(talk: RpcProbe, text: str, card: AgentCard | None) -> None:
    """Check that streams are there, or not, as the card says."""
    if card is None:
        for rule in (*_STREAM_RULES, "stream-refused"):
            talk.skipped(rule, "there is no card that says whether there are streams")
        return
    id = talk.new_id()
    message = message_of(text, message_id=str(uuid4()))
    params = FORMATS[talk.wire].send_params(Send(message=message))
    method = METHODS[talk.wire][Verb.STREAM]
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    seen = await talk.look(msgspec.json.encode(request), {"accept": EVENT_STREAM})
    if card.streaming:
        talk.skipped("stream-refused", "the card says that there are streams")
        _check_promised(talk, seen, id)
    else:
        for rule in _STREAM_RULES:
            talk.skipped(rule, "the card does not say that there are streams")
        _check_refused(talk, seen)


def _check_refused(talk: RpcProbe, seen: ProbeResponse | ProbeFailure) -> None:
    said = read_reply(seen)
    if isinstance(said, ErrorReply) and said.code in _REFUSAL_CODES:
        talk.passed("stream-refused")
    else:
        what = said if isinstance(said, ErrorReply) else "something else"
        talk.failed("stream-refused", f"it was {what}")


def _check_promised(talk: RpcProbe, seen: ProbeResponse | ProbeFailure, id: str) -> None:
    if isinstance(seen, ProbeFailure) or seen.content_type != EVENT_STREAM:
        why = (
            seen.why
            if isinstance(seen, ProbeFailure)
            else f"the type is {seen.content_type[:80]!r}"
        )
        said = read_reply(seen)
        talk.failed("stream-type", f"it was {said}" if isinstance(said, ErrorReply) else why)
        for rule in _STREAM_RULES[1:]:
            talk.skipped(rule, "there was no stream")
        return
    talk.passed("stream-type")
    last = _check_events(talk, seen, id)
    if last is None:
        talk.skipped("stream-end", "there is no last event")
    else:
        _check_end(talk, seen, last)


def _check_events(talk: RpcProbe, seen: ProbeResponse, id: str) -> Event | None:
    """Return the last event if all events are valid."""
    last: Event | None = None
    for data in seen.events:
        value = _decode_event(data)
        said = read_reply_value(value, seen)
        problems = reply_value_faults(value, id)
        if problems or not isinstance(said, ResultReply):
            talk.failed("stream-events", problems[0][1] if problems else f"it was {said}")
            return None
        try:
            last = read_strictly(talk.wire, said)
        except UNREADABLE as error:
            talk.failed("stream-events", str(error))
            return None
    if last is None:
        talk.failed("stream-events", "there was none")
    else:
        talk.passed("stream-events", f"{len(seen.events):,} events")
    return last


def _check_end(talk: RpcProbe, seen: ProbeResponse, last: Event) -> None:
    if not seen.ended:
        talk.failed("stream-end", "the stream was still open when patience was over")
    elif not isinstance(last, Message) and (
        isinstance(last, ArtifactUpdate) or last.status.state not in RESTING
    ):
        talk.failed("stream-end", "it ended, and the last event told of no end")
    elif talk.wire is Wire.V03 and not _is_final(_decode_event(seen.events[-1])):
        talk.failed("stream-end", 'the last status has no "final": true')
    else:
        talk.passed("stream-end")


def _is_final(value: Any) -> bool:
    result = value["result"]
    return result.get("kind") != "status-update" or result.get("final") is True


def _decode_event(data: bytes) -> Any:
    try:
        return decode_json(data)
    except msgspec.DecodeError:
        return None
