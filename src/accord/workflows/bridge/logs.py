"""Lines of the log about tasks: every one names the task, its target and its correlation id, so
that one can be found by the other. Bodies are cut, and what is secret in them is taken out.

Debug: what is sent and received. Info: what came of tasks. Warning: attempts that failed and are
made again, answers that break their format and were understood. Error: what failed for good.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from logging import ERROR, WARNING
from typing import Any, Final

from msgspec import json

from accord.a2a.client.client import Direction, Trace
from accord.a2a.protocol.errors import CallError
from accord.operations.logs.redaction import redact
from accord.workflows.bridge.claimed import ClaimedTask

log = logging.getLogger("accord.bridge")

MAX_OUTPUT: Final = 2_000
"""Characters of an output."""


def trace_of(task: ClaimedTask, traceparent: str) -> Trace:
    """What goes along with the requests for a task. Their bodies are logged for who debugs."""
    tell: Callable[[Direction, bytes], None] | None = None
    if log.isEnabledFor(logging.DEBUG):

        def tell(direction: Direction, body: bytes) -> None:
            log.debug("task %s: %s %s", task.id, direction, _text(body), extra=_about(task))

    correlation_id = task.correlation_id or task.run_id
    return Trace(correlation_id=correlation_id, traceparent=traceparent, tell=tell)


def succeeded(task: ClaimedTask, output: Any) -> None:
    if log.isEnabledFor(logging.INFO):
        log.info("task %s: succeeded with %s", task.id, _shown(output), extra=_about(task))


def asked(task: ClaimedTask, prompt: Any) -> None:
    if log.isEnabledFor(logging.INFO):
        log.info("task %s: needs input: %s", task.id, _shown(prompt), extra=_about(task))


def cancelled(task: ClaimedTask) -> None:
    log.info("task %s: cancelled", task.id, extra=_about(task))


def warned(task: ClaimedTask, warning: str) -> None:
    log.warning("task %s: %s", task.id, warning, extra=_about(task))


def failed(task: ClaimedTask, error: CallError, *, again: bool) -> None:
    """Log a failure, with the beginning of what was answered."""
    about = _about(task)
    if error.body:
        about["body"] = _text(error.body)
    level, then = (WARNING, "and is tried again") if again else (ERROR, "for good")
    message = redact(error.message)
    log.log(level, "task %s: failed %s: %s (%s)", task.id, then, message, error.code, extra=about)


def _about(task: ClaimedTask) -> dict[str, Any]:
    return {
        "task_id": task.id,
        task.kind: task.shown_target,
        "correlation_id": task.correlation_id,
        "attempt": task.attempt,
    }


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.encode(value).decode()
    shown = redact(text[:MAX_OUTPUT])
    return shown if len(text) <= MAX_OUTPUT else f"{shown}… ({len(text):,} characters)"


def _text(body: bytes) -> str:
    return redact(body.decode("utf-8", "backslashreplace"))
