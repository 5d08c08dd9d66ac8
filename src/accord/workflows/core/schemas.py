"""What is wrong with a JSON Schema itself, and with a run's input by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from accord.schema.validator import JsonSchema, TooComplexError
from accord.workflows.core.definition import Definition
from accord.workflows.core.sizes import size_problem

_SCHEMA: Final = {"$ref": "#"}
_SCHEMAS: Final = {"type": "object", "additionalProperties": _SCHEMA}
_LIST: Final = {"type": "array", "minItems": 1, "items": _SCHEMA}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_NUMBER: Final = {"type": "number"}
_TRUTH: Final = {"type": "boolean"}
_TYPE: Final = {"enum": ["null", "boolean", "object", "array", "number", "string", "integer"]}

# JSON Schema 2020-12: what the keywords may be.
_KEYWORDS: Final[dict[str, Any]] = {
    "$id": _TEXT, "$schema": _TEXT, "$ref": _TEXT, "$anchor": _TEXT, "$comment": _TEXT,
    "$defs": _SCHEMAS, "definitions": _SCHEMAS,
    "title": _TEXT, "description": _TEXT, "examples": {"type": "array"}, "deprecated": _TRUTH,
    "readOnly": _TRUTH, "writeOnly": _TRUTH, "format": _TEXT,
    "type": {"anyOf": [_TYPE, {"type": "array", "items": _TYPE, "minItems": 1}]},
    "enum": {"type": "array"},
    "allOf": _LIST, "anyOf": _LIST, "oneOf": _LIST, "not": _SCHEMA,
    "if": _SCHEMA, "then": _SCHEMA, "else": _SCHEMA,
    "minimum": _NUMBER, "maximum": _NUMBER, "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER, "multipleOf": {"type": "number", "exclusiveMinimum": 0},
    "minLength": _COUNT, "maxLength": _COUNT, "pattern": _TEXT,
    "minItems": _COUNT, "maxItems": _COUNT, "uniqueItems": _TRUTH, "items": _SCHEMA,
    "prefixItems": _LIST, "contains": _SCHEMA, "minContains": _COUNT, "maxContains": _COUNT,
    "unevaluatedItems": _SCHEMA,
    "minProperties": _COUNT, "maxProperties": _COUNT, "required": _TEXTS,
    "properties": _SCHEMAS, "patternProperties": _SCHEMAS, "additionalProperties": _SCHEMA,
    "unevaluatedProperties": _SCHEMA, "propertyNames": _SCHEMA, "dependentSchemas": _SCHEMAS,
    "dependentRequired": {"type": "object", "additionalProperties": _TEXTS},
}  # fmt: skip
_OF_SCHEMAS: Final = JsonSchema({"type": ["object", "boolean"], "properties": _KEYWORDS})


def schema_problem(schema: Any) -> str | None:
    """What is wrong with a schema, in one sentence; None if it is sound."""
    try:
        problem = _OF_SCHEMAS.problem(schema)
    except TooComplexError:
        return "the schema is too large or too deep"
    if problem is not None:
        return problem.replace("the value", "the schema", 1)
    whole = JsonSchema(schema)
    missing = next((ref for ref in _references(schema) if _is_missing(whole, ref)), None)
    return None if missing is None else f"the schema refers to {missing!r}, which is not in it"


def input_problem(definition: Definition, value: Any) -> str | None:
    """Why a run cannot start with this input; None if it can."""
    _, failure = size_problem("input", value)
    if failure is not None:
        return failure.message
    try:
        return JsonSchema(True if definition.input is None else definition.input).problem(value)
    except TooComplexError:
        return "the input is too large or too deep for its schema"


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from _references(member)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _is_missing(whole: JsonSchema, reference: str) -> bool:
    # `find` gives True, which fits all, for what is not there.
    return whole.find(reference) is True
