"""Tells an observer, and goes on without it when it fails."""

from __future__ import annotations

import logging

from msgspec import UnsetType

from accord.jsonrpc.errors import RpcError
from accord.jsonrpc.messages import Id
from accord.jsonrpc.observer import MakeContext, Observation, Observer, Outcome

log = logging.getLogger("accord.jsonrpc")

_FAILED = "an observer of calls failed"


def tell_called(
    observer: Observer, method: str, id: Id | UnsetType, *, known: bool, context: MakeContext
) -> Observation | None:
    try:
        return observer.called(method, id, known=known, context=context)
    except Exception:
        log.exception(_FAILED)
    return None


def tell_ended(
    seen: Observation | None, outcome: Outcome, error: BaseException | None = None
) -> None:
    if seen is not None:
        try:
            seen.ended(outcome, error)
        except Exception:
            log.exception(_FAILED)


def tell_left(seen: Observation | None) -> None:
    if seen is not None:
        try:
            seen.left()
        except Exception:
            log.exception(_FAILED)


def tell_batch(observer: Observer | None, size: int) -> None:
    if observer is not None:
        try:
            observer.batch_received(size)
        except Exception:
            log.exception(_FAILED)


def tell_refused(observer: Observer | None, error: RpcError) -> None:
    if observer is not None:
        try:
            observer.refused(error)
        except Exception:
            log.exception(_FAILED)
