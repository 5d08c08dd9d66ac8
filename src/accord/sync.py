"""The same peers for programs without an event loop.

    from accord.sync import connect

    with connect("tcp://127.0.0.1:7000") as peer:
        print(peer.call("add", [1, 2]))

A background thread runs one event loop for all such connections. Every method here may be
called from any thread but that one; handlers of the router run on it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, TypeVar, Unpack

from msgspec import UNSET, UnsetType

from accord.jsonrpc.peer import Peer
from accord.jsonrpc.router import Router
from accord.jsonrpc.session import Statistics
from accord.jsonrpc.states import State
from accord.transports.connect import ConnectOptions, connect as connect_async

T = TypeVar("T")


class SyncPeer:
    """A peer whose calls block."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    @property
    def state(self) -> State:
        return self._peer.state

    @property
    def statistics(self) -> Statistics:
        return self._peer.statistics

    def call(
        self,
        method: str,
        params: Any = UNSET,
        *,
        into: Any = Any,
        timeout: float | None | UnsetType = UNSET,
        idempotent: bool = False,
    ) -> Any:
        """Call the other end and wait for its result, as `Peer.call` does."""
        return _wait(
            self._peer.call(method, params, into=into, timeout=timeout, idempotent=idempotent)
        )

    def notify(self, method: str, params: Any = UNSET) -> None:
        """Tell the other end something; returns when it is on its way."""
        _wait(self._peer.notify(method, params))

    def close(self) -> None:
        _wait(self._peer.close())

    def __enter__(self) -> SyncPeer:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def connect(
    target: str | Sequence[str],
    router: Router | None = None,
    **options: Unpack[ConnectOptions],
) -> SyncPeer:
    """Connect as `accord.connect` does, with the same options, and block until it is done."""

    async def open_peer() -> Peer:
        return await connect_async(target, router, **options)

    return SyncPeer(_wait(open_peer()))


_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _background_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="accord-sync", daemon=True).start()
        return _loop


def _wait(work: Coroutine[Any, Any, T]) -> T:
    future = asyncio.run_coroutine_threadsafe(work, _background_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()  # an interrupt must not leave the call running
        raise
