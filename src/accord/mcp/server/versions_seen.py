"""Definitions as a version knows them: members that came later are left out."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from accord.mcp.protocol.definitions import (
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    Tool,
    ToolExecution,
)
from accord.mcp.protocol.versions import (
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    era,
)
from accord.mcp.server.tool import ServedTool, output_schema

D = TypeVar("D", Resource, ResourceTemplate, Prompt)


def tool_in(version: str, tool: ServedTool) -> Tool:
    """The definition of a tool in a version."""
    definition = tool.definition
    changes: dict[str, Any] = {}
    if version >= V2025_06_18:
        changes["output_schema"] = output_schema(tool.output, era(version))
    else:
        changes.update(title="", meta=None)
    if version < V2025_11_25:
        changes["icons"] = ()
    if version < V2025_03_26:
        changes["annotations"] = None
    if version == V2025_11_25 and tool.task_support != "forbidden":
        changes["execution"] = ToolExecution(task_support=tool.task_support)
    return replace(definition, **changes)


def definition_in(version: str, definition: D) -> D:
    """The definition of a resource, a template or a prompt in a version."""
    changes: dict[str, Any] = {}
    if version < V2025_11_25:
        changes["icons"] = ()
    if version < V2025_06_18:
        changes.update(title="", meta=None)
        if isinstance(definition, Prompt):
            changes["arguments"] = tuple(map(_without_title, definition.arguments))
    return replace(definition, **changes) if changes else definition


def _without_title(argument: PromptArgument) -> PromptArgument:
    return replace(argument, title="")
