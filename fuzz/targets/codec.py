"""`decode` against a reader of messages that is written for clarity alone, on Python's `json`.

Both must say the same of every input: what kind of message it is, with which id, or which
error. What is a message is written again and must be read as the same message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from msgspec import UNSET, Raw

from accord.jsonrpc.protocol.codec import decode
from accord.jsonrpc.protocol.messages import (
    Batch,
    Failure,
    Invalid,
    Message,
    Notification,
    Request,
    Success,
    encode,
)
from fuzz import reference
from fuzz.reference import Verdict, typed
from fuzz.targets import Check

MAX_DEPTH: Final = 8
"""Small, so that short inputs reach it."""


@contextmanager
def target() -> Iterator[Check]:
    yield check


def check(data: bytes) -> None:
    message = decode(data, MAX_DEPTH)
    expected = reference.read(data, MAX_DEPTH)
    found = [_verdict(item) for item in message] if isinstance(message, list) else _verdict(message)
    assert found == expected, f"decode says {found}, the reference {expected}"
    _check_round_trip(message)


# Our reading, in a form that can be compared


def _verdict(message: Message) -> Verdict:
    match message:
        case Request(id=id, method=method, params=params):
            return "request", typed(id), method, _value(params)
        case Notification(method=method, params=params):
            return "notification", method, _value(params)
        case Success(id=id, result=result):
            return "success", typed(id), _value(result)
        case Failure(id=id, error=error):
            return "failure", typed(id), error.code, error.message, _value(error.data)
        case Invalid(id=id, error=fault, response=response):
            return "invalid", typed(id), fault.code, response


def _value(raw: Any) -> Any:
    """What raw JSON says; UNSET stays itself."""
    return raw if raw is UNSET else reference.load(bytes(raw).decode())


def _check_round_trip(message: Message | Batch) -> None:
    if isinstance(message, list):
        for item in message:
            _check_round_trip(item)
    elif not isinstance(message, Invalid):
        assert decode(encode(_rewritable(message)), MAX_DEPTH) == message


def _rewritable(message: Message) -> Message:
    """The message with its params marked as JSON that is to be written as it is."""
    match message:
        case Request(id=id, method=method, params=bytes(params)):
            return Request(id, method, Raw(params))
        case Notification(method=method, params=bytes(params)):
            return Notification(method, Raw(params))
    return message
