"""What the agent has done to runs, and sees of them, as operations: the same rights, limits and
records as everywhere else. They are on no other face."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec
from msgspec import Struct

from accord.a2a.protocol.message import Message
from accord.operations.caller import Caller
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.operations.registry import Registry
from accord.operations.work import Work
from accord.store.store import Row
from accord.workflows.agent.inputs import SKILL, input_in
from accord.workflows.agent.waits import decision_in, payload_of, wait_meant, waits_of
from accord.workflows.core.spelling import decode_definition
from accord.workflows.operations.approvals import approve_run
from accord.workflows.operations.commands import signal_run
from accord.workflows.operations.run_views import loaded
from accord.workflows.operations.runs import start_run
from accord.workflows.operations.workflows import find_workflow
from accord.workflows.storage.loading import Loaded

operations: Final = Registry()

EXISTS: Final = "SELECT id FROM runs WHERE id = $1 AND user_id = $2"
SKILLS: Final = """
SELECT w.name, w.version, w.description, w.definition FROM workflows w
WHERE w.active = 1 AND w.version = (
    SELECT MAX(v.version) FROM workflows v WHERE v.name = w.name AND v.active = 1)
ORDER BY w.name LIMIT 1000
"""
OWN: Final = """
SELECT id, created_at FROM runs
WHERE user_id = $1 AND origin = 'a2a' AND ($2 = '' OR id = $2) AND (created_at, id) < ($3, $4)
ORDER BY created_at DESC, id DESC LIMIT $5
"""
COUNT: Final = """
SELECT COUNT(*) AS total FROM runs WHERE user_id = $1 AND origin = 'a2a' AND ($2 = '' OR id = $2)
"""
NEWEST: Final = (1e12, "")
"""Above the keys of every run."""
MOST_READ: Final = 200
"""How many runs are looked at for one page."""

_NAMESPACE: Final = UUID("0d4f7d4e-52f1-5a35-9d35-6f1f7f1f7c55")


class Offered(Struct, frozen=True):
    """A workflow that runs may be started of."""

    name: str
    version: int
    description: str
    input: Any


def run_id(caller: Caller, message_id: str) -> str:
    """The run that a message of somebody begins: one that comes again finds it."""
    return str(uuid5(_NAMESPACE, msgspec.json.encode((caller.user_id, message_id)).decode()))


@operations.write(right="run", tool=False)
async def begin_task(work: Work, *, message: Message) -> Loaded:
    """Start a run by a message; or the run that it started before."""
    id = run_id(work.caller, message.message_id)
    if not await work.db.fetch(EXISTS, id, work.caller.user_id):
        row = await find_workflow(work.db, await _meant(work, message))
        given = input_in(message, decode_definition(row["definition"]))
        await start_run(work, id, f"{row['name']}@{row['version']}", given)
    return await loaded(work, id)


async def _meant(work: Work, message: Message) -> str:
    """The name of the workflow that a message asks for. Raises InvalidError."""
    wanted = message.metadata.get(SKILL)
    if isinstance(wanted, str) and wanted:
        return wanted
    rows = await work.db.fetch(SKILLS)
    if len(rows) == 1:
        return str(rows[0]["name"])
    names = ", ".join(row["name"] for row in rows[:20]) or "there are none"
    raise InvalidError(f"message.metadata.{SKILL}", f"must be a workflow: {names}")


class Told(Struct, frozen=True):
    """A run that was told something."""

    id: str


@operations.write(right="run", tool=False)
async def continue_task(work: Work, *, id: str, message: Message) -> Told:
    """Answer what a run waits for: a decision, a signal, what an agent asks."""
    run = await _own(work, id)
    signal_id = run_id(work.caller, message.message_id)
    if signal_id in run.state.signal_ids:
        return Told(id)  # it came before
    waits = list(waits_of(run))
    if not waits:
        raise ConflictError("The task does not wait for a message")
    wait = wait_meant(waits, message)
    if wait.kind == "approval":
        work.caller.require("approve", "approve_run")
        said = decision_in(message)
        await approve_run(work, run=id, step=wait.step, approved=said.approved, reason=said.reason)
    else:
        await signal_run(work, run=id, name=wait.signal, id=signal_id, payload=payload_of(message))
    return Told(id)


@operations.read(tool=False, snapshot=True)
async def find_task(work: Work, *, id: str) -> Loaded:
    """A run of the caller's own."""
    return await _own(work, id)


async def _own(work: Work, id: str) -> Loaded:
    """Raises NotFoundError: runs of others are not there."""
    if not await work.db.fetch(EXISTS, id, work.caller.user_id):
        raise NotFoundError("There is no such task")
    return await loaded(work, id)


@operations.read(tool=False)
async def list_skills(work: Work) -> list[Offered]:
    """The workflows that runs may be started of."""
    return [
        Offered(
            str(row["name"]),
            int(row["version"]),
            str(row["description"]),
            decode_definition(row["definition"]).input,
        )
        for row in await work.db.fetch(SKILLS)
    ]


class Listed(Struct, frozen=True):
    """Some runs, the key of the last that was looked at where there are more, and how many there
    are."""

    runs: list[Loaded]
    after: tuple[float, str] | None
    total: int


@operations.read(tool=False, snapshot=True)
async def list_tasks(
    work: Work,
    *,
    context: str,
    before: tuple[float, str] | None,
    fits: Callable[[Loaded], bool],
    limit: int,
) -> Listed:
    """The caller's own runs that were begun by messages, the newest first."""
    user = work.caller.user_id
    [count] = await work.db.fetch(COUNT, user, context)
    place, runs = before or NEWEST, list[Loaded]()
    rows = await work.db.fetch(OWN, user, context, *place, MOST_READ)
    for row in rows:
        run = await loaded(work, row["id"])
        if fits(run):
            runs.append(run)
        place = (row["created_at"], row["id"])
        if len(runs) == limit:
            break
    more = len(rows) == MOST_READ or (bool(rows) and place != _key(rows[-1]))
    return Listed(runs, place if more else None, int(count["total"]))


def _key(row: Row) -> tuple[float, str]:
    return row["created_at"], row["id"]
