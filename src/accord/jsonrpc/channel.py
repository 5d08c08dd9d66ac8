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
    """What is known about the other end."""

    scheme: str
    """`memory`, `stdio`, `tcp`, `tls`, `unix`, `ws`, `wss`, `http`, `https`."""
    address: str = ""
    """Printable address of the other end, for logs and errors."""
    duplex: bool = True
    """Whether the other end can be called over this connection (over HTTP a server cannot)."""
    details: dict[str, Any] = {}
    """What the transport knows beyond that: `headers`, `tls`, `pid`."""


class Receiver(Protocol):
    """What a channel tells its owner. Calls come one at a time, in order of arrival."""

    def message_received(self, data: bytes) -> None:
        """One whole message arrived."""

    def message_refused(self, error: RpcError) -> None:
        """One incoming message was skipped (too large); the connection goes on."""

    def reply_received(self, sent: bytes, data: bytes) -> None:
        """`data` arrived as the reply to the message `sent` (HTTP): no other reply will come."""

    def send_failed(self, data: bytes, error: TransportError) -> None:
        """A message given to `send` did not get through, though the channel goes on (HTTP)."""

    def writable_changed(self, writable: bool) -> None:
        """The channel's `writable` just changed."""

    def input_ended(self) -> None:
        """The other end sends nothing more but may still read, as after `echo … | server`.

        Only where this end serves, at most once. The owner answers what it has, then closes
        the channel; nothing that it asked the other end will be answered any more.
        """

    def connection_interrupted(self, error: TransportError) -> None:
        """The connection was lost and is being made anew; `writable` is False until then."""

    def connection_restored(self) -> None:
        """There is a connection again; what was sent over the last one may be lost."""

    def connection_lost(self, error: TransportError | None) -> None:
        """The connection ended: None after an orderly end, else why. Called exactly once, last."""


class Channel(Protocol):
    """One connection that carries messages.

    `start` is called once, before anything else. `send` and `close` may be called from
    within a receiver's callback. After `close` or `abort`, `send` does nothing.
    """

    @property
    def info(self) -> ChannelInfo: ...

    @property
    def writable(self) -> bool:
        """False while more is queued than the other end takes; `send` still queues then."""

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver what arrives."""

    def send(self, data: bytes) -> None:
        """Queue one whole message. Messages sent in one loop turn leave in one write."""

    def close(self) -> None:
        """Write out what is queued, then end the connection; `connection_lost` follows."""

    def abort(self) -> None:
        """End the connection at once, dropping what is queued; `connection_lost` follows."""
