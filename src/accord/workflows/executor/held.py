"""The runs whose state an executor keeps in memory: those decided on last, as many as fit. Any of
them can be dropped at any time, since all of it is in the database."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.workflows.core.program import Program
from accord.workflows.core.state import State
from accord.workflows.core.tree import asks_approval
from accord.workflows.storage.loading import RunRow, restored

MOST_RUNS: Final = 10_000
MOST_BYTES: Final = 64 * 1024 * 1024

_RUN_BYTES: Final = 4_000
_FACTOR: Final = 4
"""How much more memory a state takes than the JSON of its history."""


class Held(Struct):
    """A run, and what its row says beside its state."""

    row: RunRow
    program: Program
    state: State
    approvals: set[str]
    """The tasks that people are asked to decide on."""
    size: int
    """Characters of what it was read from, and of what happened since."""

    @property
    def cost(self) -> int:
        """About how many bytes it takes."""
        return _RUN_BYTES + self.size * _FACTOR


def hold(row: RunRow, program: Program, later: Sequence[str]) -> Held:
    """A run, as its row and what happened since its snapshot say. Raises NewerSchemaError, and
    msgspec.ValidationError."""
    state = restored(row, program, later)
    approvals = {
        step.task
        for step in state.steps.values()
        if step.active and asks_approval(program.plans[step.name])
    }
    size = len(row.snapshot or "") + sum(map(len, later))
    return Held(replace(row, snapshot=None), program, state, approvals, size)


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
