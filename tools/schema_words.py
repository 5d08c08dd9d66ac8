"""JSON Schema in words, short enough for a cell of a table. Pure.

Knows the keywords that our own documents use, and says `any` of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

SCHEMAS = "#/components/schemas/"
VALUES = "values.md"
PAGE_OF = "Page_"
"""How schemas of pages of lists begin; they are told of as what is on the page."""
PREVIEW = f"[Preview]({VALUES}#preview)"
"""What a `dry_run` gives; it is told of once as well."""
OF_EVERY_WRITE = frozenset({"dry_run", "idempotency_key", "Idempotency-Key"})
"""Fields that each page tells of once, at its beginning."""


def words(schema: Any) -> str:
    """What a value has to be; names of others are links to the page of values."""
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return _named(schema["$ref"].removeprefix(SCHEMAS))
    for several in ("anyOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(words(each) for each in schema[several]))
    if "enum" in schema:
        return " or ".join(map(_literal, schema["enum"]))
    if "const" in schema:
        return _literal(schema["const"])
    return _typed(schema)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; empty where there are no rows."""
    if not rows:
        return ""
    head = f"{_line(columns)}|{'---|' * len(columns)}\n"
    return head + "".join(map(_line, rows)) + "\n"


def field(name: str, schema: Any, *, required: bool, about: str = "") -> tuple[str, str, str]:
    """The cells for one field: its name, what it has to be, what it is for."""
    told = about or _about(schema)
    default = schema.get("default") if isinstance(schema, dict) else None
    if default not in (None, ""):
        told = f"{told} Default {_literal(default)}.".strip()
    what = words(schema)
    if isinstance(schema, dict) and schema.get("default", ...) is None:
        what = what.removesuffix(" or null")
    return f"**`{name}`**" if required else f"`{name}`", what, told


def fields_of(schema: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The cells for each property of an object, but what every write has."""
    required = schema.get("required", ())
    return [
        field(name, each, required=name in required)
        for name, each in schema.get("properties", {}).items()
        if name not in OF_EVERY_WRITE
    ]


def anchor(name: str) -> str:
    """Where the heading `name` is found on its page."""
    return name.lower()


def _named(name: str) -> str:
    if name.startswith(PAGE_OF):
        return f"a page of {_named(name.removeprefix(PAGE_OF))}"
    return f"[{name}]({VALUES}#{anchor(name)})"


def _typed(schema: Mapping[str, Any]) -> str:
    match schema.get("type"):
        case "array":
            many = _range(schema, "Items", "items").removeprefix(", ")
            return f"list{f' ({many})' if many else ''} of {words(schema.get('items'))}"
        case "string":
            form = f" ({schema['format']})" if "format" in schema else ""
            return f"string{form}{_range(schema, 'Length', 'characters')}"
        case "integer" | "number" as kind:
            return f"{kind}{_range(schema, 'imum', '')}"
        case "object" if schema.get("additionalProperties") not in (None, True, False, {}):
            return f"object of {words(schema['additionalProperties'])}"
        case str() as kind:
            return kind
        case list() as kinds:
            return " or ".join(kinds)
        case _:
            return "any"


def _range(schema: Mapping[str, Any], what: str, unit: str) -> str:
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    behind = f" {unit}" if unit else ""
    if most is None:
        return f", at least {_number(least)}{behind}" if least else ""
    up_to = f"{_number(most)}{behind}"
    return f", up to {up_to}" if least is None else f", {_number(least)} to {up_to}"


def _number(value: float) -> str:
    """The same for 5 and 5.0: to Python's types these are one, and whichever was there first."""
    return f"{int(value):,}" if value == int(value) else f"{value:,}"


def _about(schema: Any) -> str:
    """The description of a schema, or of what it is if it is not null."""
    if not isinstance(schema, dict):
        return ""
    told: str = schema.get("description", "")
    return told or next(filter(None, map(_about, schema.get("anyOf", ()))), "")


def _literal(value: Any) -> str:
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"`{shown}`"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
