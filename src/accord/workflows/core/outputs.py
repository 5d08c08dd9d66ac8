"""Outputs and failures of steps, scopes of expressions, and views of steps.

The output of a step with inner steps is composed from their outputs when needed, so that nothing is
stored twice. The setting `join` of a parallel step, or `on_error` of a loop, determines when the
step is over, and whether it failed. Views include steps that have not started or were skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import DecodeError, Struct, json, to_builtins

from accord.jsonrpc.protocol.codec import MAX_DEPTH, check_nesting
from accord.workflows.core.definition import (
    ConditionStep,
    LoopStep,
    ParallelStep,
    StepType,
    type_of,
)
from accord.workflows.core.errors import MAX_OUTPUT_BYTES
from accord.workflows.core.expressions.syntax import LoopFieldName, StepFieldName
from accord.workflows.core.program import HANDLER, MAIN, Block, Plan, Program, frames_in
from accord.workflows.core.state import (
    Failure,
    Frame,
    State,
    StepRun,
    StepStatus,
    frame_id,
    step_key,
)


def size_problem(what: str, *values: Any) -> tuple[int, Failure | None]:
    """Return the size of values as JSON; if they are too large or invalid, 0 and the failure."""
    size = 0
    try:
        for value in values:
            if value is not None:
                written = json.encode(value)
                check_nesting(written)
                size += len(written)
    except (DecodeError, RecursionError):  # the latter if it is nested deeper than the stack
        message = f"the {what} is nested deeper than {MAX_DEPTH} levels"
        return 0, Failure(f"{what}_invalid", message)
    except (OverflowError, TypeError, ValueError):
        return 0, Failure(f"{what}_invalid", f"the {what} cannot be written as JSON")
    if size > MAX_OUTPUT_BYTES:
        article = "an" if what[0] in "aeiou" else "a"
        message = f"{article} {what} of {size:,} bytes is over the limit of {MAX_OUTPUT_BYTES:,}"
        return 0, Failure(f"{what}_too_large", message)
    return size, None


def output_of(program: Program, state: State, step: StepRun | None) -> Any:
    """Return the output of a completed step; None for other steps."""
    if step is None or step.status != "completed":
        return None
    return composed(program, state, step)


def composed(program: Program, state: State, step: StepRun) -> Any:
    """Return the output of a step, composed from the outputs of its inner steps.

    The step must be complete, or about to be completed.
    """
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
    """Return the output of the last step of a frame; None if the frame did not complete."""
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
    """Return a failure in the form in which expressions see it."""
    if error is None:
        return None
    return to_builtins(Failure(error.code, error.message, error.step)) | {"details": error.details}


_MAX_ERRORS: Final = 100


def needed(step: ParallelStep) -> int:
    """Return how many branches of a parallel step must complete."""
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
    """Return True if nothing that still runs can change the outcome of a step."""
    if isinstance(definition, ParallelStep):
        need = needed(definition)
        return step.succeeded >= need or step.failed > step.total - need
    if step.failed and stops(definition):
        return True
    return definition.while_ is None and step.succeeded + step.failed == step.total


def stops(definition: LoopStep) -> bool:
    """Return True if a failed round fails the whole loop."""
    return definition.on_error not in ("continue", "collect")


def most_at_once(definition: ParallelStep | LoopStep) -> int | None:
    """Return the maximum number of concurrent branches or rounds; None for no limit."""
    if isinstance(definition, LoopStep) and definition.mode == "sequential":
        return 1
    return definition.max_parallelism


def failure_of(program: Program, state: State, step: StepRun) -> Failure | None:
    """Return the failure of a parallel step or loop that is over; None if it succeeded."""
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
    details = dict(list(errors.items())[:_MAX_ERRORS])
    branches = f"{step.total} branches" if step.total != 1 else "1 branch"
    message = f"{step.failed} of {branches} failed, and {need} had to complete"
    return Failure("join_failed", message, step.key, details)


class RunScope:
    """The scope of expressions in a frame; `loops` are the loops around it, outermost first."""

    def __init__(
        self, program: Program, state: State, frame: Frame | None, loops: tuple[str, ...]
    ) -> None:
        self._program = program
        self._state = state
        self._frame = frame
        self._loops = loops
        self._rounds = frame.rounds if frame is not None else ()

    def variable(self, name: str) -> Any:
        return self._state.input if name == "input" else self._error()

    def _error(self) -> Any:
        """Return the failure that the innermost error handler around the frame is handling."""
        frame = self._frame
        while frame is not None and frame.owner:
            owner = self._state.steps[frame.owner]
            if frame.label == HANDLER:
                return error_value(owner.error)
            frame = self._state.frames[owner.frame]
        return error_value(self._state.error)

    def step(self, name: str, field: StepFieldName) -> Any:
        depth = len(self._program.plans[name].loops)
        step = self._state.steps.get(step_key(name, self._rounds[:depth]))
        if step is None:
            return None
        if field == "output":
            return output_of(self._program, self._state, step)
        return error_value(step.error) if field == "error" else getattr(step, field)

    def loop(self, up: int, field: LoopFieldName) -> Any:
        level = len(self._loops) - 1 - up
        index = self._index(level)
        if field == "index":
            return index
        items = self._state.steps[step_key(self._loops[level], self._rounds[:level])].items
        return items[index] if items is not None else None

    def _index(self, level: int) -> int:
        return self._rounds[level]


class WhileScope(RunScope):
    """The scope of the `while` expression of a loop.

    `loop.index` is the index of the next round; steps of the body are those of the previous round.
    """

    def __init__(self, program: Program, state: State, frame: Frame, step: StepRun) -> None:
        loops = program.plans[step.name].loops
        super().__init__(program, state, frame, (*loops, step.name))
        self._next = step.opened
        self._rounds = (*frame.rounds, step.opened - 1)

    def _index(self, level: int) -> int:
        return self._next if level == len(self._loops) - 1 else self._rounds[level]


class StepView(Struct, frozen=True):
    """A view of one step of a run; a step inside a loop has one view for each round."""

    key: str
    name: str
    type: StepType
    status: StepStatus
    attempts: int = 0
    output: Any = None
    error: Failure | None = None
    prompt: Any = None
    started_at: float | None = None
    finished_at: float | None = None


def view_steps(program: Program, state: State) -> Iterator[StepView]:
    """Yield views of the steps of a run, in the order of the definition."""
    view = _RunView(program, state)
    yield from view.block(program.main, "", MAIN, (), ended=state.finished_at is not None)
    if program.handler is not None:
        over = state.finished_at is not None
        yield from view.block(program.handler, "", HANDLER, (), ended=over)


class _RunView:
    """A generator of the step views of one run."""

    def __init__(self, program: Program, state: State) -> None:
        self._program = program
        self._state = state

    def block(
        self, block: Block, owner: str, label: str, rounds: tuple[int, ...], *, ended: bool
    ) -> Iterator[StepView]:
        """Yield views of the steps of one list, and of the steps inside them.

        If `ended`, steps that did not start count as skipped.
        """
        frame = self._state.frames.get(frame_id(owner, label))
        for index, plan in enumerate(block.plans):
            key = step_key(plan.step.name, rounds)
            step = self._state.steps.get(key)
            if step is None:
                passed = ended if frame is None else _has_passed(frame, index)
                status: StepStatus = "skipped" if passed else "pending"
                yield StepView(key, plan.step.name, type_of(plan.step), status)
            else:
                yield self._started(plan, step)
            yield from self._inside(
                plan, key, step, rounds, ended or _nothing_starts(step, frame, index)
            )

    def _started(self, plan: Plan, step: StepRun) -> StepView:
        return StepView(
            step.key,
            step.name,
            type_of(plan.step),
            step.status,
            step.attempts,
            output_of(self._program, self._state, step),
            step.error,
            step.prompt,
            step.started_at,
            step.finished_at,
        )

    def _inside(
        self, plan: Plan, key: str, step: StepRun | None, rounds: tuple[int, ...], over: bool
    ) -> Iterator[StepView]:
        if isinstance(plan.step, LoopStep):
            (body,) = plan.blocks.values()
            for each in range(step.opened if step is not None else 0):
                yield from self.block(body, key, str(each), (*rounds, each), ended=over)
        else:
            for label, block in plan.blocks.items():
                chosen = step is not None and step.choice not in (None, label)
                yield from self.block(block, key, label, rounds, ended=over or chosen)
        if plan.handler is not None:
            yield from self.block(plan.handler, key, HANDLER, rounds, ended=over)


def _nothing_starts(step: StepRun | None, frame: Frame | None, index: int) -> bool:
    """Return True if no more steps can start inside this step."""
    if step is None:
        return frame is not None and _has_passed(frame, index)
    return step.finished_at is not None


def _has_passed(frame: Frame, index: int) -> bool:
    return frame.status != "running" or index < frame.at
