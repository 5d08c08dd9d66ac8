"""What expressions see at one place of a run."""

from __future__ import annotations

from typing import Any

from accord.workflows.core.outputs import error_value, output_of
from accord.workflows.core.program import HANDLER, Program
from accord.workflows.core.state import Frame, State, StepRun, step_key
from accord.workflows.core.syntax import LoopFieldName, StepFieldName


class RunScope:
    """The scope of a list of steps; `loops` are those around it, the outermost first."""

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
        """Why the handler runs that is nearest around."""
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
    """The scope of a loop's `while`: `loop.index` is the round that would be next, steps of the
    body are those of the round before."""

    def __init__(self, program: Program, state: State, frame: Frame, step: StepRun) -> None:
        loops = program.plans[step.name].loops
        super().__init__(program, state, frame, (*loops, step.name))
        self._next = step.opened
        self._rounds = (*frame.rounds, step.opened - 1)

    def _index(self, level: int) -> int:
        return self._next if level == len(self._loops) - 1 else self._rounds[level]
