"""Cuts an input into pieces, as a network would: where is decided by the input itself.

So a file of the corpus holds nothing but the bytes of the wire, and an input that fails once
fails always.
"""

from __future__ import annotations

from zlib import crc32

MOST_BYTE_BY_BYTE = 128


def split(data: bytes) -> list[bytes]:
    """`data` in two to four pieces, or now and then byte by byte."""
    random = crc32(data)
    if random % 32 == 0 and len(data) <= MOST_BYTE_BY_BYTE:
        return [data[at : at + 1] for at in range(len(data))]
    size = len(data) + 1
    cuts = sorted((random % size, (random >> 10) % size, (random >> 20) % size))
    cuts = cuts[random >> 3 & 1 :]
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, size], strict=True)]
