"""What a response means for the message that it answers. Pure.

A JSON-RPC body counts whatever the status is; a status without one is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.protocol.errors import TransportError
from accord.jsonrpc.protocol.messages import Id
from accord.transports.http.responses import Response

MAX_EXCERPT: Final = 500
_PASSING: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
"""Statuses after which trying again can help."""


class _Answer(Struct, gc=False):
    """As much of a JSON-RPC message as tells whether it is an answer."""

    jsonrpc: Literal["2.0"]
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Sent(Struct, gc=False):
    """As much of a message of ours as tells whether it is a call."""

    id: Id | UnsetType = UNSET
    method: Raw | UnsetType = UNSET


_decode_answer: Callable[[bytes], _Answer | list[_Answer]] = msgspec.json.Decoder(
    _Answer | list[_Answer]
).decode
_decode_sent: Callable[[bytes], _Sent | list[_Sent]] = msgspec.json.Decoder(
    _Sent | list[_Sent]
).decode


def answer_in(response: Response, sent: bytes) -> bytes | None:
    """The answer to `sent`, None where nothing is said and nothing was asked.

    Raises TransportError where an answer is due and the response holds no JSON-RPC.
    """
    if _is_answer(response.body):
        return response.body
    if not response.body and 200 <= response.status < 300 and not calls_in(sent):
        return None
    raise no_answer(response)


def calls_in(sent: bytes) -> list[Id]:
    """The ids of the calls in a message or batch of ours."""
    message = _decode_sent(sent)
    items = message if isinstance(message, list) else [message]
    return [item.id for item in items if item.id is not UNSET and item.method is not UNSET]


def no_answer(response: Response) -> TransportError:
    """The error for a response that is no JSON-RPC."""
    excerpt = response.body[:MAX_EXCERPT].decode("utf-8", "replace")
    data: dict[str, Any] = {"status": response.status, "body": excerpt}
    if 300 <= response.status < 400:
        data["location"] = response.location
        return TransportError(
            f"the server redirects to {response.location or 'nowhere'} (HTTP {response.status})",
            recoverable=False,
            advice="Connect to that address if you trust it; redirects are not followed.",
            data=data,
        )
    return TransportError(
        f"the server answered HTTP {response.status} and no JSON-RPC",
        recoverable=response.status in _PASSING,
        advice=_advice(response.status),
        data=data,
    )


def _is_answer(body: bytes) -> bool:
    try:
        if not body.isascii():
            body.decode()
        answer = _decode_answer(body)
    except RecursionError:
        return True  # the codec refuses it by the limit of the connection
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    items = answer if isinstance(answer, list) else [answer]
    return bool(items) and all(
        item.result is not UNSET or item.error is not UNSET for item in items
    )


def _advice(status: int) -> str:
    if status in (401, 403):
        return "Check the credentials in options.headers."
    if status == 404:
        return "Check the path of the URL."
    if status in _PASSING:
        return "Try again later; repeat only calls that are safe to repeat."
    return "Check that the URL is that of a JSON-RPC endpoint."
