"""JSON Schema 2020-12 to draft-07, the dialect of OpenRPC.

What draft-07 cannot say becomes looser, never stricter. Beyond the dialect it keeps to what
OpenRPC's own tools need: every array has an `items` that is an object, `true` and `false`
are written as objects but where they close something, and there are no words that draft-07 does
not know, and no formats that validators for it do not, because strict ones stop at them. Other
formats are kept as `x-format`, for people.
"""

from __future__ import annotations

from typing import Any

from accord.schema.keywords import MANY, NAMED, ONE
from accord.schema.schema import DEFINITIONS, Json

_DRAFT07 = """
$ref $comment title description default examples readOnly writeOnly type enum const multipleOf
minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern format
contentEncoding contentMediaType items minItems maxItems uniqueItems contains properties
patternProperties additionalProperties propertyNames required minProperties maxProperties
dependencies allOf anyOf oneOf not if then else definitions
"""
_WORDS = frozenset(_DRAFT07.split()) | {"deprecated"}
"""What may stand in a schema. `deprecated` is newer, but no tool stumbles over it."""
_DRAFT07_FORMATS = """
date-time date time email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri
iri-reference uri-template json-pointer relative-json-pointer regex
"""
_FORMATS = frozenset((*_DRAFT07_FORMATS.split(), "uuid", "duration"))
"""Those of draft-07, and two of its successor that are everywhere."""
_APPLICATORS = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"}
)
_CLOSING = frozenset({"additionalProperties", "unevaluatedProperties", "unevaluatedItems"})
_ABOUT_ARRAYS = frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"})


def to_draft07(value: Json) -> Json:
    """A schema of 2020-12 in draft-07. References to `#/$defs/` lead to `#/definitions/`."""
    if not isinstance(value, dict):
        return {"not": {}} if value is False else {}
    schema = {word: _member(word, each) for word, each in value.items()}
    _rename_definitions(schema)
    _close(schema)
    _join_dependencies(schema)
    _flatten_array(schema)
    if schema.get("minContains") == 0:
        schema.pop("contains", None)
    if "format" in schema and schema["format"] not in _FORMATS:
        schema["x-format"] = schema.pop("format")
    return _set_reference_apart(
        {word: each for word, each in schema.items() if word in _WORDS or word.startswith("x-")}
    )


def _member(word: str, value: Any) -> Any:
    if word in MANY and isinstance(value, list):
        return [to_draft07(each) for each in value]
    if word in NAMED and isinstance(value, dict):
        return {name: to_draft07(each) for name, each in value.items()}
    if word in ONE and isinstance(value, dict | bool):
        closes = isinstance(value, bool) and (word in _CLOSING or word == "items")
        return value if closes else to_draft07(value)
    return value


def _rename_definitions(schema: dict[str, Any]) -> None:
    if "$defs" in schema:
        schema["definitions"] = schema.get("definitions", {}) | schema.pop("$defs")
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref.startswith(DEFINITIONS):
        schema["$ref"] = "#/definitions/" + ref.removeprefix(DEFINITIONS)


def _close(schema: dict[str, Any]) -> None:
    """What is left unevaluated is what is additional, where nothing else is applied."""
    if "unevaluatedProperties" in schema and not _APPLICATORS & schema.keys():
        schema.setdefault("additionalProperties", schema["unevaluatedProperties"])
    if "unevaluatedItems" in schema and not (_APPLICATORS | {"contains"}) & schema.keys():
        schema.setdefault("items", schema["unevaluatedItems"])


def _join_dependencies(schema: dict[str, Any]) -> None:
    required = schema.get("dependentRequired", {})
    schemas = schema.get("dependentSchemas", {})
    if required or schemas:
        both = {
            name: {"allOf": [{"required": names}, schemas[name]]}
            for name, names in required.items()
            if name in schemas
        }
        schema["dependencies"] = {**required, **schemas, **both}


def _flatten_array(schema: dict[str, Any]) -> None:
    """The places of a tuple become one choice, for each of them."""
    if not _is_array(schema):
        return
    places = list(schema.get("prefixItems", ()))
    rest = schema.get("items", True)
    if rest is False:
        schema["maxItems"] = min(schema.get("maxItems", len(places)), len(places))
    elif schema.get("maxItems", len(places) + 1) > len(places):
        places.append(to_draft07(rest) if isinstance(rest, bool) else rest)
    schema["items"] = _choice(places)


def _is_array(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    if kind is None:
        return bool(_ABOUT_ARRAYS & schema.keys())
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _choice(places: list[Json]) -> Json:
    distinct: list[Json] = []
    for each in places:
        if each not in distinct:
            distinct.append(each)
    if not distinct or {} in distinct:
        return {}
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _set_reference_apart(schema: dict[str, Any]) -> dict[str, Any]:
    """Draft-07, core 8.3: all other members beside a `$ref` are ignored."""
    if "$ref" not in schema or len(schema) == 1:
        return schema
    apart = [{"$ref": schema.pop("$ref")}]
    return {**schema, "allOf": apart + schema.get("allOf", [])}
