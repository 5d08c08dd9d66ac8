"""HTTP requests to any address, whose responses can be read while they arrive.

It is used for responses with more than one answer, such as server-sent events, and for requests to
several endpoints. Connections are kept alive and reused; redirects are not followed; a request is
never sent twice (RFC 9110, section 9.2.2). A slow reader pauses the connection.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, cast

from accord.jsonrpc.protocol.errors import (
    ConnectError,
    ConnectionLostError,
    FramingError,
    TransportError,
)
from accord.transports.http.body import ChunkedBody, FixedBody, OpenBody
from accord.transports.http.heads import (
    CHUNKED,
    UNTIL_CLOSE,
    Fields,
    MalformedError,
    ResponseHead,
    check_headers,
    read_response,
)
from accord.transports.http.responses import MAX_HEAD_BYTES
from accord.transports.options import Options
from accord.transports.sockets import tune
from accord.transports.stream.endpoints import connect_error
from accord.transports.urls import WebAddress

MAX_BUFFERED: Final = 256 * 1024
"""Maximum number of unread bytes of a response before its connection is paused."""

_OURS: Final = frozenset(
    ("content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer")
)


class Requester:
    """A client that sends HTTP requests to any address.

    It belongs to one event loop; `close` ends all requests in progress.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._tls: ssl.SSLContext | None = options.tls
        self._idle: dict[tuple[str, int, bool], list[_Connection]] = {}
        self._open: set[_Connection] = set()
        self._room = asyncio.Semaphore(max(1, options.pool_size * 8))
        self._closed = False

    async def request(
        self,
        method: str,
        address: WebAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Response:
        """Send a request; return when the head of its response has arrived.

        Raises TransportError if the request cannot be sent or no response arrives. The caller must
        close the response.
        """
        data = _request(method, address, headers, body)
        await self._room.acquire()
        try:
            connection = self._take_idle(address) or await self._connect(address)
        except BaseException:
            self._room.release()
            raise
        return await connection.ask(data)

    def close(self) -> None:
        """End all connections; open responses fail."""
        self._closed = True
        for connection in tuple(self._open):
            connection.abort()

    async def _connect(self, address: WebAddress) -> _Connection:
        if self._closed:
            raise ConnectError("the client is closed", recoverable=False)
        try:
            async with asyncio.timeout(self._options.connect_seconds):
                resolve = self._options.resolve
                if resolve is None:
                    return await self._connect_to(address.host, address)
                return await self._connect_to_any(await resolve(address), address)
        except (OSError, ValueError) as error:
            raise connect_error(address, error, self._options) from error

    async def _connect_to_any(self, hosts: Sequence[str], address: WebAddress) -> _Connection:
        for host in hosts[:-1]:
            try:
                return await self._connect_to(host, address)
            except OSError:
                pass  # the next one may answer
        return await self._connect_to(hosts[-1], address)

    async def _connect_to(self, host: str, address: WebAddress) -> _Connection:
        _, connection = await self._loop.create_connection(
            lambda: _Connection(self, address),
            host,
            address.port,
            ssl=self._context() if address.secure else None,
            server_hostname=address.host if address.secure else None,
        )
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def _take_idle(self, address: WebAddress) -> _Connection | None:
        idle = self._idle.get(_origin(address), [])
        while idle:
            connection = idle.pop()  # the one used last is the likeliest to be alive
            if connection.usable:
                return connection
            connection.abort()
        return None

    # What connections tell

    def began(self, connection: _Connection) -> None:
        self._open.add(connection)

    def finished(self, connection: _Connection, *, reusable: bool) -> None:
        """Handle the end of a response, and keep or end its connection."""
        self._room.release()
        idle = self._idle.setdefault(_origin(connection.address), [])
        if reusable and not self._closed and len(idle) < self._options.pool_size:
            idle.append(connection)
        else:
            connection.abort()

    def ended(self, connection: _Connection) -> None:
        self._open.discard(connection)
        idle = self._idle.get(_origin(connection.address), [])
        if connection in idle:
            idle.remove(connection)


class Response:
    """A response whose body may still be arriving."""

    def __init__(self, connection: _Connection, head: ResponseHead) -> None:
        self.status = head.status
        self.headers: Mapping[str, str] = Fields(head.pairs)
        self._connection = connection
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._arrived: asyncio.Future[None] | None = None
        self._complete = False
        self._error: TransportError | None = None

    @property
    def content_type(self) -> str:
        """The media type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def receive(self) -> bytes:
        """Return the next piece of the body; empty at the end of the body.

        Raises TransportError if the body breaks off.
        """
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._complete:
                return b""
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        chunk = self._chunks.popleft()
        self._buffered -= len(chunk)
        if self._buffered <= MAX_BUFFERED // 2:
            self._connection.resume()
        return chunk

    async def read(self, most: int | None) -> bytes:
        """Return the whole body.

        Raises TransportError if the body breaks off or has more than `most` bytes.
        """
        body = bytearray()
        while chunk := await self.receive():
            body += chunk
            if most is not None and len(body) > most:
                self.close()
                raise TransportError(
                    f"the answer is over the limit of {most:,} bytes",
                    recoverable=False,
                    advice="Raise limits.max_message_bytes, or ask for less at once.",
                    data={"maxSize": most, "unit": "bytes"},
                )
        return bytes(body)

    def close(self) -> None:
        """Stop reading the response.

        If it is not complete, its connection is ended, which notifies the server.
        """
        self._chunks.clear()
        if not self._complete and self._error is None:
            self._connection.give_up()
            self.failed(ConnectionLostError("the response was closed before its end"))

    # What the connection tells

    def take(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._buffered += len(chunk)
        if self._buffered > MAX_BUFFERED:
            self._connection.pause()
        self._wake()

    def completed(self) -> None:
        self._complete = True
        self._wake()

    def failed(self, error: TransportError) -> None:
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self, owner: Requester, address: WebAddress) -> None:
        self.address = address
        self._owner = owner
        self._poll = select.poll()
        self._buffer = b""
        self._scanned = 0
        self._waiting: asyncio.Future[Response] | None = None
        self._response: Response | None = None
        self._body: FixedBody | ChunkedBody | OpenBody | None = None
        self._keep_alive = False
        self._paused = False

    @property
    def usable(self) -> bool:
        """True while the server has neither ended the connection nor sent unrequested data."""
        return not self._transport.is_closing() and not self._poll.poll(0)

    async def ask(self, data: bytes) -> Response:
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        try:
            return await self._waiting
        except asyncio.CancelledError:
            self.give_up()
            raise

    def give_up(self) -> None:
        """Abandon the response, and end the connection."""
        if self._waiting is not None or self._response is not None:
            self._waiting = self._response = None
            self._owner.finished(self, reusable=False)

    def pause(self) -> None:
        if not self._paused and not self._transport.is_closing():
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._paused and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()

    def abort(self) -> None:
        self._transport.abort()

    # The transport's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        tune(transport)
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self._owner.began(self)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and self._response is None:
            self._transport.abort()  # nothing was asked
            return
        self._buffer = self._buffer + data if self._buffer else data
        try:
            while self._waiting is not None:
                if not self._read_head(self._waiting):
                    return
            if self._response is not None and self._body is not None:
                self._read_body(self._response, self._body)
        except MalformedError as error:
            self._fail(FramingError(f"the server's answer is not HTTP: {error.reason}"))

    def connection_lost(self, error: Exception | None) -> None:
        response = self._response
        if response is not None and isinstance(self._body, OpenBody) and error is None:
            self._finish(response)
        lost = ConnectionLostError("the server ended the connection before its answer was whole")
        lost.__cause__ = error
        self._fail(lost)
        self._owner.ended(self)

    def _read_head(self, waiting: asyncio.Future[Response]) -> bool:
        end = self._buffer.find(b"\r\n\r\n", self._scanned) + 4
        if max(end, len(self._buffer) if end < 4 else 0) > MAX_HEAD_BYTES:
            raise MalformedError(f"the head is over the limit of {MAX_HEAD_BYTES:,} bytes")
        if end < 4:
            self._scanned = max(0, len(self._buffer) - 3)
            return False
        self._scanned = 0
        head = read_response(self._buffer[:end])
        self._buffer = self._buffer[end:]
        if head.status == 101:
            raise MalformedError("the server changes to a protocol nobody asked for")
        if head.status >= 200:  # RFC 9110, section 15.2: others announce the final response
            self._begin_response(head, waiting)
        return True

    def _begin_response(self, head: ResponseHead, waiting: asyncio.Future[Response]) -> None:
        self._waiting = None
        self._response = Response(self, head)
        self._keep_alive = head.keep_alive
        if head.length == CHUNKED:
            self._body = ChunkedBody(keep=True, endless=True)
        elif head.length == UNTIL_CLOSE:
            self._body = OpenBody()
        else:
            self._body = FixedBody(head.length, keep=True)
        if not waiting.done():
            waiting.set_result(self._response)

    def _read_body(self, response: Response, body: FixedBody | ChunkedBody | OpenBody) -> None:
        rest = body.feed(self._buffer, 0)
        self._buffer = self._buffer[rest:]
        if body.data:
            response.take(bytes(body.data))
            body.data.clear()
        if body.complete:
            self._finish(response)

    def _finish(self, response: Response) -> None:
        self._response = self._body = None
        self.resume()
        response.completed()
        # Whatever follows, nobody asked for it.
        self._owner.finished(self, reusable=self._keep_alive and not self._buffer)

    def _fail(self, error: TransportError) -> None:
        waiting, response = self._waiting, self._response
        self._waiting = self._response = None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)
        if response is not None:
            response.failed(error)
        if waiting is not None or response is not None:
            self._owner.finished(self, reusable=False)
        else:
            self._transport.abort()


def _origin(address: WebAddress) -> tuple[str, int, bool]:
    return address.host, address.port, address.secure


def _request(
    method: str, address: WebAddress, headers: Mapping[str, str], body: bytes | None
) -> bytes:
    """Return the bytes of a request.

    Raises TransportError for headers that cannot be sent.
    """
    try:
        check_headers(headers, reserved=_OURS)
    except ValueError as error:
        raise TransportError(
            str(error), recoverable=False, advice="Correct the headers of the request."
        ) from None
    fields = {"host": address.authority, "user-agent": "accord"}
    fields.update((name.lower(), value) for name, value in headers.items())
    if body is not None:
        fields["content-length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    head = f"{method} {address.target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
    return head + (body or b"")
