"""Tells an observer, and goes on without it when it fails."""

from __future__ import annotations

import logging

from accord.jsonrpc.errors import RpcError
from accord.jsonrpc.observer import Observation, Observer, Outcome

log = logging.getLogger("accord.jsonrpc")


def tell_ended(
    seen: Observation | None, outcome: Outcome, error: BaseException | None = None
) -> None:
    if seen is not None:
        try:
            seen.ended(outcome, error)
        except Exception as failure:
            log_failure(failure)


def tell_batch(observer: Observer, size: int) -> None:
    try:
        observer.batch_received(size)
    except Exception as failure:
        log_failure(failure)


def tell_refused(observer: Observer | None, error: RpcError) -> None:
    if observer is not None:
        try:
            observer.refused(error)
        except Exception as failure:
            log_failure(failure)


def log_failure(failure: Exception) -> None:
    log.error("an observer of calls failed", exc_info=failure)
