"""Levels of log messages, and which of them a client wants."""

from __future__ import annotations

from typing import Final, get_args

from accord.mcp.protocol.params import LogLevel

_ORDER: Final = {level: rank for rank, level in enumerate(get_args(LogLevel))}


def is_wanted(level: LogLevel, least: str) -> bool:
    """Return whether a client that asked for `least` wants a message of `level`.

    An unknown `least` lets all messages through.
    """
    return _ORDER[level] >= _ORDER.get(least, 0)
