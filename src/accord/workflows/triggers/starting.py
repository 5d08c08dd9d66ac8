"""Starts a run because of a trigger, inside of somebody's transaction; and keeps what could not be
started among the dead letters, so that nobody wonders."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID, uuid5

from msgspec import Struct, json

from accord.operations.accounts.storage.users import BY_ID
from accord.operations.logs.redaction import redact_value
from accord.store.store import Reading, Transaction
from accord.workflows.core.definition import Definition
from accord.workflows.core.errors import EvaluationError
from accord.workflows.core.rules import input_problem
from accord.workflows.core.triggers import input_for
from accord.workflows.starter import new_traceparent
from accord.workflows.storage.dead_letters import DeadLetter, keep_letter
from accord.workflows.storage.runs import NewRun, Origin, Starter, create_run
from accord.workflows.triggers.saved import Saved

TOPIC: Final = "triggers"
"""Where dead letters say that they come from."""
MAX_BODY: Final = 4_096
"""Characters of what a trigger saw that a dead letter keeps."""


class NotStartedError(Exception):
    """A trigger applies, and no run can be started; the message says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Cause(Struct, frozen=True, kw_only=True):
    """What led to a run: the request that it follows from, and the run that made that request,
    after how many others."""

    correlation_id: str
    traceparent: str = ""
    run: str = ""
    chain: int = 0


def run_id_for(trigger: Saved, what: str) -> str:
    """The id of the run that a trigger starts for one thing: always the same."""
    return str(uuid5(UUID(trigger.id), what))


async def start_run(
    db: Transaction,
    trigger: Saved,
    seen: Any,
    *,
    run_id: str,
    starter: Starter,
    at: float,
    cause: Cause,
) -> bool:
    """Start a run for what a trigger saw; False where it was started before. Raises
    NotStartedError."""
    return await create_run(
        db,
        NewRun(
            id=run_id,
            workflow=trigger.workflow,
            version=trigger.version,
            input=_input(trigger, seen),
            starter=starter,
            origin=_origin(trigger),
            at=at,
            cause=cause.run,
            chain=cause.chain,
            correlation_id=cause.correlation_id,
            traceparent=cause.traceparent or new_traceparent(cause.correlation_id),
        ),
    )


def _origin(trigger: Saved) -> Origin:
    return trigger.kind


def _input(trigger: Saved, seen: Any) -> Any:
    try:
        value = input_for(trigger.start, seen)
    except EvaluationError as error:
        raise NotStartedError("bad_expression", f"the input has no value: {error}") from error
    checked = Definition(name=trigger.workflow, input=trigger.schema, steps=())
    problem = input_problem(checked, value)
    if problem is not None:
        raise NotStartedError("bad_input", f"the input does not fit the workflow: {problem}")
    return value


async def require_active(db: Reading, starter: Starter) -> None:
    """Raises NotStartedError where whoever saved a trigger may not act any more."""
    if not starter.user_id:
        return
    rows = await db.fetch(BY_ID, starter.user_id)
    if not rows or not rows[0]["active"]:
        raise NotStartedError(
            "starter_inactive",
            f"{starter.username}, who saved the workflow and in whose name it runs, is not active: "
            "have somebody else save it",
        )


async def bury(
    db: Transaction, trigger: Saved, seen: Any, error: NotStartedError, *, run_id: str, at: float
) -> None:
    """Keep among the dead letters what could not be started."""
    await keep_letter(
        db,
        DeadLetter(
            id=str(uuid5(UUID(run_id), error.code)),
            kind="message",
            topic=TOPIC,
            target=trigger.workflow,
            code=error.code,
            message=error.message,
            body=json.encode(redact_value(seen)).decode()[:MAX_BODY],
            at=at,
        ),
    )
