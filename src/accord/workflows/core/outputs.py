"""What steps gave. The output of a step with steps inside is made from theirs when somebody asks,
so that nothing is kept twice."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from accord.workflows.core.definition import ConditionStep, LoopStep, ParallelStep
from accord.workflows.core.program import Program
from accord.workflows.core.state import Failure, Frame, State, StepRun, frame_id


def output_of(program: Program, state: State, step: StepRun | None) -> Any:
    """The output of a step; null where it did not complete."""
    if step is None or step.status != "completed":
        return None
    return composed(program, state, step)


def composed(program: Program, state: State, step: StepRun) -> Any:
    """The output that a step has if it completes now."""
    definition = program.plans[step.name].step
    match definition:
        case ParallelStep():
            frames = (
                (name, state.frames.get(frame_id(step.key, name))) for name in definition.branches
            )
            return {name: frame_output(program, state, frame) for name, frame in frames}
        case ConditionStep():
            if step.choice is None:
                return None
            return frame_output(program, state, state.frames[frame_id(step.key, step.choice)])
        case LoopStep():
            rounds = (state.frames[frame_id(step.key, str(each))] for each in range(step.opened))
            if definition.on_error == "collect":
                return [_collected(program, state, frame) for frame in rounds]
            return [frame_output(program, state, frame) for frame in rounds]
        case _:
            return step.output


def frame_output(program: Program, state: State, frame: Frame | None) -> Any:
    """The output of the last step of a list; null where the list did not complete."""
    if frame is None or frame.status != "completed" or frame.last is None:
        return None
    return output_of(program, state, state.steps[frame.last])


def _collected(program: Program, state: State, frame: Frame) -> dict[str, Any]:
    return {
        "status": frame.status,
        "output": frame_output(program, state, frame),
        "error": error_value(frame.error),
    }


def error_value(error: Failure | None) -> Any:
    """A failure as expressions see it."""
    if error is None:
        return None
    return to_builtins(Failure(error.code, error.message, error.step)) | {"details": error.details}
