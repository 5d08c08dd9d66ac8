"""The states of the runs to decide on: those in memory, the others read from the database. Each is
taken out of memory, and put back when what was decided is recorded; so whatever goes wrong in
between, the next who decides reads it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final

from msgspec import Struct

from accord.store.store import Store, UnavailableError
from accord.workflows.executor.held import Held, HeldRuns, hold
from accord.workflows.executor.mailbox import Trouble
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.inbox import Received, read_postponed
from accord.workflows.storage.loading import RunRow, read_later, read_rows

_LOAD: Final = 50
"""How many states are read at once."""
_LOAD_BYTES: Final = 16 * 1024 * 1024
"""How much memory those may take that are read for one decision; the last may take more."""


class Taken(Struct, frozen=True):
    """Runs to decide on, with the messages for them; those that cannot be read, and messages for
    runs that are not there."""

    held: dict[str, Held]
    messages: dict[str, Sequence[Received]]
    troubles: list[Trouble]
    strays: list[Received]


async def take_states(
    store: Store,
    definitions: Definitions,
    memory: HeldRuns,
    todo: Mapping[str, Sequence[Received]],
) -> Taken:
    """The states of runs, as many as there is room for. Raises UnavailableError."""
    taken = Taken({}, {}, [], [])
    missing: list[str] = []
    for run_id in todo:
        found = memory.take(run_id)
        if found is None:
            missing.append(run_id)
        else:
            taken.held[run_id] = found
            taken.messages[run_id] = todo[run_id]
    room = _LOAD_BYTES
    for start in range(0, len(missing), _LOAD):
        if room > 0:
            some = {run_id: todo[run_id] for run_id in missing[start : start + _LOAD]}
            room -= await _load(store, definitions, some, taken)
    return taken


async def _load(
    store: Store,
    definitions: Definitions,
    todo: Mapping[str, Sequence[Received]],
    taken: Taken,
) -> int:
    """Reads some states; how much memory they take."""
    rows = await read_rows(store, store.engine, todo)
    begun = [row.id for row in rows if row.status != "pending"]
    later = await read_later(store, store.engine, begun) if begun else {}
    cost = 0
    for row in rows:
        try:
            program = await definitions.get(store, row.workflow, row.version)
            held = hold(row, program, later.get(row.id, ()))
        except UnavailableError:
            raise
        except Exception as error:
            taken.troubles.append(Trouble(row.id, todo[row.id], error, row=row))
        else:
            taken.held[row.id] = held
            taken.messages[row.id] = await _all_messages(store, row, todo[row.id])
            cost += held.cost
    strays = todo.keys() - {row.id for row in rows}
    taken.strays.extend(message for run_id in strays for message in todo[run_id])
    return cost


async def _all_messages(
    store: Store, row: RunRow, messages: Sequence[Received]
) -> Sequence[Received]:
    """The messages to decide on. Where nothing could be decided on a run for a while, those that
    came meanwhile wait for different times: they are taken in the order in which they came."""
    if row.problem is None:
        return messages
    known = {each.id for each in messages}
    before = [each for each in await read_postponed(store, row.id) if each.id not in known]
    # What the bus offers has no row, and came last.
    return sorted((*before, *messages), key=lambda each: each.id or inf)
