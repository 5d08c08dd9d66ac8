"""A channel between a peer and its transport that tells what goes by.

It shows every message, and notices what a peer does not tell its callers because it belongs
to no call: an error without an id, a refused message, a notification that did not arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from accord.jsonrpc.call import decode_data
from accord.jsonrpc.channel import Channel, ChannelInfo, Receiver
from accord.jsonrpc.codec import decode
from accord.jsonrpc.errors import RpcError, TransportError, from_wire
from accord.jsonrpc.messages import Failure

Show = Callable[[str, bytes], None]
"""Gets the direction of a message, `-->` or `<--`, and the message."""


class WatchedChannel:
    """Passes everything on in both directions."""

    def __init__(self, channel: Channel, show: Show | None = None) -> None:
        self._channel = channel
        self._show = show
        self._receiver: Receiver | None = None
        self.trouble: asyncio.Future[RpcError] = asyncio.get_running_loop().create_future()
        """Holds the first error that no caller hears of."""

    # As a channel

    @property
    def info(self) -> ChannelInfo:
        return self._channel.info

    @property
    def writable(self) -> bool:
        return self._channel.writable

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._channel.start(self)

    def send(self, data: bytes) -> None:
        self._see("-->", data)
        self._channel.send(data)

    def close(self) -> None:
        self._channel.close()

    def abort(self) -> None:
        self._channel.abort()

    # As a receiver

    def message_received(self, data: bytes) -> None:
        self._see("<--", data)
        self._notice_failure(data)
        self._outer.message_received(data)

    def message_refused(self, error: RpcError) -> None:
        self._notice(error)
        self._outer.message_refused(error)

    def reply_received(self, sent: bytes, data: bytes) -> None:
        self._see("<--", data)
        self._outer.reply_received(sent, data)
        self._notice_failure(data)

    def send_failed(self, data: bytes, error: TransportError) -> None:
        self._outer.send_failed(data, error)
        self._notice(error)

    def writable_changed(self, writable: bool) -> None:
        self._outer.writable_changed(writable)

    def input_ended(self) -> None:
        self._outer.input_ended()

    def connection_interrupted(self, error: TransportError) -> None:
        self._outer.connection_interrupted(error)

    def connection_restored(self) -> None:
        self._outer.connection_restored()

    def connection_lost(self, error: TransportError | None) -> None:
        self._outer.connection_lost(error)

    def _see(self, direction: str, data: bytes) -> None:
        if self._show is not None:
            self._show(direction, data)

    def _notice_failure(self, data: bytes) -> None:
        message = None if data.startswith(b"[") else decode(data)
        if isinstance(message, Failure) and message.id is None:
            error = message.error
            known = from_wire(error.code, error.message, decode_data(error.data))
            known.remote = True
            self._notice(known)

    def _notice(self, error: RpcError) -> None:
        if not self.trouble.done():
            self.trouble.set_result(error)

    @property
    def _outer(self) -> Receiver:
        assert self._receiver is not None, "start comes first"
        return self._receiver
