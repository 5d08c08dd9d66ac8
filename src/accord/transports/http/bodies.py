"""Bodies that are not chunked: of a known length, or up to the end of the connection. Pure."""

from __future__ import annotations


class FixedBody:
    """A body whose length is known. With `keep` False its bytes are counted and dropped."""

    __slots__ = ("_left", "data", "keep", "size")

    def __init__(self, length: int, *, keep: bool) -> None:
        self.data = bytearray()
        self.size = 0
        self.keep = keep
        self._left = length

    @property
    def complete(self) -> bool:
        return not self._left

    def feed(self, buffer: bytes, at: int) -> int:
        """Read on from `at`; returns where it stopped."""
        end = min(at + self._left, len(buffer))
        if self.keep:
            self.data += memoryview(buffer)[at:end]
        self.size += end - at
        self._left -= end - at
        return end


class OpenBody:
    """A body that ends with the connection; only responses have one."""

    __slots__ = ("complete", "data", "size")

    def __init__(self) -> None:
        self.data = bytearray()
        self.size = 0
        self.complete = False

    def feed(self, buffer: bytes, at: int) -> int:
        """Take all that is there from `at` on."""
        self.data += memoryview(buffer)[at:]
        self.size = len(self.data)
        return len(buffer)
