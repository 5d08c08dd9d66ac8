"""Several observers in the place of one."""

from __future__ import annotations

from msgspec import UnsetType

from accord.jsonrpc.methods.context import MakeContext, Observation, Observer, Outcome
from accord.jsonrpc.protocol.errors import RpcError
from accord.jsonrpc.protocol.messages import Id
from accord.jsonrpc.runtime.requests import log_failure, notify_batch, notify_ended, notify_refused


def all_of(*observers: Observer) -> Observer:
    """An observer that tells all of these, in this order; one that fails does not hinder the
    others."""
    return _All(observers)


class _All:
    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self._observers = observers

    def called(
        self, method: str, id: Id | UnsetType, *, known: bool, context: MakeContext
    ) -> _SeenByAll:
        seen: list[Observation] = []
        for observer in self._observers:
            try:
                seen.append(observer.called(method, id, known=known, context=context))
            except Exception as failure:
                log_failure(failure)
        return _SeenByAll(seen)

    def batch_received(self, size: int) -> None:
        for observer in self._observers:
            notify_batch(observer, size)

    def refused(self, error: RpcError) -> None:
        for observer in self._observers:
            notify_refused(observer, error)


class _SeenByAll:
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
            except Exception as failure:
                log_failure(failure)
