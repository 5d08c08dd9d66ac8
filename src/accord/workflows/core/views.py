"""Views of the steps of a run, including steps that have not started or were skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from accord.workflows.core.definition import LoopStep, StepType, type_of
from accord.workflows.core.outputs import output_of
from accord.workflows.core.program import HANDLER, MAIN, Block, Plan, Program
from accord.workflows.core.state import (
    Failure,
    Frame,
    State,
    StepRun,
    StepStatus,
    frame_id,
    step_key,
)


class StepView(Struct, frozen=True):
    """One step of a run; a step in a loop has a view for each round."""

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
    view = _View(program, state)
    yield from view.block(program.main, "", MAIN, (), ended=state.finished_at is not None)
    if program.handler is not None:
        over = state.finished_at is not None
        yield from view.block(program.handler, "", HANDLER, (), ended=over)


class _View:
    def __init__(self, program: Program, state: State) -> None:
        self._program = program
        self._state = state

    def block(
        self, block: Block, owner: str, label: str, rounds: tuple[int, ...], *, ended: bool
    ) -> Iterator[StepView]:
        """Yield views of the steps of one list; `ended` if the step around it is over."""
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
            yield from self._inside(plan, key, step, rounds, ended or _is_over(step, frame, index))

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


def _is_over(step: StepRun | None, frame: Frame | None, index: int) -> bool:
    """Return True if nothing more will start inside a step."""
    if step is None:
        return frame is not None and _has_passed(frame, index)
    return step.finished_at is not None


def _has_passed(frame: Frame, index: int) -> bool:
    return frame.status != "running" or index < frame.at
