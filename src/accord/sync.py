"""Blocking peers, for programs without an event loop.

    from accord.sync import connect

    with connect("tcp://127.0.0.1:7000") as peer:
        print(peer.call("add", [1, 2]))

A background thread runs one event loop for all such connections. Every method here may be called
from any thread except the background thread, which runs the router's handlers and the observers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar, Unpack, overload

from msgspec import UNSET, UnsetType

from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import ChannelInfo, State
from accord.jsonrpc.protocol.errors import RpcError
from accord.jsonrpc.protocol.messages import Id
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.calls import Call, OutgoingBatch
from accord.jsonrpc.runtime.peer import Peer, StateObserver
from accord.transports.connect import ConnectOptions, connect as connect_async

T = TypeVar("T")


class SyncCall:
    """An outgoing call. `result` blocks until the call is answered."""

    def __init__(self, call: Call) -> None:
        self._call = call

    @property
    def id(self) -> Id:
        return self._call.id

    @property
    def method(self) -> str:
        return self._call.method

    @property
    def done(self) -> bool:
        """True once the call was answered, has failed or was cancelled."""
        return self._call.done

    @overload
    def result(self, into: type[T]) -> T: ...
    @overload
    def result(self) -> Any: ...

    def result(self, into: Any = Any) -> Any:
        """Wait for the result and return it, checked against the type `into`."""
        return _wait(self._call.result(into))

    def answer(self) -> Any:
        """Wait for the result and return it as raw JSON."""
        return _wait(self._call.answer())

    def future(self, into: Any = Any) -> Future[Any]:
        """Return a future of the result, for `concurrent.futures.wait` and the like.

        Cancelling the future cancels the call.
        """
        return _start(self._call.result(into))

    def cancel(self) -> None:
        """Cancel the call; threads that wait for its result get a `CancelledError`."""
        _do(self._call.cancel)

    def extend(self) -> None:
        """Restart the call's timeout, as the other end has shown that it works on it."""
        _do(self._call.extend)

    def fail(self, error: RpcError) -> None:
        """End the call with an error."""
        _do(lambda: self._call.fail(error))


class SyncBatch:
    """A batch that collects calls and sends them when its `with` block ends.

    The end of the block waits for the answers.

        with peer.batch() as batch:
            total = batch.call("sum", [1, 2, 3])
            batch.notify("log", ["summed"])
        print(total.result())

    A failed call raises when its result is requested, not when the block ends.
    """

    def __init__(self, batch: OutgoingBatch) -> None:
        self._batch = batch

    def call(
        self, method: str, params: Any = UNSET, *, timeout: float | None | UnsetType = UNSET
    ) -> SyncCall:
        """Add a call to the batch; its result is available after the batch was sent."""
        return SyncCall(_do(lambda: self._batch.call(method, params, timeout=timeout)))

    def notify(self, method: str, params: Any = UNSET) -> None:
        """Add a notification to the batch."""
        _do(lambda: self._batch.notify(method, params))

    def send(self) -> None:
        """Send the collected messages; wait until every call is answered or has failed."""
        _wait(self._batch.send())

    def __enter__(self) -> SyncBatch:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _wait(self._batch.__aexit__(exc_type, exc, traceback))


class SyncPeer:
    """A peer whose calls block. Members that `Peer` also has behave as they do there."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    # Properties

    @property
    def state(self) -> State:
        return self._peer.state

    @property
    def info(self) -> ChannelInfo:
        return self._peer.info

    @property
    def statistics(self) -> Statistics:
        return self._peer.statistics

    @property
    def pending(self) -> int:
        """The number of outgoing calls that wait for an answer."""
        return self._peer.pending

    @property
    def in_flight(self) -> int:
        """The number of incoming calls in progress."""
        return self._peer.in_flight

    @property
    def call_state(self) -> dict[str, Any]:
        """The state shared by the handlers of this connection as `context.state`."""
        return self._peer.call_state

    def observe(self, observer: StateObserver) -> Callable[[], None]:
        """Call `observer(state, error)` at every change of state, in the background thread.

        Returns a function that stops the observation.
        """
        stop = _do(lambda: self._peer.observe(observer))
        return lambda: _do(stop)

    # Calling

    @overload
    def call(
        self,
        method: str,
        params: Any = ...,
        *,
        into: type[T],
        timeout: float | None | UnsetType = ...,
        idempotent: bool = ...,
    ) -> T: ...
    @overload
    def call(
        self,
        method: str,
        params: Any = ...,
        *,
        into: Any = ...,
        timeout: float | None | UnsetType = ...,
        idempotent: bool = ...,
    ) -> Any: ...

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

    def call_threadsafe(
        self,
        method: str,
        params: Any = UNSET,
        *,
        into: Any = Any,
        timeout: float | None | UnsetType = UNSET,
        idempotent: bool = False,
    ) -> Future[Any]:
        """Call the other end and return a future of the result at once.

        The future is for `concurrent.futures.wait` and the like.
        """
        return _start(
            self._peer.call(method, params, into=into, timeout=timeout, idempotent=idempotent)
        )

    def begin(
        self,
        method: str,
        params: Any = UNSET,
        *,
        timeout: float | None | UnsetType = UNSET,
        longest: float | None = None,
        idempotent: bool = False,
    ) -> SyncCall:
        """Send a call now and return it; its id is known at once.

        `call.extend()` restarts its timeout, up to `longest` seconds in all.
        """
        begin = self._peer.begin
        return SyncCall(
            _do(
                lambda: begin(
                    method, params, timeout=timeout, longest=longest, idempotent=idempotent
                )
            )
        )

    def notify(self, method: str, params: Any = UNSET) -> None:
        """Send a notification; return when it is queued for sending."""
        _wait(self._peer.notify(method, params))

    def post(self, method: str, params: Any = UNSET) -> None:
        """Send a notification without waiting for the other end to read."""
        _do(lambda: self._peer.post(method, params))

    def send(self, data: bytes) -> None:
        """Send one encoded message or batch as soon as the other end can take it."""
        _wait(self._peer.send(data))

    def batch(self) -> SyncBatch:
        """Return a batch that collects calls and notifications."""
        return SyncBatch(_do(self._peer.batch))

    def cancel_incoming(self, id: Id) -> bool:
        """Stop serving a request of the other end without an answer.

        Returns True if it was running.
        """
        return _do(lambda: self._peer.cancel_incoming(id))

    # Closing

    def close(self, *, drain: float | None = None) -> None:
        """Close the connection and wait until it has ended.

        Running handlers may finish for up to `drain` seconds, and their answers are sent. Outgoing
        calls in flight fail.
        """
        _wait(self._peer.close(drain=drain))

    def close_soon(self, *, drain: float | None = None) -> None:
        """Begin to close; `wait_closed` waits for the end."""
        _do(lambda: self._peer.close_soon(drain=drain))

    def abort(self) -> None:
        """End the connection at once; nothing more is sent."""
        _do(self._peer.abort)

    def wait_closed(self) -> None:
        """Wait until the connection has ended, whichever side ended it."""
        _wait(self._peer.wait_closed())

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
    """Connect as `accord.connect` does, with the same options, and block until done."""

    async def open_peer() -> Peer:
        return await connect_async(target, router, **options)

    return SyncPeer(_wait(open_peer()))


_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def _background_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all connections, started on first use.

    Raises RuntimeError in the loop's own thread, where waiting for it would deadlock.
    """
    global _loop, _thread
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="accord-sync", daemon=True)
            _thread.start()
        if threading.current_thread() is _thread:
            raise RuntimeError(
                "accord.sync blocks, and cannot be used in a handler or an observer: take a "
                "Context in an async handler and use context.call, or declare the method with "
                "thread=True"
            )
        return _loop


def _start(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Schedule a coroutine on the background loop."""
    try:
        loop = _background_loop()
    except RuntimeError:
        work.close()
        raise
    return asyncio.run_coroutine_threadsafe(work, loop)


def _wait(work: Coroutine[Any, Any, T]) -> T:
    future = _start(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()  # an interrupt must not leave the call running
        raise


def _do(function: Callable[[], T]) -> T:
    """Return the result of a function that must run on the background loop's thread."""

    async def work() -> T:
        return function()

    return _wait(work())
