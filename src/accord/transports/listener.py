"""The listener interface that each transport implements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from accord.jsonrpc.protocol.channel import Channel

Accept: TypeAlias = Callable[[Channel], None]
"""Called with each new connection once it can carry messages. It must start the channel."""


class Listener(Protocol):
    """An address at which connections are accepted."""

    @property
    def url(self) -> str:
        """URL to connect to, with the real port even if port 0 was requested."""

    @property
    def connections(self) -> int:
        """Number of open connections."""

    async def close(self) -> None:
        """Stop accepting. Open connections remain with their owners."""
