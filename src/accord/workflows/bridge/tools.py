"""Calls tools of MCP servers, of any version of the protocol. A server is named by its URL, which
is asked for by the same rules as that of an agent; other names are known to nobody.

Each call has a connection of its own. A call that is made again has the same Idempotency-Key.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from accord.a2a.client.exchange import AddressGuard, call_error
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.errors import (
    CallError,
    MalformedAnswerError,
    RefusedError,
    UnknownOutcomeError,
    error_from_answer,
)
from accord.jsonrpc.errors import (
    AccordError,
    CallTimeoutError,
    MessageTooLargeError,
    RpcError,
    TransportError,
)
from accord.jsonrpc.limits import Limits
from accord.mcp.client.client import Client
from accord.mcp.client.tool_result import ToolResult
from accord.workflows.bridge import logs
from accord.workflows.bridge.addresses import web_address
from accord.workflows.bridge.caller import Failed, Outcome, Progress, Succeeded, Terms
from accord.workflows.bridge.claimed import ClaimedTask
from accord.workflows.bridge.lines import MAX_ANSWER
from accord.workflows.bridge.message_ids import message_id_of
from accord.workflows.bridge.spans import Spans, span_of
from accord.workflows.core.events import CallTool

TIMEOUT_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 3_600.0
"""For a tool that tells that it makes progress."""


class ToolCaller:
    """Does the tasks of kind tool; implements `TaskCaller`."""

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
            trace = logs.trace_of(task, traceparent)
            headers = {**trace.headers, "idempotency-key": message_id_of(task)}
            try:
                result = await self._ask(command, headers)
            except RpcError as error:
                raise _meaning(error) from error
            except AccordError as error:
                raise MalformedAnswerError(str(error)) from error
        return _outcome(result)

    async def cancel(self, task: ClaimedTask) -> None:
        """The end of the connection said it."""

    async def _ask(self, command: CallTool, headers: dict[str, str]) -> ToolResult[Any]:
        """Raises AccordError."""
        async with Client(
            command.target.server,
            headers=headers,
            timeout=TIMEOUT_SECONDS,
            longest=LONGEST_SECONDS,
            limits=Limits(max_message_bytes=MAX_ANSWER),
            resolve=self._resolve,
        ) as client:
            arguments = UNSET if command.input is None else command.input
            return await client.call_tool(command.target.tool, arguments)


def _outcome(result: ToolResult[Any]) -> Outcome:
    if result.is_error:
        return Failed(code="tool_failed", message=result.text or "the tool failed")
    return Succeeded(output=result.structured if result.has_structured else result.text)


def _meaning(error: RpcError) -> CallError:
    """What an error of MCP means for a retry."""
    match error:
        case CallTimeoutError():
            return UnknownOutcomeError("timeout", error.message)
        case TransportError() | MessageTooLargeError():
            return call_error(error)
        case _:
            return error_from_answer(error.code, error.message)
