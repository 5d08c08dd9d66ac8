"""Where schemas stand inside a schema, for whoever walks through one.

Values of other keywords are data: what looks like a reference in a `const` or in the name
of a property is none. Knows no dialect: all keywords that hold schemas in draft-07,
2020-12 and OpenAPI are here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.schema.schema import Json

ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords whose value is a schema; that of `items` was once a list of them."""
MANY = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value is an object of schemas."""


def change_parts(schema: dict[str, Any], change: Callable[[Json], Json]) -> dict[str, Any]:
    """A copy of `schema` in which each schema directly inside it is what `change` makes of it."""
    return {keyword: _changed(keyword, value, change) for keyword, value in schema.items()}


def _changed(keyword: str, value: Any, change: Callable[[Json], Json]) -> Any:
    if keyword in MANY and isinstance(value, list):
        return [change(each) for each in value]
    if keyword in NAMED and isinstance(value, dict):
        return {name: change(each) for name, each in value.items()}
    if keyword in ONE and isinstance(value, dict | bool):
        return change(value)
    return value
