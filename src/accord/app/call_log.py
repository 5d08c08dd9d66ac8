"""A line of the log for each call: writes and what went wrong for everybody to see, reads for who
debugs."""

from __future__ import annotations

import logging
from typing import Final

from accord.operations.audit.record import Result
from accord.operations.caller import Caller
from accord.operations.operation import Operation

log = logging.getLogger("accord.calls")

LEVELS: Final[dict[Result, int]] = {
    "done": logging.INFO,
    "dry_run": logging.INFO,
    "refused": logging.INFO,
    "denied": logging.WARNING,
    "failed": logging.ERROR,
    "cancelled": logging.INFO,
    "unauthenticated": logging.WARNING,
}


def log_call(operation: Operation, caller: Caller, result: Result, seconds: float) -> None:
    """Say who called what, and what came of it."""
    level = logging.DEBUG if result == "done" and not operation.writes else LEVELS[result]
    if not log.isEnabledFor(level):
        return
    log.log(
        level,
        "%s %s",
        operation.name,
        result,
        extra={
            "operation": operation.name,
            "outcome": result,
            "user": caller.username,
            "face": caller.face,
            "client": caller.client,
            "address": caller.address,
            "correlation_id": caller.correlation_id,
            "milliseconds": round(seconds * 1000, 3),
        },
    )
