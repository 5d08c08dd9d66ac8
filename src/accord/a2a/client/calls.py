"""Complete calls of an agent: send, poll until the task is over, return a result.

For programs that wait for the result. A program that must survive a crash stores the agent's task
id and continues with `Client.get`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, Final

from accord.a2a.client.client import NO_TRACE, Client, Trace
from accord.a2a.protocol.errors import CallError
from accord.a2a.protocol.outcome import (
    MAX_UNCLEAR,
    DoneOutcome,
    FailedOutcome,
    TaskResult,
    UnclearOutcome,
    WaitingOutcome,
    WorkingOutcome,
    error_result,
    outcome_of,
    poll_intervals,
    success_result,
)

log = logging.getLogger("accord.a2a")

WITHIN_SECONDS: Final = 3600.0


async def call(
    client: Client,
    input: Any,
    *,
    task_id: str,
    message_id: str,
    within: float = WITHIN_SECONDS,
    polls: Iterator[float] | None = None,
    trace: Trace = NO_TRACE,
) -> TaskResult:
    """Have an agent work on `input`, and return the result, also for failures.

    Failures are logged as errors, never raised. `polls` are the seconds between two polls of a
    task. When time runs out the task is cancelled.
    """
    known: list[str] = []
    try:
        async with asyncio.timeout(within):
            return await _follow(client, input, task_id, message_id, polls, trace, known)
    except CallError as failed:
        return _failed(task_id, failed)
    except TimeoutError:
        await _stop(client, known, trace)
        return _failed(
            task_id, FailedOutcome("timeout", f"the agent was not done within {within:g} s")
        )


async def _follow(
    client: Client,
    input: Any,
    task_id: str,
    message_id: str,
    polls: Iterator[float] | None,
    trace: Trace,
    known: list[str],
) -> TaskResult:
    received = await client.send_message(
        input, id=task_id, message_id=message_id, blocking=False, trace=trace
    )
    polls = poll_intervals() if polls is None else polls
    unclear: DoneOutcome | None = None
    asked, remote = 0, ""
    while True:
        match outcome_of(received):
            case DoneOutcome() as done:
                return _done(task_id, done)
            case FailedOutcome() as failed:
                return _failed(task_id, failed)
            case WaitingOutcome(state=state, question=question):
                return error_result(task_id, FailedOutcome(state.name.lower(), question))
            case UnclearOutcome(task_id=remote, done=done):
                if asked == MAX_UNCLEAR:
                    return _done(task_id, done)
                asked, unclear = asked + 1, done
            case WorkingOutcome() as working:
                remote, asked, unclear = working.task_id, 0, None
        known[:] = [remote]
        await asyncio.sleep(next(polls))
        try:
            received = await client.get_task(remote, trace=trace)
        except CallError:
            if unclear is None:
                raise
            return _done(task_id, unclear)


def _done(task_id: str, done: DoneOutcome) -> TaskResult:
    if done.extracted.warning:
        log.warning("task %s: %s", task_id, done.extracted.warning)
    return success_result(task_id, done.extracted.output)


def _failed(task_id: str, failed: FailedOutcome | CallError) -> TaskResult:
    log.error("task %s: failed: %s (%s)", task_id, failed.message, failed.code)
    return error_result(task_id, failed)


async def _stop(client: Client, known: list[str], trace: Trace) -> None:
    for remote in known:
        try:
            await client.cancel(remote, trace=trace)
        except CallError as failed:
            log.info("the agent did not stop its task: %s", failed)
