"""Errors of refused requests, and the HTTP status of encoded answers, without I/O.

The dispatcher returns answers as bytes. In these bytes, the first letter of the member after the id
shows if the answer is an "error" or a "result"; only errors are decoded.
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.protocol.errors import RpcError, from_wire, own_error
from accord.jsonrpc.protocol.messages import (
    Id,
    InvalidMessageReply,
    Notification,
    encode,
    encode_failure,
)
from accord.mcp.protocol.content import PROTOCOL_VERSION
from accord.mcp.protocol.headers import SESSION, VERSION
from accord.mcp.protocol.messages import Profile, case_of, failure
from accord.mcp.protocol.versions import STATELESS_VERSIONS, VERSIONS, Era


def missing_version(version: str | None) -> RpcError:
    """Return the error for a stateless request that does not state its version."""
    if version is None:
        return header_mismatch(f"{VERSION} header is missing")
    if version not in STATELESS_VERSIONS:
        return unsupported_version(version)
    message = f"Invalid params: _meta must have '{PROTOCOL_VERSION}'"
    return failure("invalid_meta", message, era=Era.STATELESS)


def unsupported_version(version: str) -> RpcError:
    return failure(
        "unsupported_protocol_version",
        "Unsupported protocol version",
        era=Era.STATELESS,
        supported=list(VERSIONS[::-1]),
        requested=version[:100],
    )


def header_mismatch(why: str) -> RpcError:
    return failure("header_mismatch", f"Header mismatch: {why}", era=Era.STATELESS)


def invalid(why: str) -> RpcError:
    return own_error("invalid_request", f"Invalid Request: {why}")


def unknown_event() -> RpcError:
    return invalid("nothing can be resumed from this Last-Event-ID")


def missing_session() -> RpcError:
    return invalid(f"the header {SESSION} is missing")


def no_such_session(profile: Profile) -> RpcError:
    message = "Invalid Request: there is no such session"
    return failure("session_not_found", message, era=Era.HANDSHAKE, profile=profile)


def too_many_sessions() -> RpcError:
    return own_error("busy", "there are too many sessions", retryAfter=1)


_BEFORE_ID: Final = len(b'{"jsonrpc":"2.0","id":')
_ERROR: Final = ord("e")
MAX_RETRY_SECONDS: Final = 86_400
_IN_SESSIONS: Final = frozenset((403, 413, 429))
"""Statuses that errors have in the handshake era too; all other errors there have status 200."""


class _Error(Struct):
    code: int
    message: str
    data: Any = UNSET


class _Failure(Struct):
    error: _Error


_decode = msgspec.json.Decoder(_Failure).decode


class Status(Struct, frozen=True):
    """The HTTP status of an answer, with the scopes that a caller lacks and a retry delay."""

    code: int = 200
    scopes: tuple[str, ...] = ()
    retry_after: int = 0
    """Seconds until the client may retry; 0 if unknown."""


EVENT_STREAM: Final = (
    # 2026-07-28, Streamable HTTP: reverse proxies must not hold events back
    b"content-type: text/event-stream\r\ncache-control: no-store\r\nx-accel-buffering: no\r\n"
)
"""Header lines of a stream of events."""
OK: Final = Status()
BAD_REQUEST: Final = Status(400)


def status_of(answer: bytes, id: Id | UnsetType, era: Era) -> Status:
    """Return the HTTP status of the answer to the request `id`."""
    if type(answer) is InvalidMessageReply:
        return BAD_REQUEST
    length = len(str(id)) if type(id) is int else len(encode(id))
    if answer[_BEFORE_ID + length + 2] != _ERROR:
        return OK
    data = _decode(answer).error.data
    case = case_of(data)
    if case is None or (era is Era.HANDSHAKE and case.status not in _IN_SESSIONS):
        return OK
    if case.status == 429:
        return Status(429, retry_after=_seconds(data.get("retryAfter")))
    scopes = data.get("scopes", ()) if case.status == 403 else ()
    return Status(case.status, tuple(map(str, scopes)) if isinstance(scopes, list) else ())


def _seconds(value: Any) -> int:
    """Return a retry delay in whole seconds (RFC 9110, section 10.2.3); 0 if unknown."""
    known = isinstance(value, int | float) and 0 < value < MAX_RETRY_SECONDS
    return ceil(value) if known else 0


def restated(answer: bytes, id: Id | UnsetType) -> bytes:
    """Return an encoded error with the code that the error has in the stateless era.

    The dispatcher encodes some errors without knowing the era of the request.
    """
    error = _decode(answer).error
    case = case_of(error.data)
    if case is None or error.code != case.handshake or error.code == case.stateless:
        return answer
    restated_error = from_wire(case.stateless, error.message, error.data)
    return encode_failure(None if id is UNSET else id, restated_error)


def notification(method: str, params: Any) -> bytes:
    return encode(Notification(method, UNSET if params is None else params))
