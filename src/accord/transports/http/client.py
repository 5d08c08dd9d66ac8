"""A channel over HTTP: each message is a POST, and the response contains its answer."""

from __future__ import annotations

import asyncio
import select
import ssl
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol, cast

from accord.jsonrpc.protocol.channel import ChannelInfo, Receiver
from accord.jsonrpc.protocol.errors import (
    ConnectError,
    ConnectionLostError,
    FramingError,
    TransportError,
)
from accord.jsonrpc.protocol.messages import Id
from accord.transports.http.heads import MalformedError, check_headers
from accord.transports.http.responses import (
    Response,
    ResponseReader,
    TooLargeError,
    answer_in,
    calls_in,
)
from accord.transports.options import Options
from accord.transports.sockets import tune
from accord.transports.stream.endpoints import connect_error
from accord.transports.urls import WebAddress, host_and_port, parse_web_address


class Owner(Protocol):
    """The owner of a connection, notified of its responses and its end."""

    def began(self, connection: ClientConnection) -> None:
        """Handle a new connection, which is ready for a request."""

    def answered(self, connection: ClientConnection, sent: bytes, response: Response) -> None:
        """Handle the complete response to `sent`."""

    def failed(self, sent: bytes, error: TransportError) -> None:
        """Handle the failure of `sent`: it will get no response."""

    def ended(self, connection: ClientConnection) -> None:
        """Handle the end of the connection."""


class ClientConnection(asyncio.Protocol):
    """One connection to the server."""

    def __init__(self, owner: Owner, *, max_body: int | None) -> None:
        self._owner = owner
        self._max_body = max_body
        self._reader = ResponseReader(max_body=max_body)
        self._poll = select.poll()
        self.sent: bytes | None = None
        """The message whose response is awaited; None while the connection is free."""

    def ask(self, head: bytes, message: bytes) -> None:
        """Send a request with the body `message`.

        `head` ends before the value of Content-Length, which is added here.
        """
        self.sent = message
        self._transport.write(b"%b%d\r\n\r\n%b" % (head, len(message), message))

    @property
    def usable(self) -> bool:
        """True if the server has neither ended the connection nor sent unrequested data.

        This polls the socket, as the event loop may not have read from it yet.
        """
        return not self._transport.is_closing() and not self._poll.poll(0)

    def abort(self) -> None:
        """End the connection now; requests in flight get neither response nor error."""
        self.sent = None
        self._transport.abort()

    # The transport's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        tune(transport)
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self._owner.began(self)

    def data_received(self, data: bytes) -> None:
        if self.sent is None:  # nothing was asked
            self._transport.abort()
            return
        try:
            response = self._reader.feed(data)
        except MalformedError as error:
            self._fail(FramingError(f"the server's answer is not HTTP: {error.reason}"))
        except TooLargeError:
            self._fail(_too_large(self._max_body))
        else:
            if response is not None:
                self._deliver(self.sent, response)

    def connection_lost(self, error: Exception | None) -> None:
        response = self._reader.end() if self.sent is not None and error is None else None
        if self.sent is not None and response is not None:
            self._deliver(self.sent, response)
        self._fail(_lost(error))
        self._owner.ended(self)

    def _deliver(self, sent: bytes, response: Response) -> None:
        self.sent = None
        if not response.keep_alive:
            self._transport.abort()
        self._owner.answered(self, sent, response)

    def _fail(self, error: TransportError) -> None:
        sent, self.sent = self.sent, None
        self._transport.abort()
        if sent is not None:
            self._owner.failed(sent, error)


def _lost(error: Exception | None) -> ConnectionLostError:
    lost = ConnectionLostError("the server ended the connection without an answer")
    lost.__cause__ = error
    return lost


def _too_large(most: int | None) -> TransportError:
    return TransportError(
        f"the answer is over the limit of {most:,} bytes",
        recoverable=False,
        advice="Raise limits.max_message_bytes, or ask for less at once.",
        data={"maxSize": most, "unit": "bytes"},
    )


MAX_READY_MESSAGES: Final = 1_000
MAX_READY_BYTES: Final = 1024 * 1024
"""Number of queued bytes above which a channel is not `writable`; `MAX_READY_MESSAGES` is the same
limit for the number of queued messages."""
CLOSE_SECONDS: Final = 5.0
"""Time in seconds that `close` waits for responses in flight."""

_OURS: Final = frozenset(
    ("content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer")
)
"""Names of header fields that users cannot set, because they belong to the protocol."""


async def open_http(url: str, options: Options) -> HttpChannel:
    """Return a channel to the JSON-RPC endpoint at `url`, with one connection made already.

    Raises ConnectError if that fails.
    """
    address = parse_web_address(url)
    try:
        channel = HttpChannel(address, options)
    except ValueError as error:  # of a header that cannot be sent
        raise connect_error(address, error, options) from error
    await channel.connect()
    return channel


class HttpChannel:
    """A channel to one JSON-RPC endpoint. See `Channel` for its methods."""

    def __init__(self, address: WebAddress, options: Options) -> None:
        self._address = address
        self._tls = (options.tls or _default_tls()) if address.secure else None
        self._head = _request_head(address, options.headers)
        self._options = options
        self._info = ChannelInfo(
            scheme=address.scheme, address=host_and_port(address.host, address.port), duplex=False
        )
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver
        self._connections: set[ClientConnection] = set()
        self._idle: list[ClientConnection] = []
        self._connecting: set[asyncio.Task[None]] = set()
        self._queue: deque[tuple[bytes, bytes]] = deque()
        """Messages that wait for a connection: pairs of the request's head and the message."""
        self._queued_bytes = 0
        self._abandoned: set[Id] = set()
        """The ids of abandoned calls that may still be in the queue."""
        self._writable = True
        self._closing = False
        self._lost = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def info(self) -> ChannelInfo:
        return self._info

    @property
    def writable(self) -> bool:
        return self._writable

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, data: bytes) -> None:
        if self._closing:
            return
        head = self._head
        further = self._options.outgoing_headers
        if further is not None:
            try:
                # Now: when the message leaves a queue, its sender's context is gone.
                head = _request_head(self._address, {**self._options.headers, **further()})
            except Exception as error:  # noqa: BLE001 - the user's function may raise anything
                self._loop.call_soon(self.failed, data, _no_headers(error))
                return
        connection = self._take_idle()
        if connection is not None:
            connection.ask(head, data)
        elif self._queued_bytes + len(data) > self._options.limits.max_queued_bytes:
            self._loop.call_soon(self.failed, data, self._queue_full())
        else:
            self._queue.append((head, data))
            self._queued_bytes += len(data)
            self._grow()
            self._tell_writable()

    def abandon(self, id: Id) -> None:
        """Abandon the call `id`.

        A call that still waits in the queue is not sent. For a call in flight the connection is
        ended, which notifies the server and makes room for another one. A batch in flight is not
        interrupted.
        """
        for connection in self._connections:
            if connection.sent is not None and calls_in(connection.sent) == [id]:
                connection.abort()
                return
        if self._queue:
            self._abandoned.add(id)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._timer = self._loop.call_later(CLOSE_SECONDS, self.abort)
            self._loop.call_soon(self._end_if_done)

    def abort(self) -> None:
        self._closing = True
        self._queue.clear()
        for connection in tuple(self._connections):
            connection.abort()
        self._loop.call_soon(self._end_if_done)

    # Connections

    async def connect(self) -> None:
        """Add one connection to the pool.

        Raises ConnectError if no connection can be made.
        """
        try:
            async with asyncio.timeout(self._options.connect_seconds):
                await self._connect_to_any(await self._hosts())
        except (OSError, ValueError) as error:
            raise connect_error(self._address, error, self._options) from error

    async def _hosts(self) -> Sequence[str]:
        resolve = self._options.resolve
        return (self._address.host,) if resolve is None else await resolve(self._address)

    async def _connect_to_any(self, hosts: Sequence[str]) -> None:
        for host in hosts[:-1]:
            with suppress(OSError):  # the next one may answer
                await self._connect_to(host)
                return
        await self._connect_to(hosts[-1])

    async def _connect_to(self, host: str) -> None:
        await self._loop.create_connection(
            self._new_connection,
            host,
            self._address.port,
            ssl=self._tls,
            server_hostname=self._address.host if self._tls is not None else None,
        )

    def _new_connection(self) -> ClientConnection:
        return ClientConnection(self, max_body=self._options.limits.max_message_bytes)

    def _grow(self) -> None:
        """Open another connection if messages wait and the pool is not full."""
        opening = len(self._connecting)
        room = self._options.pool_size - len(self._connections) - opening
        if room > 0 and opening < len(self._queue):
            task = self._loop.create_task(self.connect())
            self._connecting.add(task)
            task.add_done_callback(self._connecting_done)

    def _connecting_done(self, task: asyncio.Task[None]) -> None:
        self._connecting.discard(task)
        try:
            task.result()
        except asyncio.CancelledError:
            pass
        except ConnectError as error:
            # Connections that there are will serve the queue; without any, nobody would.
            if not self._connections and not self._connecting:
                self._fail_queue(error)
        self._end_if_done()

    def _take_idle(self) -> ClientConnection | None:
        while self._idle:
            connection = self._idle.pop()  # the one used last is the likeliest to be alive
            if connection.usable:
                return connection
            connection.abort()
        return None

    def _next_queued(self) -> tuple[bytes, bytes] | None:
        while self._queue:
            head, data = self._queue.popleft()
            self._queued_bytes -= len(data)
            self._tell_writable()
            if not self._abandoned or self._abandoned.isdisjoint(calls_in(data)[:1]):
                return head, data
        self._abandoned.clear()
        return None

    # What connections tell: see `Owner`

    def began(self, connection: ClientConnection) -> None:
        self._connections.add(connection)
        self._release(connection)

    def answered(self, connection: ClientConnection, sent: bytes, response: Response) -> None:
        if response.keep_alive:
            self._release(connection)  # before the answer: whoever gets it may send again
        try:
            answer = answer_in(response, sent)
        except TransportError as error:
            self.failed(sent, error)
        else:
            if answer is not None:
                self._receiver.reply_received(sent, answer)
            self._end_if_done()

    def failed(self, sent: bytes, error: TransportError) -> None:
        if not self._lost:
            self._receiver.send_failed(sent, error)
            self._end_if_done()

    def ended(self, connection: ClientConnection) -> None:
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._grow()
        self._end_if_done()

    def _release(self, connection: ClientConnection) -> None:
        """Send the next queued message over a free connection.

        If no message is queued, the connection becomes idle.
        """
        queued = self._next_queued()
        if queued is None:
            self._idle.append(connection)
        else:
            connection.ask(*queued)

    # The queue

    def _fail_queue(self, error: ConnectError) -> None:
        while (queued := self._next_queued()) is not None:
            self.failed(queued[1], error)

    def _queue_full(self) -> TransportError:
        most = self._options.limits.max_queued_bytes
        return TransportError(
            f"more than {most:,} bytes wait to be sent, the limit",
            advice="Wait until the server has answered some calls, then try again.",
        )

    def _tell_writable(self) -> None:
        share = 1.0 if self._writable else 0.5  # once full, first empty it by half
        writable = (
            len(self._queue) <= MAX_READY_MESSAGES * share
            and self._queued_bytes <= MAX_READY_BYTES * share
        )
        if writable is not self._writable:
            self._writable = writable
            self._receiver.writable_changed(writable)

    def _end_if_done(self) -> None:
        """End all connections if the channel is closing and nothing is in flight any more."""
        if not self._closing or self._lost or self._queue:
            return
        if any(connection.sent is not None for connection in self._connections):
            return
        for connection in tuple(self._connections):
            connection.abort()
        for task in tuple(self._connecting):
            task.cancel()
        if not self._connections and not self._connecting:
            self._lost = True
            if self._timer is not None:
                self._timer.cancel()
            self._receiver.connection_lost(None)


def _request_head(address: WebAddress, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request up to the value of its content-length.

    Raises ValueError for headers that cannot be sent.
    """
    check_headers(headers, reserved=_OURS)
    fields = {
        "host": address.authority,
        "user-agent": "accord",
        "accept": "application/json",
        "content-type": "application/json",
    }
    fields.update((name.lower(), value) for name, value in headers.items())
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {address.target} HTTP/1.1\r\n{lines}content-length: ".encode("latin-1")


def _no_headers(error: Exception) -> TransportError:
    failed = TransportError(
        f"outgoing_headers gave none that can be sent: {error}",
        recoverable=False,
        advice="Correct the function that was given as outgoing_headers.",
    )
    failed.__cause__ = error
    return failed


def _default_tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
