"""Runs the handlers of a router for incoming requests.

Inline methods run in the caller's own stack and their answer is returned at once. Async methods get
one task each, threaded methods one task around a job of the pool; when a task is done, it passes
its answer to the source of the request. One timer per dispatcher keeps the deadlines.

A dispatcher knows routers and messages; it does not know the transports.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import CANCELLED, InThread, Observation, Observer
from accord.jsonrpc.methods.method import Method
from accord.jsonrpc.methods.router import Router, id_fault
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.codec import (
    REFUSALS,
    decode_envelope,
    invalid_params_type,
    is_bracketed,
    is_structured,
    read,
    sort,
)
from accord.jsonrpc.protocol.diagnosis import (
    EMPTY_BATCH,
    Item,
    diagnose,
    is_id_fault,
    too_many_items,
)
from accord.jsonrpc.protocol.errors import (
    RpcError,
    is_expected,
    is_worth_logging,
    log_line,
    own_error,
    to_wire,
    wire_code,
)
from accord.jsonrpc.protocol.messages import (
    Envelope,
    Id,
    Invalid,
    InvalidMessageReply,
    Notification,
    Request,
    Success,
    encode,
    encode_failure,
)
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.requests import (
    CHUNK,
    BatchRun,
    BatchSlot,
    Cancellable,
    DirectRun,
    RequestSource,
    RunningRequest,
    RunningRequests,
    encode_together,
    log_failure,
    log_unexpected,
    notify_batch,
    notify_ended,
    notify_refused,
    start_task,
    unknown_method,
)
from accord.jsonrpc.runtime.threads import SWEEP_SECONDS, DeadlineTimer, ThreadPool, shared_pool

log = logging.getLogger("accord.jsonrpc")

_FAULTS = (Exception, asyncio.CancelledError)
"""Exceptions that count as failures of inline handlers. `CancelledError`, which is not an
`Exception`, is among them because a handler raises it by reading the result of a cancelled future;
the call itself was not cancelled."""
_NOTHING_DIRECT: Final[dict[str, Plan]] = {}
_UNIQUE: Final = frozenset((int, str))
"""The types of the ids that are valid if `request_errors` is set; such ids must be unique."""

_Serve: TypeAlias = Callable[
    [Id | UnsetType, str, Any, RequestSource], bytes | None | RunningRequest
]


class Dispatcher:
    """Serves one router to one connection, or to all connections of a listener."""

    __slots__ = (
        "_alarm",
        "_by_id",
        "_call_seconds",
        "_debug",
        "_few",
        "_find",
        "_find_direct",
        "_idle",
        "_in_thread",
        "_limits",
        "_loop",
        "_max_depth",
        "_max_in_flight",
        "_max_items",
        "_observer",
        "_request_errors",
        "_running",
        "_serve_any",
        "_shallow",
        "_strict",
        "_threads",
        "draining",
        "serve",
        "statistics",
    )

    def __init__(
        self,
        router: Router,
        *,
        limits: Limits,
        statistics: Statistics | None = None,
        threads: ThreadPool | None = None,
        strict_codes: bool = False,
        debug: bool = False,
        observer: Observer | None = None,
        shared: bool = False,
    ) -> None:
        """Create a dispatcher. If clients share it, ids must be unique only within a batch."""
        self._find = router.methods.get
        self._find_direct: Callable[[Any], Plan | None] = router.direct.get
        self.serve: _Serve
        """Serves one request, or a notification if its id is UNSET. Params are raw JSON, or another
        value that the plan of the method accepts."""
        self._observer = observer
        self._request_errors = router.request_errors
        self._serve_any = self._serve_call if observer is None else self._serve_observed
        self._by_id = self._request_errors is not None and not shared
        self.serve = self._serve_any if self._request_errors is None else self._serve_unique
        if self.serve != self._serve_call:  # then every call takes that one way
            self._find_direct = _NOTHING_DIRECT.get
        self._limits = limits
        self._call_seconds = limits.call_seconds
        self._max_in_flight = limits.max_in_flight
        self._max_depth = limits.max_depth
        self._max_items = limits.max_batch_items
        self._shallow = 2 * limits.max_depth
        self._few = 3 * limits.max_batch_items
        self.statistics = Statistics() if statistics is None else statistics
        self._threads = threads
        self._in_thread: InThread = self._submit
        self._strict = strict_codes
        self._debug = debug
        self._running = RunningRequests()
        self._loop = asyncio.get_running_loop()
        self._alarm = DeadlineTimer(self._loop, self._sweep)
        self._idle: asyncio.Future[None] | None = None
        self.draining = False
        """While True, new requests are refused and running ones may finish."""

    @property
    def in_flight(self) -> int:
        return len(self._running)

    def handle(self, data: bytes, source: RequestSource) -> bytes | None | Cancellable:
        """Serve a message or batch; return its answer, None for none, or the running request.

        A running request passes its answer to `source.answer` once, never before this method
        returns. The answer to data that are not a valid message is an `InvalidMessageReply`.
        """
        what: Item | list[Item] | list[Envelope]
        # `read` does the same; what is short enough cannot be too deep, nor cost much.
        if (
            len(data) <= self._shallow
            or (len(data) <= self._few and not is_bracketed(data, self._max_depth))
        ) and data.isascii():
            try:
                what = decode_envelope(data)
            except REFUSALS as error:
                what = diagnose(data, error, self._max_items)
        else:
            what = read(data, self._max_depth, self._max_items)
        if type(what) is Envelope:
            id, name = what.id, what.method
            call = self._find_direct(name)
            if call is None and name:
                if type(id) in _UNIQUE and id not in self._running:
                    return self._serve_any(id, name, what.params, source)  # the common case
                return self.serve(id, name, what.params, source)
            if call is None or not id:  # a response, a notification, or an unusual id
                return self._serve_other(what, source)
            # The common case, written out: `serve` would do the same.
            self.statistics.requests_received += 1
            try:
                return encode(Success(id, call(what.params, None)))
            except _FAULTS as error:
                return self._malformed(id, what.params) or self._failed(id, name, error)
        if isinstance(what, list):
            return self._serve_batch(what, source)
        return self._serve_other(what, source)

    def _serve_unique(
        self, id: Id | UnsetType, name: str, params: Any, source: RequestSource
    ) -> bytes | None | RunningRequest:
        """Serve a request, but refuse an id that is invalid or already in flight."""
        if id is UNSET or (
            type(id) in _UNIQUE and id not in self._running and type(source) is not BatchSlot
        ):
            return self._serve_any(id, name, params, source)  # the common case
        fault = id_fault(id, lambda id: self._is_in_use(id, source))
        if fault is None:
            return self._serve_any(id, name, params, source)
        assert self._request_errors is not None
        error = self._request_errors(fault, params, source.context(name, id))
        return self._refuse_invalid(Invalid(error, id if fault == "id_conflict" else None))

    def _is_in_use(self, id: Id, source: RequestSource) -> bool:
        # The answers to a batch come together: its ids must differ even where one is answered
        # before the next is begun.
        if isinstance(source, BatchSlot) and not source.takes(id):
            return True
        running = self._running.get(id)
        # A cancelled handler may still be cleaning up. Its id is free: it is never answered.
        return running is not None and not running.answered

    def _serve_observed(
        self, id: Id | UnsetType, name: str, params: Any, source: RequestSource
    ) -> bytes | None | RunningRequest:
        assert self._observer is not None
        known = self._find(name) is not None
        seen = None
        try:
            seen = self._observer.called(name, id, known=known, context=source.context)
        except Exception as failure:  # noqa: BLE001 - an observer may raise anything
            log_failure(failure)
        try:
            return self._serve_call(id, name, params, source, seen)
        finally:
            try:
                if seen is not None:
                    seen.left()
            except Exception as failure:  # noqa: BLE001 - an observer may raise anything
                log_failure(failure)

    def _serve_call(
        self,
        id: Id | UnsetType,
        name: str,
        params: Any,
        source: RequestSource,
        seen: Observation | None = None,
    ) -> bytes | None | RunningRequest:
        """Serve a request, or a notification if `id` is UNSET."""
        if id is UNSET:
            self.statistics.notifications_received += 1
        else:
            self.statistics.requests_received += 1
            if id is None:
                self._note_null_id(name)
        method = self._find(name)
        if method is None:
            unknown = unknown_method(name)
            return self._malformed(id, params, seen) or self._refuse(id, unknown, seen)
        if method.mode != "inline":
            return self._start(method, params, id, source, seen)
        try:
            context = source.context(name, id) if method.wants_context else None
            result = method.invoke(params, context)
            answer = encode(Success(id, result)) if id is not UNSET else None
        except _FAULTS as error:
            return self._malformed(id, params, seen) or self._failed(id, name, error, seen)
        if seen is not None:
            notify_ended(seen, None)
        return answer

    def _serve_batch(  # noqa: C901 - once per batch: further calls would cost time
        self, items: list[Item] | list[Envelope], source: RequestSource
    ) -> bytes | None | Cancellable:
        if not items:
            # JSON-RPC 2.0, section 6: an empty array is one Invalid Request.
            return self._refuse_invalid(EMPTY_BATCH)
        if len(items) > self._max_items:
            return self._refuse_invalid(self._named(too_many_items(self._max_items), source))
        if self._observer is not None:
            notify_batch(self._observer, len(items))
        room = self._limits.max_batch_response_bytes
        if type(items[0]) is Invalid:
            answer = self._refuse_all(items, room)
            if answer is not None:
                return answer
        results = self._call_direct(items if len(items) <= CHUNK else items[:CHUNK])
        if len(results) == len(items):  # all called at once, as most batches are
            answer = encode_together(results, room)
            if answer is not None:
                return answer
        run = DirectRun(room, self._failure)
        served = 0
        while results:
            run.add(results)
            served += len(results)
            results = self._call_direct(items[served : served + CHUNK])
        if served == len(items):
            return run.answer()
        rest = BatchRun(source, run)
        for item in items[served:]:
            slot = rest.slot(item.id if type(item) is Envelope else UNSET)
            rest.fill(slot, self._serve_other(item, slot))
        return rest.answer_or_run()

    def _refuse_all(self, items: list[Any], room: int) -> bytes | None:
        """Return the answer to a batch of only invalid items, if it fits in `room` bytes."""
        refusals = [item.answer for item in items if type(item) is Invalid and item.answer]
        if len(refusals) < len(items):
            return None
        answer = b"[" + b",".join(refusals) + b"]"
        if len(answer) > room:
            return None
        self.statistics.invalid_received += len(items)
        if self._observer is not None:
            for item in items:
                notify_refused(self._observer, item.error)
        return answer

    def _call_direct(self, items: list[Any]) -> list[Success | Raw]:
        """Call the direct methods at the start of a batch; a failure becomes an encoded error."""
        find = self._find_direct
        results: list[Success | Raw] = []
        for item in items:
            call = find(item.method) if type(item) is Envelope else None
            if call is None or not item.id:
                break
            # The common case, written out as in `handle`.
            try:
                results.append(Success(item.id, call(item.params, None)))
            except _FAULTS as error:
                answer = self._malformed(item.id, item.params)
                results.append(Raw(answer or self._failure(item.id, item.method, error)))
        self.statistics.requests_received += len(results)
        return results

    def _serve_other(self, what: Item, source: RequestSource) -> bytes | None | RunningRequest:
        if type(what) is Envelope and what.method:
            return self.serve(what.id, what.method, what.params, source)
        message = sort(what)
        if type(message) is Success:  # the common case
            source.settle(message)
            return None
        match message:
            case Request(id=id, method=method, params=params):
                return self.serve(id, method, params, source)
            case Notification(method=method, params=params):
                return self.serve(UNSET, method, params, source)
            case Invalid(response=False):
                return self._refuse_invalid(self._named(message, source))
            case _:
                source.settle(message)
                return None

    def _named(self, message: Invalid, source: RequestSource) -> Invalid:
        """Return `message` with the error of the protocol above JSON-RPC, if that has one."""
        errors = self._request_errors
        if errors is None:
            return message
        if is_id_fault(message):
            error = errors("invalid_id", UNSET, source.context("", None))
            return Invalid(error, message.id)
        if message.oversized:
            error = errors("batch_too_large", message.error, source.context("", None))
            return Invalid(error, oversized=True)
        return message

    def _note_null_id(self, method: str) -> None:
        # JSON-RPC 2.0, section 4: null as an id is discouraged, yet it is answered.
        if self.statistics.null_ids_received == 0:
            log.warning("%s was called with a null id; said once per connection", log_line(method))
        self.statistics.null_ids_received += 1

    # Handlers that take their time

    def _start(  # noqa: C901 - once per call: further calls would cost time
        self,
        method: Method,
        params: Any,
        id: Id | UnsetType,
        source: RequestSource,
        seen: Observation | None,
    ) -> bytes | None | RunningRequest:
        if self.draining or len(self._running) >= self._max_in_flight:
            return self._refuse(id, self._no_room(), seen)
        try:
            context = None
            if method.wants_context:
                context = source.context(method.name, id)
                context.in_thread = self._in_thread
            work: Awaitable[Any]
            if method.mode == "thread":
                work = self._in_thread(method.bind(params, context))
            else:
                work = method.invoke(params, context)
                if method.mode == "either" and type(work) is not CoroutineType:
                    answer = encode(Success(id, work)) if id is not UNSET else None
                    if seen is not None:
                        notify_ended(seen, None)
                    return answer
        except Exception as error:  # noqa: BLE001 - a handler may raise anything
            return self._malformed(id, params, seen) or self._failed(id, method.name, error, seen)
        calls = self._running
        if self._by_id and id is not UNSET:
            if id in calls:  # cancelled, and still cleaning up: its id is free
                calls.free(id)
            running = calls[id] = RunningRequest(method, id, source, calls, seen, work, id)
        else:
            running = RunningRequest(method, id, source, calls, seen, work)
            calls[running] = running
        seconds = self._call_seconds if method.deadline is UNSET else method.deadline
        if seconds is not None:
            deadline = running.deadline = self._loop.time() + seconds
            if deadline < self._alarm.when:
                self._alarm.set(deadline)
        task = start_task(self._drive(running, work), loop=self._loop, name=method.name)
        if running.ended:  # an eager task
            return running.answer
        running.task = task
        return running

    async def _drive(self, running: RunningRequest, work: Awaitable[Any]) -> None:
        running.work = None
        answer: bytes | None = None
        try:
            result = await work
            if running.id is not UNSET and not running.answered:
                answer = encode(Success(running.id, result))
            if running.seen is not None:
                notify_ended(running.take_seen(), None)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if running.answered or (task is not None and task.cancelling()):
                running.answered = True
                raise
            # The handler awaited something that was cancelled; the call itself was not.
            error = own_error("internal_error", "the handler was cancelled")
            answer = self._refuse(running.id, error, running.take_seen())
        except Exception as error:  # noqa: BLE001 - a handler may raise anything
            if not running.answered:
                name, seen = running.method.name, running.take_seen()
                answer = self._failed(running.id, name, error, seen)
        finally:
            running.ended = True  # as `leave` does
            key = running.key
            self._running.pop(running if key is None else key, None)
            if running.seen is not None:
                notify_ended(running.take_seen(), CANCELLED)
            running.answer = answer
            if running.task is not None and not running.answered:
                running.answered = True
                running.source.answer(answer)
            if self._idle is not None and not self._running and not self._idle.done():
                self._idle.set_result(None)

    def _no_room(self) -> RpcError:
        if self.draining:
            return own_error("busy", "the connection is closing")
        most = self._max_in_flight
        return own_error("busy", f"{most:,} calls are being handled, the limit", limit=most)

    def _submit(self, job: Callable[[], Any]) -> Awaitable[Any]:
        return (self._threads or shared_pool()).submit(job)

    # Deadlines

    def _sweep(self) -> None:
        now = self._loop.time()
        waiting = [run for run in self._running.values() if run.deadline is not None]
        for running in waiting:
            if running.deadline is not None and running.deadline <= now:
                self._time_out(running)
        ahead = [run.deadline for run in waiting if run.deadline is not None and run.deadline > now]
        if ahead:
            self._alarm.set(max(min(ahead), now + SWEEP_SECONDS))

    def _time_out(self, running: RunningRequest) -> None:
        running.deadline = None
        own = running.method.deadline
        seconds = self._call_seconds if own is UNSET else own
        error = own_error("timeout", f"{running.method.name} took longer than {seconds:g} s")
        self.statistics.handlers_timed_out += 1
        log.warning("handler of %s passed its deadline of %g s", running.method.name, seconds)
        self._give_up(running, error)

    def _give_up(self, running: RunningRequest, error: RpcError) -> None:
        """Answer a request with `error` now, even if its handler ignores the cancellation."""
        if running.answered:
            return
        answer = self._refuse(running.id, error, running.take_seen())
        running.cancel()
        running.source.answer(answer)

    # Ending

    async def drain(self, seconds: float) -> None:
        """Refuse new requests; after `seconds`, cancel and answer those that still run."""
        self.draining = True
        if self._running and seconds > 0:
            self._idle = self._loop.create_future()
            await asyncio.wait([self._idle], timeout=seconds)
        for running in list(self._running.values()):
            self._give_up(running, own_error("busy", "this end closes before the call has ended"))
        self.cancel_all()

    def cancel(self, id: Id, source: RequestSource) -> bool:
        """Stop the handler of one request without an answer; return whether it was running."""
        return self._running.cancel(id, source)

    def cancel_all(self) -> None:
        """Stop every handler without an answer."""
        self.draining = True
        self._alarm.clear()
        for running in list(self._running.values()):
            running.cancel()

    # Failures

    def refused(self, error: RpcError) -> None:
        """Count a message that was refused before it was decoded, and notify the observer."""
        self.statistics.messages_refused += 1
        notify_refused(self._observer, error)

    def _malformed(
        self, id: Id | UnsetType, params: Any, seen: Observation | None = None
    ) -> bytes | None:
        """Return the answer to a request whose params are a bare value; None for other requests.

        JSON-RPC 2.0, section 4.2: params are an array or object, or the request is invalid. An
        invalid request without an id is answered with a null id (section 7).
        """
        if not isinstance(params, bytes | Raw) or is_structured(bytes(params)):
            return None
        message = invalid_params_type(bytes(params), None if id is UNSET else id)
        return self._refuse_invalid(message, seen)

    def _refuse_invalid(self, message: Invalid, seen: Observation | None = None) -> bytes:
        if seen is not None:
            notify_ended(seen, message.error.code, message.error)
        else:
            notify_refused(self._observer, message.error)
        if message.oversized:
            self.statistics.requests_refused += 1
            return encode_failure(None, message.error)
        self.statistics.invalid_received += 1
        return InvalidMessageReply(message.answer or encode_failure(message.id, message.error))

    def _failed(
        self,
        id: Id | UnsetType,
        method: object,
        error: BaseException,
        seen: Observation | None = None,
    ) -> bytes | None:
        """Return the answer for a handler that raised, or whose result cannot be encoded."""
        if seen is not None:
            notify_ended(seen, wire_code(error, strict=self._strict), error)
        if id is not UNSET:
            return self._failure(id, method, error)
        self.statistics.handlers_failed += 1
        if is_expected(error, strict=self._strict):
            # JSON-RPC 2.0, section 4.1: the client of a notification learns of no error.
            if is_worth_logging(self.statistics.handlers_failed):
                log.warning("notification %s failed: %s", method, log_line(error))
        else:
            log_unexpected(method, error)
        return None

    def _failure(self, id: Id, method: object, error: BaseException) -> bytes:
        self.statistics.handlers_failed += 1
        correlation_id = ""
        if not is_expected(error, strict=self._strict):
            correlation_id = log_unexpected(method, error)
        sent = to_wire(error, correlation_id=correlation_id, strict=self._strict, debug=self._debug)
        return encode_failure(id, sent)

    def _refuse(
        self, id: Id | UnsetType, error: RpcError, seen: Observation | None
    ) -> bytes | None:
        self.statistics.requests_refused += 1
        notify_ended(seen, error.code, error)
        if id is UNSET:
            if is_worth_logging(self.statistics.requests_refused):
                log.warning("notification dropped: %s", log_line(error.message))
            return None
        return encode_failure(id, error)
