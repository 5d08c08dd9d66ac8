"""Claimed tasks, their outcomes, the interface of callers, and log lines.

A worker claims a task by recording itself as the owner in the task's row, with a new fence (a
number). The task belongs to the worker as long as the row has that fence. A `TaskCaller` executes
the tasks of one kind.

Every log line has the task id, the target and the correlation id. Bodies are cut, and secrets are
redacted. The levels are:

- debug: requests and responses.
- info: results of tasks.
- warning: failed attempts that are retried, and malformed answers that could be understood.
- error: final failures.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from logging import ERROR, WARNING
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct, json

from accord.a2a.client import Direction, Trace
from accord.a2a.protocol.errors import CallError
from accord.a2a.protocol.model import message_id
from accord.operations.context import IN_PERSON
from accord.operations.logs import redact
from accord.operations.operation import Operation
from accord.store.store import Row
from accord.transports.urls import shown
from accord.workflows.core.definition import Retry
from accord.workflows.core.events import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallPlugin,
    CallTool,
    decode_command,
    encode_command,
)
from accord.workflows.storage.tasks import (
    FIRST_FENCE,
    Call,
    Kind,
    NewTask,
    kind_and_target,
    task_id,
)

_CALLS: Final = (CallAgent, CallOperation, CallTool, CallMethod, CallPlugin)


class ClaimedTask(Struct, frozen=True, kw_only=True):
    """A task of a run that a worker has claimed."""

    id: str
    run_id: str
    task: str
    kind: Kind
    target: str
    command: Call
    retry: Retry | None = None
    """The retry policy of the step; None to use the target's policy."""
    size: int = 0
    """The length of the encoded command, in characters."""
    cancelled: bool = False
    """True if cancellation of the task was requested."""
    fence: int = 1
    attempt: int = 1
    attempt_group: int = 1
    remote_task: str = ""
    """The agent's id for this task; empty until the agent has returned it."""
    remote_context: str = ""
    continues: bool = False
    """True if `continuation`, the answer to the agent's question, has yet to be sent."""
    continuation: Any = None
    """The answer to the agent's question."""
    continued: int = 0
    """The number of the agent's questions that were answered so far."""
    traceparent: str = ""
    correlation_id: str = ""

    @property
    def call_id(self) -> str:
        """The id under which the target sees the call.

        It is the id of the task. But if a retried run repeats a call of unknown outcome, it is the
        id of the earlier task that made the call first.
        """
        resumes = self.command.resumes
        return task_id(self.run_id, resumes) if resumes else self.id

    @property
    def shown_target(self) -> str:
        """The target as logs and metrics show it: a URL without credentials and query."""
        return shown_target(self.kind, self.target)

    @property
    def deadline(self) -> float | None:
        """The time at which the step times out; None if it has no timeout."""
        return self.command.deadline


def shown_target(kind: Kind, target: str) -> str:
    """Return a target for display; if it is a URL, without credentials and query."""
    return shown(target) if kind in ("tool", "method") else target


def read_claimed(row: Row) -> ClaimedTask:
    """Build a ClaimedTask from a row with `COLUMNS`.

    Raise NewerSchemaError if a newer release wrote the command, msgspec.DecodeError if the command
    is invalid.
    """
    text: str = row["command"]
    command = decode_command(text.encode())
    assert isinstance(command, _CALLS)
    continuation: str | None = row["continuation"]
    return ClaimedTask(
        id=row["id"],
        run_id=row["run_id"],
        task=row["task"],
        kind=row["kind"],
        target=row["target"],
        command=command,
        retry=command.retry,
        size=len(text),
        cancelled=bool(row["cancelled"]),
        fence=row["fence"],
        attempt=row["attempt"],
        attempt_group=row["attempt_group"],
        remote_task=row["remote_task"],
        remote_context=row["remote_context"],
        continues=continuation is not None,
        continuation=None if continuation is None else json.decode(continuation),
        continued=row["continued"],
        traceparent=row["traceparent"],
        correlation_id=row["correlation_id"],
    )


def claimed_task(task: NewTask) -> ClaimedTask:
    """Build a ClaimedTask from a new task that was inserted with an owner."""
    command = task.command
    kind, target = kind_and_target(command)
    return ClaimedTask(
        id=task.id,
        run_id=task.run_id,
        task=command.task,
        kind=kind,
        target=target,
        command=command,
        retry=command.retry,
        size=len(encode_command(command)),
        fence=FIRST_FENCE,
        attempt_group=task.attempt_group,
        traceparent=task.traceparent,
        correlation_id=task.correlation_id,
    )


def unreadable_task(row: Row) -> ClaimedTask:
    """Build a ClaimedTask for a row whose command cannot be decoded, to report its failure."""
    return ClaimedTask(
        id=row["id"],
        run_id=row["run_id"],
        task=row["task"],
        kind=row["kind"],
        target=row["target"],
        command=CallAgent(
            task=row["task"], step=row["task"].partition("@")[0], agent=row["target"]
        ),
        cancelled=bool(row["cancelled"]),
        fence=row["fence"],
        attempt=row["attempt"],
        attempt_group=row["attempt_group"],
        remote_task=row["remote_task"],
        remote_context=row["remote_context"],
        continues=row["continuation"] is not None,
        continued=row["continued"],
        traceparent=row["traceparent"],
        correlation_id=row["correlation_id"],
    )


def message_id_of(task: ClaimedTask) -> str:
    """Return the message id for the next request of a task; retries of one message share it."""
    step, bracket, rounds = task.command.step.partition("[")
    first = task.command.resumes or task.task
    retried = first.removeprefix(task.command.step)  # "@2" when the run is retried
    group = f"{task.attempt_group}{retried}"
    if task.continued:
        group = f"{group}+{task.continued}"
    return message_id(task.run_id, step, bracket + rounds, group)


class Spans(Protocol):
    """A factory of tracing spans, such as `accord.telemetry.tracing.OutgoingSpans`."""

    def call(
        self, name: str, traceparent: str, attributes: Mapping[str, str]
    ) -> AbstractContextManager[str]: ...


def span_of(spans: Spans | None, task: ClaimedTask) -> AbstractContextManager[str]:
    """Open a tracing span around an attempt; yield the `traceparent` header for the request."""
    if spans is None:
        return nullcontext(task.traceparent)
    attributes = {
        "accord.task.id": task.id,
        "accord.task.kind": task.kind,
        "accord.task.target": task.shown_target,
        "accord.task.attempt": str(task.attempt),
    }
    return spans.call(f"{task.kind} {task.shown_target}", task.traceparent, attributes)


class TaskSuccess(Struct, frozen=True, kw_only=True):
    """The outcome of a call that succeeded."""

    output: Any = None
    data: Any = None
    artifacts: Any = None


class TaskFailure(Struct, frozen=True, kw_only=True):
    """The outcome of a call that the target reported as failed."""

    code: str
    message: str
    details: Any = None
    body: bytes = b""
    """The beginning of the target's answer, for the log."""


class TaskQuestion(Struct, frozen=True, kw_only=True):
    """The outcome of a call whose target needs input to continue its task `remote_task`."""

    prompt: Any = None
    remote_task: str
    remote_context: str = ""


Outcome: TypeAlias = TaskSuccess | TaskFailure | TaskQuestion

Progress: TypeAlias = Callable[[str, str], Awaitable[None]]
"""A callback that stores the agent's task id and context id with a task.

A `TaskCaller` awaits the callback before it uses the ids. The callback raises CancelledError if the
task was cancelled or another worker has taken it over.
"""


class Terms(Struct, frozen=True, kw_only=True):
    """The settings for calls to a target: retry policy, concurrency, cancellation and breaker."""

    retry: Retry = Retry()
    """The retry policy for steps that have none of their own."""
    concurrency: int = 64
    """The maximum number of concurrent tasks."""
    follows: bool = False
    """True if the target returns a task id, without which its work cannot be cancelled.

    If a task is cancelled during the request that returns this id, the request is awaited first.
    """
    breaks: bool = True
    """True if the target has a circuit breaker."""


class TaskCaller(Protocol):
    """An executor of the tasks of one kind."""

    async def terms(self, target: str) -> Terms:
        """Return the settings for calls to a target.

        It is called for every task, so it must be fast. Raise CallError if the target does not
        exist.
        """

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        """Make one attempt at a task, or resume an earlier attempt. Raise CallError if it fails."""

    async def cancel(self, task: ClaimedTask) -> None:
        """Ask the target to cancel its work on the task, if any. Raise CallError on failure."""


log = logging.getLogger("accord.bridge")

MAX_OUTPUT: Final = 2_000
"""The maximum length of an output in a log line, in characters."""


def trace_of(task: ClaimedTask, traceparent: str) -> Trace:
    """Return the `Trace` for the requests of a task, which has the trace headers.

    If the log level is debug, it also logs the bodies of requests and responses.
    """
    tell: Callable[[Direction, bytes], None] | None = None
    if log.isEnabledFor(logging.DEBUG):

        def tell(direction: Direction, body: bytes) -> None:
            log.debug(
                "task %s: %s %s", task.id, direction, _redacted_text(body), extra=_log_fields(task)
            )

    correlation_id = task.correlation_id or task.run_id
    return Trace(correlation_id=correlation_id, traceparent=traceparent, tell=tell)


def log_success(task: ClaimedTask, output: Any) -> None:
    """Log a success with its output."""
    if log.isEnabledFor(logging.INFO):
        log.info(
            "task %s: succeeded with %s", task.id, _redacted_value(output), extra=_log_fields(task)
        )


def log_question(task: ClaimedTask, prompt: Any) -> None:
    """Log a question that an agent asks."""
    if log.isEnabledFor(logging.INFO):
        log.info(
            "task %s: needs input: %s", task.id, _redacted_value(prompt), extra=_log_fields(task)
        )


def log_cancellation(task: ClaimedTask) -> None:
    """Log the cancellation of a task."""
    log.info("task %s: cancelled", task.id, extra=_log_fields(task))


def log_warning(task: ClaimedTask, warning: str) -> None:
    """Log a warning about a task, for example about a malformed answer."""
    log.warning("task %s: %s", task.id, warning, extra=_log_fields(task))


def log_failure(task: ClaimedTask, error: CallError, *, again: bool) -> None:
    """Log a failed attempt, with the beginning of the target's answer.

    The level is warning if the task is tried again (`again`), otherwise error.
    """
    fields = _log_fields(task)
    if error.body:
        fields["body"] = _redacted_text(error.body)
    level, then = (WARNING, "and is tried again") if again else (ERROR, "for good")
    message = redact(error.message)
    log.log(level, "task %s: failed %s: %s (%s)", task.id, then, message, error.code, extra=fields)


def _log_fields(task: ClaimedTask) -> dict[str, Any]:
    return {
        "task_id": task.id,
        task.kind: task.shown_target,
        "correlation_id": task.correlation_id,
        "attempt": task.attempt,
    }


def _redacted_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.encode(value).decode()
    shown = redact(text[:MAX_OUTPUT])
    return shown if len(text) <= MAX_OUTPUT else f"{shown}… ({len(text):,} characters)"


def _redacted_text(body: bytes) -> str:
    return redact(body.decode("utf-8", "backslashreplace"))


NOT_FROM_RUNS: Final = IN_PERSON | {"approve"}
"""Rights that need a signed-in person; steps may not call operations that require them."""


def is_callable(operation: Operation) -> bool:
    """Return True if steps of runs may call this operation."""
    return operation.right not in NOT_FROM_RUNS
