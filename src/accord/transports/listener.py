"""What a transport's `listen` function returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from accord.jsonrpc.channel import Channel

Accept: TypeAlias = Callable[[Channel], None]
"""Given each new connection, once it is ready to carry messages. It must start the channel."""


class Listener(Protocol):
    """A place where connections arrive."""

    @property
    def url(self) -> str:
        """Where to connect: the real port stands in it, also when 0 was asked for."""

    @property
    def connections(self) -> int:
        """How many connections are open now."""

    async def close(self) -> None:
        """Stop accepting. Connections that exist are left to their owners."""
