"""A peer: one end of a connection, which calls the other end and is called by it.

The life of a request, seen from both ends:

    caller                                                       callee
    peer.call("add", [1, 2])
      calls.prepare: id, pending entry, bytes
      channel.send ──────────────── {"id":1,"method":"add",…} ──▶ message_received
      await future                                                 codec.decode: Request
                                                                   dispatcher.serve
                                                                     inline: runs now
                                                                     async, thread: one task
    message_received ◀───────────── {"id":1,"result":3} ────────── channel.send
      dispatcher.handle
      calls.settle: pending entry
      future.set_result
    3

A call ends in one of five ways, and in each its pending entry is gone: it is answered, its
time runs out (`CallTimeoutError`), its caller is cancelled, the connection is lost
(`ConnectionLostError`), or this end closes (`ConnectionClosedError`).

Everything here runs on the thread of one event loop, except `call_threadsafe`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future as ThreadFuture
from types import MappingProxyType, TracebackType
from typing import Any, Final, TypeVar, Unpack, overload

from msgspec import UNSET, UnsetType

from accord.jsonrpc.methods.context import Context, Observer
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import Channel, ChannelInfo, Limits, State
from accord.jsonrpc.protocol.codec import decode
from accord.jsonrpc.protocol.errors import (
    ConnectionClosedError,
    ConnectionLostError,
    RpcError,
    TransportError,
    is_worth_logging,
    own_error,
)
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, encode_failure
from accord.jsonrpc.protocol.session import IdKind, Session, Statistics, Uuids
from accord.jsonrpc.runtime.calls import (
    Call,
    CallOptions,
    Calls,
    OutgoingBatch,
    checked,
    decode_result,
)
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.jsonrpc.runtime.threads import ThreadPool

log = logging.getLogger("accord.jsonrpc")

DEFAULT_TIMEOUT = 30.0
DEFAULT_DRAIN = 5.0
REFUSALS_IN_A_ROW = 16
"""Maximum number of consecutive oversized messages that are answered."""
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
T = TypeVar("T")
StateObserver = Callable[[State, TransportError | None], None]


class Peer:
    """One end of a connection. Use `accord.connect` or `accord.serve` to get one."""

    __slots__ = (
        "__weakref__",
        "_calls",
        "_channel",
        "_closed",
        "_closing",
        "_dispatcher",
        "_drain",
        "_error",
        "_handle",
        "_heard_at_refusal",
        "_loop",
        "_max_depth",
        "_observers",
        "_refusals_in_a_row",
        "_router",
        "_session",
        "_writable",
        "_write_waiters",
        "call_state",
        "settle",
    )

    def __init__(
        self,
        channel: Channel,
        router: Router | None = None,
        *,
        limits: Limits | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        ids: IdKind = "counter",
        threads: ThreadPool | None = None,
        drain: float = DEFAULT_DRAIN,
        strict_codes: bool = False,
        debug: bool = False,
        observer: Observer | None = None,
    ) -> None:
        limits = Limits() if limits is None else limits
        self._loop = asyncio.get_running_loop()
        self._channel = channel
        self._drain = drain
        self._max_depth = limits.max_depth
        self._session = Session(limits=limits, next_id=Uuids(os.urandom) if ids == "uuid" else None)
        self._router = Router() if router is None else router
        self._heard_at_refusal = self._refusals_in_a_row = 0
        self._dispatcher = Dispatcher(
            self._router,
            limits=limits,
            statistics=self._session.statistics,
            threads=threads,
            strict_codes=strict_codes,
            debug=debug,
            observer=observer,
        )
        self._handle = self._dispatcher.handle
        self._observers: list[StateObserver] = []
        self._calls = Calls(self._session, timeout=timeout)
        self._writable = channel.writable
        self._write_waiters: list[asyncio.Future[None]] = []
        self._closed: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._error: TransportError | None = None
        self.call_state: dict[str, Any] = {}
        """The state that handlers of this connection share as `context.state`."""
        self.settle = self._calls.settle
        """Passes a response to the call that waits for it."""
        channel.start(self)

    # What is known

    @property
    def state(self) -> State:
        return self._session.state

    @property
    def info(self) -> ChannelInfo:
        return self._channel.info

    @property
    def statistics(self) -> Statistics:
        return self._session.statistics

    @property
    def pending(self) -> int:
        """Number of outgoing calls without an answer yet."""
        return len(self._session.pending)

    @property
    def in_flight(self) -> int:
        """Number of incoming calls being handled."""
        return self._dispatcher.in_flight

    def observe(self, observer: StateObserver) -> Callable[[], None]:
        """Register `observer(state, error)` for every change of state.

        Returns a function that unregisters it.
        """
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    # Calling

    @overload
    async def call(
        self,
        method: str,
        params: Any = ...,
        *,
        into: type[T],
        timeout: float | None | UnsetType = ...,
        idempotent: bool = ...,
    ) -> T: ...
    @overload
    async def call(
        self,
        method: str,
        params: Any = ...,
        *,
        timeout: float | None | UnsetType = ...,
        idempotent: bool = ...,
    ) -> Any: ...

    async def call(
        self,
        method: str,
        params: Any = UNSET,
        *,
        into: Any = Any,
        timeout: float | None | UnsetType = UNSET,
        idempotent: bool = False,
    ) -> Any:
        """Call the other end and return its result, checked against the type `into`.

        `params` is a list or tuple, a dict, or an object with fields. `timeout` is in seconds, None
        for no limit. `idempotent=True` lets a reconnecting peer send the call again. Raises the
        error of the other end (`RpcError` and its subclasses), `CallTimeoutError`, `BusyError`,
        `TransportError` and `InvalidResultError`.
        """
        if not self._writable:
            timeout = await self._wait_writable(method, timeout)
        call = self.begin(method, params, timeout=timeout, idempotent=idempotent)
        return decode_result(await call.answer(), into, method)

    def begin(
        self,
        method: str,
        params: Any = UNSET,
        *,
        timeout: float | None | UnsetType = UNSET,
        longest: float | None = None,
        idempotent: bool = False,
    ) -> Call:
        """Send a call now and return it to be awaited; its id is known at once.

        `call.extend()` restarts its timeout, but the call never lasts more than `longest` seconds.
        """
        self._check_open()
        call, data = self._calls.prepare(
            method,
            params,
            timeout=timeout,
            longest=longest,
            idempotent=idempotent,
            message=None,
        )
        self._channel.send(data)
        return call

    def prepare(
        self,
        method: str,
        params: Any = UNSET,
        *,
        timeout: float | None | UnsetType = UNSET,
        longest: float | None = None,
        idempotent: bool = False,
        message: int | None = None,
    ) -> tuple[Call, bytes]:
        """Register a call and start its timeout; return it with the message to send."""
        self._check_open()
        return self._calls.prepare(
            method,
            params,
            timeout=timeout,
            longest=longest,
            idempotent=idempotent,
            message=message,
        )

    async def notify(self, method: str, params: Any = UNSET) -> None:
        """Send a notification; return when it is queued for sending."""
        await self.send(self.prepare_notification(method, params))

    def post(self, method: str, params: Any = UNSET) -> None:
        """Send a notification without waiting; drop it if the connection has ended.

        Until it is sent, the notification counts towards `Limits.max_queued_bytes`.
        """
        if self._session.state not in (State.CLOSING, State.CLOSED):
            self._channel.send(self.prepare_notification(method, params))

    def prepare_notification(self, method: str, params: Any = UNSET) -> bytes:
        return self._session.notification(method, checked(params))

    async def send(self, data: bytes) -> None:
        """Send one encoded message or batch; wait until the channel is writable.

        Raises CallTimeoutError if it is not writable in time, ConnectionClosedError if the
        connection is closed.
        """
        if not self._writable:
            await self._wait_writable("the message", UNSET)
        self._check_open()
        self._channel.send(data)

    def batch(self) -> OutgoingBatch:
        """Collect calls and notifications to be sent as one batch."""
        return OutgoingBatch(self, self._session.next_message())

    def call_threadsafe(
        self, method: str, params: Any = UNSET, **options: Unpack[CallOptions]
    ) -> ThreadFuture[Any]:
        """Run `call` from another thread, with the same options; return a thread-safe future."""
        return asyncio.run_coroutine_threadsafe(self.call(method, params, **options), self._loop)

    @property
    def on_abandoned(self) -> Callable[[Id, str], None] | None:
        """The callback for each abandoned call, with its id and method.

        A protocol above JSON-RPC uses it to notify the other end.
        """
        return self._calls.on_abandoned

    @on_abandoned.setter
    def on_abandoned(self, tell: Callable[[Id, str], None] | None) -> None:
        self._calls.on_abandoned = tell

    def _check_open(self) -> None:
        if self._session.state in (State.CLOSING, State.CLOSED):
            raise ConnectionClosedError(
                f"the connection to {self._channel.info.address or 'the peer'} is "
                f"{self._session.state.value}"
            ) from self._error

    async def _wait_writable(self, method: str, timeout: float | None | UnsetType) -> float | None:
        """Wait until the channel is writable; return the rest of the timeout in seconds."""
        self._check_open()
        seconds = self._calls.seconds(timeout)
        started = self._loop.time()
        try:
            async with asyncio.timeout(seconds):
                while not self._writable:
                    waiter = self._loop.create_future()
                    self._write_waiters.append(waiter)
                    await waiter
        except TimeoutError:
            raise own_error("timeout", f"{method} could not be sent within {seconds:g} s") from None
        if seconds is None:
            return None
        return max(0.0, seconds - (self._loop.time() - started))

    def cancel_incoming(self, id: Id) -> bool:
        """Stop serving a request of the other end, which then gets no answer.

        Returns whether the request was running.
        """
        return self._dispatcher.cancel(id, self)

    # Receiving: the channel's callbacks

    def message_received(self, data: bytes) -> None:
        answer = self._handle(data, self)
        if isinstance(answer, bytes):
            self._channel.send(answer)

    def context(self, method: str, id: Id | UnsetType) -> Context:
        info = self._channel.info
        return Context(
            method,
            id,
            peer=self if info.duplex else None,
            channel=info,
            headers=info.details.get("headers", NO_HEADERS),
            state=self.call_state,
        )

    def answer(self, data: bytes | None) -> None:
        """Send the answer to a request whose handler has finished later."""
        if data is not None:
            self._channel.send(data)

    def message_refused(self, error: RpcError) -> None:
        self._dispatcher.refused(error)
        if is_worth_logging(self._session.statistics.messages_refused):
            log.warning("message refused: %s", error.message)
        if self._may_answer_refusal():
            self._channel.send(encode_failure(None, error))
        self._calls.fail_only(error)  # where nothing else was sent it was the answer to that

    def _may_answer_refusal(self) -> bool:
        """Return whether to send an error for a message that was refused for its size.

        An end without methods only calls: the message that it refused was an answer, and answers
        are not answered. Refusals in a row are limited, because two ends that refuse each other's
        refusals must stop at some point.
        """
        counts = self._session.statistics
        heard = counts.requests_received + counts.notifications_received + counts.answers_received
        if heard != self._heard_at_refusal:
            self._heard_at_refusal, self._refusals_in_a_row = heard, 0
        self._refusals_in_a_row += 1
        return bool(self._router.methods) and self._refusals_in_a_row <= REFUSALS_IN_A_ROW

    def reply_received(self, sent: bytes, data: bytes) -> None:
        """Handle all answers to the message `sent`; fail its calls that got no answer."""
        why = "the reply left this call out"
        if not data.startswith(b"["):
            message = decode(data, self._max_depth)
            if isinstance(message, Failure) and message.id is None:
                self._calls.settle_sent(sent, message)
                return
            if isinstance(message, Invalid):
                why = f"the reply cannot be read: {message.error.message}"
        self.message_received(data)
        self._calls.fail_sent(sent, own_error("transport_error", why))

    def send_failed(self, data: bytes, error: TransportError) -> None:
        self._calls.fail_sent(data, error)

    def writable_changed(self, writable: bool) -> None:
        self._writable = writable
        if writable:
            waiters, self._write_waiters = self._write_waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def input_ended(self) -> None:
        """Answer the requests that have arrived, then close the connection.

        The other end sends nothing more, but may still read. Outgoing calls fail at once.
        """
        self._calls.lose(lambda: ConnectionLostError("the other end will send no more answers"))
        self.close_soon()

    def connection_interrupted(self, error: TransportError) -> None:
        """Handle the loss of a connection that the channel tries to restore.

        Calls that can be sent again stay pending; all others fail.
        """
        self._dispatcher.cancel_all()
        self._calls.lose(lambda: _lost(error), keep_resendable=True)
        self._move(State.CONNECTING, error)

    def connection_restored(self) -> None:
        self._dispatcher.draining = False
        self._move(State.CONNECTED, None)
        for data in self._session.resendable():
            self._channel.send(data)

    def connection_lost(self, error: TransportError | None) -> None:
        self._error = error
        self._dispatcher.cancel_all()
        local = self._session.state is State.CLOSING and error is None
        self._calls.lose(lambda: ConnectionClosedError() if local else _lost(error))
        self._move(State.CLOSED, error)
        self.writable_changed(True)  # whoever waits to send finds the connection closed
        if self._closed is not None:
            self._closed.set_result(None)

    def _move(self, state: State, error: TransportError | None) -> None:
        if not self._session.move(state):
            return
        for observer in list(self._observers):
            try:
                observer(state, error)
            except Exception:
                log.exception("a state observer failed")

    # Closing

    async def close(self, *, drain: float | None = None) -> None:
        """End the connection.

        Running handlers may finish for up to `drain` seconds, and their answers are sent. Outgoing
        calls without an answer fail.
        """
        self.close_soon(drain=drain)
        await self.wait_closed()

    def close_soon(self, *, drain: float | None = None) -> None:
        """Begin to close the connection; `wait_closed` waits until it has ended."""
        if self._closing is None and self._session.state is not State.CLOSED:
            self._move(State.CLOSING, None)
            self._closing = self._loop.create_task(
                self._close(self._drain if drain is None else drain)
            )

    async def _close(self, drain: float) -> None:
        self._calls.lose(ConnectionClosedError)
        await self._dispatcher.drain(drain)
        self._channel.close()

    def abort(self) -> None:
        """End the connection at once; nothing more is sent."""
        self._channel.abort()

    async def wait_closed(self) -> None:
        """Wait until the connection has ended, whichever end closed it."""
        if self._session.state is not State.CLOSED:
            if self._closed is None:
                self._closed = self._loop.create_future()
            await asyncio.shield(self._closed)

    async def __aenter__(self) -> Peer:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _lost(error: TransportError | None) -> TransportError:
    """Return a new error for a call in flight, caused by `error` of the connection."""
    lost = ConnectionLostError(
        "the connection was closed by the other end" if error is None else error.message
    )
    if error is not None:
        lost.recoverable = error.recoverable
        lost.advice = error.advice
        lost.data = error.data
    lost.__cause__ = error
    return lost
