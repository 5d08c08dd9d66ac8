"""The protocol of Redis (RESP2), as much of it as rate limits need: commands out, replies in. Pure.

Replies come from another program, so they are bounded: what is longer or deeper is an error.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Reply: TypeAlias = "int | bytes | None | list[Reply] | ReplyError"

MAX_REPLY: Final = 64 * 1024
MAX_DEPTH: Final = 4


class ReplyError(Exception):
    """An error that the server answered with; the text says which."""


class RespError(Exception):
    """What came is no reply."""


class _Incomplete(Exception):  # noqa: N818 - more is to come
    pass


def command(*words: str | bytes | int | float) -> bytes:
    """A command, as it is sent."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        raw = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(raw), raw))
    return b"".join(parts)


class Replies:
    """Replies from the bytes in which they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Reply]:
        """The replies that are complete with `data`. Raises RespError for what can be none."""
        self._buffer += data
        found: list[Reply] = []
        place = 0
        try:
            while place < len(self._buffer):
                reply, place = self._read(place, 0)
                found.append(reply)
        except _Incomplete:
            pass
        del self._buffer[:place]
        if len(self._buffer) > MAX_REPLY:
            raise RespError(f"a reply is over the limit of {MAX_REPLY:,} bytes")
        return found

    def _read(self, place: int, depth: int) -> tuple[Reply, int]:
        line, after = self._line(place)
        kind, rest = line[:1], line[1:]
        match kind:
            case b"+":
                return rest, after
            case b"-":
                return ReplyError(rest.decode(errors="replace")), after
            case b":":
                return _number(rest), after
            case b"$":
                return self._text(_number(rest), after)
            case b"*" if depth < MAX_DEPTH:
                return self._list(_number(rest), after, depth)
            case _:
                raise RespError(f"{line[:20]!r} begins no reply")

    def _line(self, place: int) -> tuple[bytes, int]:
        end = self._buffer.find(b"\r\n", place)
        if end < 0:
            raise _Incomplete
        return bytes(self._buffer[place:end]), end + 2

    def _text(self, length: int, place: int) -> tuple[Reply, int]:
        if length < 0:
            return None, place
        end = place + length
        if end + 2 > len(self._buffer):
            if length > MAX_REPLY:
                raise RespError(f"a reply is over the limit of {MAX_REPLY:,} bytes")
            raise _Incomplete
        return bytes(self._buffer[place:end]), end + 2

    def _list(self, length: int, place: int, depth: int) -> tuple[Reply, int]:
        if length < 0:
            return None, place
        if length > MAX_REPLY:
            raise RespError(f"a reply is over the limit of {MAX_REPLY:,} bytes")
        items: list[Reply] = []
        for _ in range(length):
            item, place = self._read(place, depth + 1)
            items.append(item)
        return items, place


def _number(text: bytes) -> int:
    try:
        return int(text)
    except ValueError:
        raise RespError(f"{text[:20]!r} is no number") from None
