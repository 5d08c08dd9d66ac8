"""What others ask for by messages: to start, cancel and signal runs.

Who may write to the topic is settled by the broker. A message names a person of this installation
as whom it starts a run, and that person must be allowed to; everything is checked as it is for
people, and what cannot be done is a dead letter.
"""

from __future__ import annotations

from typing import Final, assert_never
from uuid import UUID, uuid5

from msgspec import UNSET

from accord.operations.accounts.storage.users import find_row
from accord.operations.rights import RULES
from accord.store.store import Transaction
from accord.workflows.bus.envelope import Asked, CancelRun, SignalRun, StartRun
from accord.workflows.bus.errors import EnvelopeError
from accord.workflows.core.events import CancelRequested, SignalReceived
from accord.workflows.core.rules import input_problem
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.errors import UnknownWorkflowError
from accord.workflows.storage.inbox import Message, deliver
from accord.workflows.storage.runs import NewRun, Starter, create_run, run_exists

_NAMESPACE: Final = UUID("2f4d6a86-0a3c-5c55-8d3f-1c5b6f3d9e02")


def run_id_of(message_id: str) -> str:
    """The run that a message starts which names none."""
    return str(uuid5(_NAMESPACE, message_id))


async def grant(db: Transaction, definitions: Definitions, asked: Asked, at: float) -> bool:
    """Do what is asked for; False where it was done before. Raises EnvelopeError."""
    match asked:
        case StartRun():
            return await _start(db, definitions, asked, at)
        case CancelRun():
            run_id = await _run(db, asked.run_id)
            event = CancelRequested(at=at, by=asked.by, reason=asked.reason)
            await deliver(db, [Message(f"{run_id}/asked/{asked.message_id}", run_id, event)])
        case SignalRun():
            run_id = await _run(db, asked.run_id)
            id = asked.message_id if asked.id is UNSET else asked.id
            signal = SignalReceived(at=at, name=asked.name, id=id, payload=asked.payload)
            await deliver(db, [Message(f"{run_id}/asked/{asked.message_id}", run_id, signal)])
        case _:
            assert_never(asked)
    return True


async def _start(db: Transaction, definitions: Definitions, asked: StartRun, at: float) -> bool:
    try:
        version, program = await definitions.startable(db, asked.workflow, asked.version)
    except UnknownWorkflowError as error:
        raise EnvelopeError("unknown_workflow", str(error)) from None
    problem = input_problem(program.definition, asked.input)
    if problem is not None:
        raise EnvelopeError("invalid_input", problem)
    run = NewRun(
        id=run_id_of(asked.message_id) if asked.run_id is None else str(asked.run_id),
        workflow=asked.workflow,
        version=version,
        input=asked.input,
        starter=await _starter(db, asked.started_by),
        origin="bus",
        at=at,
        correlation_id=asked.correlation_id,
        traceparent=asked.traceparent,
    )
    return await create_run(db, run)


async def _starter(db: Transaction, name: str) -> Starter:
    row = await find_row(db, name)
    if row is None or not row["active"]:
        raise EnvelopeError("unknown_user", f"there is no user {name[:80]!r}, or not any more")
    if row["role"] not in RULES["run"].roles:
        raise EnvelopeError("forbidden", f"a {row['role']} may not run workflows")
    return Starter(user_id=row["id"], username=row["username"])


async def _run(db: Transaction, id: UUID) -> str:
    if not await run_exists(db, str(id)):
        raise EnvelopeError("unknown_run", f"there is no run {id}")
    return str(id)
