"""docs/reference/tools.md: what assistants find over MCP, as a server lists it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from accord.app.system import MCP
from accord.mcp.protocol.definitions import Resource, ResourceTemplate, Tool
from accord.operations.operation import Operation
from tools.described import Described
from tools.operation_words import WRITES, heading, needs
from tools.schema_words import fields_of, table

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "tools.md"

OPENING = f"""\
# MCP tools and resources

<!-- Generated from what a server lists by `make docs`. -->

What an assistant finds at `{MCP}` ([how to connect one](../hub/assistants.md)). A token's owner may
not do all of it: a tool that somebody may not use says so when it is called.

{WRITES}
Ids may be UUIDs or reference ids such as `REQ-001`. How long values may be, and which are allowed,
is what [REST](rest.md) says: it is the same operation.

## Resources

Whole items and lists of them, as JSON. Prompts of MCP are those that people keep in the hub.

"""


def render(described: Described) -> str:
    """The whole page."""
    operations = described.operations
    tags = sorted({operations[each.name].tag for each in described.tools})
    return (
        OPENING
        + table(("URI", "what it is"), _resources(described.resources, described.templates))
        + "".join(
            f"## {heading(tag)}\n\n"
            + "".join(
                _section(each, operations)
                for each in described.tools
                if operations[each.name].tag == tag
            )
            for tag in tags
        )
    ).rstrip() + "\n"


def _resources(
    resources: list[Resource], templates: list[ResourceTemplate]
) -> list[tuple[str, str]]:
    fixed = [(f"`{each.uri}`", each.description) for each in resources]
    return fixed + [(f"`{each.uri_template}`", each.description) for each in templates]


def _section(tool: Tool, operations: Mapping[str, Operation]) -> str:
    return (
        f"### {tool.name}\n\n"
        f"{tool.description} {needs(operations[tool.name])}{_hint(tool)}\n\n"
        + table(("argument", "what it is", ""), fields_of(tool.input_schema))
    )


def _hint(tool: Tool) -> str:
    """What a client is told about the tool, and may ask its user about."""
    hints = tool.annotations
    if hints is None:
        return ""
    if hints.read_only_hint:
        return " Reads only."
    destructive = " Marked as destructive." if hints.destructive_hint else ""
    return f"{destructive} Marked as open world." if hints.open_world_hint else destructive
