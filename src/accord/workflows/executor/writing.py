"""What is written when runs have been decided on: all of it in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, assert_never

from msgspec import Struct, json
from msgspec.structs import replace

from accord.store.store import Engine, Transaction
from accord.workflows.bus.bus import Announcement, Bus
from accord.workflows.core.events import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallPlugin,
    CallTool,
    CancelChild,
    CancelTask,
    ContinueTask,
    RequestApproval,
    StartChild,
)
from accord.workflows.core.state import encode_state
from accord.workflows.executor.children import cancel_child, tell_parent
from accord.workflows.executor.turns import Turn
from accord.workflows.storage.history import Entry, append_history, encode_events
from accord.workflows.storage.inbox import Message, Received, delete_messages, deliver
from accord.workflows.storage.loading import RunRow
from accord.workflows.storage.runs import (
    NewRun,
    close_approvals,
    create_runs,
    open_approvals,
    store_snapshots,
    update_runs,
)
from accord.workflows.storage.task_changes import continue_tasks, finish_tasks
from accord.workflows.storage.tasks import (
    FIRST_GROUP,
    WAKE,
    Call,
    NewTask,
    insert_owned,
    insert_tasks,
    task_id,
)

T = TypeVar("T")
_Row = tuple[Any, ...]


class Part(Struct):
    """What is to be written for one run. `row` is what its row says then."""

    turn: Turn
    row: RunRow
    entries: list[Entry]
    updates: list[_Row]
    snapshots: list[_Row]
    calls: list[NewTask]
    operations: list[NewTask]
    cancels: list[str]
    continues: list[_Row]
    opened: list[_Row]
    closed: list[_Row]
    children: list[NewRun]
    messages: list[Message]


def compose(
    turn: Turn, children: Sequence[NewRun | Message], groups: Mapping[str, int], now: float
) -> Part:
    """What is to be written for a turn, with what came of its commands to start children, and the
    attempt groups of calls that are repeated."""
    held, run_id = turn.held, turn.held.row.id
    state = held.state
    row = replace(
        held.row,
        status=state.status,
        next_timer=turn.next_timer(now),
        finished_at=state.finished_at,
        snapshot_at=state.applied if turn.wants_snapshot else held.row.snapshot_at,
        problem=None,
    )
    part = Part(turn, row, [], [], [], [], [], [], [], [], [], [], [])
    if turn.events:
        text = encode_events(turn.events)
        part.entries.append(Entry(run_id, turn.first, len(turn.events), text))
    part.closed = [(run_id, task) for task in turn.closed]
    changed = (row.status, row.next_timer, row.finished_at)
    if turn.wants_snapshot:
        text = encode_state(state).decode()
        part.snapshots.append((run_id, *changed, text, row.snapshot_at))
    elif changed != (held.row.status, held.row.next_timer, held.row.finished_at) or (
        held.row.problem is not None
    ):
        part.updates.append((run_id, *changed))
    _compose_commands(part, iter(children), groups, now)
    if turn.outcome is not None:
        told = tell_parent(row, state, turn.outcome)
        part.messages += [] if told is None else [told]
    return part


def _compose_commands(
    part: Part, children: Iterator[NewRun | Message], groups: Mapping[str, int], now: float
) -> None:
    row = part.row
    for command in part.turn.commands:
        match command:
            case CallAgent() | CallTool() | CallMethod() | CallPlugin():
                part.calls.append(_task(row, command, groups, now))
            case CallOperation():
                part.operations.append(_task(row, command, groups, now))
            case CancelTask(task=task):
                part.cancels.append(task_id(row.id, task))
            case ContinueTask(task=task, payload=payload):
                part.continues.append((task_id(row.id, task), json.encode(payload).decode()))
            case RequestApproval():
                approvers = json.encode(command.by).decode()
                shown = json.encode({"message": command.message, "data": command.data}).decode()
                opened = (row.id, command.task, command.step, approvers, command.deadline, now)
                part.opened.append((*opened, shown))
            case CancelChild():
                part.messages.append(cancel_child(row.id, command, now))
            case StartChild():  # in order: a child may be cancelled and continued in one turn
                begun = next(children)
                if isinstance(begun, NewRun):
                    part.children.append(begun)
                else:
                    part.messages.append(begun)
            case _:
                assert_never(command)


def _task(row: RunRow, command: Call, groups: Mapping[str, int], now: float) -> NewTask:
    return NewTask(
        run_id=row.id,
        command=command,
        at=now,
        attempt_group=groups.get(command.task, FIRST_GROUP),
        traceparent=row.traceparent,
        correlation_id=row.correlation_id,
    )


def _announcement(part: Part, entry: Entry) -> Announcement:
    row = part.row
    return Announcement(
        *(entry.run_id, entry.sequence, entry.events, part.turn.events[0].at),
        row.correlation_id,
        row.traceparent,
    )


class Owned(Struct, frozen=True):
    """Tasks that somebody has from the beginning."""

    owner: str = ""
    ids: frozenset[str] = frozenset()


async def write_parts(
    db: Transaction,
    engine: Engine,
    bus: Bus,
    parts: Sequence[Part],
    strays: Sequence[Received],
    owned: Owned,
) -> None:
    """Write what was decided, and delete the messages that it was decided on, and strays, which no
    run waits for; where the bus offered them, their tasks are done. Raises ConstraintError where
    somebody else decided first."""
    taken = list(chain(strays, *(part.turn.messages for part in parts)))
    await delete_messages(db, engine, taken)
    await finish_tasks(db, [each.message for each in taken if each.message is not None])
    await append_history(db, _all(part.entries for part in parts))
    await update_runs(db, _all(part.updates for part in parts))
    await store_snapshots(db, _all(part.snapshots for part in parts))
    await _hand_over(db, bus, parts, owned)
    await open_approvals(db, _all(part.opened for part in parts))
    await close_approvals(db, _all(part.closed for part in parts))
    await create_runs(db, _all(part.children for part in parts))
    await deliver(db, _all(part.messages for part in parts))


async def _hand_over(db: Transaction, bus: Bus, parts: Sequence[Part], owned: Owned) -> None:
    calls = _all(part.calls for part in parts)
    operations = _all(part.operations for part in parts)
    given: list[NewTask] = []
    if owned.ids:
        given = [each for each in calls if each.id in owned.ids]
        own = [each for each in operations if each.id in owned.ids]
        await insert_owned(db, given + own, owned.owner)
        calls = [each for each in calls if each.id not in owned.ids]
        operations = [each for each in operations if each.id not in owned.ids]
    decisions = [_announcement(part, entry) for part in parts for entry in part.entries]
    if calls or given or decisions:
        await bus.dispatch(db, calls, decisions, given=given)
    await insert_tasks(db, operations, "ready")
    # Others change tasks too, many at once: all go by the same order.
    continues = sorted(_all(part.continues for part in parts))
    await continue_tasks(db, continues)
    if cancels := sorted(_all(part.cancels for part in parts)):
        await bus.cancel(db, cancels)
    if operations or continues:
        await db.notify(WAKE)


def _all(lists: Iterable[list[T]]) -> list[T]:
    return list(chain.from_iterable(lists))
