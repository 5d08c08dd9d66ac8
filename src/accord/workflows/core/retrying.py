"""Retrying a run that failed or was cancelled.

A run goes on with exactly what did not complete: steps that failed or were cancelled start again,
in all branches and rounds, and whatever is around them is open again. Steps that completed stay as
they are, and so does what the run got over: failures with `on_error: continue`, the rounds that a
tolerant loop gave up, the losers of a race that was won. A failure that a handler took care of
stays too: the handler goes on. Of the workflow's own `on_error` the steps that completed do not
run a second time if the run fails again.

Whoever names a step has that step run again, and what depends on it: what comes after it in its
list, and after the steps around it. Everything else is continued as above.

A call whose outcome is unknown is repeated as the same call, so that the other side can tell; a
child run is continued.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from accord.workflows.core.definition import LoopStep, ParallelStep, Step, WorkflowStep
from accord.workflows.core.events import RetryRequested
from accord.workflows.core.joins import is_over, stops
from accord.workflows.core.program import HANDLER, MAIN, Program
from accord.workflows.core.rewinding import rewind
from accord.workflows.core.state import (
    FIRST_SCHEMA,
    TIMEOUT,
    Frame,
    State,
    StepRun,
    decode_state,
    encode_state,
    frame_id,
    step_key,
)
from accord.workflows.core.tree import block_of, current_step, frames_in, is_task

Advance: TypeAlias = Callable[[StepRun, ParallelStep | LoopStep], None]
"""Has a parallel step or a loop run as many of its lists as it may, or settle."""


def retry(program: Program, state: State, event: RetryRequested, advance: Advance) -> None:
    """Continue a run, or run it again from `event.step`; ignored where that is not possible."""
    is_possible = retry_problem(program, state, event.step) is None
    if event.parent_task is not None:
        state.schema = max(state.schema, event.schema)
        state.parent_task = event.parent_task
    elif not is_possible:
        state.ignored += 1
    if not is_possible:
        return
    if event.schema == FIRST_SCHEMA:
        assert event.step is not None, "requests of schema 1 name a step"
        rewind(program, state, event.step, event.at)
        return
    state.schema = max(state.schema, event.schema)
    retrying = Retrying(program, state, event.at, advance)
    retrying.run(None if event.step is None else state.steps[event.step])


def retry_problem(program: Program, state: State, key: str | None) -> str | None:
    """Why a run cannot be retried, or not from this step; None where it can."""
    if state.phase not in ("failed", "cancelled"):
        return f"a run that is {state.status} has nothing to retry"
    if key is None:
        return None
    step = state.steps.get(key)
    if step is None:
        return f"no step {key[:80]!r} was started in this run"
    frame = state.frames[step.frame]
    while frame.owner:
        frame = state.frames[state.steps[frame.owner].frame]
    if frame.label == HANDLER:
        return f"{key!r} belongs to the workflow's on_error"
    return None


class Retrying:
    """One run going on where it ended. What a named step and those after it gave is forgotten
    first, which leaves the steps around it unfinished like all others that did not complete."""

    def __init__(self, program: Program, state: State, at: float, advance: Advance) -> None:
        self._program = program
        self._state = state
        self._at = at
        self._advance = advance
        self._named: set[str] = set()
        """Ids of the frames that lead to the named step."""
        self._forgot = False
        """Whether anything that completed is to run again."""

    def run(self, named: StepRun | None) -> None:
        state = self._state
        state.phase, state.round = "running", state.round + 1
        state.finished_at = state.error = state.output = None
        if named is not None:
            self._rerun(named)
        handler = state.frames.get(frame_id("", HANDLER))
        if handler is not None and self._forgot:
            self._drop_frame(handler)
        main = state.frames[frame_id("", MAIN)]
        if main.status == "completed":  # only the output of the run could not be made
            state.agenda.append(("end", ""))
        else:
            self.resume(main)

    # What was named

    def _rerun(self, step: StepRun) -> None:
        """Forget a step and what comes after it and after the steps around it."""
        frame = self._state.frames[step.frame]
        # A task that did not complete starts again like all others that did not.
        is_kept = step.status != "completed" and is_task(self._program.plans[step.name])
        self._leave(frame, step.name, keep=is_kept)
        if is_kept:
            self._drop_inside(step)
        while frame.owner:
            owner = self._state.steps[frame.owner]
            handler = self._state.frames.get(frame_id(owner.key, HANDLER))
            if handler is not None and handler is not frame:
                self._drop_frame(handler)
            frame = self._state.frames[owner.frame]
            self._leave(frame, owner.name, keep=True)

    def _leave(self, frame: Frame, name: str, *, keep: bool) -> None:
        """Have a frame be at one of its steps, unfinished. Those after it are forgotten, and the
        step too unless it is to be kept."""
        block = block_of(self._program, self._state, frame)
        frame.at, frame.status = block.positions[name], "cancelled"
        self._named.add(frame.id)
        keys = [step_key(plan.step.name, frame.rounds) for plan in block.plans]
        for key in keys[frame.at + keep :]:
            self._drop(key)
        before = [key for key in keys[: frame.at] if key in self._state.steps]
        frame.last = before[-1] if before else None

    def _drop(self, key: str) -> None:
        self._state.resumed.pop(key, None)
        step = self._state.steps.get(key)
        if step is None:
            return
        self._forgot |= step.status == "completed"
        self._drop_inside(step)
        self._state.bytes -= step.size
        del self._state.steps[key]

    def _drop_inside(self, step: StepRun) -> None:
        for frame in list(frames_in(self._program, self._state, step)):
            self._drop_frame(frame)

    def _drop_frame(self, frame: Frame) -> None:
        for plan in block_of(self._program, self._state, frame).plans:
            self._drop(step_key(plan.step.name, frame.rounds))
        del self._state.frames[frame.id]

    # What goes on

    def resume(self, frame: Frame) -> None:
        """Continue a list of steps that did not complete."""
        frame.status, frame.error = "running", None
        step = current_step(self._program, self._state, frame)
        if step is None:
            self._state.agenda.append(("start", frame.id))
            return
        handler = self._state.frames.get(frame_id(step.key, HANDLER))
        if handler is not None:
            self.resume(handler)
        elif _was_opened(self._program.plans[step.name].step, step):
            self._reopen(step)
        else:
            self._restart(frame, step)

    def _restart(self, frame: Frame, step: StepRun) -> None:
        """Have a step start again that did not complete."""
        call = self._repeated(step)
        if call:
            self._state.resumed[step.key] = call
        del self._state.steps[step.key]
        self._state.agenda.append(("start", frame.id))

    def _repeated(self, step: StepRun) -> str:
        """The call that a step repeats when it starts again, or the one whose child run it
        continues; empty where it makes a new one."""
        plan = self._program.plans[step.name]
        if not is_task(plan):
            return ""
        if isinstance(plan.step, WorkflowStep) or step.status == "cancelled":
            return step.call
        assert step.error is not None, f"{step.key} failed"
        if step.error.unknown:
            return step.call
        if step.attempts:  # the other side said that it failed
            return ""
        # It was over before anything was heard, or never began: then nothing new is known.
        return step.call if step.error.code == TIMEOUT else step.resumes

    def _reopen(self, step: StepRun) -> None:
        """Continue a step with lists of steps inside."""
        plan = self._program.plans[step.name]
        step.status, step.finished_at, step.error = "running", None, None
        if plan.timeout is not None:
            self._state.deadlines[step.key] = self._at + plan.timeout
        if isinstance(plan.step, ParallelStep | LoopStep):
            self._reopen_lists(step, plan.step)
        else:
            assert step.choice is not None, f"{step.key} chose a list"
            self.resume(self._state.frames[frame_id(step.key, step.choice)])

    def _reopen_lists(self, step: StepRun, definition: ParallelStep | LoopStep) -> None:
        is_tolerant = isinstance(definition, LoopStep) and not stops(definition)
        step.succeeded = step.failed = 0
        step.settling = False
        unfinished: list[Frame] = []
        for frame in frames_in(self._program, self._state, step):
            if frame.status == "completed":
                step.succeeded += 1
            elif frame.status == "failed" and is_tolerant:
                step.failed += 1
            else:
                frame.status, frame.error = "cancelled", None
                unfinished.append(frame)
        named = [frame for frame in unfinished if frame.id in self._named]
        others = [frame.label for frame in unfinished if frame not in named]
        if named and is_over(definition, step):  # no other list can change how it ends
            self.resume(named[0])
            return
        step.halted = [*(frame.label for frame in named), *others]
        self._advance(step, definition)


def _was_opened(definition: Step, step: StepRun) -> bool:
    """Whether a step has lists of steps that started, or could have."""
    match definition:
        case ParallelStep():
            return True
        case LoopStep(while_=None):
            return step.items is not None
        case LoopStep():
            return True
        case _:
            return step.choice is not None


def will_restart(program: Program, state: State, key: str) -> bool:
    """Whether a step starts again when its run, which has ended, is retried without naming one."""
    copy = decode_state(encode_state(state))

    def advance(step: StepRun, definition: ParallelStep | LoopStep) -> None:
        while step.halted and not is_over(definition, step):
            retrying.resume(copy.frames[frame_id(step.key, step.halted.pop())])

    retrying = Retrying(program, copy, 0.0, advance)
    retrying.run(None)
    return key in state.steps and key not in copy.steps
