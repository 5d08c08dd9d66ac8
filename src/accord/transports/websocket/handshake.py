"""The opening handshake of RFC 6455, section 4: HTTP in, a decision and HTTP out.

A server collects input in a `HeadBuffer` until the head of a request is complete, and
`accept` returns the answer. A client sends an `upgrade_request`, collects the answer in a
`HeadBuffer`, and validates it with `check_response`. Knows no socket, clock or task: timeouts are
the caller's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from http import HTTPStatus

from msgspec import Struct

from accord.transports.http import heads
from accord.transports.http.heads import Fields, check_headers
from accord.transports.urls import origin_allowed

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_VERSION = "13"
_END = b"\r\n\r\n"
_OURS = frozenset(
    (
        "upgrade",
        "connection",
        "sec-websocket-key",
        "sec-websocket-version",
        "sec-websocket-extensions",
        "content-length",
        "transfer-encoding",
    )
)
"""Names of headers that a caller may not set, because they belong to the handshake itself."""
_UPGRADE_REQUIRED: Mapping[str, str] = {
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": _VERSION,
}


class LateFields(Fields):
    """Header fields that are parsed from the head at the first access.

    This saves memory in open connections: until the first access, only the bytes of the head are
    kept, instead of a name and a value for each field.
    """

    __slots__ = ("_head",)

    def __init__(self, head: bytes) -> None:
        super().__init__([])
        self._head = head

    def _read(self) -> dict[str, str]:
        if self._values is None:
            self._values = dict(heads.read_request(self._head).fields)
        return self._values


class Request(Struct, frozen=True):
    """An accepted request for a WebSocket."""

    target: str
    """Path and query."""
    headers: Fields


class Response(Struct, frozen=True):
    """The head of a server's response."""

    status: int
    headers: Fields


class RefusedError(Exception):
    """A refusal of the opening handshake, with a status and a text for the client."""

    def __init__(
        self, status: HTTPStatus, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = {} if headers is None else headers

    def response(self) -> bytes:
        """Return the bytes of the response that refuses the handshake.

        The connection must be closed after it.
        """
        body = f"{self.text}\n".encode()
        headers = {
            **self.headers,
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        return _head(f"HTTP/1.1 {self.status.value} {self.status.phrase}", headers) + body


class HeadBuffer:
    """A buffer for input up to the empty line that ends a head."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._data = b""

    def receive(self, data: bytes) -> tuple[bytes, bytes] | None:
        """Return the head and the data after it; None while the head is incomplete.

        Raises `RefusedError` for a head of more than `max_bytes`, and at once for input that
        cannot be HTTP, such as the first bytes of TLS.
        """
        seen = max(0, len(self._data) - len(_END) + 1)
        self._data += data
        if not self._data[:1].isalpha():
            raise RefusedError(HTTPStatus.BAD_REQUEST, "This is not HTTP.")
        found = self._data.find(_END, seen)
        end = len(self._data) if found < 0 else found + len(_END)
        if end > self._max_bytes:
            raise RefusedError(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"The headers are over the limit of {self._max_bytes:,} bytes.",
            )
        return None if found < 0 else (self._data[:end], self._data[end:])


def accept(
    head: bytes, *, path: str, origins: tuple[str, ...] | None, loopback: bool
) -> tuple[Request, bytes]:
    """Parse a request, and return it with the response that opens a WebSocket.

    The response never selects a subprotocol; a client that offers some must treat this as "none of
    them". Raises `RefusedError` for a request that does not open a WebSocket at `path`, and for an
    origin that is not allowed.
    """
    headers = _read_upgrade(head, path)
    origin = headers.get("origin")
    if not origin_allowed(origin, host=headers["host"], allowed=origins, loopback=loopback):
        raise RefusedError(
            HTTPStatus.FORBIDDEN, "The server's `origins` do not let this page connect."
        )
    answer = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Accept": accept_key(headers["sec-websocket-key"]),
    }
    request = Request(head.split(b" ", 2)[1].decode("ascii"), LateFields(head))
    return request, _head("HTTP/1.1 101 Switching Protocols", answer)


def _read_upgrade(raw: bytes, path: str) -> Fields:
    """Return the headers of a request for a WebSocket.

    Raises `RefusedError` for a request that section 4.2.1 does not permit, and for another path.
    """
    try:
        head = heads.read_request(raw)
    except heads.MalformedError as error:
        raise RefusedError(HTTPStatus(error.status), f"Bad request: {error.reason}.") from None
    headers = head.fields
    if head.target != path:
        raise RefusedError(HTTPStatus.NOT_FOUND, "There is nothing at this path.")
    if head.method != "GET":
        raise RefusedError(
            HTTPStatus.METHOD_NOT_ALLOWED, "A WebSocket is opened by GET.", {"Allow": "GET"}
        )
    if not _upgrades(headers):
        raise RefusedError(
            HTTPStatus.UPGRADE_REQUIRED,
            "This is a WebSocket: connect with ws:// or wss://.",
            _UPGRADE_REQUIRED,
        )
    if head.minor != 1:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "A WebSocket is opened with HTTP/1.1.")
    if head.length:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "A request for a WebSocket has no body.")
    if headers.get("sec-websocket-version") != _VERSION:
        raise RefusedError(
            HTTPStatus.UPGRADE_REQUIRED,
            f"Only version {_VERSION} of the WebSocket protocol is spoken here.",
            _UPGRADE_REQUIRED,
        )
    if not _is_key(headers.get("sec-websocket-key", "")):
        raise RefusedError(
            HTTPStatus.BAD_REQUEST, "One Sec-WebSocket-Key of 16 bytes in base64 is needed."
        )
    return headers


def upgrade_request(*, target: str, host: str, key: str, headers: Mapping[str, str]) -> bytes:
    """Return the bytes of a client's request for a WebSocket.

    Raises `ValueError` for headers that cannot be sent.
    """
    check_headers(headers, reserved=_OURS)
    fields = {
        "Host": host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": _VERSION,
    }
    if any(name.lower() == "host" for name in headers):
        del fields["Host"]
    return _head(f"GET {target} HTTP/1.1", {**fields, **headers})


def read_response(raw: bytes) -> Response:
    """Parse the head of a response. Raises `ValueError` for input that is not HTTP."""
    try:
        head = heads.read_response(raw)
    except heads.MalformedError as error:
        raise ValueError(f"the server's answer is not HTTP: {error.reason}") from None
    return Response(head.status, Fields(head.pairs))


def check_response(response: Response, *, key: str, offered: str = "") -> None:
    """Check the response to a client's request as section 4.1 demands.

    Raises `ValueError` if it does not open a WebSocket as requested. `offered` is the
    `Sec-WebSocket-Protocol` that was sent, if any.
    """
    headers = response.headers
    if response.status != HTTPStatus.SWITCHING_PROTOCOLS:
        raise ValueError(f"the server answered with status {response.status}")
    if not _upgrades(headers):
        raise ValueError("the server switched to something that is not a WebSocket")
    if headers.get("sec-websocket-accept") != accept_key(key):
        raise ValueError("the server's Sec-WebSocket-Accept does not belong to our key")
    if "sec-websocket-extensions" in headers:
        raise ValueError("the server uses an extension that was not offered")
    if headers.get("sec-websocket-protocol", "") not in ("", *_items(offered)):
        raise ValueError("the server uses a subprotocol that was not offered")


def accept_key(key: str) -> str:
    """Return the value of `Sec-WebSocket-Accept` with which a server answers `key`.

    The value proves that the server has read the request (section 4.2.2).
    """
    digest = hashlib.sha1(f"{key}{_GUID}".encode(), usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key.encode(), validate=True)) == 16
    except binascii.Error:
        return False


def _upgrades(headers: Mapping[str, str]) -> bool:
    upgrade = _items(headers.get("upgrade", "").lower())
    connection = _items(headers.get("connection", "").lower())
    return "websocket" in upgrade and "upgrade" in connection


def _items(value: str) -> list[str]:
    return [item.strip() for item in value.split(",")]


def _head(first_line: str, headers: Mapping[str, str]) -> bytes:
    lines = [first_line, *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")
