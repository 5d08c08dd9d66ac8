"""The operations that only the A2A agent uses.

They have the same rights, rate limits and audit records as the operations of other adapters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.model import Message
from accord.operations.context import Caller, OperationContext
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.operations.registry import Registry
from accord.store.store import Row
from accord.workflows.agent.tasks import (
    SKILL,
    A2ATask,
    a2a_task,
    addressed_wait,
    payload_of,
    read_decision,
    stored_messages,
    task_input,
    task_of,
    waits_of,
)
from accord.workflows.core.reading import decode_definition
from accord.workflows.operations.run_control import approve_run, signal_run
from accord.workflows.operations.run_views import load_run_or_fail, request_time
from accord.workflows.operations.runs import start_run
from accord.workflows.operations.workflows import find_workflow
from accord.workflows.storage.definitions import STARTABLE
from accord.workflows.storage.runs import (
    COUNT_A2A_TASKS,
    LIST_A2A_TASKS,
    OWN_RUN,
    add_messages,
    begin_conversation,
    latest_workflow,
    read_conversation,
)

operations: Final = Registry()

NEWEST: Final = (1e12, "")
"""A list position before the newest run: greater than the creation time and id of every run."""
MAX_READ: Final = 200
"""The maximum number of runs read for one page, including those that the filter excludes."""

_NAMESPACE: Final = UUID("0d4f7d4e-52f1-5a35-9d35-6f1f7f1f7c55")


class RunnableWorkflow(Struct, frozen=True):
    """An active workflow, with the facts that its skill in the agent card shows."""

    name: str
    version: int
    description: str
    input: Any


def run_id(caller: Caller, message_id: str) -> str:
    """Return the id of the run that a message starts.

    It is derived from the caller and the message id, so a repeated message starts no second run.
    """
    return str(uuid5(_NAMESPACE, msgspec.json.encode((caller.user_id, message_id)).decode()))


@operations.write(right="run", tool=False)
async def begin_task(work: OperationContext, *, message: Message, skill: Any = None) -> A2ATask:
    """Start a run for a message, or return the run that this message started earlier.

    `skill` names the workflow if the metadata of the message does not.
    """
    id = run_id(work.caller, message.message_id)
    if not await work.db.fetch(OWN_RUN, id, work.caller.user_id):
        row = await find_workflow(work.db, await _workflow_name(work, message, skill))
        input = task_input(message, decode_definition(row["definition"]))
        await start_run(work, id, f"{row['name']}@{row['version']}", input)
        context_id = message.context_id or id
        await begin_conversation(work.db, id, work.caller.user_id, context_id, request_time(work))
        await add_messages(work.db, id, 0, stored_messages([message], id, context_id))
    return await _task_run(work, id)


async def _task_run(work: OperationContext, id: str) -> A2ATask:
    return a2a_task(await load_run_or_fail(work, id), await read_conversation(work.db, id))


async def _workflow_name(work: OperationContext, message: Message, skill: Any) -> str:
    """Return the name of the workflow that a message requests.

    Without a name in the message, it is the workflow that ran last in the same context, or the only
    active one. Raise InvalidError if neither exists.
    """
    for name in (message.metadata.get(SKILL), skill):
        if isinstance(name, str) and name:
            return name
    if message.context_id:
        found = await latest_workflow(work.db, work.caller.user_id, message.context_id)
        if found is not None:
            return found
    rows = await work.db.fetch(STARTABLE)
    if len(rows) == 1:
        return str(rows[0]["name"])
    names = ", ".join(row["name"] for row in rows[:20])
    if not names:
        raise InvalidError(f"message.metadata.{SKILL}", "must be a workflow: there are none")
    example = f'"metadata": {{"{SKILL}": "{rows[0]["name"]}"}}'
    raise InvalidError(
        f"message.metadata.{SKILL}",
        f"must be a workflow: {names}; choose one by {example} in the message or in params",
    )


class TaskReference(Struct, frozen=True):
    """The id of a run to which a client's message was passed."""

    id: str


@operations.write(right="run", tool=False)
async def continue_task(work: OperationContext, *, id: str, message: Message) -> TaskReference:
    """Pass a client's message to the step of a run that waits for it.

    The step waits for an approval, for a signal, or for the answer to an agent's question.
    """
    task = await _own(work, id)
    run = task.run
    signal_id = run_id(work.caller, message.message_id)
    if signal_id in run.state.signal_ids:
        return TaskReference(id)  # it came before
    waits = list(waits_of(run))
    if not waits and run.state.phase != "running":
        raise ConflictError(
            "The task is over: leave out message.taskId to begin another in its context"
        )
    if not waits:
        raise ConflictError("The task does not wait for a message")
    wait = addressed_wait(waits, message)
    if wait.kind == "approval":
        work.caller.require("approve", "approve_run")
        decision = read_decision(message)
        await approve_run(
            work, run=id, step=wait.step, approved=decision.approved, reason=decision.reason
        )
    else:
        await signal_run(work, run=id, name=wait.signal, id=signal_id, payload=payload_of(message))
    await _store_messages(work, task, message)
    return TaskReference(id)


async def _store_messages(work: OperationContext, task: A2ATask, answer: Message) -> None:
    """Store the question that a run asked, and the client's answer to it."""
    id, context_id = task.run.row.id, task.context_id
    place = (await read_conversation(work.db, id)).next_place
    # A run that was begun by an earlier release, or in another way, has no messages yet.
    messages = list(task.history) if place == 0 else []
    question = task_of(task).status.message
    if question is not None:
        messages.append(replace(question, message_id=f"{id}/question/{place}"))
    await add_messages(work.db, id, place, stored_messages([*messages, answer], id, context_id))


@operations.read(tool=False, snapshot=True)
async def find_task(work: OperationContext, *, id: str) -> A2ATask:
    """Return a run with its messages. Raise NotFoundError if it is not the caller's."""
    return await _own(work, id)


async def _own(work: OperationContext, id: str) -> A2ATask:
    """Return the run with this id, with its messages, if it belongs to the caller.

    Raise NotFoundError otherwise.
    """
    if not await work.db.fetch(OWN_RUN, id, work.caller.user_id):
        raise NotFoundError("There is no such task")
    return await _task_run(work, id)


@operations.read(tool=False)
async def list_skills(work: OperationContext) -> list[RunnableWorkflow]:
    """List the active workflows."""
    return [
        RunnableWorkflow(
            str(row["name"]),
            int(row["version"]),
            str(row["description"]),
            decode_definition(row["definition"]).input,
        )
        for row in await work.db.fetch(STARTABLE)
    ]


class TaskListing(Struct, frozen=True):
    """A page of runs; `after` is the key of the last run read, None on the last page."""

    runs: list[A2ATask]
    after: tuple[float, str] | None
    total: int


@operations.read(tool=False, snapshot=True)
async def list_tasks(
    work: OperationContext,
    *,
    context: str,
    before: tuple[float, str] | None,
    fits: Callable[[A2ATask], bool],
    limit: int,
) -> TaskListing:
    """List the caller's runs that were started by messages, the newest first."""
    user = work.caller.user_id
    [count] = await work.db.fetch(COUNT_A2A_TASKS, user, context)
    place, runs = before or NEWEST, list[A2ATask]()
    rows = await work.db.fetch(LIST_A2A_TASKS, user, context, *place, MAX_READ)
    for row in rows:
        run = await _task_run(work, row["id"])
        if fits(run):
            runs.append(run)
        place = (row["created_at"], row["id"])
        if len(runs) == limit:
            break
    more = len(rows) == MAX_READ or (bool(rows) and place != _key(rows[-1]))
    return TaskListing(runs, place if more else None, int(count["total"]))


def _key(row: Row) -> tuple[float, str]:
    return row["created_at"], row["id"]
