"""What the responses of a server mean: its status, media type and body. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.errors import TransportError
from accord.jsonrpc.messages import Id
from accord.transports.http.answers import no_answer
from accord.transports.http.requester import Response
from accord.transports.http.responses import Response as WholeResponse

EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"
NO_ANSWER: Final = "the server's reply is not the answer to the request"


class _Reply(Struct):
    id: Any = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decode_reply = msgspec.json.Decoder(_Reply).decode
_BLANKS: Final = b" \t\n\r"


def is_stream(response: Response) -> bool:
    return response.status == 200 and response.content_type == EVENTS


def check_coding(response: Response) -> None:
    """Raises TransportError for a body that is compressed, which nobody asked for."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise TransportError(
            f"the server's answer is compressed ({coding[:40]}), though that was not asked for",
            recoverable=False,
            advice="Have the server, or the proxy before it, send answers as they are.",
        )


def reply_to(id: Id, response: Response, body: bytes) -> bytes:
    """The answer to the request `id` that a response holds.

    Raises TransportError where it holds none.
    """
    if body.lstrip(_BLANKS).startswith(b"["):  # 2025-03-26: the answer may come in a batch
        return body  # whose limits and faults are the receiver's matter
    try:
        reply = _decode_reply(body)
    except RecursionError:  # nested deeper than the stack: what is not so deep the codec refuses
        raise TransportError(NO_ANSWER) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise refusal(response, body) from None
    if reply.error is not UNSET and (reply.id is UNSET or reply.id is None):
        # 2026-07-28, Streamable HTTP: an error about the whole request may have no id.
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (msgspec.json.encode(id), reply.error)
    if reply.result is UNSET and reply.error is UNSET:
        raise refusal(response, body)
    return body


def refusal(response: Response, body: bytes) -> TransportError:
    """The error for a response that is no JSON-RPC."""
    whole = WholeResponse(response.status, body, location=response.headers.get("location", ""))
    return no_answer(whole)
