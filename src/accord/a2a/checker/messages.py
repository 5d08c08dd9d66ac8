"""Checks of messages, repetition, tasks, streams and error answers.

Messages are sent as Accord's client sends them: non-blocking, and the task is polled afterwards.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from accord.a2a.checker.probes import (
    ErrorReply,
    NoReply,
    ProbeFailure,
    ProbeResponse,
    ResultReply,
    RpcProbe,
    RpcReply,
    read_reply,
    read_reply_value,
    reply_value_faults,
)
from accord.a2a.protocol import tolerant
from accord.a2a.protocol.calls import message_of
from accord.a2a.protocol.card import AgentCard
from accord.a2a.protocol.errors import ERROR_KINDS, TASK_NOT_FOUND
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.fields import METHODS, VERSION, Verb, Wire
from accord.a2a.protocol.formats import FORMATS, UNREADABLE
from accord.a2a.protocol.model import (
    RESTING,
    STATE_NAMES_10,
    TERMINAL,
    Answer,
    ArtifactUpdate,
    Event,
    Message,
    Send,
    Task,
    TaskQuery,
    TaskState,
    Unrecognized,
)
from accord.a2a.protocol.outcome import (
    DoneOutcome,
    FailedOutcome,
    UnclearOutcome,
    WaitingOutcome,
    WorkingOutcome,
    outcome_of,
    poll_intervals,
)
from accord.jsonrpc.protocol.codec import decode_json

STATE_NAMES: Final = {
    Wire.V03: frozenset(state.value for state in TaskState),
    Wire.V10: frozenset(STATE_NAMES_10.values()),
}
MAX_DEPTH: Final = 32


def check_answer(rpc: RpcProbe, result: ResultReply) -> Answer | None:
    """Check the result of sending a message.

    Returns the task or message in the result, or None if it is unreadable.
    """
    state = _state(result.value)
    if state is not None and (not isinstance(state, str) or state not in STATE_NAMES[rpc.wire]):
        rpc.failed("send-state", f"the state is {str(state)[:80]!r}")
        rpc.skipped("send-result", "the state cannot be read")
        return None
    if state is not None:
        rpc.passed("send-state")
    check_parts(rpc, result.value)
    try:
        event = read_strictly(rpc.wire, result)
    except UNREADABLE as error:
        rpc.failed("send-result", str(error))
        return read_tolerantly(rpc.wire, result)
    if not isinstance(event, Task | Message):
        rpc.failed("send-result", "it is an event of a stream")
        return None
    rpc.passed("send-result", "a task" if isinstance(event, Task) else "a message")
    return event


def read_strictly(wire: Wire, result: ResultReply) -> Event:
    """Return the event in a result. Raise one of UNREADABLE for a malformed event."""
    return FORMATS[wire].read_event(result.raw)


def read_tolerantly(wire: Wire, result: ResultReply) -> Answer | None:
    """Read a result as Accord's client does, which tolerates many faults.

    Returns None if the result is neither a task nor a message.
    """
    try:
        answer = FORMATS[wire].read_answer(result.raw)
    except UNREADABLE:
        answer = Unrecognized(result.value)
    if isinstance(answer, Unrecognized):
        answer = tolerant.read_answer(result.value).answer
    return None if isinstance(answer, Unrecognized) else answer


def _state(value: Any) -> Any:
    """Return the state of the raw task `value` in either format; None without one."""
    if not isinstance(value, dict):
        return None
    wrapped = value.get("task")
    task = wrapped if isinstance(wrapped, dict) else value
    status = task.get("status")
    return status.get("state") if isinstance(status, dict) else None


def check_parts(rpc: RpcProbe, value: Any) -> None:
    """Check that every part in a result has a known kind."""
    for part in _parts(value, 0):
        kind = part.get("kind")
        if rpc.wire is Wire.V03 and kind not in ("text", "file", "data"):
            rpc.failed("send-parts", f"a part is of kind {str(kind)[:40]!r}")
        elif rpc.wire is Wire.V10 and "kind" in part:
            rpc.failed("send-parts", "a part has a kind, which 1.0 does not have")
    rpc.passed("send-parts")


def _parts(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Yield all message parts found in a value, except inside metadata and data."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for each in value:
            yield from _parts(each, depth + 1)
    if isinstance(value, dict):
        for name, each in value.items():
            if name == "parts" and isinstance(each, list):
                yield from (part for part in each if isinstance(part, dict))
            elif name not in ("metadata", "data"):
                yield from _parts(each, depth + 1)


_RULES_AFTER_SEND: Final = (
    "send-result",
    "send-parts",
    "send-state",
    "send-completed",
    "send-output",
    "send-non-blocking",
    "send-again",
)


class MessageChecks:
    """Checks of an agent by messages, all with the given `text`.

    The messages are like those of Accord's client.
    """

    def __init__(self, rpc: RpcProbe, text: str, patience: float) -> None:
        self._rpc_probe = rpc
        self._text = text
        self._patience = patience

    async def check(self) -> Answer | None:
        """Send a message and check its answers. Return the final answer, if any."""
        rpc, message_id = self._rpc_probe, str(uuid4())
        reply = await self.send(message_id)
        answer = await self._answer(reply)
        await self._check_forgotten()
        if not isinstance(reply, ResultReply):
            return None
        if answer is not None:
            self._judge_end(answer)
        else:
            rpc.skipped("send-completed", "the answer cannot be read")
            rpc.skipped("send-output", "the answer cannot be read")
        await self._check_again(message_id, reply)
        return answer

    async def _answer(self, reply: RpcReply) -> Answer | None:
        rpc = self._rpc_probe
        if not isinstance(reply, ResultReply):
            rpc.failed("send-answered", f"it was {reply}")
            if isinstance(reply, NoReply):
                rpc.failed("send-non-blocking", f"it was {reply}")
            for rule in _RULES_AFTER_SEND:
                rpc.skipped(rule, "there was no result")
            return None
        rpc.passed("send-answered")
        rpc.passed("send-non-blocking")
        answer = check_answer(rpc, reply)
        if isinstance(answer, Message):
            rpc.skipped("send-state", "the agent answers with messages, which have no state")
        return await self._await_rest(answer) if isinstance(answer, Task) else answer

    async def send(self, message_id: str, *, task_id: str = "") -> RpcReply:
        """Send a message with the text of these checks."""
        # Members beside the text travel as metadata, as those of a step's input do.
        message = message_of(
            {"text": self._text, "check": "accord"}, message_id=message_id, task_id=task_id
        )
        send = Send(message=message, blocking=False)
        return await self._rpc_probe.ask(Verb.SEND, FORMATS[self._rpc_probe.wire].send_params(send))

    def _judge_end(self, answer: Answer) -> None:
        rpc = self._rpc_probe
        match outcome_of(answer):
            case DoneOutcome(extracted):
                rpc.passed("send-completed")
                if extracted.warning:
                    rpc.failed("send-output", extracted.warning)
                else:
                    rpc.passed("send-output", repr(str(extracted.output)[:80]))
                return
            case FailedOutcome(code=code, message=message):
                rpc.failed("send-completed", f"{code}: {message[:160]}")
            case WaitingOutcome(question=question):
                rpc.skipped("send-completed", f"the agent asks back: {question[:160]!r}")
            case WorkingOutcome() | UnclearOutcome():
                rpc.failed("send-completed", f"it still works after {self._patience:g} s")
        rpc.skipped("send-output", "the task is not completed")

    async def _await_rest(self, task: Task) -> Task | None:
        """Poll a task until it is at rest: until it has ended, or waits for the client.

        Polling also ends after `patience` seconds. Returns None if the task is unreadable.
        """
        waits = poll_intervals(0.05, most=2.0)
        until = time.monotonic() + self._patience
        while task.id and task.status.state not in RESTING and time.monotonic() < until:
            await asyncio.sleep(next(waits))
            got = await self._get(task.id)
            if got is None:
                return None
            task = got
        return task

    async def _get(self, task_id: str) -> Task | None:
        rpc = self._rpc_probe
        params = FORMATS[rpc.wire].task_params(TaskQuery(id=task_id))
        reply = await rpc.ask(Verb.GET, params)
        if not isinstance(reply, ResultReply):
            rpc.failed("task-get", f"it was {reply}")
            return None
        check_parts(rpc, reply.value)
        try:
            task = FORMATS[rpc.wire].read_task(reply.raw)
        except UNREADABLE as error:
            rpc.failed("task-get", str(error))
            return None
        if task.id != task_id:
            rpc.failed("task-get", f"the id was {task_id[:80]!r}, and is {task.id[:80]!r}")
        return replace(task, id=task_id)

    # Once more, and for a task that is not there

    async def _check_again(self, message_id: str, first: ResultReply) -> None:
        rpc = self._rpc_probe
        reply = await self.send(message_id)
        before = self._same(first)
        if not isinstance(reply, ResultReply):
            rpc.failed("send-again", f"it was {reply}")
        elif before is None:
            rpc.skipped("send-again", "the answer cannot be read")
        elif self._same(reply) == before:
            rpc.passed("send-again")
        else:
            rpc.failed("send-again", "it began another task, or gave another answer")

    def _same(self, result: ResultReply) -> object:
        """Return the value by which two answers to the same message are compared.

        The value is the id of a task, or the output of a message.
        """
        answer = read_tolerantly(self._rpc_probe.wire, result)
        if isinstance(answer, Task):
            return answer.id
        return None if answer is None else extract(answer).output

    async def _check_forgotten(self) -> None:
        reply = await self.send(str(uuid4()), task_id=str(uuid4()))
        if isinstance(reply, ErrorReply) and reply.code == TASK_NOT_FOUND:
            self._rpc_probe.passed("send-forgotten")
        else:
            got = "a result" if isinstance(reply, ResultReply) else str(reply)
            self._rpc_probe.failed("send-forgotten", f"it was {got}")

    # For checks of tasks

    async def begin(self, text: str) -> Task | None:
        """Start a task with another text. Return None if the agent starts no task."""
        other = MessageChecks(self._rpc_probe, text, self._patience)
        reply = await other.send(str(uuid4()))
        answer = check_answer(self._rpc_probe, reply) if isinstance(reply, ResultReply) else None
        return answer if isinstance(answer, Task) else None


NO_METHOD: Final = "accord/no-such-method"
NO_VERSION: Final = "9.9"


async def check_errors(rpc: RpcProbe) -> None:
    """Send invalid requests, each with one fault, and check the errors."""
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
    """Check reading and cancelling tasks.

    `answer` is the answer to an earlier message; `long` a text that keeps the agent busy, if any.
    """
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
    """Check that the agent streams if and only if its card says so."""
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
        got = reply if isinstance(reply, ErrorReply) else "something else"
        rpc.failed("stream-refused", f"it was {got}")


def _check_promised(rpc: RpcProbe, response: ProbeResponse | ProbeFailure, id: str) -> None:
    if isinstance(response, ProbeFailure) or response.content_type != EVENT_STREAM:
        detail = (
            response.why
            if isinstance(response, ProbeFailure)
            else f"the type is {response.content_type[:80]!r}"
        )
        reply = read_reply(response)
        rpc.failed("stream-type", f"it was {reply}" if isinstance(reply, ErrorReply) else detail)
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
    """Check the events of a stream. Return the last event if all are valid."""
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
