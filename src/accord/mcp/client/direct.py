"""Two channels in one process whose messages arrive while they are sent.

A message is handed over in the sender's own stack, so that a call of a server in the same
process waits for no turn of the event loop that it does not need. What is sent to an end that
is just taking a message waits until that is done: nothing is handed over out of order, and
two ends that answer each other do not fill the stack.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from accord.jsonrpc.channel import ChannelInfo, Receiver
from accord.jsonrpc.errors import RpcError, own_error
from accord.jsonrpc.limits import Limits

PATIENCE: Final = 64
"""After how many messages in a row others get a turn of the event loop."""

_INFO: Final = ChannelInfo(scheme="memory", address="memory:")


class DirectChannel:
    """One end of a pair. See `Channel` for its methods."""

    __slots__ = (
        *("_ended", "_ending", "_inbox", "_loop", "_most", "_receiver", "_since", "_taking"),
        "other",
    )

    def __init__(self, limits: Limits) -> None:
        self.other: DirectChannel = self
        self._most = limits.max_message_bytes
        self._receiver: Receiver | None = None
        self._inbox: deque[bytes] = deque()
        self._taking = False
        """Whether messages are being handed over, or will be in the next turn."""
        self._since = 0
        self._ending = self._ended = False
        self._loop = asyncio.get_running_loop()

    @property
    def info(self) -> ChannelInfo:
        return _INFO

    @property
    def writable(self) -> bool:
        return True

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, data: bytes) -> None:
        if self._ending:
            return
        other = self.other
        other._inbox.append(data)
        if other._taking:
            return
        other._taking = True
        other._since += 1
        if other._since < PATIENCE:
            other._take()
        else:
            other._since = 0
            self._loop.call_soon(other._take)

    def close(self) -> None:
        if not self._ending:
            self._ending = self.other._ending = True
            self._loop.call_soon(self._end)
            self._loop.call_soon(self.other._end)

    abort = close

    def _take(self) -> None:
        receiver = self._receiver
        assert receiver is not None
        try:
            while self._inbox:
                data = self._inbox.popleft()
                if self._most is None or len(data) <= self._most:
                    receiver.message_received(data)
                else:
                    receiver.message_refused(_too_large(len(data), self._most))
        finally:
            self._taking = False

    def _end(self) -> None:
        if not self._ended and self._receiver is not None:
            self._ended = True
            self._receiver.connection_lost(None)


def direct_pair(limits: Limits) -> tuple[DirectChannel, DirectChannel]:
    """Two channels, each the other end of the other."""
    one, two = DirectChannel(limits), DirectChannel(limits)
    one.other, two.other = two, one
    return one, two


def _too_large(size: int, most: int) -> RpcError:
    return own_error(
        "message_too_large",
        f"message of {size:,} bytes is over the limit of {most:,}",
        maxSize=most,
        unit="bytes",
    )
