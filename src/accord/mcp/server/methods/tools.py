"""`tools/list` and `tools/call`."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from accord.jsonrpc.call_plan import Plan
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.params import CallToolParams, ListParams
from accord.mcp.protocol.versions import Era
from accord.mcp.server.core import Row
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.versions_seen import tool_in

if TYPE_CHECKING:
    from accord.mcp.server.core import Core


def methods(core: Core) -> dict[str, Row]:
    tools = _Tools(core)
    return {
        "tools/list": Row(ListParams, tools.list),
        "tools/call": Row(CallToolParams, tools.call),
    }


def notifications(core: Core) -> dict[str, Plan]:
    return {}


class _Tools:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._tools = core.server.tools
        self._list = core.server.ready_list("tools", core.replies)

    def list(self, params: ListParams, incoming: Incoming) -> Any:
        view = self._core.server.view(self._tools, incoming)
        return self._list.page(
            incoming,
            params.cursor,
            version=self._tools.version,
            seen_as=view.key,
            scope=self._core.server.cache_scope(),
            items=lambda: [tool_in(incoming.version, tool) for tool in view.components()],
        )

    def call(self, params: CallToolParams, incoming: Incoming) -> Any:
        tool = self._tools.get(params.name)
        if tool is None:
            raise failure(
                "tool_not_found",
                f"Unknown tool: {params.name[:100]}",
                era=incoming.era,
                profile=self._core.server.codes,
                name=params.name[:100],
            )
        self._core.server.check_scopes(tool.scopes, incoming)
        if tool.task_support != "forbidden" or params.task is not UNSET:
            tasks = self._core.tasks
            if tasks.wants(tool, params, incoming):
                later = tool.starts_task and incoming.era is Era.STATELESS
                return (tasks.start_when_told if later else tasks.start)(tool, params, incoming)
        context = self._core.context(incoming, params)
        result = tool.call(params.arguments, context, incoming.era)
        finish = self._core.replies.finish
        if isawaitable(result):
            return self._core.answer(result, context, incoming, lambda it: finish(it, incoming))
        return finish(result, incoming)
