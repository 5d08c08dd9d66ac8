"""Retries of schema 1, as they are in histories of earlier releases: never changed, and never asked
for any more. `retrying` is what replaced them.

The named step and everything after it is forgotten and runs again; what completed before it stays.
The steps around it go on. Of their other branches and rounds those that completed stay too, and
those that failed or were cancelled start again with the step they were at, and everything inside
it; what a loop with `on_error: continue` or `collect` got over is not touched.
"""

from __future__ import annotations

from accord.workflows.core.definition import LoopStep, ParallelStep
from accord.workflows.core.joins import stops
from accord.workflows.core.program import HANDLER, Plan, Program
from accord.workflows.core.state import Frame, State, StepRun, frame_id, step_key
from accord.workflows.core.tree import block_of, frames_in


def rewind(program: Program, state: State, key: str, at: float) -> None:
    """Put a run that ended back to where a step begins."""
    _Rewinding(program, state, at).start(state.steps[key])


class _Rewinding:
    """One run going back."""

    def __init__(self, program: Program, state: State, at: float) -> None:
        self._program = program
        self._state = state
        self._at = at

    def start(self, step: StepRun) -> None:
        state = self._state
        state.phase, state.round = "running", state.round + 1
        state.finished_at = state.error = state.output = None
        handler = state.frames.get(frame_id("", HANDLER))
        if handler is not None:
            self._drop_frame(handler)
        frame = state.frames[step.frame]
        self._restart(frame, step.name)
        while frame.owner:
            owner = state.steps[frame.owner]
            around = state.frames[owner.frame]
            self._rewind(around, owner.name, keep=True)
            if frame.label != HANDLER:
                self._resume(owner, frame)
            frame = around

    def _restart(self, frame: Frame, name: str) -> None:
        """A frame goes on with one of its steps."""
        self._rewind(frame, name, keep=False)
        self._state.agenda.append(("start", frame.id))

    def _rewind(self, frame: Frame, name: str, *, keep: bool) -> None:
        """A frame goes back to one of its steps: those after it are forgotten, and it too unless it
        is to be kept."""
        block = block_of(self._program, self._state, frame)
        frame.at, frame.status, frame.error = block.positions[name], "running", None
        keys = [step_key(plan.step.name, frame.rounds) for plan in block.plans]
        for key in keys[frame.at + keep :]:
            self._drop(key)
        before = [key for key in keys[: frame.at] if key in self._state.steps]
        frame.last = before[-1] if before else None

    def _resume(self, owner: StepRun, frame: Frame) -> None:
        """A step around `frame` runs again."""
        plan = self._program.plans[owner.name]
        owner.status, owner.finished_at, owner.error = "running", None, None
        if plan.timeout is not None:
            self._state.deadlines[owner.key] = self._at + plan.timeout
        handler = self._state.frames.get(frame_id(owner.key, HANDLER))
        if handler is not None:
            self._drop_frame(handler)
        if isinstance(plan.step, ParallelStep | LoopStep):
            self._resume_others(owner, frame, plan)

    def _resume_others(self, owner: StepRun, frame: Frame, plan: Plan) -> None:
        """The other branches or rounds of a step stay as they ended, or go on."""
        is_tolerant = isinstance(plan.step, LoopStep) and not stops(plan.step)
        owner.succeeded = owner.failed = 0
        owner.settling = False
        for each in frames_in(self._program, self._state, owner):
            if each is frame:
                continue
            if each.status == "completed":
                owner.succeeded += 1
            elif each.status == "failed" and is_tolerant:
                owner.failed += 1
            else:
                block = block_of(self._program, self._state, each)
                self._restart(each, block.plans[each.at].step.name)

    def _drop(self, key: str) -> None:
        step = self._state.steps.get(key)
        if step is None:
            return
        for frame in list(frames_in(self._program, self._state, step)):
            self._drop_frame(frame)
        self._state.bytes -= step.size
        del self._state.steps[key]

    def _drop_frame(self, frame: Frame) -> None:
        for plan in block_of(self._program, self._state, frame).plans:
            self._drop(step_key(plan.step.name, frame.rounds))
        del self._state.frames[frame.id]
