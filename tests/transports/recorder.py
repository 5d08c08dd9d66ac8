"""A receiver that keeps what a channel tells it, and lets a test wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from accord.jsonrpc.protocol.channel import Channel
from accord.jsonrpc.protocol.errors import RpcError, TransportError
from tests.patience import PATIENCE as PATIENCE


class Recorder:
    """Records every callback of one channel, in order where order matters.

    `messages` holds what arrived, `refusals` what was skipped, `ends` what
    `connection_lost` said (one entry, or the channel is broken). `on_message` is called
    with each message inside the channel's callback, as a handler would be.
    """

    def __init__(self, on_message: Callable[[bytes], None] | None = None) -> None:
        self.messages: list[bytes] = []
        self.refusals: list[RpcError] = []
        self.replies: list[tuple[bytes, bytes]] = []
        self.failed_sends: list[tuple[bytes, TransportError]] = []
        self.writable_changes: list[bool] = []
        self.inputs_ended = 0
        self.interruptions: list[TransportError] = []
        self.restorations = 0
        self.ends: list[TransportError | None] = []
        self._on_message = on_message
        self._news = asyncio.Event()

    def message_received(self, data: bytes) -> None:
        self.messages.append(data)
        self._news.set()
        if self._on_message is not None:
            self._on_message(data)

    def message_refused(self, error: RpcError) -> None:
        self.refusals.append(error)
        self._news.set()

    def reply_received(self, sent: bytes, data: bytes) -> None:
        self.replies.append((sent, data))
        self._news.set()

    def send_failed(self, data: bytes, error: TransportError) -> None:
        self.failed_sends.append((data, error))
        self._news.set()

    def writable_changed(self, writable: bool) -> None:
        self.writable_changes.append(writable)
        self._news.set()

    def input_ended(self) -> None:
        self.inputs_ended += 1
        self._news.set()

    def connection_interrupted(self, error: TransportError) -> None:
        self.interruptions.append(error)
        self._news.set()

    def connection_restored(self) -> None:
        self.restorations += 1
        self._news.set()

    def connection_lost(self, error: TransportError | None) -> None:
        self.ends.append(error)
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition()`; it is asked again after each callback."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def received(self, count: int) -> list[bytes]:
        """Wait for `count` messages in all; returns those that have come."""
        await self.until(lambda: len(self.messages) >= count)
        return self.messages

    async def next_message(self) -> bytes:
        """Wait for the next message and take it out of `messages`."""
        await self.received(1)
        return self.messages.pop(0)

    async def ended(self) -> TransportError | None:
        """Wait for the end of the connection; returns what it said."""
        await self.until(lambda: bool(self.ends))
        return self.ends[0]


class Echo(Recorder):
    """A recorder that sends every message back."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel.send)
