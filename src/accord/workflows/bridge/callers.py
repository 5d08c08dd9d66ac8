"""The implementations of `TaskCaller` for tasks that are not calls to agents.

These are JSON-RPC methods, MCP tools, plugin steps and operations. JSON-RPC methods and MCP servers
are named by URL; the restrictions on the addresses of agents apply to these URLs too. Operations
run as the user who started the run, with the rights that this user has now.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import msgspec
from msgspec import UNSET

from accord.a2a.exchange import AddressGuard, Exchanger, call_error
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.calls import read_result
from accord.a2a.protocol.errors import (
    CallError,
    MalformedAnswerError,
    RefusedError,
    UnknownOutcomeError,
    error_from_answer,
)
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.codec import NestingError, check_nesting
from accord.jsonrpc.protocol.errors import (
    AccordError,
    CallTimeoutError,
    MessageTooLargeError,
    RpcError,
    TransportError,
)
from accord.jsonrpc.protocol.messages import Request, encode
from accord.mcp.client.client import Client
from accord.mcp.client.tools import ToolResult
from accord.operations.arguments import convert
from accord.operations.auth import storage
from accord.operations.context import Caller
from accord.operations.errors import (
    InvalidError,
    RateLimitedError,
    ServiceError,
    ServiceUnavailableError,
)
from accord.operations.registry import IDEMPOTENCY_KEY
from accord.operations.runner import InternalOperationError, Runner
from accord.store.store import ReadTransaction, Row, StoreUnavailableError
from accord.workflows.bridge.client_pool import MAX_ANSWER, web_address
from accord.workflows.bridge.task import (
    ClaimedTask,
    Outcome,
    Progress,
    Spans,
    TaskFailure,
    TaskSuccess,
    Terms,
    is_callable,
    message_id_of,
    span_of,
    trace_of,
)
from accord.workflows.core.definition import Retry
from accord.workflows.core.events import CallMethod, CallTool
from accord.workflows.step_type import StepFailedError, StepTask, StepType, StepTypes
from accord.workflows.storage.runs import STARTER

TIMEOUT_SECONDS: Final = 30.0
MAX_CONNECTIONS: Final = 64

_JSON: Final = {"accept": "application/json", "content-type": "application/json"}


class MethodCaller:
    """The `TaskCaller` for JSON-RPC methods. Belongs to one event loop."""

    def __init__(self, policy: AddressPolicy, *, spans: Spans | None = None) -> None:
        self._exchanger = Exchanger(
            policy=policy,
            tls=None,
            timeout=TIMEOUT_SECONDS,
            max_bytes=MAX_ANSWER,
            pool=MAX_CONNECTIONS,
        )
        self._spans = spans

    async def close(self) -> None:
        """End all connections."""
        self._exchanger.close()

    async def terms(self, target: str) -> Terms:
        web_address(target)
        return Terms()

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        command = task.command
        assert isinstance(command, CallMethod)
        id = message_id_of(task)
        request = encode(Request(id, command.target.method, _params(command.input)))
        with span_of(self._spans, task) as traceparent:
            trace = trace_of(task, traceparent)
            headers = {**trace.headers, **_JSON, "idempotency-key": id}
            address = web_address(command.target.url)
            if trace.tell is not None:
                trace.tell("sent", request)
            body = await self._exchanger.ask("POST", address, headers, request, id=id)
            if trace.tell is not None:
                trace.tell("received", body)
            return TaskSuccess(output=read_result(body, id, msgspec.json.decode))

    async def cancel(self, task: ClaimedTask) -> None:
        """Do nothing: closing the connection has already cancelled the call."""


def _params(input: Any) -> Any:
    # JSON-RPC 2.0, section 4.2: params are a structured value, or left out
    if input is None:
        return UNSET
    if not isinstance(input, dict | list):
        raise RefusedError("params", "the input of a method is an object or a list")
    return input


MAX_TOOL_SECONDS: Final = 3_600.0
"""The total timeout of a call of an MCP tool that keeps reporting progress."""


class ToolCaller:
    """The `TaskCaller` for MCP tools."""

    def __init__(self, policy: AddressPolicy, *, spans: Spans | None = None) -> None:
        self._resolve = AddressGuard(policy).resolve
        self._spans = spans

    async def terms(self, target: str) -> Terms:
        if not target.startswith(("http://", "https://")):
            raise RefusedError(
                "unknown_server", f"there is no MCP server {target[:80]!r}: name one by its URL"
            )
        web_address(target)
        return Terms()

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        command = task.command
        assert isinstance(command, CallTool)
        with span_of(self._spans, task) as traceparent:
            trace = trace_of(task, traceparent)
            headers = {**trace.headers, "idempotency-key": message_id_of(task)}
            try:
                result = await self._ask(command, headers)
            except RpcError as error:
                raise _tool_error(error) from error
            except AccordError as error:
                raise MalformedAnswerError(str(error)) from error
        return _tool_outcome(result)

    async def cancel(self, task: ClaimedTask) -> None:
        """Do nothing: closing the connection has already cancelled the call."""

    async def _ask(self, command: CallTool, headers: dict[str, str]) -> ToolResult[Any]:
        """Call the MCP tool named by `command`. Raise AccordError if the call fails."""
        async with Client(
            command.target.server,
            headers=headers,
            timeout=TIMEOUT_SECONDS,
            longest=MAX_TOOL_SECONDS,
            limits=Limits(max_message_bytes=MAX_ANSWER),
            resolve=self._resolve,
        ) as client:
            arguments = UNSET if command.input is None else command.input
            return await client.call_tool(command.target.tool, arguments)


def _tool_outcome(result: ToolResult[Any]) -> Outcome:
    if result.is_error:
        return TaskFailure(code="tool_failed", message=result.text or "the tool failed")
    return TaskSuccess(output=result.structured if result.has_structured else result.text)


def _tool_error(error: RpcError) -> CallError:
    """Translate an error of the MCP client into a CallError, which determines whether to retry."""
    match error:
        case CallTimeoutError():
            return UnknownOutcomeError("timeout", error.message)
        case TransportError() | MessageTooLargeError():
            return call_error(error)
        case _:
            return error_from_answer(error.code, error.message)


log = logging.getLogger("accord.bridge")


class PluginCaller:
    """The `TaskCaller` for steps of plugins."""

    def __init__(self, types: StepTypes, *, spans: Spans | None = None) -> None:
        self._types = types
        self._spans = spans

    async def terms(self, target: str) -> Terms:
        found = self._types.get(target)
        if found is None:  # `call` reports it, when another bridge may have the plugin by then
            return Terms(breaks=False)
        return Terms(retry=found.retry, concurrency=found.concurrency)

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        found = self._types.get(task.target)
        if found is None:
            raise UnknownOutcomeError(
                "unknown_step_type", f"no plugin here does steps of type {task.target!r}"
            )
        members = {} if task.command.input is None else task.command.input
        if not isinstance(members, dict):
            return TaskFailure(code="validation_failed", message="the input of a step is an object")
        try:
            arguments = found.arguments.convert(members)
        except InvalidError as error:
            return TaskFailure(code="validation_failed", message=f"input: {error.message}")
        with span_of(self._spans, task) as traceparent:
            return await _call_plugin(found, task, arguments, traceparent)

    async def cancel(self, task: ClaimedTask) -> None:
        """Do nothing: the function of the plugin has already been cancelled."""


async def _call_plugin(
    found: StepType, task: ClaimedTask, arguments: dict[str, Any], traceparent: str
) -> Outcome:
    attempt = StepTask(
        id=message_id_of(task),
        run_id=task.run_id,
        step=task.command.step,
        attempt=task.attempt,
        deadline=task.deadline,
        correlation_id=task.correlation_id,
        traceparent=traceparent,
    )
    try:
        result = await found.function(attempt, **arguments)
    except StepFailedError as error:
        return TaskFailure(code=error.code, message=error.message, details=error.details)
    except Exception as error:
        log.exception("task %s: the plugin %r failed", task.id, task.target)
        what = f"the plugin {task.target!r} raised {type(error).__name__}; the log says more"
        raise UnknownOutcomeError("plugin_failed", what) from error
    try:
        output = msgspec.to_builtins(result, str_keys=True)
        check_nesting(msgspec.json.encode(output))
    except RecursionError as error:  # nested deeper than the stack
        raise _no_json(task, NestingError()) from error
    except (msgspec.DecodeError, TypeError, OverflowError, ValueError) as error:
        raise _no_json(task, error) from error
    return TaskSuccess(output=output)


def _no_json(task: ClaimedTask, error: Exception) -> MalformedAnswerError:
    return MalformedAnswerError(f"what the plugin {task.target!r} gave is no JSON: {error}")


OPERATION_TERMS: Final = Terms(retry=Retry(attempts=5), concurrency=64, breaks=False)


class _Refusal(Exception):  # noqa: N818 - becomes a failed step
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.failed = TaskFailure(code=code, message=message)


class OperationCaller:
    """The `TaskCaller` for operations of this installation."""

    def __init__(self, runner: Runner, *, spans: Spans | None = None) -> None:
        self._runner = runner
        self._spans = spans

    async def terms(self, target: str) -> Terms:
        return OPERATION_TERMS

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
        except ServiceUnavailableError as error:
            raise UnknownOutcomeError(error.kind.code, error.message) from error
        except StoreUnavailableError as error:
            raise UnknownOutcomeError("unavailable", "the database is away") from error
        except InternalOperationError as error:
            raise UnknownOutcomeError("internal_error", str(error)) from error
        except ServiceError as error:
            return TaskFailure(
                code=error.kind.code, message=error.message, details=_error_details(error)
            )

    async def cancel(self, task: ClaimedTask) -> None:
        """Do nothing: an operation is one transaction, so no remote work is left to cancel."""

    async def _call(self, task: ClaimedTask, traceparent: str) -> Outcome:
        operation = self._runner.registry.get(task.target)
        if operation is None or not is_callable(operation):
            raise _Refusal("unknown_operation", f"runs have no operation {task.target!r}")
        members = {} if task.command.input is None else task.command.input
        if not isinstance(members, dict):
            raise _Refusal("validation_failed", "the input of an operation is an object")
        caller = await self._runner.store.read(lambda db: _caller_of_run(db, task, traceparent))
        arguments = {**members, IDEMPOTENCY_KEY: task.call_id} if operation.writes else members
        outcome = await self._runner.run(operation, lambda: convert(operation, arguments), caller)
        return TaskSuccess(output=msgspec.to_builtins(outcome.result))


async def _caller_of_run(db: ReadTransaction, task: ClaimedTask, traceparent: str) -> Caller:
    """Return a Caller for the user who started a run, with the user's present role.

    Raise _Refusal if the run or its user is gone, the user is inactive, or the token that started
    the run was revoked.
    """
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


def _error_details(error: ServiceError) -> Any:
    """Return the data and field errors of an operation's error as JSON; None without any."""
    details: dict[str, Any] = dict(error.data)
    if error.errors:
        details["errors"] = [
            {"pointer": each.pointer, "detail": each.detail} for each in error.errors
        ]
    return msgspec.to_builtins(details) or None
