"""Both framers: how the bytes are cut does not matter, and what is kept is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from zlib import crc32

from accord.jsonrpc.protocol import framing
from accord.jsonrpc.protocol.errors import FramingError
from accord.jsonrpc.protocol.framing import ContentLengthFramer, Framer, NewlineFramer, Piece
from fuzz.kept import bytes_kept
from fuzz.splits import split
from fuzz.targets import Check

HEADER_BYTES: Final = 96
"""In place of the framing's own limit, so that short inputs reach it."""
LIMITS: Final = (0, 8, 64, None)
SLACK: Final = 4
"""What may be kept beyond the limit: a line end, which is not part of a message."""


@contextmanager
def target() -> Iterator[Check]:
    before = framing.MAX_HEADER_BYTES
    framing.MAX_HEADER_BYTES = HEADER_BYTES
    try:
        yield check
    finally:
        framing.MAX_HEADER_BYTES = before


def check(data: bytes) -> None:
    random = crc32(data)
    limit = LIMITS[random >> 28 & 3]
    for make in (NewlineFramer, ContentLengthFramer):
        whole = _plain(make(limit).feed(data))
        pieces = _fed_in_pieces(make, limit, data)
        assert pieces == whole, f"{make.__name__}({limit}): {pieces} in pieces, {whole} as a whole"
        _check_pieces(pieces, limit)
    if random >> 26 & 3 == 0:
        _check_round_trip(data)


def _fed_in_pieces(
    make: Callable[[int | None], Framer], limit: int | None, data: bytes
) -> list[Any]:
    framer = make(limit)
    most = (len(data) if limit is None else limit) + HEADER_BYTES + SLACK
    pieces: list[Piece] = []
    for part in split(data):
        pieces += framer.feed(part)
        kept = bytes_kept(framer)
        assert kept <= most, f"{make.__name__}({limit}) keeps {kept} bytes"
        assert framer.pending or not kept, f"{kept} bytes kept and nothing pending"
    return _plain(pieces)


def _plain(pieces: list[Piece]) -> list[Any]:
    """Errors as what they say, so that they can be compared."""
    return [
        piece if isinstance(piece, bytes) else (type(piece), piece.message, piece.data)
        for piece in pieces
    ]


def _check_pieces(pieces: list[Any], limit: int | None) -> None:
    for place, piece in enumerate(pieces):
        if isinstance(piece, bytes):
            assert limit is None or len(piece) <= limit, f"{len(piece)} bytes delivered"
        elif piece[0] is FramingError:
            assert place == len(pieces) - 1, "something follows a FramingError"


def _check_round_trip(data: bytes) -> None:
    """What one framer writes, another reads; lines hold no line ends."""
    line = data.replace(b"\n", b" ").replace(b"\r", b" ")
    if not line.strip(b" \t"):  # a blank line says nothing
        line = b"0"
    assert NewlineFramer().feed(NewlineFramer().frame([line, line])) == [line, line]
    both = [data, data]
    assert ContentLengthFramer().feed(ContentLengthFramer().frame(both)) == both
