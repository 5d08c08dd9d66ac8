"""Two channels connected in memory: for tests, and for peers in one process."""

from __future__ import annotations

import asyncio
from typing import Final

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits, Receiver
from accord.jsonrpc.protocol.errors import ConnectError, own_error
from accord.transports.options import Accept, Options

HIGH_WATER: Final = 64 * 1024
"""Number of undelivered bytes above which `writable` becomes False."""

_INFO = ChannelInfo(scheme="memory", address="memory:")


class MemoryChannel:
    """One end of a pair of channels that are connected in memory.

    Messages are delivered in the next iteration of the event loop.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._other: MemoryChannel = self
        self._receiver: Receiver | None = None
        self._inbox: list[bytes] = []
        self._inbox_bytes = 0
        self._scheduled = False
        self._ending = False
        self.ended = False
        self._loop = asyncio.get_running_loop()
        self.writable = True

    @property
    def info(self) -> ChannelInfo:
        return _INFO

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._schedule()

    def send(self, data: bytes) -> None:
        if self._ending or self.ended:
            return
        other = self._other
        other._inbox.append(data)
        other._inbox_bytes += len(data)
        if self.writable and other._inbox_bytes > HIGH_WATER:
            self._set_writable(False)
        other._schedule()

    def close(self) -> None:
        """Close both channels once all sent messages have been delivered."""
        if not self._ending:
            self._ending = self._other._ending = True
            self._schedule()
            self._other._schedule()

    def abort(self) -> None:
        self._other._inbox.clear()
        self.close()

    def _schedule(self) -> None:
        if not self._scheduled and self._receiver is not None:
            self._scheduled = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        assert self._receiver is not None
        # Messages that arrive during the delivery wait for the next turn of the loop: otherwise two
        # ends that answer each other would never let others run.
        inbox, self._inbox = self._inbox, []
        self._inbox_bytes = 0
        if not self._other.writable:
            self._other._set_writable(True)
        for data in inbox:
            self._receive(data, self._receiver)
        if self._ending and not self._inbox and not self.ended:
            self.ended = True
            self._receiver.connection_lost(None)

    def _receive(self, data: bytes, receiver: Receiver) -> None:
        most = self._limits.max_message_bytes
        if most is not None and len(data) > most:
            receiver.message_refused(
                own_error(
                    "message_too_large",
                    f"message of {len(data):,} bytes is over the limit of {most:,}",
                    maxSize=most,
                    unit="bytes",
                )
            )
        else:
            receiver.message_received(data)

    def _set_writable(self, writable: bool) -> None:
        self.writable = writable
        if self._receiver is not None:
            self._receiver.writable_changed(writable)


def memory_pair(
    *, limits: Limits | None = None, other_limits: Limits | None = None
) -> tuple[MemoryChannel, MemoryChannel]:
    """Return two channels that are connected to each other."""
    one = MemoryChannel(Limits() if limits is None else limits)
    two = MemoryChannel(one._limits if other_limits is None else other_limits)
    one._other, two._other = two, one
    return one, two


_listeners: dict[str, MemoryListener] = {}


class MemoryListener:
    """A listener to which `connect` in the same process can connect by name."""

    def __init__(self, url: str, accept: Accept, limits: Limits, most: int) -> None:
        self._accept = accept
        self._limits = limits
        self._most = most
        self._channels: list[MemoryChannel] = []
        self.url = url

    @property
    def connections(self) -> int:
        self._channels = [channel for channel in self._channels if not channel.ended]
        return len(self._channels)

    def connect(self, limits: Limits) -> MemoryChannel:
        if self.connections >= self._most:
            raise ConnectError(f"{self.url} has {self._most:,} connections, the limit")
        ours, theirs = memory_pair(limits=limits, other_limits=self._limits)
        self._channels.append(theirs)
        self._accept(theirs)
        return ours

    async def close(self) -> None:
        _listeners.pop(self.url, None)


async def listen_memory(url: str, accept: Accept, options: Options) -> MemoryListener:
    """Listen at `url` (`memory:` and any name) in this process.

    Raises `ConnectError` if the name is taken.
    """
    if url in _listeners:
        raise ConnectError(f"{url} is taken", recoverable=False, advice="Choose another name.")
    listener = MemoryListener(url, accept, options.limits, options.server_limits.max_connections)
    _listeners[url] = listener
    return listener


async def open_memory(url: str, options: Options) -> MemoryChannel:
    """Connect to the listener at `url` in this process.

    Raises `ConnectError` if there is none, or if it has too many connections.
    """
    listener = _listeners.get(url)
    if listener is None:
        raise ConnectError(f"nobody listens on {url} in this process")
    return listener.connect(options.limits)
