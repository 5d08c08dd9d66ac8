"""Pictures of pages in fewer bytes: with 256 colours, well compressed.

Browsers write pictures quickly rather than small, and letters have many shades in them that nobody
tells apart. Only for 8-bit RGB without interlacing, as browsers write it.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Final

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
RGB: Final = 2
PALETTE: Final = 3
MOST_COLOURS: Final = 256


def smaller(picture: bytes) -> bytes:
    """The same picture, for the eye."""
    chunks = dict(_chunks(picture))
    width, height, depth, kind, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if (depth, kind) != (8, RGB):
        return picture
    rows = list(_rows(zlib.decompress(chunks[b"IDAT"]), width * 3))
    pixels = [[row[at : at + 3] for at in range(0, width * 3, 3)] for row in rows]
    counts = Counter(pixel for row in pixels for pixel in row)
    boxes = _boxes(list(counts))
    kept = [max(box, key=counts.__getitem__) for box in boxes]
    places = {colour: at for at, box in enumerate(boxes) for colour in box}
    data = b"".join(b"\0" + bytes([places[pixel] for pixel in row]) for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, PALETTE, 0, 0, 0)
    return SIGNATURE + b"".join(
        (
            _chunk(b"IHDR", head),
            _chunk(b"PLTE", b"".join(kept)),
            _chunk(b"IDAT", zlib.compress(data, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each by its name; those of the data as one."""
    at, data = len(SIGNATURE), b""
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        name, content = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]
        if name == b"IDAT":
            data += content
        else:
            yield name, content
        at += size + 12
    yield b"IDAT", data


def _rows(raw: bytes, stride: int) -> Iterator[bytes]:
    """The lines without their filters (PNG, section 9)."""
    above = bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        line = bytearray(raw[start + 1 : start + 1 + stride])
        _unfilter(raw[start], line, above)
        yield bytes(line)
        above = line


def _unfilter(kind: int, line: bytearray, above: bytearray) -> None:
    for at in range(len(line)) if kind else ():
        left, corner = (line[at - 3], above[at - 3]) if at >= 3 else (0, 0)
        guess = (0, left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))
        line[at] = (line[at] + guess[kind]) & 255


def _paeth(left: int, up: int, corner: int) -> int:
    sum = left + up - corner
    return min((left, up, corner), key=lambda each: abs(sum - each))


def _boxes(colours: list[bytes]) -> list[list[bytes]]:
    """Colours that are alike, together: the box whose colours differ most is cut in the middle,
    until there are enough."""
    boxes = [colours]
    while len(boxes) < MOST_COLOURS:
        widest = max(boxes, key=lambda box: max(_extents(box)))
        extents = _extents(widest)
        if max(extents) == 0:
            break
        channel = extents.index(max(extents))
        middle = (min(each[channel] for each in widest) + max(each[channel] for each in widest)) / 2
        boxes.remove(widest)
        boxes.append([each for each in widest if each[channel] <= middle])
        boxes.append([each for each in widest if each[channel] > middle])
    return boxes


def _extents(box: list[bytes]) -> list[int]:
    return [max(values) - min(values) for values in zip(*box, strict=True)]


def _chunk(name: bytes, content: bytes) -> bytes:
    checked = name + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))
