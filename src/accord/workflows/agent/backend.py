"""`WorkflowBackend`: runs as the tasks of an agent, for one caller.

    a message               starts a run, whose id follows from the caller and the message's id
    one with a task's id    is a signal, an answer to an agent that asks, or a decision
    get, cancel, follow     a run as it is, its end, its history while it happens

Everything is done by operations, so that rights, limits and records are those of other faces.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from math import isfinite, nan
from typing import Any, Final

import msgspec

from accord.a2a.protocol.errors import failure
from accord.a2a.protocol.model import (
    TERMINAL,
    Answer,
    Event,
    ListQuery,
    Message,
    PushQuery,
    Send,
    Task,
    TaskPush,
    TaskState,
)
from accord.a2a.server.backend import TaskPage
from accord.jsonrpc.protocol.errors import InternalError, InvalidParamsError, RpcError
from accord.operations.adapters.responses import allowance_lines
from accord.operations.arguments import convert
from accord.operations.auth.revocation import find_revoked
from accord.operations.context import Caller
from accord.operations.errors import (
    Allowance,
    ConflictError,
    ForbiddenError,
    InvalidError,
    MalformedError,
    NotFoundError,
    ServiceError,
)
from accord.operations.operation import Operation
from accord.operations.registry import IDEMPOTENCY_KEY
from accord.operations.runner import InternalError as OperationFailedError, Runner
from accord.store.store import ReadTransaction
from accord.workflows.agent.operations import operations
from accord.workflows.agent.tasks import SKILL, TaskRun, task_events, task_of, task_run
from accord.workflows.operations.run_views import load_run_or_fail
from accord.workflows.storage.conversations import read_conversation
from accord.workflows.watching import RunWatch

CANCEL_SECONDS: Final = 5.0
"""How long a cancelled run is waited for, until it is told as it is."""
MAX_CONTEXT: Final = 200
"""Characters of a context's id."""
_REFUSED: Final = (InvalidError, MalformedError, NotFoundError)


class WorkflowBackend:
    """The `Backend` for the runs of `caller`, who is authenticated."""

    takes_webhooks = False

    def __init__(self, runner: Runner, watch: RunWatch, caller: Caller) -> None:
        self._runner = runner
        self._watch = watch
        self._caller = caller
        self._allowance: Allowance | None = None

    def answer_lines(self) -> bytes:
        """Return header lines of the answer: what the caller has left."""
        return allowance_lines(self._allowance)

    # Messages

    async def send(self, send: Send, caller: str) -> Answer:
        message = send.message
        if not message.message_id:
            raise InvalidParamsError("message.messageId must not be empty")
        if not message.parts:
            raise InvalidParamsError("message.parts must not be empty")
        if send.push is not None:
            raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")
        if message.task_id:
            return await self._go_on(message)
        if len(message.context_id) > MAX_CONTEXT:
            raise InvalidParamsError(
                f"message.contextId has {len(message.context_id):,} characters, "
                f"over the limit of {MAX_CONTEXT}"
            )
        if send.blocking:
            self._require_read()  # before anything is started that nobody could be shown
        arguments = {"message": message, "skill": send.metadata.get(SKILL)}
        return task_of(await self._run(operations["begin_task"], arguments))

    def _require_read(self) -> None:
        """Raise RpcError for a token that may start runs but not read them."""
        try:
            self._caller.require("read", "waiting for a task")
        except ForbiddenError as error:
            raise _rpc_error(error) from error

    async def _go_on(self, message: Message) -> Task:
        """Answer what a run waits for."""
        task = await self._find(message.task_id)
        if message.context_id not in ("", task.context_id):
            raise InvalidParamsError("message.contextId is not that of the task")
        arguments = {
            "id": task.run.row.id,
            "message": message,
            # What comes again is answered, and does nothing again.
            IDEMPOTENCY_KEY: f"a2a/{message.message_id}",
        }
        await self._run(operations["continue_task"], arguments)
        return await self._after(task)

    async def _after(self, task: TaskRun) -> Task:
        """Return the task once its run has taken the answer, or after a timeout."""
        run = task.run
        if run.state.phase != "running":
            return task_of(task)
        until = time.monotonic() + CANCEL_SECONDS
        async with aclosing(self._watch.follow(run.row.id, run.state.applied)) as following:
            async for events in following:
                if events or time.monotonic() > until:
                    break
        return await self._now(run.row.id)

    # Tasks

    async def get(self, task_id: str, caller: str) -> Task:
        return task_of(await self._find(task_id))

    async def cancel(self, task_id: str, caller: str) -> Task:
        run = await self._find(task_id)
        if task_of(run).status.state in TERMINAL:
            raise failure("TASK_NOT_CANCELABLE", "The task is over", taskId=task_id)
        operation = self._runner.registry["cancel_run"]
        await self._run(operation, convert(operation, {"run": task_id}))
        await self._watch.wait(task_id, CANCEL_SECONDS)
        return await self._now(task_id)

    async def follow(
        self, task_id: str, caller: str, until: frozenset[TaskState]
    ) -> AsyncGenerator[Event, None]:
        run = await self._find(task_id)
        task = task_of(run)
        yield task
        if task.status.state in until:
            return
        async with aclosing(self._watch.follow(task_id, run.run.state.applied)) as following:
            async for events in following:
                if not events and await self._is_barred():
                    return
                if events:
                    now = await self._now(task_id)
                    for event in task_events(task, now):
                        yield event
                    task = now
                if task.status.state in until:
                    return

    async def _is_barred(self) -> bool:
        return self._caller in await self._runner.store.read(
            lambda db: find_revoked(db, [self._caller])
        )

    async def list(self, query: ListQuery, caller: str) -> TaskPage:
        def fits(run: TaskRun) -> bool:
            task = task_of(run)
            return query.state in (None, task.status.state) and (
                not query.updated_after or task.status.timestamp >= query.updated_after
            )

        arguments = {
            "context": query.context_id,
            "before": _place(query.page_token),
            "fits": fits,
            "limit": query.page_size,
        }
        found = await self._run(operations["list_tasks"], arguments)
        tasks = [task_of(run).with_history(query.history_length) for run in found.runs]
        if not query.include_artifacts:
            tasks = [msgspec.structs.replace(task, artifacts=()) for task in tasks]
        return TaskPage(tasks=tuple(tasks), next_page=_token(found.after), total=found.total)

    # Webhooks, which nobody is told by

    async def set_push(self, push: TaskPush, caller: str) -> TaskPush:
        raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")

    async def list_push(self, query: PushQuery, caller: str) -> Sequence[TaskPush]:
        raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")

    async def delete_push(self, query: PushQuery, caller: str) -> None:
        raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")

    async def close(self, drain: float) -> None:
        """Do nothing: runs go on without followers."""

    # Operations

    async def _find(self, task_id: str) -> TaskRun:
        try:
            return await self._run_bare(operations["find_task"], {"id": task_id})  # type: ignore[no-any-return]
        except NotFoundError:
            raise failure("TASK_NOT_FOUND", taskId=task_id[:100]) from None
        except ServiceError as error:
            raise _rpc_error(error) from error

    async def _now(self, task_id: str) -> Task:
        """Return the current task, which the caller was shown before.

        This is no call of theirs, so it is neither counted nor audited.
        """

        async def read(db: ReadTransaction) -> TaskRun:
            run = await load_run_or_fail(self._runner.work(db, self._caller), task_id)
            return task_run(run, await read_conversation(db, task_id))

        return task_of(await self._runner.store.read(read, snapshot=True))

    async def _run(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        try:
            return await self._run_bare(operation, arguments)
        except ServiceError as error:
            raise _rpc_error(error) from error
        except OperationFailedError as error:
            raise InternalError(str(error)) from error

    async def _run_bare(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        try:
            outcome = await self._runner.run(operation, arguments, self._caller)
        except ServiceError as error:
            self._allowance = error.allowance or self._allowance
            raise
        self._allowance = outcome.allowance or self._allowance
        return outcome.result


def _rpc_error(error: ServiceError) -> RpcError:
    """Return the A2A error of an operation's error.

    A failure that may succeed later is an internal error there.
    """
    if isinstance(error, _REFUSED):
        return InvalidParamsError(error.message)
    if isinstance(error, ForbiddenError):
        scope = error.data.get("required_scope")
        details = {"requiredScope": str(scope)} if scope else {}
        return failure("UNSUPPORTED_OPERATION", error.message, **details)
    if isinstance(error, ConflictError):
        return failure("UNSUPPORTED_OPERATION", error.message)
    return InternalError(error.message)


def _token(place: tuple[float, str] | None) -> str:
    return "" if place is None else f"{place[0]!r}/{place[1]}"


def _place(token: str) -> tuple[float, str] | None:
    """Return the place in a page token. Raise InvalidParamsError."""
    if not token:
        return None
    number, _, id = token.partition("/")
    try:
        place = float(number)
    except ValueError:
        place = nan
    if not isfinite(place):
        raise InvalidParamsError("pageToken is none that was given here")
    return place, id
