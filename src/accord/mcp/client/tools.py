"""Calling tools: their definitions as far as they are known, and what follows from them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.call import decode_result
from accord.jsonrpc.errors import InvalidResultError
from accord.mcp.client.conversation import Conversation, Options
from accord.mcp.client.tool_result import ToolResult
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.results import CallToolResult, ListToolsResult

log = logging.getLogger("accord.mcp")


class _Result(CallToolResult, frozen=True, kw_only=True, rename="camel"):
    structured_content: Raw | UnsetType = UNSET


class Tools:
    """The tools of the server, as far as it has listed them."""

    def __init__(self, conversation: Callable[[], Conversation]) -> None:
        self._conversation = conversation
        self._known: dict[str, Tool] = {}

    def learn(self, listed: ListToolsResult) -> ListToolsResult:
        for tool in listed.tools:
            self._known[tool.name] = tool
        return listed

    async def call(self, name: str, arguments: Any, into: Any, options: Options) -> ToolResult[Any]:
        params: dict[str, Any] = {"name": name}
        if arguments is not UNSET and arguments is not None:
            params["arguments"] = arguments
        answered = await self._conversation().ask_answering("tools/call", params, options)
        return self._result(name, answered.raw, into)

    def _result(self, name: str, raw: Any, into: Any) -> ToolResult[Any]:
        result: _Result = decode_result(raw, _Result, "tools/call")
        structured: Any = result.structured_content
        if isinstance(structured, Raw):
            structured = self._structured(structured, Any if result.is_error else into, name)
        return ToolResult(result.content, structured, is_error=result.is_error, meta=result.meta)

    def _structured(self, raw: Raw, into: Any, name: str) -> Any:
        what = f"the tool {name}"
        try:
            return decode_result(raw, into, what)
        except InvalidResultError as error:
            if self._conversation().stateless:
                raise
            # Up to 2025-11-25 structured content is an object, and a value that is none is put
            # into the member `result` of one.
            try:
                return decode_result(raw, _Wrapped, what).result_as(into, what)
            except InvalidResultError:
                raise error from None


class _Wrapped(msgspec.Struct, forbid_unknown_fields=True):
    result: Raw

    def result_as(self, into: Any, what: str) -> Any:
        return decode_result(self.result, into, what)
