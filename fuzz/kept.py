"""How much an object keeps of what it was fed."""

from __future__ import annotations

from typing import Any, Final

_BUFFERS: Final = (bytes, bytearray)


def bytes_kept(holder: Any) -> int:
    """How many bytes stand in the buffers of an object with slots, and of those it holds."""
    kept, seen, waiting = 0, {id(holder)}, [holder]
    while waiting:
        holder = waiting.pop()
        for name in holder.__slots__:
            value = getattr(holder, name)
            if type(value) in _BUFFERS:
                kept += len(value)
            elif type(value).__module__ == type(holder).__module__ and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)
    return kept
