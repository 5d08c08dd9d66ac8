"""How deep JSON nests, told from its brackets before anything is decoded.

Works on whole buffers: a loop over the bytes would cost more than decoding them.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Final

_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_NO_STRUCTURE: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_STEPS: Final = bytes.maketrans(b"[]", b"\x01\xff")
_PROBE: Final = 4_096
_CHUNK: Final = 64
_SHORT: Final = 4_096


def is_bracketed(data: bytes, max_depth: int) -> bool:
    """Return True if `data` has enough brackets to nest deeper than `max_depth`."""
    # The test below would be cheaper for long messages too. But then serving them would be so cheap
    # that refusing some would cost more than twice as much.
    if len(data) > _SHORT:
        return data.count(b"{") + data.count(b"[") > max_depth
    has_arrays = data.find(b"[") >= 0
    # A level of objects takes five bytes at least: {"":}
    if not has_arrays and len(data) <= 5 * max_depth:
        return False
    # Removing a few brackets costs a quarter of counting them, as it finds each with memchr.
    plain = data.replace(b"{", b"", max_depth + 1)
    if has_arrays:
        plain = plain.replace(b"[", b"", max_depth + 1)
    return len(data) - len(plain) > max_depth


def is_deeper(data: bytes, max_depth: int) -> bool:
    """Return True if arrays and objects nest deeper than `max_depth`.

    Works on whole buffers, whether or not they are valid JSON: a loop over the bytes would cost
    more than decoding them.
    """
    if len(data) > _PROBE and is_deeper(data[:_PROBE], max_depth):
        return True
    brackets = _brackets(data)
    # Wide and flat is the usual shape: remove the innermost pairs, level by level. Each deepest
    # bracket has its closing bracket next to it, so every pass lowers the depth by one.
    for _ in range(2):
        if brackets.count(b"[") <= max_depth:
            return False
        brackets = (brackets + b"]").replace(b"[]", b"")
        max_depth -= 1
    if max_depth < 0:
        return True
    depth = 0
    for start in range(0, len(brackets), _CHUNK):
        opened = brackets.count(b"[", start, start + _CHUNK)
        if depth + opened > max_depth:  # the chunk may go too deep: count step by step
            steps = array("b", brackets[start : start + _CHUNK].translate(_STEPS))
            if max(accumulate(steps, initial=depth)) > max_depth:
                return True
        depth += 2 * opened - min(_CHUNK, len(brackets) - start)
    return False


def _brackets(data: bytes) -> bytes:
    """Return the brackets of `data` outside of strings, all of them square."""
    if b'"' in data:
        if b"\\" in data:
            data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
        # Without non-structural bytes most strings are empty, and are removed.
        data = data.translate(_BRACKETS, _NO_STRUCTURE).replace(b'""', b"")
        return b"".join(data.split(b'"')[::2]) if b'"' in data else data
    return data.translate(_BRACKETS, _NO_BRACKETS)
