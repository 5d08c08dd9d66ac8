"""Operations of this installation as tasks of runs, done as the user who started the run."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from accord.a2a.protocol.errors import UnknownOutcomeError
from accord.operations.arguments import convert
from accord.operations.auth import storage
from accord.operations.context import Caller
from accord.operations.errors import RateLimitedError, ServiceError, UnavailableError
from accord.operations.registry import IDEMPOTENCY_KEY
from accord.operations.runner import InternalError, Runner
from accord.store.store import ReadTransaction, Row, StoreUnavailableError
from accord.workflows.bridge.task import (
    ClaimedTask,
    Outcome,
    Progress,
    Spans,
    TaskFailure,
    TaskSuccess,
    Terms,
    span_of,
)
from accord.workflows.core.definition import Retry
from accord.workflows.operations.workflows import is_callable
from accord.workflows.storage.runs import STARTER

CALL_TERMS: Final = Terms(retry=Retry(attempts=5), concurrency=64, breaks=False)


class _Refusal(Exception):  # noqa: N818 - becomes a failed step
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.failed = TaskFailure(code=code, message=message)


class OperationCaller:
    """Does tasks of the kind operation; implements `TaskCaller`."""

    def __init__(self, runner: Runner, *, spans: Spans | None = None) -> None:
        self._runner = runner
        self._spans = spans

    async def terms(self, target: str) -> Terms:
        return CALL_TERMS

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        try:
            with span_of(self._spans, task) as traceparent:
                return await self._call(task, traceparent)
        except _Refusal as refused:
            return refused.failed
        except RateLimitedError as error:
            raise UnknownOutcomeError(
                error.kind.code, error.message, retry_after=error.retry_after
            ) from error
        except UnavailableError as error:
            raise UnknownOutcomeError(error.kind.code, error.message) from error
        except StoreUnavailableError as error:
            raise UnknownOutcomeError("unavailable", "the database is away") from error
        except InternalError as error:
            raise UnknownOutcomeError("internal_error", str(error)) from error
        except ServiceError as error:
            return TaskFailure(code=error.kind.code, message=error.message, details=_details(error))

    async def cancel(self, task: ClaimedTask) -> None:
        """Do nothing: an operation is one transaction, which is finished."""

    async def _call(self, task: ClaimedTask, traceparent: str) -> Outcome:
        operation = self._runner.registry.get(task.target)
        if operation is None or not is_callable(operation):
            raise _Refusal("unknown_operation", f"runs have no operation {task.target!r}")
        given = {} if task.command.input is None else task.command.input
        if not isinstance(given, dict):
            raise _Refusal("validation_failed", "the input of an operation is an object")
        caller = await self._runner.store.read(lambda db: _caller(db, task, traceparent))
        arguments = {**given, IDEMPOTENCY_KEY: task.call_id} if operation.writes else given
        outcome = await self._runner.run(operation, lambda: convert(operation, arguments), caller)
        return TaskSuccess(output=msgspec.to_builtins(outcome.result))


async def _caller(db: ReadTransaction, task: ClaimedTask, traceparent: str) -> Caller:
    """Return the starter of the run, with present rights. Raise _Refusal if inactive."""
    rows = await db.fetch(STARTER, task.run_id)
    if not rows:
        raise _Refusal("not_found", "the run is not there any more")
    run = rows[0]
    if not run["user_id"]:
        raise _Refusal(
            "insufficient_permissions", "nobody in particular started this run: use --as NAME"
        )
    people = await db.fetch(storage.USER_BY_ID, run["user_id"])
    if not people or not people[0]["active"]:
        raise _Refusal("insufficient_permissions", f"{run['username']} is not active any more")
    await _check_token(db, run)
    return Caller(
        user_id=run["user_id"],
        username=people[0]["username"],
        role=people[0]["role"],
        via="session" if run["scopes"] is None else "token",
        face="system",
        scopes=frozenset(storage.scopes_in(run["scopes"] or "")),
        token_id=run["token_id"],
        client=f"workflow {run['workflow']}@{run['version']}",
        correlation_id=run["correlation_id"],
        traceparent=traceparent,
        run_id=task.run_id,
    )


async def _check_token(db: ReadTransaction, run: Row) -> None:
    if not run["token_id"]:
        return
    rows = await db.fetch(storage.TOKEN_REVOKED_AT, run["token_id"])
    if not rows or rows[0]["revoked_at"] is not None:
        raise _Refusal(
            "insufficient_permissions", "the token that the run was started with was revoked"
        )


def _details(error: ServiceError) -> Any:
    """Return the details of an error as JSON."""
    told: dict[str, Any] = dict(error.data)
    if error.errors:
        told["errors"] = [{"pointer": each.pointer, "detail": each.detail} for each in error.errors]
    return msgspec.to_builtins(told) or None
