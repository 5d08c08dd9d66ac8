"""Calls of an agent: requests as a client writes them, and answers as it reads them. Pure.

Answers are read strictly first; near-correct ones are repaired and read tolerantly.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from accord.a2a.protocol import tolerant
from accord.a2a.protocol.errors import MalformedAnswerError, error_from_answer
from accord.a2a.protocol.extraction import has_text
from accord.a2a.protocol.fields import METHODS, Verb, Wire
from accord.a2a.protocol.formats import FORMATS, UNREADABLE
from accord.a2a.protocol.model import (
    TERMINAL,
    Answer,
    ArtifactUpdate,
    Event,
    Message,
    PushQuery,
    Send,
    StatusUpdate,
    Task,
    TaskPush,
    TaskQuery,
    TaskState,
    TaskStatus,
    TextPart,
    Unrecognized,
    updated,
)
from accord.jsonrpc.protocol.codec import NestingError, check_nesting, decode
from accord.jsonrpc.protocol.framing import SseDecoder
from accord.jsonrpc.protocol.messages import (
    Batch,
    Failure,
    Invalid,
    Message as RpcMessage,
    Notification,
    Request,
    Success,
    encode,
)

TEXT_KEYS: Final = ("text", "query")
"""Members of an input object that may contain the text; the first one present is used."""


def message_of(input: Any, *, message_id: str, context_id: str = "", task_id: str = "") -> Message:
    """Return the message that asks an agent to work on `input`.

    A string is sent as text. If `input` is an object with a string in `text` or `query`, this
    string is sent as text, and the other members as metadata. Any other value is sent as JSON.
    """
    text, metadata = _input_text(input)
    return Message(
        message_id=message_id,
        role="user",
        parts=(TextPart(text=text),),
        context_id=context_id,
        task_id=task_id,
        metadata=metadata,
    )


def _input_text(input: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(input, str):
        return input, {}
    if isinstance(input, dict):
        for key in TEXT_KEYS:
            if isinstance(input.get(key), str):
                return input[key], {name: each for name, each in input.items() if name != key}
    return msgspec.json.encode(input).decode(), {}


def send_request(wire: Wire, id: str, send: Send, *, stream: bool = False) -> bytes:
    verb = Verb.STREAM if stream else Verb.SEND
    return _request(wire, id, verb, FORMATS[wire].send_params(send))


def task_request(wire: Wire, id: str, verb: Verb, query: TaskQuery) -> bytes:
    """Return a request about a task: `verb` is GET, CANCEL or SUBSCRIBE."""
    return _request(wire, id, verb, FORMATS[wire].task_params(query))


def set_push_request(wire: Wire, id: str, push: TaskPush) -> bytes:
    return _request(wire, id, Verb.SET_PUSH, FORMATS[wire].push_params(push))


def push_request(wire: Wire, id: str, verb: Verb, query: PushQuery) -> bytes:
    """Return a request about a webhook: `verb` is GET_PUSH or DELETE_PUSH."""
    return _request(wire, id, verb, FORMATS[wire].push_query_params(query))


def _request(wire: Wire, id: str, verb: Verb, params: Any) -> bytes:
    return encode(Request(id, METHODS[wire][verb], params))


MAX_BODY_KEPT: Final = 64 * 1024
"""Bytes of a malformed answer that are kept for the log."""
MAX_REPAIRED: Final = 1024 * 1024
"""The largest answer, in bytes, whose JSON is repaired."""
BOM: Final = b"\xef\xbb\xbf"

_UNREADABLE_REQUEST_CODES: Final = frozenset((-32700, -32600))
"""Codes of errors whose id may be null, as the request's id could not be read (JSON-RPC 2.0,
section 5)."""
_OTHER_FORMAT: Final = "the result is not written in the format of the agent"
_BLANKS: Final = BOM + b" \t\r\n"
_SSE_STARTS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")

_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_only_item: Final = msgspec.json.Decoder(tuple[Raw]).decode
_decode_any: Final = msgspec.json.Decoder().decode

T = TypeVar("T")


class ReceivedAnswer(Struct, frozen=True, kw_only=True):
    """The task or message in an agent's answer, with the raw result and warnings."""

    answer: Answer | Unrecognized
    result: bytes
    """The result of the JSON-RPC response, not decoded."""
    state: str = ""
    """The state in the agent's own words, if the result was read tolerantly."""
    warnings: tuple[str, ...] = ()
    """Faults of the answer that were tolerated."""


class ReceivedEvent(Struct, frozen=True, kw_only=True):
    """An event of a stream."""

    event: Event | Unrecognized
    warnings: tuple[str, ...] = ()


class _Result(Struct, frozen=True, gc=False):
    raw: bytes
    warnings: tuple[str, ...] = ()


def read_answer(body: bytes, id: str, wire: Wire, *, task: bool = False) -> ReceivedAnswer:
    """Read the answer to the request `id`.

    `task` is true for requests that must be answered with a task (get and cancel). Raises
    MalformedAnswerError for an invalid answer, and AgentError or UnknownOutcomeError, depending on
    the code, for an error of the agent.
    """
    if not body.startswith(b"{") and body[:100].lstrip(_BLANKS).startswith(_SSE_STARTS):
        return _read_stream(body, id, wire)
    found = _result(body, id)
    form = FORMATS[wire]
    try:
        answer = form.read_task(found.raw) if task else form.read_answer(found.raw)
    except UNREADABLE as error:
        received = _read_tolerantly(found, body, f"the result breaks the format: {error}")
    else:
        if _is_plain(answer, found.raw):
            return ReceivedAnswer(answer=answer, result=found.raw, warnings=found.warnings)
        received = _read_tolerantly(found, body, instead_of=answer)
    if task and isinstance(received.answer, Unrecognized) and not received.answer.value:
        raise _malformed("the agent was asked for its task, and answered nothing", body)
    return received


def _is_plain(answer: Answer | Unrecognized, raw: bytes) -> bool:
    """Return true if a strictly read answer needs no tolerant reading.

    A tolerant reading could then find no more in the result `raw`.
    """
    if not isinstance(answer, Task):
        return isinstance(answer, Message) and has_text(answer)
    if not answer.context_id and b'"context_id"' in raw:
        return False  # without its id nobody could answer the question
    state = answer.status.state
    if state is TaskState.COMPLETED:
        return has_text(answer)
    if state in TERMINAL:
        return answer.status.message is not None
    return state is not TaskState.UNKNOWN


def _read_tolerantly(
    found: _Result,
    body: bytes,
    reason: str = "",
    *,
    instead_of: Answer | Unrecognized | None = None,
) -> ReceivedAnswer:
    """Read a result tolerantly; `instead_of` is the strictly read answer, if any."""
    read = tolerant.read_answer(_value(found.raw, body))
    answer = read.answer
    warnings = (*found.warnings, *((reason,) if reason else ()), *read.warnings)
    if instead_of is not None and not _says_more(answer, instead_of):
        # the format was kept, or the tolerant reader found no more
        answer, warnings = instead_of, found.warnings
    elif not warnings:
        warnings = (_OTHER_FORMAT,)
    return ReceivedAnswer(answer=answer, result=found.raw, state=read.state, warnings=warnings)


def _says_more(answer: Answer | Unrecognized, than: Answer | Unrecognized) -> bool:
    if isinstance(answer, Unrecognized):
        return False
    if isinstance(than, Unrecognized) or (has_text(answer) and not has_text(than)):
        return True
    if not isinstance(answer, Task) or not isinstance(than, Task):
        return False
    if answer.context_id and not than.context_id:
        return True
    if than.status.message is None and answer.status.message is not None:
        return True
    return than.status.state is TaskState.UNKNOWN is not answer.status.state


def read_result(body: bytes, id: str, read: Callable[[bytes], T]) -> T:
    """Return the result in the answer to the request `id`, converted by `read`.

    Raises MalformedAnswerError for an invalid answer or a result that `read` refuses, and
    AgentError or UnknownOutcomeError, depending on the code, for an error of the agent.
    """
    found = _result(body, id)
    try:
        return read(found.raw)
    except UNREADABLE as error:
        raise _malformed(f"the agent's result is not valid: {error}", body) from None


def read_event(data: bytes, id: str, wire: Wire) -> ReceivedEvent:
    """Return the event of a stream that answers the request `id`. Raises as `read_answer` does."""
    found = _result(data, id)
    try:
        return ReceivedEvent(event=FORMATS[wire].read_event(found.raw), warnings=found.warnings)
    except UNREADABLE as error:
        read = tolerant.read_event(_value(found.raw, data))
        reason = f"the event breaks the format: {error}"
        return ReceivedEvent(event=read.event, warnings=(*found.warnings, reason, *read.warnings))


def _read_stream(body: bytes, id: str, wire: Wire) -> ReceivedAnswer:
    """Combine a stream of events, sent in place of a single answer, into one answer."""
    decoder = SseDecoder(max(len(body), 1))
    came = decoder.feed(body + b"\n\n")
    data = [message for event in came for message in messages_in(event.data)]
    answer: Answer | Unrecognized | None = None
    warnings = ["the agent answered a stream of events, and was asked for one answer"]
    results = []
    for each in data:
        received = read_event(each, id, wire)
        results.append(_result(each, id).raw)
        warnings += (warning for warning in received.warnings if warning not in warnings)
        answer = _with_event(answer, received.event)
    if answer is None:
        raise _malformed("the agent answered a stream without an event", body)
    return ReceivedAnswer(
        answer=answer,
        result=b"[" + b",".join(results) + b"]",
        warnings=tuple(warnings[: tolerant.MAX_WARNINGS]),
    )


def messages_in(data: bytes) -> list[bytes]:
    """Return the messages in an event's data: several if the agent omits blank lines."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) > 1 and all(
        isinstance(_decode_or_none(_decode_any, line), dict) for line in lines
    ):
        return lines
    return [data] if lines else []


def _with_event(
    answer: Answer | Unrecognized | None, event: Event | Unrecognized
) -> Answer | Unrecognized:
    match event:
        case StatusUpdate() | ArtifactUpdate():
            if not isinstance(answer, Task):
                status = TaskStatus(state=TaskState.WORKING)
                answer = Task(id=event.task_id, context_id=event.context_id, status=status)
            return updated(answer, event)
        case Unrecognized() if answer is not None:
            return answer
        case _:
            return event


def is_answer(body: bytes, id: str) -> bool:
    """Return true for a JSON-RPC error that answers the request `id`."""
    message, _ = _message(body)
    return isinstance(message, Failure) and _is_for(message, id)


# The envelope


def _result(body: bytes, id: str) -> _Result:
    """Return the result in the answer to the request `id`.

    Raises CallError for an invalid answer and for an error of the agent.
    """
    message, warnings = _message(body)
    match message:
        case Success(id=came) if came == id:
            return _Result(bytes(message.result), warnings)
        case Success(id=came) if _is_same_number(came, id):
            warning = f"the answer's id is the number {_excerpt(came)}, not {_excerpt(id)}"
            return _Result(bytes(message.result), (*warnings, warning))
        case Failure(error=error) if _is_for(message, id):
            data = None if error.data is UNSET else _decode_any(error.data)
            raise error_from_answer(error.code, error.message, data, body=body[:MAX_BODY_KEPT])
        case Success(id=came) | Failure(id=came):
            raise _malformed(f"the answer's id is {_excerpt(came)}, not {_excerpt(id)}", body)
        case Invalid(error=error):
            hint = _error_hint(body)
            raise _malformed(f"the agent's answer is not valid: {error.message}{hint}", body)
        case _:
            raise _malformed("the agent answered something that is no response", body)


def _is_for(failure: Failure, id: str) -> bool:
    if failure.id == id or _is_same_number(failure.id, id):
        return True
    return failure.id is None and failure.error.code in _UNREADABLE_REQUEST_CODES


def _is_same_number(came: Any, id: str) -> bool:
    return isinstance(came, int) and str(came) == id


def _message(body: bytes) -> tuple[RpcMessage | Batch, tuple[str, ...]]:
    """Decode the message in `body`, after repairing harmless faults of its JSON.

    Returns the message with a warning for each repair.
    """
    message = decode(body)
    if isinstance(message, Success | Failure | Request | Notification):
        return message, ()  # nothing is wrong with its JSON
    for repair in (_without_bom, _repair_json, _out_of_list, _without_null):
        mended = repair(body)
        if mended is None:
            continue
        body, warning = mended
        again, warnings = _message(body)
        if isinstance(again, Success | Failure):
            return again, (warning, *warnings)
        return message, ()
    return message, ()


def _without_bom(body: bytes) -> tuple[bytes, str] | None:
    if not body.startswith(BOM):
        return None
    return body.removeprefix(BOM), "the answer begins with a byte order mark"


def _repair_json(body: bytes) -> tuple[bytes, str] | None:
    """Repair JSON with lone surrogates, control characters, NaN or invalid UTF-8."""
    if len(body) > MAX_REPAIRED or not body.lstrip().startswith(b"{"):
        return None
    try:
        check_nesting(body)
    except NestingError:
        return None
    try:
        _decode_any(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    else:
        return None
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text, strict=False, parse_constant=lambda _: None)
        mended = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return None
    return mended.encode("utf-8", "replace"), "the answer is no valid JSON, and was repaired"


def _out_of_list(body: bytes) -> tuple[bytes, str] | None:
    items = _decode_or_none(_decode_only_item, body)
    if items is None or not bytes(items[0]).startswith(b"{"):
        return None
    return bytes(items[0]), "the answer is in a list"


def _without_null(body: bytes) -> tuple[bytes, str] | None:
    """Remove a null `result` or `error` from a message that has both members.

    Returns the new body and a warning; None if the message is not such a message.
    """
    members = _decode_or_none(_decode_members, body)
    if members is None or not members.keys() >= {"result", "error"}:
        return None
    for name in ("error", "result"):
        if bytes(members[name]) == b"null":
            rest = {each: raw for each, raw in members.items() if each != name}
            return msgspec.json.encode(
                rest
            ), f"the answer has both result and error: {name} is null"
    return None


def _decode_or_none(read: Callable[[bytes], T], body: bytes) -> T | None:
    try:
        check_nesting(body)
        return read(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _error_hint(body: bytes) -> str:
    """Return the text of a malformed error, as a hint; "" if it has none."""
    members = _decode_or_none(_decode_members, body) or {}
    error = _decode_or_none(_decode_any, bytes(members.get("error", b"null")))
    message = error.get("message") if isinstance(error, dict) else error
    return (
        f"; it says {_excerpt(message)}"
        if isinstance(message, str) and "result" not in members
        else ""
    )


def _value(raw: bytes, body: bytes) -> Any:
    try:
        return _decode_any(raw)
    except msgspec.DecodeError as error:
        raise _malformed(f"the agent's result is not valid: {error}", body) from None


def _malformed(reason: str, body: bytes) -> MalformedAnswerError:
    return MalformedAnswerError(reason, body=body[:MAX_BODY_KEPT])


def _excerpt(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:80]}…"
