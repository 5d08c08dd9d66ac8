"""What a handler can learn about the call it serves, and how it calls back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.errors import own_error
from accord.jsonrpc.messages import Id


class Caller(Protocol):
    """The side of a peer that calls the other end."""

    async def call(
        self, method: str, params: Any = ..., *, timeout: float | None | UnsetType = ...
    ) -> Any: ...

    async def notify(self, method: str, params: Any = ...) -> None: ...


InThread: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a function of no arguments in a thread; awaiting gives its result."""


def _no_threads(function: Callable[[], Any]) -> Awaitable[Any]:
    raise RuntimeError("this call is not served with a pool of threads")


def _no_arguments() -> dict[str, Any]:
    raise RuntimeError(
        "context.arguments is for interceptors; a method without any has its parameters"
    )


class _Called(Struct, eq=False):
    method: str
    id: Id | UnsetType = UNSET


class Context(_Called, eq=False, kw_only=True):
    """One call being served. A handler gets it by annotating a parameter with `Context`."""

    peer: Caller | None = None
    channel: ChannelInfo
    headers: Mapping[str, str] = {}
    state: dict[str, Any] = {}
    """Belongs to the connection: what one handler puts there, later ones find."""
    in_thread: InThread = _no_threads
    """Runs what blocks: `await context.in_thread(partial(read, path))`. Whoever serves an
    async method sets it to the pool that its threaded methods run in."""
    name_arguments: Callable[[], dict[str, Any]] = _no_arguments
    """Gives `arguments`; set where interceptors stand around the call."""

    @property
    def is_notification(self) -> bool:
        return self.id is UNSET

    @property
    def arguments(self) -> dict[str, Any]:
        """What the method is called with, by the names of its parameters, decoded and with
        defaults: for interceptors. It is a copy: changing it does not change the call."""
        return self.name_arguments()

    async def call(
        self, method: str, params: Any = UNSET, *, timeout: float | None | UnsetType = UNSET
    ) -> Any:
        """Call the other end on the same connection.

        Raises capability_not_supported where the transport is one-way, as HTTP is.
        """
        return await self._caller().call(method, params, timeout=timeout)

    async def notify(self, method: str, params: Any = UNSET) -> None:
        """Notify the other end on the same connection."""
        await self._caller().notify(method, params)

    def _caller(self) -> Caller:
        if self.peer is None:
            raise own_error(
                "capability_not_supported",
                f"the caller cannot be called back over {self.channel.scheme}",
            )
        return self.peer
