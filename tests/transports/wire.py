"""An asyncio transport in memory, which a test holds in its hand."""

from __future__ import annotations

import asyncio
from typing import Any


class Wire(asyncio.Transport):
    """Keeps each write of a protocol apart, and takes as much as the test lets it.

    With `room` set, writes beyond that many bytes wait, and the protocol is paused as a
    socket's would be; `take` makes room again.
    """

    def __init__(self, protocol: Any, *, room: int | None = None) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.reading = True
        self.waiting = 0
        self.output_ended = False
        self.closed = False
        self.aborted = False
        self._protocol = protocol
        self._room = room
        self._high = 0
        self._paused = False
        self._lost = False
        protocol.connection_made(self)

    def feed(self, data: bytes) -> None:
        """Have `data` arrive."""
        self._protocol.data_received(data)

    def take(self, count: int) -> None:
        """Have the other end take `count` bytes of what waits."""
        self.waiting -= count
        if self._paused and self.waiting <= self._high // 4:
            self._paused = False
            self._protocol.resume_writing()
        if self.closed and not self.waiting:
            self._lose()

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        assert not self.closed
        self.writes.append(bytes(data))
        if self._room is None:
            return
        self.waiting += max(0, len(data) - self._room)
        self._room = max(0, self._room - len(data))
        if self.waiting > self._high and not self._paused:
            self._paused = True
            self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        self._high = high

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.output_ended = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if not self.waiting:
                self._lose()

    def abort(self) -> None:
        self.aborted = self.closed = True
        self._lose()

    def _lose(self) -> None:
        if not self._lost:
            self._lost = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)
