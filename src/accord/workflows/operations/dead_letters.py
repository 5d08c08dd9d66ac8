"""What was given up: tasks that failed for good, messages that could not be used. Replaying the
letter of a task retries its run from that step."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from accord.operations.errors import ConflictError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, keys_of, page_of
from accord.operations.registry import Registry
from accord.operations.work import Changed, Effect, Work
from accord.store.store import Row
from accord.workflows.core.errors import CoreError
from accord.workflows.core.events import RetryRequested, decode_event
from accord.workflows.operations.commands import check
from accord.workflows.operations.moments import now_of, text_of
from accord.workflows.operations.run_views import loaded
from accord.workflows.operations.runs import RunId
from accord.workflows.storage.inbox import Message, deliver

operations: Final = Registry()

LetterId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
LetterKind: TypeAlias = Literal["task", "message"]

COLUMNS: Final = """
SELECT id, kind, topic, run_id, task, target, code, message, body, attempts, created_at,
    replayed_at, replayed_by
FROM dead_letters
"""
ONE: Final = f"{COLUMNS} WHERE id = $1"
REPLAYED: Final = "UPDATE dead_letters SET replayed_at = $2, replayed_by = $3 WHERE id = $1"
NEWEST: Final = (1e12, "")


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
    work: Work,
    *,
    kind: LetterKind | None = None,
    run: RunId | None = None,
    replayed: bool | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[DeadLetter]:
    """List what was given up, the newest first."""
    given: list[str | float] = []
    wanted = ["1 = 1"]
    for column, value in (("kind", kind), ("run_id", run)):
        if value is not None:
            given.append(value)
            wanted.append(f"{column} = ${len(given)}")
    if replayed is not None:
        wanted.append(f"replayed_at IS {'NOT ' if replayed else ''}NULL")
    where = " AND ".join(wanted)
    [count] = await work.db.fetch(
        f"SELECT COUNT(*) AS total FROM dead_letters WHERE {where}", *given
    )
    before = NEWEST if cursor is None else keys_of(cursor, tuple[float, str])
    rows = await work.db.fetch(
        f"{COLUMNS} WHERE {where} AND (created_at, id) < (${len(given) + 1}, ${len(given) + 2})"
        f" ORDER BY created_at DESC, id DESC LIMIT {limit + 1}",
        *given,
        *before,
    )
    page = page_of(
        rows, limit=limit, total=count["total"], key=lambda row: (row["created_at"], row["id"])
    )
    return Page(
        items=[_shown(row) for row in page.items],
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )


@operations.read(
    right="admin", rest=Rest("GET", "/dead-letters/{id}"), tag="dead letters", tool=False
)
async def get_dead_letter(work: Work, *, id: LetterId) -> DeadLetter:
    """Get one thing that was given up."""
    return _shown(await _find(work, id))


@operations.write(
    right="admin",
    rest=Rest("POST", "/dead-letters/{id}/replay", 202),
    tag="dead letters",
    tool=False,
)
async def replay_dead_letter(work: Work, *, id: LetterId) -> DeadLetter:
    """Try again what was given up: a run that failed goes on from that step."""
    row = await _find(work, id)
    if row["replayed_at"] is not None:
        raise ConflictError(f"it was replayed already, by {row['replayed_by']}")
    await deliver(work.db, [await _message(work, row)])
    await work.db.execute(REPLAYED, id, now_of(work), work.caller.username)
    after = _shown(await _find(work, id))
    work.did(
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


async def _message(work: Work, row: Row) -> Message:
    """What a run is told instead. Raises ConflictError where there is nothing to tell."""
    message_id = f"{row['run_id']}/replay/{row['id']}"
    if row["kind"] == "task":
        run = await loaded(work, row["run_id"])
        retry = RetryRequested(
            at=now_of(work), step=row["task"].partition("@")[0], by=work.caller.username
        )
        check(run, retry)
        return Message(message_id, run.row.id, retry)
    if not row["run_id"]:
        raise ConflictError("this message belongs to no run: what sent it has to send it again")
    run = await loaded(work, row["run_id"])
    try:
        arrival = decode_event(row["body"].encode())
    except (CoreError, msgspec.DecodeError):
        raise ConflictError("this message cannot be read by this version") from None
    return Message(message_id, run.row.id, arrival)  # type: ignore[arg-type]


async def _find(work: Work, id: str) -> Row:
    rows: list[Row] = await work.db.fetch(ONE, id)
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
        created_at=text_of(row["created_at"]),
        replayed_at=text_of(row["replayed_at"]),
        replayed_by=row["replayed_by"],
    )
