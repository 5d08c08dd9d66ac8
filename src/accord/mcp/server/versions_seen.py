"""Definitions as a version knows them."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from accord.mcp.protocol.definitions import Prompt, Resource, ResourceTemplate, Tool, ToolExecution
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import era
from accord.mcp.server.tool import ServedTool, output_schema

D = TypeVar("D", Resource, ResourceTemplate, Prompt)


def tool_in(version: str, tool: ServedTool) -> Tool:
    """The definition of a tool in a version."""
    execution = None
    if tool.task_support != "forbidden":
        execution = ToolExecution(task_support=tool.task_support)
    output = output_schema(tool.output, era(version))
    whole = replace(tool.definition, output_schema=output, execution=execution)
    return in_version(version, whole)


def definition_in(version: str, definition: D) -> D:
    """The definition of a resource, a template or a prompt in a version."""
    return in_version(version, definition)
