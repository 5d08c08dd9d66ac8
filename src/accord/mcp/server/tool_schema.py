"""Input and output schemas of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_origin

import msgspec
from msgspec import UNSET

from accord.jsonrpc.codec import encode
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.parameters import Parameter
from accord.mcp.protocol.headers import parameter_headers
from accord.mcp.protocol.versions import Era
from accord.schema.bundle import Bundle
from accord.schema.schema import Schema
from accord.schema.types import accepts


def input_schema(
    parameters: tuple[Parameter, ...], described: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the schema of an object with these members, in JSON Schema 2020-12.

    `described` has descriptions from a docstring, for parameters without one in their annotations.
    """
    bundle = Bundle(refs="#/$defs/", dialect="2020-12")
    properties: dict[str, Any] = {}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = []
    others: Any = False
    for parameter in parameters:
        value = bundle.add(accepts(parameter.annotation))
        if parameter.kind == "var_keyword":
            others = value
            continue
        said = (described or {}).get(parameter.name, "")
        properties[parameter.name] = _described(value, parameter, said)
        if parameter.required:
            required.append(parameter.name)
    if required:
        schema["required"] = required
    schema["additionalProperties"] = others
    if bundle.definitions:
        schema["$defs"] = bundle.definitions
    return checked_input(schema)


def checked_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` if a tool can have it.

    Raises RegistrationError.
    """
    if schema.get("type") != "object":
        # 2026-07-28, tools: the root of an input schema is of type object.
        raise RegistrationError("an input schema must have type 'object'")
    try:
        parameter_headers(schema)
    except ValueError as error:
        raise RegistrationError(str(error)) from error
    return schema


def output_schema(schema: Schema | None, era: Era, *, is_object: bool) -> dict[str, Any] | None:
    """Return the schema of structured content for an era; None without one."""
    if schema is None:
        return None
    bundle = Bundle(refs="#/$defs/", dialect="2020-12")
    value = bundle.add(schema)
    told: dict[str, Any]
    if era is Era.STATELESS:
        told = dict(value) if isinstance(value, dict) else {}
    elif is_object:
        told = _as_object(value, bundle)
    else:
        told = {"type": "object", "properties": {"result": value}, "required": ["result"]}
    if bundle.definitions:
        told["$defs"] = bundle.definitions
    return told


def description_of(annotation: Any) -> str:
    """Return the text in `Annotated[…, "text"]`; empty without one."""
    if get_origin(annotation) is not Annotated:
        return ""
    return next((it for it in annotation.__metadata__ if isinstance(it, str)), "")


def _as_object(value: dict[str, Any], bundle: Bundle) -> dict[str, Any]:
    """Return an object's schema with `type` at its root, for old clients."""
    found = value
    while set(found) == {"$ref"}:
        found = bundle.definitions[found["$ref"].removeprefix("#/$defs/")]
    return dict(found)


def _described(value: Any, parameter: Parameter, otherwise: str) -> Any:
    """Return the schema of a parameter, with its description and its default."""
    if not isinstance(value, dict):
        return value
    said = description_of(parameter.annotation) or otherwise
    if said and "description" not in value:
        value = {**value, "description": said}
    if parameter.required or parameter.default is UNSET:
        return value
    try:
        return {**value, "default": msgspec.json.decode(encode(parameter.default))}
    except Exception:  # whatever a foreign object's encoder raises
        return value
