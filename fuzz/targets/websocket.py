"""WebSocket: the request that opens one, or the frames at either end, told by the first byte.

A letter begins a request; no frame begins with one, as its reserved bits would be set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from zlib import crc32

from accord.transports.websocket.frames import (
    Close,
    Event,
    FrameReader,
    Message,
    Opcode,
    Violation,
    frame,
)
from accord.transports.websocket.handshake import HeadBuffer, RefusedError, accept
from fuzz.kept import bytes_kept
from fuzz.splits import split
from fuzz.targets import Check

MAX_HEAD: Final = 320
LIMITS: Final = (0, 8, 200, None)
MAX_FRAME_HEADER: Final = 14
MAX_CONTROL: Final = 125


@contextmanager
def target() -> Iterator[Check]:
    yield check


def check(data: bytes) -> None:
    if data[:1].isalpha():
        _check_handshake(data)
        return
    limit = LIMITS[crc32(data) >> 28 & 3]
    for masked in (True, False):
        whole = FrameReader(masked=masked, max_message_bytes=limit).receive(data)
        _check_events(whole, limit)
        events = _in_pieces(data, masked, limit)
        assert events == whole, f"{events} in pieces, {whole} as a whole"
    _check_round_trip(data)


def _in_pieces(data: bytes, masked: bool, limit: int | None) -> list[Event]:
    reader = FrameReader(masked=masked, max_message_bytes=limit)
    most = (len(data) if limit is None else limit) + MAX_FRAME_HEADER + MAX_CONTROL
    events: list[Event] = []
    for part in split(data):
        events += reader.receive(part)
        kept = bytes_kept(reader)
        assert kept <= most, f"{kept} bytes are kept with a limit of {limit}"
    return events


def _check_events(events: list[Event], limit: int | None) -> None:
    for place, event in enumerate(events):
        if isinstance(event, Close | Violation):
            assert place == len(events) - 1, f"something follows {event}"
        if isinstance(event, Message):
            assert limit is None or len(event.data) <= limit, f"{len(event.data)} bytes delivered"
            if event.text:
                event.data.decode()


def _check_round_trip(data: bytes) -> None:
    for key in (None, data[:4].ljust(4, b"\xa5")):
        reader = FrameReader(masked=key is not None, max_message_bytes=None)
        assert reader.receive(frame(Opcode.BINARY, data, key)) == [Message(data, False)]


# The request


def _check_handshake(data: bytes) -> None:
    whole = _opened([data])
    pieces = _opened(split(data))
    assert pieces == whole, f"{pieces} in pieces, {whole} as a whole"


def _opened(parts: list[bytes]) -> tuple[Any, ...] | None:
    """What the server answers, and what it takes for the first frames."""
    buffer = HeadBuffer(MAX_HEAD)
    for place, part in enumerate(parts):
        try:
            received = buffer.receive(part) if part else None
            if received is None:
                continue
            head, rest = received
            request, answer = accept(head, path="/rpc", origins=None, loopback=True)
        except RefusedError as refused:
            return _refused(refused)
        assert answer.startswith(b"HTTP/1.1 101 ")
        return request.target, dict(request.headers), answer, rest + b"".join(parts[place + 1 :])
    return None


def _refused(refused: RefusedError) -> tuple[int]:
    response = refused.response()
    assert response.startswith(b"HTTP/1.1 %d " % refused.status), f"not HTTP: {response!r}"
    return (refused.status,)
