"""The runs whose state an executor keeps in memory: those decided on last, as many as fit. Any of
them can be dropped at any time, since all of it is in the database."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from msgspec import Struct, json
from msgspec.structs import replace

from accord.workflows.core.events import (
    Event,
    RunStarted,
    SignalReceived,
    StepStarted,
    TaskSucceeded,
)
from accord.workflows.core.program import Program, asks_approval
from accord.workflows.core.state import State, StepRun
from accord.workflows.storage.loading import RunRow, restored

MOST_RUNS: Final = 10_000
MOST_BYTES: Final = 128 * 1024 * 1024

_RUN_BYTES: Final = 3_000
_STEP_BYTES: Final = 600
_FACTOR: Final = 8
"""How much more memory lists and objects take than their JSON."""


class Held(Struct):
    """A run, and what its row says beside its state."""

    row: RunRow
    program: Program
    state: State
    approvals: set[str]
    """The tasks that people are asked to decide on."""
    values: int
    """About how many bytes its inputs and outputs take."""

    @property
    def cost(self) -> int:
        """About how many bytes it takes."""
        return _RUN_BYTES + len(self.state.steps) * _STEP_BYTES + self.values


def hold(row: RunRow, program: Program, later: Sequence[str]) -> Held:
    """A run, as its row and what happened since its snapshot say. Raises NewerSchemaError, and
    msgspec.ValidationError."""
    state = restored(row, program, later)
    approvals = {
        step.task
        for step in state.steps.values()
        if step.active and asks_approval(program.plans[step.name])
    }
    values = _weight(state.input) + _weight(state.signals) + sum(map(_step, state.steps.values()))
    return Held(replace(row, snapshot=None), program, state, approvals, values)


def added(events: Iterable[Event]) -> int:
    """About how many bytes more a state takes after these."""
    return sum(map(_event, events))


def _event(event: Event) -> int:
    match event:
        case TaskSucceeded():
            return _outputs(event)
        case SignalReceived():
            return _weight(event.payload, event.size)
        case StepStarted():
            return _weight(event.items)
        case RunStarted():
            return _weight(event.input)
        case _:
            return 0


def _step(step: StepRun) -> int:
    return _weight(step.items) + _weight(step.shown) + _outputs(step)


def _outputs(done: TaskSucceeded | StepRun) -> int:
    if done.data is None and done.artifacts is None:
        return _weight(done.output, done.size)
    return done.size * _FACTOR


def _weight(value: Any, size: int = 0) -> int:
    match value:
        case str():
            return len(value)
        case list() | dict():
            return _FACTOR * (size or len(json.encode(value)))
        case _:
            return 0


class HeldRuns:
    """Runs by id, the one that was used longest ago is dropped first."""

    def __init__(self, *, runs: int = MOST_RUNS, bytes: int = MOST_BYTES) -> None:
        self._runs: OrderedDict[str, tuple[Held, int]] = OrderedDict()
        self._most_runs = runs
        self._most_bytes = bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._runs)

    def take(self, run_id: str) -> Held | None:
        """A run, no longer kept here: it is about to change, and comes back when that is
        recorded."""
        found = self._runs.pop(run_id, None)
        if found is None:
            return None
        self._bytes -= found[1]
        return found[0]

    def put(self, held: Iterable[Held]) -> None:
        for each in held:
            self.take(each.row.id)
            cost = each.cost
            self._runs[each.row.id] = each, cost
            self._bytes += cost
        while len(self._runs) > self._most_runs or self._bytes > self._most_bytes:
            _, (_, cost) = self._runs.popitem(last=False)
            self._bytes -= cost

    def drop(self, which: Callable[[Held], bool]) -> None:
        for run_id in [id for id, (held, _) in self._runs.items() if which(held)]:
            self.take(run_id)
