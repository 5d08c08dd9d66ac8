"""A claimed task, the interface of callers, and the log lines of a task.

A task belongs to the worker that took it as long as its row has the worker's fence. A `TaskCaller`
does the tasks of one kind. Every log line names the task, its target and its correlation id, so
that one can be found by the other; bodies are cut, and secrets are redacted.

Debug: requests and responses. Info: results of tasks. Warning: attempts that failed and are
repeated, and answers that break their format but were understood. Error: final failures.
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
    """One task of a run, to be done now."""

    id: str
    run_id: str
    task: str
    kind: Kind
    target: str
    command: Call
    retry: Retry | None = None
    """The retry policy of the step, if it has one."""
    size: int = 0
    """The length of its command in characters."""
    cancelled: bool = False
    """True if the task was cancelled."""
    fence: int = 1
    attempt: int = 1
    attempt_group: int = 1
    remote_task: str = ""
    """The id of the agent's task, once it is known."""
    remote_context: str = ""
    continues: bool = False
    """True if `continuation` is still to be sent."""
    continuation: Any = None
    """The input that the agent asked for."""
    continued: int = 0
    """The number of times that it got input."""
    traceparent: str = ""
    correlation_id: str = ""

    @property
    def call_id(self) -> str:
        """The id of the call for the other side.

        A call of unknown outcome is repeated under the id of the task that made it first.
        """
        resumes = self.command.resumes
        return task_id(self.run_id, resumes) if resumes else self.id

    @property
    def shown_target(self) -> str:
        """The target without the credentials and the query of its URL."""
        return shown_target(self.kind, self.target)

    @property
    def deadline(self) -> float | None:
        """The time at which the step times out."""
        return self.command.deadline


def shown_target(kind: Kind, target: str) -> str:
    """Return the target without the credentials and the query that its URL may have."""
    return shown(target) if kind in ("tool", "method") else target


def read_claimed(row: Row) -> ClaimedTask:
    """Return the task in a row that has `COLUMNS`.

    Raise NewerSchemaError, and msgspec.ValidationError for an invalid command.
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
    """Return a task that was just recorded with its first owner."""
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
    """Return a task whose command cannot be read, with enough to report it."""
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
    """Return the message id under which a task is sent now."""
    step, bracket, rounds = task.command.step.partition("[")
    first = task.command.resumes or task.task
    retried = first.removeprefix(task.command.step)  # "@2" when the run is retried
    group = f"{task.attempt_group}{retried}"
    if task.continued:
        group = f"{group}+{task.continued}"
    return message_id(task.run_id, step, bracket + rounds, group)


class Spans(Protocol):
    """A factory of spans, such as `accord.telemetry.tracing.OutgoingSpans`."""

    def call(
        self, name: str, traceparent: str, attributes: Mapping[str, str]
    ) -> AbstractContextManager[str]: ...


def span_of(spans: Spans | None, task: ClaimedTask) -> AbstractContextManager[str]:
    """Open a span around an attempt; yield the `traceparent` for the request."""
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
    """The call succeeded."""

    output: Any = None
    data: Any = None
    artifacts: Any = None


class TaskFailure(Struct, frozen=True, kw_only=True):
    """The other side failed, or refused."""

    code: str
    message: str
    details: Any = None
    body: bytes = b""
    """The beginning of the answer, for the log."""


class TaskQuestion(Struct, frozen=True, kw_only=True):
    """The other side needs input for its task `remote_task`."""

    prompt: Any = None
    remote_task: str
    remote_context: str = ""


Outcome: TypeAlias = TaskSuccess | TaskFailure | TaskQuestion

Progress: TypeAlias = Callable[[str, str], Awaitable[None]]
"""Stores the remote ids of a task and its context.

Await it before doing anything else with the ids: when it returns, they are stored. If the task was
cancelled or another worker has it, the attempt is cancelled and it does not return.
"""


class Terms(Struct, frozen=True, kw_only=True):
    """The terms of calling a target: retries, concurrency and the like."""

    retry: Retry = Retry()
    """The default retry policy of steps."""
    concurrency: int = 64
    """The number of concurrent tasks."""
    follows: bool = False
    """True if the other side returns a task id, which is needed to cancel its work.

    On cancellation, a request under way is then awaited to learn the id.
    """
    breaks: bool = True
    """True if targets have circuit breakers."""


class TaskCaller(Protocol):
    """A caller for the tasks of one kind."""

    async def terms(self, target: str) -> Terms:
        """Return the terms of a target; called often. Raise CallError if it is unknown."""

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        """Make one attempt, or continue an earlier one. Raise CallError."""

    async def cancel(self, task: ClaimedTask) -> None:
        """Tell the other side that the task is cancelled, if it began. Raise CallError."""


log = logging.getLogger("accord.bridge")

MAX_OUTPUT: Final = 2_000
"""Characters of an output in a log line."""


def trace_of(task: ClaimedTask, traceparent: str) -> Trace:
    """Return the trace of the requests for a task; bodies are logged at debug level."""
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
    """Log a question of the other side."""
    if log.isEnabledFor(logging.INFO):
        log.info(
            "task %s: needs input: %s", task.id, _redacted_value(prompt), extra=_log_fields(task)
        )


def log_cancellation(task: ClaimedTask) -> None:
    """Log the cancellation of a task."""
    log.info("task %s: cancelled", task.id, extra=_log_fields(task))


def log_warning(task: ClaimedTask, warning: str) -> None:
    """Log a warning about a task, such as an odd answer."""
    log.warning("task %s: %s", task.id, warning, extra=_log_fields(task))


def log_failure(task: ClaimedTask, error: CallError, *, again: bool) -> None:
    """Log a failure, with the beginning of the answer."""
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
"""Rights of operations that no run may call: they need a person who is signed in."""


def is_callable(operation: Operation) -> bool:
    """Return True if runs may call an operation, as the user who started them."""
    return operation.right not in NOT_FROM_RUNS
