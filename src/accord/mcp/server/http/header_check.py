"""Compares the headers of a stateless request with its body (2026-07-28, Streamable HTTP,
server validation)."""

from __future__ import annotations

import logging
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET, Raw

from accord.jsonrpc.errors import RpcError
from accord.jsonrpc.msgspec_types import REFUSALS
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.headers import (
    NAME_MEMBERS,
    HeaderParameter,
    check_headers,
    parameter_headers,
)
from accord.mcp.protocol.params import Params
from accord.mcp.server.http.bodies import Mirrored
from accord.mcp.server.http.gate import McpHead
from accord.mcp.server.http.refusals import header_mismatch, missing_version
from accord.mcp.server.registry import Registry
from accord.mcp.server.tool import ServedTool

_NAMED_BY: Final = {
    method: "task_id" if member == "taskId" else member for method, member in NAME_MEMBERS.items()
}
"""The attribute of the params that `Mcp-Name` repeats."""

log = logging.getLogger("accord.mcp.http")


class HeaderCheck:
    """The header checks of one server, including headers of tool arguments."""

    def __init__(self, tools: Registry[ServedTool]) -> None:
        self._tools = tools
        self._version = -1
        self._parameters: dict[str, tuple[HeaderParameter, ...]] = {}

    def agree(self, head: McpHead, method: str, params: Params) -> bool:
        """Return whether the headers agree with the request.

        A fast check: False may also mean that a full check is needed.
        """
        if params.meta.protocol_version != head.version or method != head.mcp_method:
            return False
        member = _NAMED_BY.get(method)
        if member is None:
            return True
        name = getattr(params, member)
        return name == head.mcp_name and not (method == "tools/call" and self._of_tool(name))

    def fault(self, head: McpHead, method: str, found: Mirrored) -> RpcError | None:
        """Return the error for a request's headers; None if they are correct."""
        version = found.version
        if version is None:
            return missing_version(head.version)
        name = found.name_for(method)
        parameters = self._of_tool(name) if method == "tools/call" and name is not None else ()
        wrong = check_headers(
            head.request.fields,
            version=version,
            method=method,
            name=name,
            arguments=_arguments(found.arguments) if parameters else None,
            parameters=parameters,
        )
        return None if wrong is None else header_mismatch(wrong)

    def _of_tool(self, name: str) -> tuple[HeaderParameter, ...]:
        """Return the parameters of a tool that headers repeat."""
        if self._tools.version != self._version:
            self._version = self._tools.version
            self._parameters.clear()
        known = self._parameters.get(name)
        if known is None:
            tool = self._tools.get(name)
            if tool is None:
                return ()
            known = self._parameters[name] = _header_parameters(tool.definition)
        return known


def _header_parameters(tool: Tool) -> tuple[HeaderParameter, ...]:
    try:
        return parameter_headers(tool.input_schema)
    except ValueError as error:
        # Clients leave such a tool out of their lists.
        log.warning("the headers of tool %s are not checked: %s", tool.name, error)
        return ()


def _arguments(raw: Any) -> Any:
    try:
        return {} if raw is UNSET else msgspec.json.decode(cast(Raw, raw))
    except REFUSALS:
        return {}
