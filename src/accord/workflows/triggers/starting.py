"""Starts a run because of a trigger, inside of somebody's transaction; and keeps what could not be
started among the dead letters, so that nobody wonders."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID, uuid5

from msgspec import Struct, json

from accord.operations.accounts.users import BY_ID
from accord.operations.caller import Caller
from accord.operations.identifiers import random_hex
from accord.store.store import Reading, Transaction
from accord.workflows.core.definition import Definition
from accord.workflows.core.errors import EvaluationError
from accord.workflows.core.schemas import input_problem
from accord.workflows.core.triggers import input_for
from accord.workflows.storage.runs import NewRun, Origin, Starter, create_run
from accord.workflows.triggers.saved import Saved

TOPIC: Final = "triggers"
"""Where dead letters say that they come from."""
MAX_BODY: Final = 4_096
"""Characters of what a trigger saw that a dead letter keeps."""

_CAUSED: Final = "UPDATE runs SET cause = $2, chain = $3 WHERE id = $1"
_LETTER: Final = """
INSERT INTO dead_letters (id, kind, topic, run_id, target, code, message, body, created_at)
VALUES ($1, 'message', $2, '', $3, $4, $5, $6, $7)
ON CONFLICT (id) DO NOTHING
"""
_TRACE: Final = frozenset("0123456789abcdef")


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
    made = await create_run(
        db,
        NewRun(
            id=run_id,
            workflow=trigger.workflow,
            version=trigger.version,
            input=_input(trigger, seen),
            starter=starter,
            origin=_origin(trigger),
            at=at,
            correlation_id=cause.correlation_id,
            traceparent=cause.traceparent or traceparent(cause.correlation_id),
        ),
    )
    if made and cause.run:
        await db.execute(_CAUSED, run_id, cause.run, cause.chain)
    return made


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


def acting(caller: Caller) -> Starter:
    """Who a run acts as that somebody starts: themselves, with no more than they may now."""
    return Starter(
        user_id=caller.user_id,
        username=caller.username,
        token_id=caller.token_id,
        scopes=" ".join(sorted(caller.scopes)) if caller.via == "token" else None,
    )


def traceparent(correlation_id: str) -> str:
    """The trace that a request belongs to (W3C Trace Context), where its correlation id is that of
    one: so are those that we make, and those of callers who send a trace."""
    if len(correlation_id) != 32 or not _TRACE.issuperset(correlation_id):
        return ""
    return f"00-{correlation_id}-{random_hex(8)}-01"


async def bury(
    db: Transaction, trigger: Saved, seen: Any, error: NotStartedError, *, run_id: str, at: float
) -> None:
    """Keep among the dead letters what could not be started."""
    body = json.encode(seen).decode()[:MAX_BODY]
    id = str(uuid5(UUID(run_id), error.code))
    await db.execute(_LETTER, id, TOPIC, trigger.workflow, error.code, error.message, body, at)
