"""Requests to an agent, and how the input of a step becomes a message."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from accord.a2a.protocol.fields import METHODS, Verb, Wire
from accord.a2a.protocol.formats import FORMATS
from accord.a2a.protocol.model import Message, PushQuery, Send, TaskPush, TaskQuery, TextPart
from accord.jsonrpc.protocol.messages import Request, encode

TEXT_KEYS: Final = ("text", "query")
"""Whose value is the text of the message, the first of them that is there."""


def message_of(input: Any, *, message_id: str, context_id: str = "", task_id: str = "") -> Message:
    """Return the message that asks an agent to work on `input`.

    A text is sent as it is, and so is the member `text` or `query` of an object, whose other
    members go along as metadata. Any other value is sent as JSON.
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
