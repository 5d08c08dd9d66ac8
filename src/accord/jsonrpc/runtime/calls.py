"""Outgoing calls: the calls in flight, the events that end a call, and batches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from copy import copy
from functools import lru_cache
from types import TracebackType
from typing import Any, Protocol, TypedDict

import msgspec
from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.protocol.codec import decode
from accord.jsonrpc.protocol.errors import (
    InvalidResultError,
    RpcError,
    from_wire,
    is_worth_logging,
    log_line,
    own_error,
)
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Request, Success
from accord.jsonrpc.protocol.session import PendingCall, Session
from accord.jsonrpc.runtime.threads import SWEEP_SECONDS, DeadlineTimer


def decode_result(raw: Any, into: Any, method: str) -> Any:
    """Decode `raw` as a value of the type `into`.

    Raises `InvalidResultError` if it is not of this type.
    """
    try:
        return _decoder(into).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidResultError(
            f"the result of {method} is not what was asked for: {error}"
        ) from error


def decode_data(raw: Any) -> Any:
    """Decode the data of an error; None if there is none, text for invalid JSON."""
    if raw is UNSET:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return bytes(raw).decode(errors="replace")


@lru_cache(maxsize=256)
def _decoder(into: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(into)


log = logging.getLogger("accord.jsonrpc")


class CallOptions(TypedDict, total=False):
    """The options of a call, as keywords."""

    into: Any
    timeout: float | None | UnsetType
    idempotent: bool


class Call(Struct, eq=False):
    """An outgoing call; awaiting it returns its result or raises its error."""

    _calls: Calls
    _pending: PendingCall
    _future: asyncio.Future[Any]

    @property
    def id(self) -> Id:
        return self._pending.id

    @property
    def method(self) -> str:
        return self._pending.method

    def __await__(self) -> Generator[Any, None, Any]:
        return self.result().__await__()

    async def result(self, into: Any = Any) -> Any:
        """Wait for the result and return it, checked against the type `into`."""
        return decode_result(await self.answer(), into, self.method)

    async def answer(self) -> Any:
        """Wait for the result and return it as raw JSON."""
        try:
            return await self._future
        except asyncio.CancelledError:
            self._calls.abandon(self._pending)
            raise

    @property
    def done(self) -> bool:
        """True once the call was answered, has failed or was abandoned."""
        return self._future.done()

    def fail(self, error: RpcError) -> None:
        """Fail the call with `error`; for transports that know that no answer will come."""
        self._calls.fail(self._pending, error)

    def cancel(self) -> None:
        """Abandon the call; tasks that await it are cancelled."""
        if self._future.cancel():
            self._calls.abandon(self._pending)

    def extend(self) -> None:
        """Restart the call's timeout; for use when the other end has reported progress."""
        self._calls.extend(self._pending)


class Calls:
    """The outgoing calls of one peer."""

    __slots__ = ("_alarm", "_loop", "_session", "_timeout", "on_abandoned")

    def __init__(self, session: Session, *, timeout: float | None) -> None:
        self._session = session
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._alarm = DeadlineTimer(self._loop, self._sweep)
        self.on_abandoned: Callable[[Id, str], None] | None = None

    def seconds(self, timeout: float | None | UnsetType) -> float | None:
        """Return the timeout of a call in seconds: `timeout`, or the default if it is UNSET."""
        return self._timeout if timeout is UNSET else timeout

    def prepare(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None | UnsetType,
        longest: float | None,
        idempotent: bool,
        message: int | None,
    ) -> tuple[Call, bytes]:
        """Register a new call and start its timeout; return it with the message to send."""
        future: asyncio.Future[Any] = self._loop.create_future()
        pending, data = self._session.call(
            method,
            checked(params),
            future,
            now=self._loop.time(),
            timeout=self.seconds(timeout),
            longest=longest,
            idempotent=idempotent,
            message=message,
        )
        if pending.deadline is not None:
            self._alarm.set(pending.deadline)
        return Call(self, pending, future), data

    def extend(self, call: PendingCall) -> None:
        """Restart a call's timeout."""
        deadline = self._session.extend(call.id, now=self._loop.time())
        if deadline is not None:
            self._alarm.set(deadline)

    # What ends a call

    def settle(self, response: Success | Failure | Invalid) -> None:
        """Pass a response to the call that waits for it."""
        if type(response) is Success:  # the common case
            pending = self._session.settle(response.id)
            if pending is not None and not pending.token.done():
                pending.token.set_result(response.result)
            return
        match response:
            case Failure(id=id):
                self._fail(id, _remote_error(response))
            case Invalid(id=id, error=fault):
                counts = self._session.statistics
                counts.answers_broken += 1
                if is_worth_logging(counts.answers_broken):
                    log.warning("broken response dropped: %s", log_line(fault.message))
                fault.remote = True
                self._fail(id, fault)

    def settle_sent(self, sent: bytes, response: Failure) -> None:
        """Fail the calls in the message `sent`, because one error answers all of them."""
        self.fail_sent(sent, _remote_error(response))

    def fail_sent(self, sent: bytes, error: RpcError) -> None:
        """Fail the calls in the message `sent` that are still pending."""
        message = decode(sent, max_items=None)
        for item in message if isinstance(message, list) else [message]:
            if isinstance(item, Request) and item.id in self._session.pending:
                self._fail(item.id, copy(error))

    def fail(self, call: PendingCall, error: RpcError) -> None:
        """Fail one call, if it is still pending."""
        if call.id in self._session.pending:
            self._fail(call.id, error)

    def fail_only(self, error: RpcError) -> None:
        """Fail all pending calls because of an error without an id.

        If different messages carried the calls, fail none: the error may mean any of them.
        """
        for id in self._session.only_message():
            self._fail(id, copy(error))

    def abandon(self, call: PendingCall) -> None:
        """Remove a pending call whose caller no longer waits, and notify `on_abandoned`."""
        if self._session.abandon(call.id):
            self._notify_abandoned(call)

    def lose(self, error: Callable[[], RpcError], *, keep_resendable: bool = False) -> None:
        """Fail the pending calls because the connection is lost.

        With `keep_resendable`, calls that can be sent again stay pending.
        """
        for pending in self._session.lose(keep_resendable=keep_resendable):
            # a new error for each: an exception accumulates the traceback of its raiser
            _settle(pending, error())
        if not keep_resendable:
            self._alarm.clear()

    def _sweep(self) -> None:
        now = self._loop.time()
        for pending in self._session.expire(now):
            why = f"no answer to {pending.method} within {pending.timeout:g} s"
            log.warning("%s", log_line(why))
            _settle(pending, own_error("timeout", why))
            self._notify_abandoned(pending)
        deadline = self._session.next_deadline()
        if deadline is not None:
            self._alarm.set(max(deadline, now + SWEEP_SECONDS))

    def _fail(self, id: Id, error: RpcError) -> None:
        if id is None:
            # The other end could not read or accept a message, and so does not know its id.
            counts = self._session.statistics
            counts.answers_unknown += 1
            if is_worth_logging(counts.answers_unknown):
                log.warning("the other end reports an error without an id: %s", log_line(error))
            self.fail_only(error)
            return
        pending = self._session.settle(id)
        if pending is not None:
            _settle(pending, error)

    def _notify_abandoned(self, call: PendingCall) -> None:
        if self.on_abandoned is not None:
            self.on_abandoned(call.id, call.method)


def checked(params: Any) -> Any:
    """Return `params` in the form that can be encoded: unchanged, but UNSET for None.

    Raises TypeError for a string, bytes or a number, which cannot be params.
    """
    if params is None:
        return UNSET
    if isinstance(params, str | bytes | int | float):
        raise TypeError(
            f"params must be a list, a tuple, a dict or an object with fields, "
            f"got {type(params).__name__}"
        )
    return params


def _settle(pending: PendingCall, error: RpcError) -> None:
    if not pending.token.done():
        pending.token.set_exception(error)


def _remote_error(response: Failure) -> RpcError:
    error = response.error
    raised = from_wire(error.code, error.message, decode_data(error.data))
    raised.remote = True
    return raised


class BatchSender(Protocol):
    """The interface that a batch needs of the `Peer` which sends it."""

    def prepare(
        self,
        method: str,
        params: Any = UNSET,
        *,
        timeout: float | None | UnsetType = UNSET,
        message: int | None = None,
    ) -> tuple[Call, bytes]: ...

    def prepare_notification(self, method: str, params: Any = UNSET) -> bytes: ...

    async def send(self, data: bytes) -> None: ...


class OutgoingBatch:
    """Collects calls; sends them when its `async with` block ends, and waits for the answers.

        async with peer.batch() as batch:
            total = batch.call("sum", [1, 2, 3])
            batch.notify("log", ["summed"])
        print(await total)

    A call that fails raises when it is awaited, not when the block ends.
    """

    def __init__(self, peer: BatchSender, number: int) -> None:
        self._peer = peer
        self._number = number
        self._messages: list[bytes] = []
        self._calls: list[Call] = []

    def call(
        self, method: str, params: Any = UNSET, *, timeout: float | None | UnsetType = UNSET
    ) -> Call:
        """Add a call to the batch; await the result after the batch was sent."""
        call, data = self._peer.prepare(method, params, timeout=timeout, message=self._number)
        self._calls.append(call)
        self._messages.append(data)
        return call

    def notify(self, method: str, params: Any = UNSET) -> None:
        """Add a notification to the batch, which is sent as one message."""
        self._messages.append(self._peer.prepare_notification(method, params))

    async def send(self) -> None:
        """Send the batch, and wait until each of its calls is answered or has failed."""
        messages, self._messages = self._messages, []
        if not messages:
            return  # JSON-RPC 2.0, section 6: an empty array is no valid batch
        await self._peer.send(b"[" + b",".join(messages) + b"]")
        await asyncio.gather(*(call.answer() for call in self._calls), return_exceptions=True)

    async def __aenter__(self) -> OutgoingBatch:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc_type is None:
            await self.send()
        else:
            for call in self._calls:
                call.cancel()
