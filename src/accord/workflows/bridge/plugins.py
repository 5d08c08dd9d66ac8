"""Has plugins do the steps of the types that they add.

What a plugin raises stays in the log, as it may hold anything: whoever looks at a run is told its
name only. A plugin says what they may know by `StepFailedError`.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from accord.a2a.protocol.errors import MalformedAnswerError, UnknownOutcomeError
from accord.jsonrpc.nesting import NestingError, check_nesting
from accord.operations.errors import InvalidError
from accord.workflows.bridge.caller import Failed, Outcome, Progress, Succeeded, Terms
from accord.workflows.bridge.claimed import ClaimedTask
from accord.workflows.bridge.message_ids import message_id_of
from accord.workflows.bridge.spans import Spans, span_of
from accord.workflows.step_type import StepFailedError, StepTask, StepType, StepTypes

log = logging.getLogger("accord.bridge")


class PluginCaller:
    """Does the tasks of kind plugin; implements `TaskCaller`."""

    def __init__(self, types: StepTypes, *, spans: Spans | None = None) -> None:
        self._types = types
        self._spans = spans

    async def terms(self, target: str) -> Terms:
        found = self._types.get(target)
        if found is None:  # told by `call`, so that another bridge may have it by then
            return Terms(breaks=False)
        return Terms(retry=found.retry, concurrency=found.concurrency)

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        found = self._types.get(task.target)
        if found is None:
            raise UnknownOutcomeError(
                "unknown_step_type", f"no plugin here does steps of type {task.target!r}"
            )
        given = {} if task.command.input is None else task.command.input
        if not isinstance(given, dict):
            return Failed(code="validation_failed", message="the input of a step is an object")
        try:
            arguments = found.arguments.convert(given)
        except InvalidError as error:
            return Failed(code="validation_failed", message=f"input: {error.message}")
        with span_of(self._spans, task) as traceparent:
            return await _attempt(found, task, arguments, traceparent)

    async def cancel(self, task: ClaimedTask) -> None:
        """The function was cancelled, and knows."""


async def _attempt(
    found: StepType, task: ClaimedTask, arguments: dict[str, Any], traceparent: str
) -> Outcome:
    attempt = StepTask(
        id=message_id_of(task),
        run_id=task.run_id,
        step=task.command.step,
        attempt=task.attempt,
        deadline=task.deadline,
        correlation_id=task.correlation_id,
        traceparent=traceparent,
    )
    try:
        result = await found.function(attempt, **arguments)
    except StepFailedError as error:
        return Failed(code=error.code, message=error.message, details=error.details)
    except Exception as error:
        log.exception("task %s: the plugin %r failed", task.id, task.target)
        what = f"the plugin {task.target!r} raised {type(error).__name__}; the log says more"
        raise UnknownOutcomeError("plugin_failed", what) from error
    try:
        output = msgspec.to_builtins(result, str_keys=True)
        check_nesting(msgspec.json.encode(output))
    except RecursionError as error:  # nested deeper than the stack
        raise _no_json(task, NestingError()) from error
    except (msgspec.DecodeError, TypeError, OverflowError, ValueError) as error:
        raise _no_json(task, error) from error
    return Succeeded(output=output)


def _no_json(task: ClaimedTask, error: Exception) -> MalformedAnswerError:
    return MalformedAnswerError(f"what the plugin {task.target!r} gave is no JSON: {error}")
