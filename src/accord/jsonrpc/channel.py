"""The interface between a peer and whatever carries its messages.

A channel carries whole messages (bytes of JSON, no framing) in both directions over one
connection. It pushes: what arrives is handed to its receiver inside the transport's own
callback, without a task or a wake-up per message. Everything here is called on the event
loop's thread, and nothing here blocks.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from accord.jsonrpc.errors import RpcError, TransportError


class ChannelInfo(Struct, frozen=True, kw_only=True):
    """Information about a connection and its other end."""

    scheme: str
    """`memory`, `stdio`, `tcp`, `tls`, `unix`, `ws`, `wss`, `http`, `https`."""
    address: str = ""
    """Printable address of the other end, for logs and errors."""
    duplex: bool = True
    """True if the other end can be called over this connection (over HTTP a server cannot)."""
    details: dict[str, Any] = {}
    """Further details from the transport: `headers`, `tls`, `pid`."""


class Receiver(Protocol):
    """The callbacks of a channel's owner. They come one at a time, in order of arrival."""

    def message_received(self, data: bytes) -> None:
        """Handle one whole incoming message."""

    def message_refused(self, error: RpcError) -> None:
        """Handle the loss of one incoming message that was skipped (too large).

        The connection continues.
        """

    def reply_received(self, sent: bytes, data: bytes) -> None:
        """Handle `data`, the only reply to the message `sent` (HTTP)."""

    def send_failed(self, data: bytes, error: TransportError) -> None:
        """Handle the failure to deliver one message, while the channel continues (HTTP)."""

    def writable_changed(self, writable: bool) -> None:
        """Handle a change of the channel's `writable`."""

    def input_ended(self) -> None:
        """Handle the end of input; the other end may still read, as after `echo … | server`.

        Only where this end serves, at most once. The owner answers the requests it has, then closes
        the channel; its own calls will not be answered any more.
        """

    def connection_interrupted(self, error: TransportError) -> None:
        """Handle the loss of a connection that is being made again.

        `writable` is False until then.
        """

    def connection_restored(self) -> None:
        """Handle the new connection; messages sent over the last one may be lost."""

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
        """False while more is queued than the other end takes; `send` still queues then."""

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
