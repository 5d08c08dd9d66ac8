"""Operations on dead letters: failed tasks, and messages that could not be used.

Replaying the dead letter of a task retries its run, if that starts the failed task again.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from accord.operations.context import Changed, Effect, OperationContext
from accord.operations.errors import ConflictError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, map_page, page_of
from accord.operations.registry import Registry
from accord.store.store import Row
from accord.workflows.bridge.task import is_callable
from accord.workflows.core.errors import CoreError
from accord.workflows.core.events import Arrival, RetryRequested, decode_event
from accord.workflows.core.retry import will_restart
from accord.workflows.operations.run_control import check_allowed
from accord.workflows.operations.run_views import (
    load_run_or_fail,
    request_time,
    require_run,
    utc_text,
)
from accord.workflows.operations.runs import RunId
from accord.workflows.storage.messages import (
    MARK_REPLAYED,
    ONE_LETTER,
    LetterFilter,
    RunMessage,
    count_letters,
    deliver,
    list_letters,
)

operations: Final = Registry()

LetterId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
LetterKind: TypeAlias = Literal["task", "message"]

NEWEST: Final = (1e12, "")
INBOX: Final = "run_inbox"
TRIGGERS: Final = "triggers"
"""The origin of dead letters of triggers; `INBOX` and `TRIGGERS` are no topics of a broker."""
ARRIVALS: Final = get_args(Arrival)


class DeadLetter(Changed, kw_only=True):
    id: str
    kind: LetterKind
    topic: str
    run_id: str
    task: str
    target: str
    """The agent, or whatever else was called."""
    code: str
    message: str
    body: str
    attempts: int
    created_at: str
    replayed_at: str | None
    replayed_by: str


@operations.read(
    right="admin", rest=Rest("GET", "/dead-letters"), tag="dead letters", tool=False, snapshot=True
)
async def list_dead_letters(
    work: OperationContext,
    *,
    kind: LetterKind | None = None,
    run: RunId | None = None,
    replayed: bool | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[DeadLetter]:
    """List what was given up, the newest first."""
    condition = LetterFilter(kind=kind, run_id=run, replayed=replayed)
    total = await count_letters(work.db, condition)
    before = NEWEST if cursor is None else cursor_keys(cursor, tuple[float, str])
    rows = await list_letters(work.db, condition, before, limit + 1)
    page = page_of(rows, limit=limit, total=total, key=lambda row: (row["created_at"], row["id"]))
    return map_page(page, _shown)


@operations.read(
    right="admin", rest=Rest("GET", "/dead-letters/{id}"), tag="dead letters", tool=False
)
async def get_dead_letter(work: OperationContext, *, id: LetterId) -> DeadLetter:
    """Get one thing that was given up."""
    return _shown(await _find(work, id))


@operations.write(
    right="admin",
    rest=Rest("POST", "/dead-letters/{id}/replay", 202),
    tag="dead letters",
    tool=False,
    open_world=True,
    runs=is_callable,
)
async def replay_dead_letter(work: OperationContext, *, id: LetterId) -> DeadLetter:
    """Try again what was given up: a run that failed is retried, a message is delivered again."""
    work.reaches("agents")
    row = await _find(work, id)
    if row["replayed_at"] is not None:
        raise ConflictError(f"it was replayed already, by {row['replayed_by']}")
    await _replay(work, row)
    await work.db.execute(MARK_REPLAYED, id, request_time(work), work.caller.username)
    after = _shown(await _find(work, id))
    work.record(
        Effect(
            action="updated",
            kind="dead_letter",
            id=id,
            reference_id=id,
            before={"replayed_at": None},
            after={"replayed_at": after.replayed_at},
        )
    )
    return after


async def _replay(work: OperationContext, row: Row) -> None:
    """Replay a dead letter, according to its kind and origin.

    Raise ConflictError if it cannot be replayed.
    """
    if row["kind"] == "task":
        await _retry(work, row)
    elif row["topic"] == INBOX:
        await require_run(work, row["run_id"])
        await _deliver(work, row, _arrival(row))
    elif row["topic"] == TRIGGERS:
        raise ConflictError("a trigger could start no run: correct the cause, and start one")
    else:
        await _publish(work, row)


async def _retry(work: OperationContext, row: Row) -> None:
    """Retry the run of a failed task, without repeating completed steps.

    Raise ConflictError if the run cannot be retried, or would not start the task again.
    """
    run = await load_run_or_fail(work, row["run_id"])
    retry = RetryRequested(at=request_time(work), by=work.caller.username)
    check_allowed(run, retry)
    step = row["task"].partition("@")[0]
    if not will_restart(run.program, run.state, step):
        raise ConflictError(
            f"the run went on after {step!r} failed: to run it and what follows it again, retry"
            " the run from that step",
            state=run.state.status,
        )
    await _deliver(work, row, retry)


async def _deliver(work: OperationContext, row: Row, arrival: Arrival) -> None:
    id = row["run_id"]
    await deliver(work.db, [RunMessage(f"{id}/replay/{row['id']}", id, arrival)])


def _arrival(row: Row) -> Arrival:
    try:
        event = decode_event(row["body"].encode())
    except (CoreError, msgspec.DecodeError):
        raise ConflictError("this message cannot be read by this version") from None
    if not isinstance(event, ARRIVALS):
        raise ConflictError("this message is none that a run gets")
    arrival: Arrival = event
    return arrival


async def _publish(work: OperationContext, row: Row) -> None:
    # Imported here because it needs confluent-kafka, which is optional.
    from accord.workflows.bus.bus import ReplayError
    from accord.workflows.bus.outbox import republish

    try:
        await republish(work.db, row["id"])
    except ReplayError as error:
        raise ConflictError(str(error)) from None


async def _find(work: OperationContext, id: str) -> Row:
    rows: list[Row] = await work.db.fetch(ONE_LETTER, id)
    if not rows:
        raise NotFoundError(f"there is no dead letter {id!r}")
    return rows[0]


def _shown(row: Row) -> DeadLetter:
    return DeadLetter(
        id=row["id"],
        kind=row["kind"],
        topic=row["topic"],
        run_id=row["run_id"],
        task=row["task"],
        target=row["target"],
        code=row["code"],
        message=row["message"],
        body=row["body"],
        attempts=row["attempts"],
        created_at=utc_text(row["created_at"]),
        replayed_at=utc_text(row["replayed_at"]),
        replayed_by=row["replayed_by"],
    )
