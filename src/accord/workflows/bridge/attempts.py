"""Runs attempts at tasks, within the concurrency of each target.

A target that fails repeatedly gets no attempts while its circuit breaker is open.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from accord.a2a.protocol.errors import (
    TASK_NOT_FOUND,
    CallError,
    MalformedAnswerError,
    UnknownOutcomeError,
)
from accord.store.store import StoreError
from accord.workflows.bridge.in_flight import CallTarget, InFlightTask, InFlightTasks
from accord.workflows.bridge.outcomes import LateError, Outcomes
from accord.workflows.bridge.task import Outcome, TaskCaller, shown_target
from accord.workflows.metrics import BridgeMetrics
from accord.workflows.storage.tasks import Kind

log = logging.getLogger("accord.bridge")

STOP_SECONDS: Final = 10.0
"""The timeout of the request that asks a target to cancel its work on a task."""

_NOT_UNHEALTHY: Final = frozenset((TASK_NOT_FOUND, "http_429", "internal"))
"""Codes of errors with unknown outcome that do not count against the target's health."""


class AttemptRunner:
    """A runner of attempts; it calls `freed` with the target whenever an attempt has ended."""

    def __init__(
        self,
        callers: Mapping[Kind, TaskCaller],
        outcomes: Outcomes,
        in_flight: InFlightTasks,
        metrics: BridgeMetrics,
        *,
        now: Callable[[], float],
        freed: Callable[[CallTarget], None],
    ) -> None:
        self._callers = callers
        self._outcomes = outcomes
        self._in_flight = in_flight
        self._metrics = metrics
        self._now = now
        self._freed = freed
        self._jobs: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """The number of running attempts."""
        return len(self._jobs)

    def begin(self, target: CallTarget) -> None:
        """Start as many queued tasks of the target as its limits allow."""
        if not target.waiting:
            return
        room = target.room(self._now())
        while target.waiting and room > 0:
            self.start(target.waiting.popleft(), target)
            room -= 1

    def start(self, entry: InFlightTask, target: CallTarget) -> None:
        """Start an attempt at a task, even if the target's concurrency limit is reached."""
        target.busy += 1
        target.breaker.call_started()
        entry.started = time.monotonic()
        entry.job = asyncio.create_task(self._work(entry, target))
        self._jobs.add(entry.job)
        entry.job.add_done_callback(self._jobs.discard)

    async def join(self, timeout: float | None = None) -> None:
        """Wait until all running attempts have ended, or for `timeout` seconds."""
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=timeout)

    async def _work(self, entry: InFlightTask, target: CallTarget) -> None:
        """Make one attempt, and handle its outcome."""
        try:
            if entry.cancelled:
                await self._stop(entry)
                return
            outcome = await self._call(entry, target)
            if entry.cancelled:
                self._outcomes.cancel(entry)
            elif isinstance(outcome, LateError):
                self._outcomes.fail(entry, outcome)
            else:
                self._outcomes.settle(entry, outcome, entry.task.retry or target.terms.retry)
        except StoreError:  # the address could not be read, so nothing was called: no attempt
            self._outcomes.give_back(entry)
        except asyncio.CancelledError:
            if not entry.cancelled or entry.ending or entry not in self._in_flight:
                raise
            await self._stop(entry)
        finally:
            target.busy -= 1
            if not entry.reached:
                target.breaker.call_dropped()
            self._freed(target)

    async def _call(self, entry: InFlightTask, target: CallTarget) -> Outcome | CallError:
        """Call the target once, and return the outcome.

        Raise StoreError if the database failed before the target was called.
        """
        task, now = entry.task, self._now()
        within = None if task.deadline is None else task.deadline - now
        if within is not None and within <= 0:
            return LateError()

        async def progress(remote_task: str, remote_context: str) -> None:
            self._reached(entry, target, well=True)
            await self._remember(entry, remote_task, remote_context)

        limit = asyncio.timeout(within)
        outcome: Outcome | CallError
        try:
            async with limit:
                outcome = await self._callers[task.kind].call(task, progress)
        except CallError as error:
            outcome = error
        except StoreError:
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                await self._cancel_remote(entry)
                return LateError()
            log.exception("task %s: its caller failed", task.id)
            outcome = UnknownOutcomeError("internal", "the bridge failed; its log says why")
        self._reached(entry, target, well=not _is_unhealthy(outcome))
        return outcome

    async def _remember(self, entry: InFlightTask, remote_task: str, remote_context: str) -> None:
        """Store the ids of the agent's task and context with a task.

        Raise CancelledError if the task was cancelled, or if another worker has taken it over.
        """
        if not await self._outcomes.store_remote_id(entry, remote_task, remote_context):
            log.warning("task %s was taken by another", entry.task.id)
            self._metrics.lost += 1
            self._in_flight.remove(entry)
        elif not entry.cancelled:
            return
        raise asyncio.CancelledError

    def _reached(self, entry: InFlightTask, target: CallTarget, *, well: bool) -> None:
        """Record the target's health in the metrics and the circuit breaker.

        `well` is False if the attempt shows that the target is unhealthy.
        """
        if entry.reached and well:
            return
        if not entry.reached:
            entry.reached = True
            kind, name = target.key
            self._metrics.answered(
                kind, shown_target(kind, name), time.monotonic() - entry.started, well=well
            )
        if not target.terms.breaks:
            return
        if well:
            target.breaker.succeeded(self._now())
        elif target.breaker.failed(self._now()):
            self._leave_alone(target)

    def _leave_alone(self, target: CallTarget) -> None:
        """Release the queued tasks of a target whose circuit breaker has just opened.

        Any worker can then take the tasks, as those in other processes may reach the target. In
        this worker the tasks would only occupy slots.
        """
        kind, name = target.key
        log.warning("%s %s fails, and is left alone for a while", kind, shown_target(kind, name))
        self._metrics.opened += 1
        while target.waiting:
            self._outcomes.give_back(target.waiting.popleft())

    async def _stop(self, entry: InFlightTask) -> None:
        await self._cancel_remote(entry)
        self._outcomes.cancel(entry)

    async def _cancel_remote(self, entry: InFlightTask) -> None:
        """Ask the target to cancel its work on a task."""
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._callers[entry.task.kind].cancel(entry.task)
        except (CallError, StoreError, TimeoutError) as error:
            log.info("task %s: the other side did not stop: %s", entry.task.id, error)
        except Exception:
            log.exception("task %s: its caller failed", entry.task.id)


def _is_unhealthy(outcome: Outcome | CallError) -> bool:
    """Return True if the circuit breaker counts this outcome as a failure of the target."""
    if isinstance(outcome, UnknownOutcomeError):
        return outcome.code not in _NOT_UNHEALTHY
    return isinstance(outcome, MalformedAnswerError)
