"""A cache of the states of runs that were decided on recently.

Everything in it is also in the database, so any run can be dropped at any time. To decide on a run,
its state is taken out of the cache or else read from the database. It is put back when the decision
has been recorded; after a failure it is not, so the next decision reads it from the database.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, Final

from msgspec import Struct, json
from msgspec.structs import replace

from accord.store.store import Store, StoreUnavailableError
from accord.workflows.core.events import (
    Event,
    RunStarted,
    SignalReceived,
    StepStarted,
    TaskSucceeded,
)
from accord.workflows.core.program import Program, asks_approval
from accord.workflows.core.state import State, StepRun
from accord.workflows.executor.inbox import DecisionProblem
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.history import RunRow, read_later, read_rows, restore_state
from accord.workflows.storage.messages import InboxMessage, read_postponed

MAX_RUNS: Final = 10_000
MAX_BYTES: Final = 128 * 1024 * 1024

_RUN_BYTES: Final = 3_000
_STEP_BYTES: Final = 600
_FACTOR: Final = 8
"""The estimated number of bytes of memory for each byte of JSON of a list or object."""


class CachedRun(Struct):
    """A run with its row, program and state."""

    row: RunRow
    program: Program
    state: State
    approvals: set[str]
    """The tasks of open approvals."""
    values: int
    """The number of bytes of memory that the run's inputs and outputs take, estimated."""

    @property
    def cost(self) -> int:
        """The estimated memory of the whole run, in bytes."""
        return _RUN_BYTES + len(self.state.steps) * _STEP_BYTES + self.values


def cached_run(row: RunRow, program: Program, later: Sequence[str]) -> CachedRun:
    """Build a cached run from its row and the events since its snapshot.

    Raise NewerSchemaError if a newer release wrote the data, msgspec.DecodeError if it is invalid.
    """
    state = restore_state(row, program, later)
    approvals = {
        step.task
        for step in state.steps.values()
        if step.active and asks_approval(program.plans[step.name])
    }
    values = _weight(state.input) + _weight(state.signals) + sum(map(_step, state.steps.values()))
    return CachedRun(replace(row, snapshot=None), program, state, approvals, values)


def added_bytes(events: Iterable[Event]) -> int:
    """Estimate the memory in bytes that events add to a state."""
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


class RunCache:
    """A cache of runs by id, which drops the least recently used first."""

    def __init__(self, *, runs: int = MAX_RUNS, bytes: int = MAX_BYTES) -> None:
        self._runs: OrderedDict[str, tuple[CachedRun, int]] = OrderedDict()
        self._most_runs = runs
        self._most_bytes = bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._runs)

    def take(self, run_id: str) -> CachedRun | None:
        """Remove and return a run; None if it is not cached."""
        found = self._runs.pop(run_id, None)
        if found is None:
            return None
        self._bytes -= found[1]
        return found[0]

    def put(self, cached: Iterable[CachedRun]) -> None:
        """Add runs; drop the least recently used ones if the cache is full."""
        for each in cached:
            self.take(each.row.id)
            cost = each.cost
            self._runs[each.row.id] = each, cost
            self._bytes += cost
        while len(self._runs) > self._most_runs or self._bytes > self._most_bytes:
            _, (_, cost) = self._runs.popitem(last=False)
            self._bytes -= cost

    def drop(self, condition: Callable[[CachedRun], bool]) -> None:
        """Drop all runs for which `condition` returns True."""
        for run_id in [id for id, (cached, _) in self._runs.items() if condition(cached)]:
            self.take(run_id)


_MAX_LOADED: Final = 50
"""The maximum number of states read by one query."""
_MAX_LOADED_BYTES: Final = 16 * 1024 * 1024
"""The memory limit for states read for one batch, in bytes; the last query may exceed it."""


class LoadedStates(Struct, frozen=True):
    """Runs to decide on with their messages, and the problems of runs that cannot be loaded.

    `strays` are messages whose run does not exist.
    """

    cached: dict[str, CachedRun]
    messages: dict[str, Sequence[InboxMessage]]
    problems: list[DecisionProblem]
    strays: list[InboxMessage]


async def load_states(
    store: Store,
    definitions: Definitions,
    memory: RunCache,
    todo: Mapping[str, Sequence[InboxMessage]],
) -> LoadedStates:
    """Load the states of runs, as many as fit into memory.

    Raise StoreUnavailableError if the database is unavailable.
    """
    loaded = LoadedStates({}, {}, [], [])
    missing: list[str] = []
    for run_id in todo:
        found = memory.take(run_id)
        if found is None:
            missing.append(run_id)
        else:
            loaded.cached[run_id] = found
            loaded.messages[run_id] = todo[run_id]
    room = _MAX_LOADED_BYTES
    for start in range(0, len(missing), _MAX_LOADED):
        if room > 0:
            some = {run_id: todo[run_id] for run_id in missing[start : start + _MAX_LOADED]}
            room -= await _load(store, definitions, some, loaded)
    return loaded


async def _load(
    store: Store,
    definitions: Definitions,
    todo: Mapping[str, Sequence[InboxMessage]],
    loaded: LoadedStates,
) -> int:
    """Read the states of some runs into `loaded`; return their memory in bytes."""
    rows = await read_rows(store, store.engine, todo)
    begun = [row.id for row in rows if row.status != "pending"]
    later = await read_later(store, store.engine, begun) if begun else {}
    cost = 0
    for row in rows:
        try:
            program = await definitions.get(store, row.workflow, row.version)
            cached = cached_run(row, program, later.get(row.id, ()))
        except StoreUnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - the problem of one run, stored and logged
            loaded.problems.append(DecisionProblem(row.id, todo[row.id], error, row=row))
        else:
            loaded.cached[row.id] = cached
            loaded.messages[row.id] = await _all_messages(store, row, todo[row.id])
            cost += cached.cost
    strays = todo.keys() - {row.id for row in rows}
    loaded.strays.extend(message for run_id in strays for message in todo[run_id])
    return cost


async def _all_messages(
    store: Store, row: RunRow, messages: Sequence[InboxMessage]
) -> Sequence[InboxMessage]:
    """Return a run's messages, including postponed ones, in the order of arrival.

    Messages of a run with a problem were postponed to different times; all are included here, to
    keep their order.
    """
    if row.problem is None:
        return messages
    known = {each.id for each in messages}
    before = [each for each in await read_postponed(store, row.id) if each.id not in known]
    # What the bus offers has no row, and came last.
    return sorted((*before, *messages), key=lambda each: each.id or inf)
