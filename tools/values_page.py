"""docs/reference/values.md: what operations take and give, from the schemas of the documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.described import Described
from tools.schema_words import PAGE_OF, fields_of, table

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "values.md"

OPENING = """\
# Values

<!-- Generated from the OpenAPI and OpenRPC documents by `make docs`. -->

What [REST](rest.md), [JSON-RPC](methods.md) and [MCP](tools.md) take and give, by name. Fields in
**bold** are always there, or required where the value is given.

A *page of* something is an object of four fields: `items` is the list, `next_cursor` is the
`cursor` to ask the next page with (or null), `has_more` tells whether there is one, `total` counts
all.

"""


def render(described: Described) -> str:
    """The whole page."""
    schemas = {
        **described.openrpc["components"]["schemas"],
        **described.openapi["components"]["schemas"],
    }
    return (
        OPENING
        + "".join(
            _section(name, schemas[name])
            for name in sorted(schemas)
            if not name.startswith(PAGE_OF)
        )
    ).rstrip() + "\n"


def _section(name: str, schema: dict[str, Any]) -> str:
    about = f"{schema['description']}\n\n" if schema.get("description") else ""
    return f"## {name}\n\n{about}{table(('field', 'what it is', ''), fields_of(schema))}"
