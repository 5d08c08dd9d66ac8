"""References to definitions: how a name is written into a `$ref` and read from one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from accord.schema.keywords import change_parts
from accord.schema.schema import DEFINITIONS, Json

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
