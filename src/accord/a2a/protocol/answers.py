"""What an agent answered, taken strictly: JSON-RPC 2.0, our id, a result or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET

from accord.a2a.protocol.errors import MalformedAnswerError, answered_error
from accord.a2a.protocol.formats import UNREADABLE
from accord.jsonrpc.codec import decode
from accord.jsonrpc.messages import Failure, Invalid, Success

MAX_KEPT: Final = 64 * 1024
"""How much of a malformed answer is kept for the log."""
_UNREAD: Final = frozenset((-32700, -32600))
"""JSON-RPC 2.0, section 5: with these the id is null, as it could not be read."""

T = TypeVar("T")


def read_result(body: bytes, id: str, read: Callable[[bytes], T]) -> T:
    """The result in the answer to the request `id`.

    Raises MalformedAnswerError, or what the agent's error means: AgentError or
    UnknownOutcomeError.
    """
    message = decode(body)
    match message:
        case Success(id=came) if came == id:
            try:
                return read(bytes(message.result))
            except UNREADABLE as error:
                raise _malformed(f"the agent's result is not valid: {error}", body) from None
        case Failure(error=error) if _answers(message, id):
            data = None if error.data is UNSET else msgspec.json.decode(error.data)
            raise answered_error(error.code, error.message, data)
        case Success(id=came) | Failure(id=came):
            raise _malformed(f"the answer's id is {_shown(came)}, not {_shown(id)}", body)
        case Invalid(error=error):
            raise _malformed(f"the agent's answer is not valid: {error.message}", body)
        case _:
            raise _malformed("the agent answered something that is no response", body)


def is_answer(body: bytes, id: str) -> bool:
    """Whether this is a JSON-RPC error that answers the request `id`, whatever HTTP says."""
    message = decode(body)
    return isinstance(message, Failure) and _answers(message, id)


def _answers(failure: Failure, id: str) -> bool:
    return failure.id == id or (failure.id is None and failure.error.code in _UNREAD)


def _malformed(why: str, body: bytes) -> MalformedAnswerError:
    return MalformedAnswerError(why, body=body[:MAX_KEPT])


def _shown(id: Any) -> str:
    text = msgspec.json.encode(id).decode()
    return text if len(text) <= 80 else f"{text[:80]}…"
