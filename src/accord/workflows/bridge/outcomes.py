"""Handles the outcomes of attempts: ends, retries and questions.

`Outcomes._make_next_attempt` is the only place that schedules retries of a task:
`accord.workflows.core.retry.next_attempt` computes the next attempt from the retry policy. The
task's row then becomes `ready` again, due at the time of that attempt, and any worker may take it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import json
from msgspec.structs import replace

from accord.a2a.protocol.errors import (
    TASK_NOT_FOUND,
    CallError,
    DefiniteError,
    RefusedError,
    UnknownOutcomeError,
)
from accord.operations.context import new_id
from accord.operations.logs import redact, redact_value
from accord.store.store import StoreError
from accord.workflows.bridge.in_flight import InFlightTask, InFlightTasks
from accord.workflows.bridge.result_writer import (
    ResultWriter,
    UnrecordedSuccess,
    UnrecordedSuccesses,
)
from accord.workflows.bridge.task import (
    ClaimedTask,
    Outcome,
    TaskFailure,
    TaskQuestion,
    TaskSuccess,
    log_cancellation,
    log_failure,
    log_question,
    log_success,
)
from accord.workflows.bus.bus import Bus
from accord.workflows.core.definition import Retry
from accord.workflows.core.events import Arrival, TaskAsked, TaskFailed, TaskSucceeded
from accord.workflows.core.retry import Attempt, next_attempt
from accord.workflows.core.state import Failure
from accord.workflows.metrics import BridgeMetrics
from accord.workflows.storage.messages import NewDeadLetter, RunMessage
from accord.workflows.storage.tasks import TaskChange

MAX_BODY: Final = 16_384
"""The maximum length of the body of a dead letter, in characters."""


def dead_letter_of(task: ClaimedTask, error: Failure, at: float) -> NewDeadLetter:
    """Return the dead letter of a task that failed for good."""
    return NewDeadLetter(
        id=new_id(),
        kind="task",
        run_id=task.run_id,
        task=task.task,
        target=task.target,
        code=error.code,
        message=error.message,
        body=json.encode(redact_value(task.command.input)).decode()[:MAX_BODY],
        attempts=task.attempt,
        at=at,
    )


TASK_CANCELED: Final = "task_canceled"
"""The failure code of a task that the agent reports as cancelled."""

MAX_STORED_ANSWER: Final = 4_000
"""How many characters of an agent's answer are stored with a failed step."""

_UNWRITABLE: Final = "the answer has something that the database cannot keep"


class LateError(DefiniteError):
    """The failure of a task that was not done before the timeout of its step."""

    def __init__(self) -> None:
        super().__init__("timeout", "the task was not done within the time of its step")


class Outcomes:
    """A handler of the outcomes of attempts at tasks.

    It updates the rows of tasks through the result writer. `wake` is called when a retry is due,
    `ended` when a task is no longer in flight.
    """

    def __init__(
        self,
        writer: ResultWriter,
        bus: Bus,
        in_flight: InFlightTasks,
        answered: UnrecordedSuccesses,
        metrics: BridgeMetrics,
        *,
        owner: str,
        now: Callable[[], float],
        wake: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._writer = writer
        self._bus = bus
        self._in_flight = in_flight
        self._unrecorded = answered
        self._metrics = metrics
        self._owner = owner
        self._now = now
        self._wake = wake
        self._ended = ended

    def settle(self, entry: InFlightTask, outcome: Outcome | CallError, policy: Retry) -> None:
        """Complete, retry or suspend a task according to the outcome of its attempt."""
        match outcome:
            case TaskSuccess():
                self._succeed(entry, outcome)
            case TaskQuestion():
                self._ask(entry, outcome)
            case TaskFailure():
                failed = DefiniteError(outcome.code, outcome.message, body=outcome.body)
                if outcome.code == TASK_CANCELED and entry.task.command.resumes:
                    # The call was cancelled with the run, as it now turns out: make a new one.
                    attempts = max(policy.attempts, 2)
                    policy = replace(policy, attempts=attempts, failures="all")
                self._make_next_attempt(entry, failed, policy, outcome.details)
            case CallError():
                self._make_next_attempt(entry, outcome, policy)

    def fail(self, entry: InFlightTask, error: CallError, details: Any = None) -> None:
        """End a task that failed and is not retried; store a dead letter."""
        task, at = entry.task, self._now()
        log_failure(task, error, again=False)
        details = _details_with_answer(error, details)
        failure = Failure(
            str(error.code), error.message, task.command.step, details, _is_unknown(task, error)
        )
        event = TaskFailed(at=at, task=task.task, error=failure, attempts=task.attempt)
        self._metrics.ended(task.kind, "error")
        change = _change(entry, "done", outcome="error", finished_at=at)
        self._finish(
            entry, change, _message(entry, "done", event), dead_letter_of(task, failure, at)
        )

    def cancel(self, entry: InFlightTask) -> None:
        """Record that a task ended by cancellation."""
        log_cancellation(entry.task)
        self._metrics.ended(entry.task.kind, "cancelled")
        self._finish(entry, _change(entry, "done", outcome="cancelled", finished_at=self._now()))

    def give_back(self, entry: InFlightTask) -> None:
        """Make a task ready again, unchanged, so that any worker can take it."""
        if entry in self._in_flight and not entry.ending:
            self._finish(entry, _change(entry, "ready"))

    def postpone(self, entry: InFlightTask, seconds: float) -> None:
        """Make a task ready again after `seconds`, so that any worker can take it then."""
        self._finish(entry, _change(entry, "ready", due=self._now() + seconds))

    async def store_remote_id(
        self, entry: InFlightTask, remote_task: str, remote_context: str
    ) -> bool:
        """Store the agent's id of a task; return False if another worker owns the task.

        Raise DefiniteError if the database rejects the id.
        """
        entry.set_remote(remote_task, remote_context)
        try:
            return await self._writer.add(_change(entry, "running", owner=self._owner))
        except StoreError:
            entry.start_over()
            raise DefiniteError("malformed_answer", _UNWRITABLE) from None

    def _succeed(self, entry: InFlightTask, outcome: TaskSuccess) -> None:
        task, at = entry.task, self._now()
        log_success(task, outcome.output)
        event = TaskSucceeded(
            at=at,
            task=task.task,
            output=outcome.output,
            data=outcome.data,
            artifacts=outcome.artifacts,
            attempts=task.attempt,
        )
        self._metrics.ended(task.kind, "success")
        change = _change(entry, "done", outcome="success", finished_at=at)
        self._send_success(entry, change, _message(entry, "done", event))

    def _send_success(self, entry: InFlightTask, change: TaskChange, message: RunMessage) -> None:
        """Send a success through the bus alone, or else write it to the database.

        The executor that records a success from the bus also marks the task's row as done.
        """
        size = 0
        if self._unrecorded.has_room:
            size = self._bus.send_success(
                message, lambda done: self._sent(entry, change.id, is_done=done)
            )
        if size:
            entry.ending = True
            self._unrecorded.add(change, message, size)
        else:
            self._finish(entry, change, message)

    def _sent(self, entry: InFlightTask, id: str, *, is_done: bool) -> None:
        if is_done:
            self._unrecorded.mark_sent(id)
            self._in_flight.remove(entry)
            self._ended()
            return
        answer = self._unrecorded.take(id)
        if answer is not None:
            self._finish(entry, answer.change, answer.message)

    def write(self, answer: UnrecordedSuccess) -> None:
        """Write a success to the database, as its message on the bus may have been lost.

        If an executor has recorded it already, this changes nothing.
        """
        written = self._writer.add(answer.change, answer.message)
        written.add_done_callback(lambda _: self._unrecorded.take(answer.change.id))

    def _ask(self, entry: InFlightTask, outcome: TaskQuestion) -> None:
        task = entry.task
        log_question(task, outcome.prompt)
        entry.set_remote(outcome.remote_task, outcome.remote_context)
        event = TaskAsked(at=self._now(), task=task.task, prompt=outcome.prompt)
        self._metrics.ended(task.kind, "asked")
        message = _message(entry, f"asked/{task.continued}", event)
        self._finish(entry, _change(entry, "asking"), message)

    def _make_next_attempt(
        self, entry: InFlightTask, error: CallError, policy: Retry, details: Any = None
    ) -> None:
        """Schedule the next attempt of a failed task, or fail it if none is left.

        The retry policy and the deadline decide; see `core.retry.next_attempt`.
        """
        task, now = entry.task, self._now()
        unknown = isinstance(error, UnknownOutcomeError)
        following = next_attempt(
            policy,
            Attempt(task.attempt, task.attempt_group),
            "unknown" if unknown else "definite",
            now=now,
            random=random.random(),
            deadline=task.deadline,
            retry_after=error.retry_after or 0.0,
        )
        if following is None:
            self.fail(entry, error, details)
            return
        log_failure(task, error, again=True)
        self._metrics.retried += 1
        if not unknown or error.code == TASK_NOT_FOUND:
            entry.start_over()
        change = _change(entry, "ready", attempt=following, due=following.at)
        self._finish(entry, change)
        asyncio.get_running_loop().call_later(max(following.at - now, 0.0), self._wake)

    def _finish(
        self,
        entry: InFlightTask,
        change: TaskChange,
        message: RunMessage | None = None,
        letter: NewDeadLetter | None = None,
    ) -> None:
        entry.ending = True
        written = self._writer.add(change, message, letter)
        written.add_done_callback(lambda done: self._finished(entry, done))

    def _finished(self, entry: InFlightTask, written: asyncio.Future[bool]) -> None:
        is_unwritable = not written.cancelled() and written.exception() is not None
        if is_unwritable and not entry.unwritable:
            entry.unwritable = True
            entry.start_over()
            self.fail(entry, DefiniteError("malformed_answer", _UNWRITABLE))
            return
        self._in_flight.remove(entry)
        self._ended()
        if not written.cancelled() and not is_unwritable and not written.result():
            self._metrics.lost += 1


def _details_with_answer(error: CallError, details: Any) -> Any:
    """Return the details of a failure, extended by the redacted beginning of the agent's answer."""
    if not error.body or not (details is None or isinstance(details, dict)):
        return details
    text = redact(error.body.decode("utf-8", "replace"))
    answered = text if len(text) <= MAX_STORED_ANSWER else f"{text[:MAX_STORED_ANSWER]}…"
    return {"answered": answered, **(details or {})}


def _is_unknown(task: ClaimedTask, error: CallError) -> bool:
    """Return True if the target may have carried out the call despite the error.

    That also holds if the last attempt was refused, but an earlier one may have been carried out.
    """
    if isinstance(error, RefusedError):
        return task.attempt > 1 or bool(task.command.resumes)
    return isinstance(error, UnknownOutcomeError | LateError)


def _change(
    entry: InFlightTask,
    state: Literal["running", "asking", "ready", "done"],
    *,
    owner: str | None = None,
    outcome: Literal["success", "error", "cancelled"] | None = None,
    attempt: Attempt | None = None,
    due: float = 0.0,
    finished_at: float | None = None,
) -> TaskChange:
    """Return the change that sets the row of a task to `state`."""
    task = entry.task
    return TaskChange(
        id=task.id,
        fence=task.fence,
        state=state,
        owner=owner,
        outcome=outcome,
        attempt=task.attempt if attempt is None else attempt.number,
        attempt_group=task.attempt_group if attempt is None else attempt.group,
        due=due,
        remote_task=task.remote_task,
        remote_context=task.remote_context,
        finished_at=finished_at,
        continues=int(task.continues),
    )


def _message(entry: InFlightTask, name: str, arrival: Arrival) -> RunMessage:
    task = entry.task
    return RunMessage(
        f"{task.id}/{name}", task.run_id, arrival, task.traceparent, task.correlation_id
    )
