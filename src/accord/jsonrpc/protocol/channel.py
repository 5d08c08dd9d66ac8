"""The interface between a peer and its transport, the states of a connection, and limits.

Pure values and interfaces: the modules that read the limits enforce them. The states are:

    connecting   no connection yet, or reconnecting after a loss
    connected    messages flow
    closing      no new work; what is in flight may finish
    closed       final
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Protocol

from msgspec import Struct

from accord.jsonrpc.protocol.errors import RpcError, TransportError


class State(StrEnum):
    CONNECTING = "connecting"
    CONNECTED = "connected"
    CLOSING = "closing"
    CLOSED = "closed"


MOVES: Final[dict[State, frozenset[State]]] = {
    State.CONNECTING: frozenset({State.CONNECTED, State.CLOSING, State.CLOSED}),
    State.CONNECTED: frozenset({State.CONNECTING, State.CLOSING, State.CLOSED}),
    State.CLOSING: frozenset({State.CLOSED}),
    State.CLOSED: frozenset(),
}


KIB = 1024
MIB = 1024 * KIB


class Limits(Struct, frozen=True, kw_only=True):
    """The bounds of one connection; `None` where a field allows it means unlimited."""

    max_message_bytes: int | None = MIB
    """Largest incoming message; a larger one is answered -32012 and skipped."""
    max_depth: int = 128
    """Deepest nesting of arrays and objects in an incoming message."""
    max_batch_items: int = 1_000
    """Most messages in one incoming batch; 0 turns batches off."""
    max_batch_response_bytes: int = 16 * MIB
    """Most bytes in the answer to one batch; answers beyond it become -32012 errors."""
    max_in_flight: int = 1_000
    """Most incoming requests and notifications being handled at once; more are answered -32010."""
    call_seconds: float | None = 300.0
    """How long a handler may take whose method has no deadline of its own; then it is answered
    -32009. Inline methods cannot be stopped."""
    max_pending: int = 10_000
    """Most outgoing calls waiting for an answer; further calls raise `BusyError`."""
    max_queued_bytes: int = 16 * MIB
    """Most bytes waiting to be written; a connection whose reader lags further behind is cut."""
    write_stall_seconds: float = 30.0
    """How long a connection may accept no bytes at all before it is cut."""


class ServerLimits(Struct, frozen=True, kw_only=True):
    """The bounds of a listening server, beside those of each connection."""

    max_connections: int = 10_000
    """Most connections open at once; further ones are closed on arrival."""
    max_header_bytes: int = 16 * KIB
    """HTTP and WebSocket: largest request line plus headers."""
    header_seconds: float = 10.0
    """HTTP and WebSocket: how long a client may take to send its headers."""
    body_seconds: float = 30.0
    """HTTP: how long a client may take to send a body."""
    idle_seconds: float = 75.0
    """HTTP: how long a kept-alive connection may stay silent."""
    max_buffered_bytes: int | None = 12 * MIB
    """Most bytes held for incoming messages, over all connections of the server: while they arrive
    and, over HTTP, until they are answered. A message that does not fit is answered -32010 and
    skipped (HTTP: 503). Messages up to 16 KiB are not counted."""
    message_seconds: float = 30.0
    """Streams and WebSocket: how long one message may take to arrive once its first byte did."""


class ChannelInfo(Struct, frozen=True, kw_only=True):
    """Information about a connection and the other end of it."""

    scheme: str
    """`memory`, `stdio`, `tcp`, `tls`, `unix`, `ws`, `wss`, `http`, `https`."""
    address: str = ""
    """Printable address of the other end, for logs and errors."""
    duplex: bool = True
    """True if the other end can be called over this connection (over HTTP a server cannot)."""
    details: dict[str, Any] = {}
    """Further details from the transport: `headers`, `tls`, `pid`."""


class Receiver(Protocol):
    """The callbacks of the owner of a channel.

    They are called one at a time, in the order in which the events arrive.
    """

    def message_received(self, data: bytes) -> None:
        """Handle one whole incoming message."""

    def message_refused(self, error: RpcError) -> None:
        """Handle an incoming message that was too large and therefore skipped.

        The connection continues.
        """

    def reply_received(self, sent: bytes, data: bytes) -> None:
        """Handle `data`, the reply to the message `sent`.

        Called only by HTTP, where a message has exactly one reply.
        """

    def send_failed(self, data: bytes, error: TransportError) -> None:
        """Handle the failure to deliver the message `data`; the channel continues.

        Called only by HTTP.
        """

    def writable_changed(self, writable: bool) -> None:
        """Handle a change of the channel's `writable`."""

    def input_ended(self) -> None:
        """Handle the end of input at a server, at most once.

        The other end may still read, as in `echo … | server`. The owner answers the requests that
        have arrived, then closes the channel; its own calls will not be answered any more.
        """

    def connection_interrupted(self, error: TransportError) -> None:
        """Handle the loss of a connection, which the channel tries to restore.

        `writable` is False until the connection is restored.
        """

    def connection_restored(self) -> None:
        """Handle the new connection after a loss.

        Messages sent over the lost connection may not have arrived.
        """

    def connection_lost(self, error: TransportError | None) -> None:
        """Handle the end of the connection. Called exactly once, as the last callback.

        `error` is None after an orderly end, else the reason.
        """


class Channel(Protocol):
    """One connection that carries messages.

    `start` is called once, before anything else. `send` and `close` may be called from within a
    receiver's callback. After `close` or `abort`, `send` does nothing.
    """

    @property
    def info(self) -> ChannelInfo: ...

    @property
    def writable(self) -> bool:
        """False while more bytes are queued than the other end takes.

        `send` may still be called then: it queues the message.
        """

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver incoming messages to `receiver`."""

    def send(self, data: bytes) -> None:
        """Queue one whole message.

        Messages sent in one iteration of the event loop leave in one write.
        """

    def close(self) -> None:
        """Write out queued messages, then end the connection; `connection_lost` follows."""

    def abort(self) -> None:
        """End the connection at once, dropping queued messages; `connection_lost` follows."""
