"""A channel that reconnects when its connection is lost."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from msgspec import Struct

from accord.jsonrpc.protocol.channel import Channel, ChannelInfo, Receiver
from accord.jsonrpc.protocol.errors import ConnectionLostError, RpcError, TransportError

log = logging.getLogger("accord.transports")

Open = Callable[[], Awaitable[Channel]]


class Backoff(Struct, frozen=True, kw_only=True):
    """A retry policy: number of attempts and delays between them, in seconds."""

    attempts: int | None = None
    """Maximum number of consecutive attempts; None for no limit."""
    initial: float = 0.1
    multiplier: float = 2.0
    longest: float = 30.0
    jitter: bool = True
    """Wait a random part of each delay, so that many clients do not reconnect at the same time."""

    def delay(self, attempt: int, chance: float) -> float:
        """Return the delay in seconds after failed attempt 1, 2, ….

        `chance` is a random number from 0 to 1.
        """
        # The exponent is capped: 2.0 ** 1024 is an OverflowError.
        full = min(self.longest, self.initial * self.multiplier ** min(attempt - 1, 64))
        return full * chance if self.jitter else full


async def open_reconnecting(open_one: Open, backoff: Backoff) -> ReconnectingChannel:
    """Connect, with retries, and return a channel that reconnects after a loss.

    `backoff` defines the retries.
    """
    return ReconnectingChannel(await _retry(open_one, backoff), open_one, backoff)


async def _retry(open_one: Open, backoff: Backoff) -> Channel:
    attempt = 0
    while True:
        attempt += 1
        try:
            return await open_one()
        except TransportError as error:
            if not error.recoverable or attempt == backoff.attempts:
                raise
            delay = backoff.delay(attempt, random.random())
            log.info("attempt %d: %s; next in %.2f s", attempt, error.message, delay)
        await asyncio.sleep(delay)


class ReconnectingChannel:
    """A channel that opens a new connection when its connection is lost.

    Without a connection, `writable` is False and sent messages are dropped. The receiver is
    notified by `connection_interrupted`, and decides what to send again.
    """

    def __init__(self, channel: Channel, open_one: Open, backoff: Backoff) -> None:
        self._channel = channel
        self._open = open_one
        self._backoff = backoff
        self._receiver: Receiver | None = None
        self._reopening: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def info(self) -> ChannelInfo:
        return self._channel.info

    @property
    def writable(self) -> bool:
        return self._reopening is None and self._channel.writable

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._channel.start(self)

    def send(self, data: bytes) -> None:
        if self._reopening is None:
            self._channel.send(data)

    def close(self) -> None:
        self._end(self._channel.close)

    def abort(self) -> None:
        self._end(self._channel.abort)

    def _end(self, end: Callable[[], None]) -> None:
        if self._closing:
            return
        self._closing = True
        if self._reopening is None:
            end()
        else:
            self._reopening.cancel()
            asyncio.get_running_loop().call_soon(self._outer.connection_lost, None)

    # The inner channel's receiver

    def message_received(self, data: bytes) -> None:
        self._outer.message_received(data)

    def message_refused(self, error: RpcError) -> None:
        self._outer.message_refused(error)

    def reply_received(self, sent: bytes, data: bytes) -> None:
        self._outer.reply_received(sent, data)

    def send_failed(self, data: bytes, error: TransportError) -> None:
        self._outer.send_failed(data, error)

    def writable_changed(self, writable: bool) -> None:
        self._outer.writable_changed(writable)

    def input_ended(self) -> None:
        self._channel.close()  # no responses can arrive any more: treat it as lost

    def connection_interrupted(self, error: TransportError) -> None:
        self._outer.connection_interrupted(error)

    def connection_restored(self) -> None:
        self._outer.connection_restored()

    def connection_lost(self, error: TransportError | None) -> None:
        if self._closing or (error is not None and not error.recoverable):
            self._outer.connection_lost(error)
            return
        why = ConnectionLostError() if error is None else error
        log.info("connection lost, connecting again: %s", why.message)
        self._reopening = asyncio.get_running_loop().create_task(self._reopen())
        self._outer.writable_changed(False)
        self._outer.connection_interrupted(why)

    async def _reopen(self) -> None:
        try:
            await asyncio.sleep(self._backoff.delay(1, random.random()))
            self._channel = await _retry(self._open, self._backoff)
        except TransportError as error:
            self._outer.connection_lost(error)
        else:
            self._reopening = None
            self._channel.start(self)
            self._outer.connection_restored()
            self._outer.writable_changed(self._channel.writable)

    @property
    def _outer(self) -> Receiver:
        assert self._receiver is not None, "start comes first"
        return self._receiver
