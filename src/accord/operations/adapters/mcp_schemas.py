"""Schemas of operations as tools: correct, and as short as possible.

A model reads all tools of a server before it does anything, so every character counts. Left out
are: titles, null for an optional value if leaving it out means the same, the maximum lengths of
names and ids, the minimum 1 of texts and numbers, and definitions that are used once. If a schema
allows an argument that its operation refuses, the error names the field.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec
from msgspec import UNSET

from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.messages import encode
from accord.operations.context import Changed
from accord.operations.operation import Operation
from accord.operations.registry import DRY_RUN, IDEMPOTENCY_KEY
from accord.schema.bundle import Bundle
from accord.schema.types import accepts, returns

REFS: Final = "#/$defs/"
_NAMED_WELL: Final = {DRY_RUN: {"type": "boolean"}, IDEMPOTENCY_KEY: {"type": "string"}}
"""Schemas of the parameters that every write has; their names need no description."""
_UNDESCRIBED: Final = frozenset({"expected_version"})
"""Parameters of many operations whose names need no description."""
_WITHOUT_DEFAULT: Final = frozenset({"limit", "detail"})
"""Parameters of lists whose default is omitted: the first result makes it evident."""
STATED_LENGTHS: Final = range(256, 10_000)
"""The range of values of `maxLength` that schemas keep.

Shorter limits are those of names and ids; texts hardly ever reach longer ones.
"""
MAX_CHOICES: Final = 8
"""Maximum number of sort orders listed in a schema; more are described by a pattern."""
_SCHEMAS_BY_NAME: Final = frozenset(("properties", "$defs"))


def input_schema(operation: Operation) -> dict[str, Any]:
    """Return the schema of the arguments of a tool, in JSON Schema 2020-12."""
    bundle = Bundle(refs=REFS, dialect="2020-12")
    properties = {each.name: _property(each, bundle) for each in operation.parameters}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [each.name for each in operation.parameters if each.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    if bundle.definitions:
        schema["$defs"] = bundle.definitions
    return _short(schema) if operation.writes else _without(_short(schema), ("maxLength",))


def output_schema(operation: Operation) -> dict[str, Any] | None:
    """Return the top level of the schema of a read-only tool's structured content.

    Returns None for an operation whose result is not an object. No member is required: a caller may
    request some fields only, and the structured content of an error has other members.
    """
    bundle = Bundle(refs=REFS, dialect="2020-12")
    found = _followed(bundle.add(returns(operation.returns)), bundle)
    if not isinstance(found, dict) or found.get("type") != "object":
        return None
    members = {
        name: _kind_alone(_followed(each, bundle))
        for name, each in found.get("properties", {}).items()
        if name not in Changed.__struct_fields__
    }
    return {"type": "object", "properties": members}


def _followed(value: Any, bundle: Bundle) -> Any:
    while isinstance(value, dict) and set(value) == {"$ref"}:
        value = bundle.definitions[value["$ref"].removeprefix(REFS)]
    return value


def _kind_alone(value: Any) -> dict[str, Any]:
    """Return the schema of a member with no keyword but `type`."""
    short = _with_null(value) if isinstance(value, dict) else {}
    if "type" in short:
        return {"type": short["type"]}
    texts = "enum" in short and all(isinstance(each, str) for each in short["enum"])
    return {"type": "string"} if texts else {}


def _property(parameter: Parameter, bundle: Bundle) -> Any:
    if parameter.name in _NAMED_WELL:
        return _NAMED_WELL[parameter.name]
    value = bundle.add(accepts(parameter.annotation))
    if not isinstance(value, dict):
        return value
    value = dict(value)
    if parameter.default is None:
        value = _not_null(value)
    if parameter.name in _UNDESCRIBED:
        value.pop("description", None)
    if parameter.name in _WITHOUT_DEFAULT or parameter.required:
        return value
    if parameter.default not in (UNSET, None, False, "", (), []):
        value["default"] = msgspec.json.decode(encode(parameter.default))
    return value


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a shorter schema with the same meaning.

    Definitions that are small or used once are inlined.
    """
    definitions = _reachable(schema, schema.pop("$defs", {}))
    used = Counter(_references([schema, *definitions.values()]))
    alone = {name: each for name, each in definitions.items() if used[name] == 1 or _is_small(each)}
    short: dict[str, Any] = _shortened(schema, alone, ())
    kept = {
        name: _shortened(each, alone, (name,))
        for name, each in definitions.items()
        if name not in alone
    }
    still = set(_references([short, *kept.values()]))
    if still:
        short["$defs"] = {name: each for name, each in kept.items() if name in still}
    return short


def _reachable(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that a schema uses, directly or through others."""
    found: dict[str, Any] = {}
    waiting = _references([schema])
    while waiting:
        name = waiting.pop()
        if name not in found and name in definitions:
            found[name] = definitions[name]
            waiting += _references([definitions[name]])
    return found


def _shortened(value: Any, inline: dict[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_shortened(each, inline, inside) for each in value]
    if not isinstance(value, dict):
        return value
    name = _target(value)
    if name in inline and name not in inside:
        others = {key: each for key, each in value.items() if key != "$ref"}
        return _shortened({**inline[name], **others}, inline, (*inside, name))
    found: dict[str, Any] = {}
    for key, each in value.items():
        if key in _SCHEMAS_BY_NAME:
            found[key] = {it: _shortened(one, inline, inside) for it, one in each.items()}
        elif key != "title" and (key != "default" or each is not None):
            found[key] = _shortened(each, inline, inside)
    return _with_null(_one_or_several(_terse(found)))


def _terse(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without keywords that a model does not need."""
    if schema.get("maxLength", STATED_LENGTHS.start) not in STATED_LENGTHS:
        del schema["maxLength"]
    for least in ("minLength", "minimum"):
        if schema.get(least) == 1:
            del schema[least]
    if schema.get("type") == "array":
        schema.pop("maxItems", None)
    if schema.get("additionalProperties") == {}:
        del schema["additionalProperties"]
    enum = schema.get("enum")
    if isinstance(enum, list) and len(enum) > MAX_CHOICES:
        ways = [each for each in enum if isinstance(each, str) and each.isidentifier()]
        if {*ways, *(f"-{each}" for each in ways)} == set(enum):
            others = {key: each for key, each in schema.items() if key not in ("enum", "type")}
            return {"type": "string", "pattern": f"^-?({'|'.join(ways)})$", **others}
    return schema


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without null, which means the same as leaving the value out."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return schema
    others = [each for each in choices if each != {"type": "null"}]
    rest = {key: each for key, each in schema.items() if key != "anyOf"}
    return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}


def _one_or_several(schema: dict[str, Any]) -> dict[str, Any]:
    """Merge `anyOf` of a value and an array of such values into one schema with two types.

    If the values are fixed strings, only the items of the array keep the `enum`: a single value can
    be any string by the schema, and the operation refuses an invalid one.
    """
    match schema:
        case {"anyOf": [dict() as one, {"type": "array", "items": dict() as item}]} if one == item:
            rest = {key: each for key, each in schema.items() if key != "anyOf"}
            texts = all(isinstance(each, str) for each in one.get("enum", [None]))
            kind = "string" if texts else one.get("type")
            if isinstance(kind, str):
                items = {"enum": one["enum"]} if texts else {"type": kind}
                return {"type": [kind, "array"], "items": items, **rest}
    return schema


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Merge `anyOf` of a schema and null into one, such as `type: [string, null]`."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or len(choices) != 2 or {"type": "null"} not in choices:
        return schema
    other = choices[0] if choices[1] == {"type": "null"} else choices[1]
    rest = {key: each for key, each in schema.items() if key != "anyOf"}
    if "enum" in other:
        values = {key: each for key, each in other.items() if key != "type"}
        return {**values, "enum": [*other["enum"], None], **rest}
    if isinstance(other.get("type"), str):
        return {**other, "type": [other["type"], "null"], **rest}
    return schema


def _without(value: Any, keys: tuple[str, ...]) -> Any:
    """Return a schema without these keywords, also in nested schemas."""
    if isinstance(value, list):
        return [_without(each, keys) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {it: _without(one, keys) for it, one in each.items()}
        if key in _SCHEMAS_BY_NAME
        else _without(each, keys)
        for key, each in value.items()
        if key not in keys
    }


def _references(values: list[Any]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, dict):
            name = _target(value)
            if name:
                found.append(name)
            found += _references(list(value.values()))
        elif isinstance(value, list):
            found += _references(value)
    return found


def _target(value: dict[str, Any]) -> str:
    ref = value.get("$ref")
    return ref.removeprefix(REFS) if isinstance(ref, str) else ""


def _is_small(definition: Any) -> bool:
    """Return True if a definition is hardly longer than a reference to it."""
    return len(encode(definition)) < 60
