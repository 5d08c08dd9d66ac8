"""A transport of a plugin: messages are compressed on their way.

`deflate+tcp://host:port` and `deflate+unix:///path` are what stands after the plus, with one zlib
stream for each direction: messages that are like earlier ones become very small.
"""

from __future__ import annotations

import zlib
from typing import Final

from msgspec.structs import replace

from accord.plugins import (
    Accept,
    Channel,
    ChannelInfo,
    Listener,
    MessageTooLargeError,
    Options,
    Receiver,
    RpcError,
    Transport,
    TransportError,
    listen_channel,
    open_channel,
)

PREFIX: Final = "deflate+"


class DeflateChannel:
    """A channel around another, whose receiver it is."""

    def __init__(self, inner: Channel, options: Options) -> None:
        self._inner = inner
        self._most = options.limits.max_message_bytes or 0
        self._deflate = zlib.compressobj()
        self._inflate = zlib.decompressobj()

    @property
    def info(self) -> ChannelInfo:
        return replace(self._inner.info, scheme=PREFIX + self._inner.info.scheme)

    @property
    def writable(self) -> bool:
        return self._inner.writable

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._inner.start(self)

    def send(self, data: bytes) -> None:
        self._inner.send(self._deflate.compress(data) + self._deflate.flush(zlib.Z_SYNC_FLUSH))

    def close(self) -> None:
        self._inner.close()

    def abort(self) -> None:
        self._inner.abort()

    def message_received(self, data: bytes) -> None:
        """What unpacks to more than a message may have ends the connection: the rest of its stream
        could not be read any more."""
        try:
            message = self._inflate.decompress(data, self._most)
        except zlib.error:
            self._inner.abort()
            return
        if self._inflate.unconsumed_tail:
            self._receiver.message_refused(MessageTooLargeError())
            self._inner.abort()
        else:
            self._receiver.message_received(message)

    def message_refused(self, error: RpcError) -> None:
        self._receiver.message_refused(error)
        self._inner.abort()

    def reply_received(self, sent: bytes, data: bytes) -> None:
        raise NotImplementedError("only HTTP has replies")

    def send_failed(self, data: bytes, error: TransportError) -> None:
        raise NotImplementedError("only HTTP fails so")

    def writable_changed(self, writable: bool) -> None:
        self._receiver.writable_changed(writable)

    def input_ended(self) -> None:
        self._receiver.input_ended()

    def connection_interrupted(self, error: TransportError) -> None:
        self._receiver.connection_interrupted(error)

    def connection_restored(self) -> None:
        self._receiver.connection_restored()

    def connection_lost(self, error: TransportError | None) -> None:
        self._receiver.connection_lost(error)


class DeflateListener:
    """A listener around another."""

    def __init__(self, inner: Listener) -> None:
        self._inner = inner

    @property
    def url(self) -> str:
        return PREFIX + self._inner.url

    @property
    def connections(self) -> int:
        return self._inner.connections

    async def close(self) -> None:
        await self._inner.close()


async def open_deflate(url: str, options: Options) -> DeflateChannel:
    inner = await open_channel(url.removeprefix(PREFIX), _framed(options))
    return DeflateChannel(inner, options)


async def listen_deflate(url: str, accept: Accept, options: Options) -> DeflateListener:
    def accept_inner(inner: Channel) -> None:
        accept(DeflateChannel(inner, options))

    inner = await listen_channel(url.removeprefix(PREFIX), accept_inner, _framed(options))
    return DeflateListener(inner)


def _framed(options: Options) -> Options:
    """Compressed bytes may hold line ends."""
    return replace(options, framing="content-length")


transport: Final = Transport(open=open_deflate, listen=listen_deflate)
