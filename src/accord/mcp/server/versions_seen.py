"""Definitions of components in a version."""

from __future__ import annotations

from msgspec.structs import replace

from accord.mcp.protocol.definitions import Prompt, Resource, ResourceTemplate, Tool, ToolExecution
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import era
from accord.mcp.server.prompt import ServedPrompt
from accord.mcp.server.resource import ServedResource
from accord.mcp.server.tool import ServedTool


def tool_in(version: str, tool: ServedTool) -> Tool:
    """Return the definition of a tool in a version."""
    execution = None
    if tool.task_support != "forbidden":
        execution = ToolExecution(task_support=tool.task_support)
    output = tool.output_schema(era(version))
    whole = replace(tool.definition, output_schema=output, execution=execution)
    return in_version(version, whole)


def definition_in(
    version: str, component: ServedResource | ServedPrompt
) -> Resource | ResourceTemplate | Prompt:
    """Return the definition of a resource, a template or a prompt in a version."""
    return in_version(version, component.definition)
