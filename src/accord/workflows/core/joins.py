"""When parallel steps and loops are over, and how."""

from __future__ import annotations

from typing import Any, Final

from accord.workflows.core.definition import LoopStep, ParallelStep
from accord.workflows.core.outputs import error_value
from accord.workflows.core.program import Program
from accord.workflows.core.state import Failure, State, StepRun
from accord.workflows.core.tree import frames_in

_MOST_ERRORS: Final = 100


def needed(step: ParallelStep) -> int:
    """How many branches must complete."""
    count = len(step.branches)
    match step.join:
        case "all":
            return count
        case "any":
            return 1
        case "majority":
            return count // 2 + 1
        case number:
            return int(number)


def is_over(definition: ParallelStep | LoopStep, step: StepRun) -> bool:
    """Whether nothing that still runs in a step can change how it ends."""
    if isinstance(definition, ParallelStep):
        need = needed(definition)
        return step.succeeded >= need or step.failed > step.total - need
    if step.failed and stops(definition):
        return True
    return definition.while_ is None and step.succeeded + step.failed == step.total


def stops(definition: LoopStep) -> bool:
    """Whether one failed round fails the loop."""
    return definition.on_error not in ("continue", "collect")


def most_at_once(definition: ParallelStep | LoopStep) -> int | None:
    """How many lists of a step run side by side; None for all of them."""
    if isinstance(definition, LoopStep) and definition.mode == "sequential":
        return 1
    return definition.max_parallelism


def failure_of(program: Program, state: State, step: StepRun) -> Failure | None:
    """Why a step that is over failed; None where it did not."""
    definition = program.plans[step.name].step
    if isinstance(definition, ParallelStep):
        need = needed(definition)
        return None if step.succeeded >= need else _join_failure(program, state, step, need)
    assert isinstance(definition, LoopStep), f"{step.key} has rounds"
    if not step.failed or not stops(definition):
        return None
    return next(frame.error for frame in frames_in(program, state, step) if frame.error is not None)


def _join_failure(program: Program, state: State, step: StepRun, need: int) -> Failure:
    errors: dict[str, Any] = {
        frame.label: error_value(frame.error)
        for frame in frames_in(program, state, step)
        if frame.error is not None
    }
    told = dict(list(errors.items())[:_MOST_ERRORS])
    branches = f"{step.total} branches" if step.total != 1 else "1 branch"
    message = f"{step.failed} of {branches} failed, and {need} had to complete"
    return Failure("join_failed", message, step.key, told)
