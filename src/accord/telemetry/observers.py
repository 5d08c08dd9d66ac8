"""Several observers combined into one, and the trace context of the current span."""

from __future__ import annotations

import sys

from msgspec import UnsetType

from accord.jsonrpc.methods.context import MakeContext, Observation, Observer, Outcome
from accord.jsonrpc.protocol.errors import RpcError
from accord.jsonrpc.protocol.messages import Id
from accord.jsonrpc.runtime.requests import log_failure, notify_batch, notify_ended, notify_refused


def all_of(*observers: Observer) -> Observer:
    """Return an observer that notifies all of these observers, in this order.

    If one observer raises an exception, it is logged, and the other observers are still notified.
    """
    return _AllObservers(observers)


class _AllObservers:
    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self._observers = observers

    def called(
        self, method: str, id: Id | UnsetType, *, known: bool, context: MakeContext
    ) -> _AllObservations:
        seen: list[Observation] = []
        for observer in self._observers:
            try:
                seen.append(observer.called(method, id, known=known, context=context))
            except Exception as failure:  # noqa: BLE001 - an observer may raise anything
                log_failure(failure)
        return _AllObservations(seen)

    def batch_received(self, size: int) -> None:
        for observer in self._observers:
            notify_batch(observer, size)

    def refused(self, error: RpcError) -> None:
        for observer in self._observers:
            notify_refused(observer, error)


class _AllObservations:
    __slots__ = ("_seen",)

    def __init__(self, seen: list[Observation]) -> None:
        self._seen = seen

    def ended(self, outcome: Outcome, error: BaseException | None) -> None:
        for each in self._seen:
            notify_ended(each, outcome, error)

    def left(self) -> None:
        for each in reversed(self._seen):  # as context variables are reset
            try:
                each.left()
            except Exception as failure:  # noqa: BLE001 - an observer may raise anything
                log_failure(failure)


def current_traceparent() -> str:
    """Return the current span as a `traceparent`; empty if there is no current span.

    The format is that of W3C Trace Context, section 3.2.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return ""
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return ""
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"
