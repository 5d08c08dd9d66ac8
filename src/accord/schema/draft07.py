"""JSON Schema 2020-12 to draft-07, the dialect of OpenRPC.

What draft-07 cannot say becomes looser, never stricter. Beyond the dialect it keeps to what
OpenRPC's own tools need: every array has an `items` that is an object, and `true` and
`false` are written as objects wherever a schema is listed or named.
"""

from __future__ import annotations

from typing import Any

from accord.schema.keywords import change_parts
from accord.schema.schema import DEFINITIONS, Json

_DROPPED = frozenset(
    {
        "$anchor",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$recursiveAnchor",
        "$recursiveRef",
        "$schema",
        "$vocabulary",
        "contentSchema",
        "dependentRequired",
        "dependentSchemas",
        "discriminator",
        "maxContains",
        "minContains",
        "prefixItems",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Unknown to draft-07; what can be said otherwise is."""
_APPLICATORS = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"}
)
_ABOUT_ARRAYS = frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"})
_NOTHING: Json = {"not": {}}


def to_draft07(value: Json) -> Json:
    """A schema of 2020-12 in draft-07. References to `#/$defs/` lead to `#/definitions/`."""
    if not isinstance(value, dict):
        return _NOTHING if value is False else {}
    schema = change_parts(value, _part)
    _rename_definitions(schema)
    _close(schema)
    _join_dependencies(schema)
    _flatten_array(schema)
    if schema.get("minContains") == 0:
        schema.pop("contains", None)
    kept = {keyword: each for keyword, each in schema.items() if keyword not in _DROPPED}
    return _set_reference_apart(kept)


def _part(value: Json) -> Json:
    # `additionalProperties: false` and its like are understood everywhere as they are.
    return value if isinstance(value, bool) else to_draft07(value)


def _rename_definitions(schema: dict[str, Any]) -> None:
    if "$defs" in schema:
        schema["definitions"] = schema.get("definitions", {}) | schema.pop("$defs")
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref.startswith(DEFINITIONS):
        schema["$ref"] = "#/definitions/" + ref.removeprefix(DEFINITIONS)


def _close(schema: dict[str, Any]) -> None:
    """`unevaluatedProperties` is `additionalProperties` where nothing else is applied."""
    if "unevaluatedProperties" in schema and not _APPLICATORS & schema.keys():
        schema.setdefault("additionalProperties", schema["unevaluatedProperties"])
    if "unevaluatedItems" in schema and not (_APPLICATORS | {"contains"}) & schema.keys():
        schema.setdefault("items", schema["unevaluatedItems"])


def _join_dependencies(schema: dict[str, Any]) -> None:
    required = schema.get("dependentRequired", {})
    schemas = schema.get("dependentSchemas", {})
    if required or schemas:
        joined = {
            name: {"allOf": [{"required": required[name]}, schemas[name]]}
            for name in required
            if name in schemas
        }
        schema["dependencies"] = {**required, **schemas, **joined}


def _flatten_array(schema: dict[str, Any]) -> None:
    """Places of a tuple become one choice; whether its length is fixed is said already."""
    if not _is_array(schema):
        return
    places: list[Json] = [_object(each) for each in schema.get("prefixItems", ())]
    rest = schema.get("items", True)
    if isinstance(rest, list):
        places, rest = [_object(each) for each in rest], schema.pop("additionalItems", True)
    if rest is False:
        schema["maxItems"] = min(schema.get("maxItems", len(places)), len(places))
    elif schema.get("maxItems") is None or schema["maxItems"] > len(places):
        places.append(_object(rest))
    schema["items"] = _choice(places)


def _is_array(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    if kind is None:
        return bool(_ABOUT_ARRAYS & schema.keys())
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _choice(places: list[Json]) -> Json:
    distinct: list[Json] = []
    for each in places:
        if each == {}:
            return {}
        if each not in distinct:
            distinct.append(each)
    if len(distinct) > 1:
        return {"anyOf": distinct}
    return distinct[0] if distinct else {}


def _object(value: Json) -> Json:
    if isinstance(value, bool):
        return {} if value else _NOTHING
    return value


def _set_reference_apart(schema: dict[str, Any]) -> dict[str, Any]:
    """Draft-07, core 8.3: all other members beside a `$ref` are ignored."""
    listed = {
        keyword: [_object(each) for each in schema[keyword]]
        for keyword in ("allOf", "anyOf", "oneOf")
        if isinstance(schema.get(keyword), list)
    }
    named = {
        keyword: {name: _object(each) for name, each in schema[keyword].items()}
        for keyword in ("definitions", "patternProperties", "properties")
        if isinstance(schema.get(keyword), dict)
    }
    schema = {**schema, **listed, **named}
    if "$ref" not in schema or len(schema) == 1:
        return schema
    apart = [{"$ref": schema.pop("$ref")}]
    return {**schema, "allOf": apart + schema.get("allOf", [])}
