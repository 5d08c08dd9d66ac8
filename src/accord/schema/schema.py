"""A JSON Schema that stands alone, with its definitions; references and nested schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, unquote

from msgspec import Struct

Json: TypeAlias = Any
"""A schema as JSON has it: an object, `True` for anything or `False` for nothing."""

Role: TypeAlias = Literal["Input", "Output"]
"""Which way the values go: into a method or out of it."""

DEFINITIONS = "#/$defs/"
"""How references inside a `Schema` begin; the name of a definition follows."""


class Schema(Struct, frozen=True):
    """One schema in JSON Schema 2020-12. To read only: parts are shared."""

    value: Json
    definitions: Mapping[str, Json] = {}
    """What `$ref`s in `value`, and in the definitions themselves, may refer to, by name."""
    role: Role | None = None
    """Tells two definitions of one class apart where both are wanted: it takes and gives
    different values when fields have defaults."""


ANYTHING = Schema({})


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


_UNFIT = re.compile(r"[^a-zA-Z0-9.\-_]+")


def reference(name: str, under: str = DEFINITIONS) -> str:
    """The `$ref` to the definition `name`."""
    return under + quote(name.replace("~", "~0").replace("/", "~1"), safe="~!$&'()*+,;=:@")


def referred(ref: Any, under: str = DEFINITIONS) -> tuple[str, str] | None:
    """The name of the definition that `ref` leads to, and the rest of the path inside it.

    None when it leads elsewhere.
    """
    if not isinstance(ref, str) or not ref.startswith(under):
        return None
    name, slash, rest = ref.removeprefix(under).partition("/")
    return unquote(name).replace("~1", "/").replace("~0", "~"), slash + rest


def component_key(name: str) -> str:
    """`name` as a key that OpenRPC and OpenAPI take: letters, digits, `.`, `-` and `_`."""
    return _UNFIT.sub("_", name).strip("_") or "_"


def change_references(schema: Json, change: Callable[[str], Json]) -> Json:
    """A copy of `schema` with every `$ref`, at any depth, replaced.

    `change` is given what the `$ref` says, and gives the members that take its place.
    """
    if not isinstance(schema, dict):
        return schema
    changed = change_parts(schema, lambda part: change_references(part, change))
    if isinstance(schema.get("$ref"), str):
        del changed["$ref"]
        changed = {**change(schema["$ref"]), **changed}
    return changed
