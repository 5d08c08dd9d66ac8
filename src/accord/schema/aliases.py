"""Fields that pydantic finds under other names than its own schema tells.

A field may have several aliases, each a name or a path into the object, and its own name
besides. The first that is there counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from accord.schema.schema import Json

Path: TypeAlias = list[str | int]


def places(name: str, alias: Any, *, by_alias: bool, by_name: bool) -> list[Path]:
    """Where the value of a field may stand, in the order in which it is looked for."""
    found: list[Path] = []
    if alias is not None and by_alias:
        several = not isinstance(alias, str) and isinstance(alias[0], list)
        found = [
            [each] if isinstance(each, str) else each for each in (alias if several else [alias])
        ]
    return [*found, [name]] if by_name or not found else found


def with_places(schema: Json, described: Mapping[str, list[Path]]) -> Json:
    """`schema` of an object, for fields at those places; by the name that it calls each."""
    properties = dict(schema["properties"])
    required = list(schema.get("required", ()))
    choices = []
    for name, paths in described.items():
        if paths == [[name]] or name not in properties:
            continue
        value = properties.pop(name)
        choices.append({"anyOf": [_at(path, value) for path in paths]})
        properties |= {str(path[0]): properties.get(str(path[0]), {}) for path in paths}
        if len(paths[0]) == 1:
            properties[str(paths[0][0])] = value
        if name in required:
            required.remove(name)
        else:
            choices[-1]["anyOf"].append({"properties": {str(path[0]): False for path in paths}})
    changed = {**schema, "properties": properties, "required": required, "allOf": choices}
    return {
        word: each for word, each in changed.items() if each or word not in ("required", "allOf")
    }


def _at(path: Path, value: Json) -> Json:
    name = str(path[0])
    here = {"properties": {name: value}} if len(path) == 1 else {}
    return {**here, "required": [name]}
