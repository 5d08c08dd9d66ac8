"""`tools/list` and `tools/call`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from msgspec import UNSET

from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp.protocol.messages import (
    CallToolParams,
    CallToolResult,
    ListParams,
    ListToolsResult,
    failure,
)
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.lists import tool_in
from accord.mcp.server.components.tools import ServedTool, late_result
from accord.mcp.server.context import Context
from accord.mcp.server.core import Core, MethodRow
from accord.mcp.server.handler_runner import never
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.input_requests.ask import InputRequired, leave
from accord.mcp.server.session import Session


def tool_methods(core: Core) -> dict[str, MethodRow]:
    tools = _Tools(core)
    return {
        "tools/list": MethodRow(ListParams, tools.list, result=ListToolsResult),
        "tools/call": MethodRow(CallToolParams, tools.call),
    }


class _Tools:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access
        self._tasks = core.tasks
        self._limits = core.server.limits
        self._most = core.server.limits.max_calls_per_tool
        self._seconds = core.server.limits.call_seconds
        self._tools = core.server.tools
        self._list = core.access.ready_list("tools", tool_in)

    def list(self, params: ListParams, incoming: Incoming) -> Any:
        return self._access.page(self._list, self._tools, params, incoming)

    def call(self, params: CallToolParams, incoming: Incoming) -> Any:
        tool = self._tools.get(params.name)
        if tool is None or (
            tool.enabled is not None and not self._access.is_enabled(tool, incoming)
        ):
            raise failure(
                "tool_not_found",
                f"Unknown tool: {params.name[:100]}",
                era=incoming.era,
                profile=self._server.codes,
                name=params.name[:100],
            )
        if tool.scopes or tool.allow is not None:
            self._access.check_permission(tool, incoming)
        if tool.task_support != "forbidden" or params.task is not UNSET:
            tasks = self._tasks
            if tasks.wants(tool, params, incoming):
                later = tool.starts_task and incoming.era is Era.STATELESS
                return (tasks.start_when_requested if later else tasks.start)(
                    tool, params, incoming
                )
        if tool.wants_context or params.request_state is not UNSET:
            return self._call_with_context(tool, params, incoming)
        if not tool.is_quick:
            return self._run(tool, params, incoming)
        result = tool.call_alone(params.arguments, None, incoming.era, self._server.codes)
        if isinstance(result, CallToolResult):
            return self._runner.replies.finish(result, incoming)
        return self._finish(result, incoming)

    def _call_with_context(
        self, tool: ServedTool, params: CallToolParams, incoming: Incoming
    ) -> Any:
        if not tool.is_quick:
            return self._run_with_context(tool, params, incoming)
        context = self._runner.context(incoming, params)
        result: CallToolResult | Awaitable[CallToolResult]
        try:
            result = tool.call(params.arguments, context, incoming.era, self._server.codes)
        except InputRequired as unanswered:
            result = leave(unanswered)
        if isinstance(result, CallToolResult):
            return self._runner.replies.finish(result, incoming)
        return self._runner.answer(result, context, incoming)

    # Calls that are not quick. These coroutines acquire everything themselves, so that a call
    # that is cancelled before its first step leaves nothing to release.

    async def _run(self, tool: ServedTool, params: CallToolParams, incoming: Incoming) -> Any:
        """Serve a call of a tool without a context, which cannot ask the client."""
        session = incoming.link.session
        self._enter(tool, session, incoming)
        seconds = self._seconds if tool.timeout is UNSET else None
        deadline = None if seconds is None else self._runner.deadlines.begin(seconds, never)
        try:
            result = tool.call_alone(params.arguments, None, incoming.era, self._server.codes)
            if not isinstance(result, CallToolResult):
                result = await result
        except asyncio.CancelledError:
            if deadline is None or not deadline.has_passed():
                raise
            result = self._late(incoming, deadline.seconds)
        finally:
            if deadline is not None:
                deadline.end()
            tool.running -= 1
            if session is not None:
                session.running -= 1
        return self._runner.replies.finish(result, incoming)

    async def _finish(self, work: Awaitable[CallToolResult], incoming: Incoming) -> Any:
        """Await the result of a function that was declared quick and is not."""
        return self._runner.replies.finish(await work, incoming)

    async def _run_with_context(
        self, tool: ServedTool, params: CallToolParams, incoming: Incoming
    ) -> Any:
        session = incoming.link.session
        context = self._runner.context(incoming, params)
        self._enter(tool, session, incoming)
        try:
            called = self._called(tool, params, context, incoming)
            return await self._runner.answer(called, context, incoming)
        finally:
            tool.running -= 1
            if session is not None:
                session.running -= 1

    async def _called(
        self, tool: ServedTool, params: CallToolParams, context: Context, incoming: Incoming
    ) -> CallToolResult:
        result = tool.call(params.arguments, context, incoming.era, self._server.codes)
        if isinstance(result, CallToolResult):
            return result
        seconds = self._seconds if tool.timeout is UNSET else None
        return await self._runner.deadlines.keep(
            result, seconds, lambda late: self._late(incoming, late), context.is_asking
        )

    def _enter(self, tool: ServedTool, session: Session | None, incoming: Incoming) -> None:
        """Count a call that starts now.

        Raises RpcError if too many are running.
        """
        most = self._most if tool.concurrency is UNSET else tool.concurrency
        if (most is not None and tool.running >= most) or (
            session is not None and session.running >= self._limits.max_calls_per_session
        ):
            raise self._no_room(tool, incoming, most)
        tool.running += 1
        if session is not None:
            session.running += 1

    def _late(self, incoming: Incoming, seconds: float) -> CallToolResult:
        if incoming.era is Era.HANDSHAKE and self._server.codes == "extended":
            raise failure(
                "tool_timeout",
                f"The tool took longer than {seconds:g} s",
                era=incoming.era,
                profile="extended",
            )
        return late_result(seconds)

    def _no_room(self, tool: ServedTool, incoming: Incoming, most: int | None) -> RpcError:
        if most is not None and tool.running >= most:
            what = f"{most:,} calls of {tool.definition.name} are running, the limit"
        else:
            most = self._limits.max_calls_per_session
            what = f"{most:,} calls of this session are running, the limit"
        return failure(
            "max_concurrent_tools", what, era=incoming.era, profile=self._server.codes, limit=most
        )
