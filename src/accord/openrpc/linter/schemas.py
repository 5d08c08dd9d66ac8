"""What can be wrong with the schemas of a document, beside what they refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from accord.openrpc.linter.finding import Finding, Path, finding
from accord.openrpc.linter.shapes import json_type

TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

_ONE: Final = frozenset(
    {"additionalItems", "additionalProperties", "contains", "propertyNames"}
    | {"not", "if", "then", "else"}
)
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf"})
_MAPS: Final = frozenset({"properties", "patternProperties", "definitions", "$defs"})

_NEWER: Final = {
    "$defs": "definitions",
    "prefixItems": "items: {anyOf: […]} with equal minItems and maxItems",
    "dependentRequired": "dependencies",
    "dependentSchemas": "dependencies",
    "unevaluatedProperties": "additionalProperties",
    "unevaluatedItems": "additionalItems",
    "$anchor": "a reference by path",
    "$dynamicRef": "$ref",
    "$recursiveRef": "$ref",
    "nullable": 'a type of ["null", …]',
    "minContains": "contains alone",
    "maxContains": "contains alone",
}
"""Keywords that draft 07 has not, and what to write instead."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == value // 1


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)


_KEYWORDS: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "type": ("one of the seven types of JSON, or an array of them", _is_type),
    "enum": ("an array", lambda it: isinstance(it, list)),
    "required": ("an array of strings", _is_names),
    "title": ("a string", _is_text),
    "description": ("a string", _is_text),
    "$ref": ("a string", _is_text),
    "format": ("a string", _is_text),
    "pattern": ("a string", _is_text),
    "uniqueItems": ("true or false", lambda it: isinstance(it, bool)),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), ("a number", _is_number)
    ),
    "multipleOf": ("a number above 0", lambda it: _is_number(it) and it > 0),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        ("an integer, 0 or more", _is_count),
    ),
    **dict.fromkeys(_ONE, ("a schema", lambda it: isinstance(it, dict | bool))),
    **dict.fromkeys(
        _LISTS, ("an array that is not empty", lambda it: isinstance(it, list) and it != [])
    ),
    **dict.fromkeys(_MAPS, ("an object", lambda it: isinstance(it, dict))),
    "items": ("a schema, or an array of them", lambda it: isinstance(it, dict | bool | list)),
}


def subschemas(path: Path, schema: Any) -> Iterator[tuple[Path, Any]]:
    """A schema and every schema inside it, with their paths."""
    waiting = [(path, schema)]
    while waiting:
        path, schema = waiting.pop()
        yield path, schema
        if isinstance(schema, dict):
            waiting += reversed([(path + step, each) for step, each in _inside(schema)])


def _inside(schema: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    for key, value in schema.items():
        if key in _ONE or (key == "items" and not isinstance(value, list)):
            yield (key,), value
        elif (key in _LISTS or key == "items") and isinstance(value, list):
            yield from (((key, index), each) for index, each in enumerate(value))
        elif (key in _MAPS or key == "dependencies") and isinstance(value, dict):
            yield from (((key, name), each) for name, each in value.items())


def check_schema(path: Path, schema: Any) -> Iterator[Finding]:
    """What is wrong with one schema, those inside it left aside."""
    if isinstance(schema, dict):
        yield from _check_keywords(path, schema)
        yield from _check_array(path, schema)
        yield from _check_required(path, schema)


def _check_keywords(path: Path, schema: dict[str, Any]) -> Iterator[Finding]:
    for key, value in schema.items():
        if key in _NEWER:
            message = f"'{key}' is not in draft 07, and is ignored by many: use {_NEWER[key]}"
            yield finding("schema-dialect", (*path, key), message)
        if key in _KEYWORDS:
            what, fits = _KEYWORDS[key]
            if not fits(value):
                shown = repr(value) if isinstance(value, str | int | float) else json_type(value)
                yield finding("schema-keyword", (*path, key), f"must be {what}, not {shown}")


def _check_array(path: Path, schema: dict[str, Any]) -> Iterator[Finding]:
    types = schema.get("type")
    is_array = types == "array" or (isinstance(types, list) and "array" in types)
    if is_array and not isinstance(schema.get("items"), dict):
        message = (
            "the array does not say in one schema what its items are; add 'items', for a tuple "
            "as {anyOf: […]} with equal minItems and maxItems"
        )
        yield finding("schema-array", path, message)


def _check_required(path: Path, schema: dict[str, Any]) -> Iterator[Finding]:
    properties, required = schema.get("properties", {}), schema.get("required")
    closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
    if closed and isinstance(properties, dict) and isinstance(required, list):
        for name in required:
            if isinstance(name, str) and name not in properties:
                message = (
                    f"'{name}' is required and not allowed, so that no object fits; "
                    "add it to 'properties' or take it from 'required'"
                )
                yield finding("schema-required", (*path, "required"), message)
