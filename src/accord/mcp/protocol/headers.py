"""HTTP headers of a stateless request, which repeat parts of its body.

2026-07-28, Streamable HTTP, request metadata. A client derives the headers from the request and a
server compares them with it, so a gateway that routes by a header and the server that reads the
body see the same values. This module does not depend on HTTP: servers pass headers with names in
lower case, because header names ignore case.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from accord.mcp.protocol.versions import LATEST

VERSION: Final = "MCP-Protocol-Version"
METHOD: Final = "Mcp-Method"
NAME: Final = "Mcp-Name"
PARAMETER_PREFIX: Final = "Mcp-Param-"
SESSION: Final = "Mcp-Session-Id"
"""The header with the id of the session; in the handshake era only (see `versions`)."""

ANNOTATION: Final = "x-mcp-header"
"""The member of a parameter's schema that asks clients to repeat the parameter in a header."""

NAME_MEMBERS: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    # tasks extension, routing headers
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The member of the params that the header `Mcp-Name` repeats, by method."""

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer in a header; every JSON reader represents integers up to it exactly."""

_START: Final = "=?base64?"
_END: Final = "?="
_PLAIN: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_VISIBLE: Final = re.compile(r"[\t\x20-\x7e]*")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_INTEGER: Final = re.compile(r"(-?[0-9]{1,16})(?:\.0{1,16})?")
_SHOWN: Final = 100

_PRIMITIVE: Final = frozenset(("string", "integer", "boolean"))
_TYPE_NAMES: Final = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
_SCHEMA_MAPS: Final = (
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
)
_SCHEMAS: Final = (
    *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
    *("oneOf", "anyOf", "allOf", "not", "if", "then", "else", "contentSchema"),
)


class HeaderParameter(Struct, frozen=True):
    """A tool parameter whose value is repeated in a header."""

    header: str
    path: tuple[str, ...]
    """The names of the properties that lead from the arguments to the parameter."""

    def value(self, arguments: Any) -> Any:
        """Return the parameter's value in the arguments; None if it is absent."""
        for name in self.path:
            if not isinstance(arguments, Mapping):
                return None
            arguments = arguments.get(name)
        return arguments


def parameter_headers(schema: Mapping[str, Any]) -> tuple[HeaderParameter, ...]:
    """Return the parameters of a tool that clients repeat in headers.

    They are marked in the tool's input schema, `schema`. Raises ValueError with the reason if an
    annotation is not allowed; clients then drop the tool from their lists.
    """
    found: dict[str, HeaderParameter] = {}
    for path, node in _annotated(schema):
        name = node[ANNOTATION]
        where = "the schema itself" if not path else f"'{'.'.join(path)}'"
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{ANNOTATION} of {where} is no header name: {str(name)[:_SHOWN]!r}")
        if not path:
            raise ValueError(
                f"{ANNOTATION} '{name}' is on something that no chain of properties leads to"
            )
        if not _is_primitive(node):
            raise ValueError(f"{ANNOTATION} '{name}' is on {where}, whose type is not primitive")
        if name.lower() in found:
            raise ValueError(f"{ANNOTATION} '{name}' occurs twice")
        found[name.lower()] = HeaderParameter(PARAMETER_PREFIX + name, path)
    return tuple(found.values())


def encode_value(text: str) -> str:
    """Return a value as header text, in base64 where plain text is unsafe."""
    if not text or (_PLAIN.fullmatch(text) and not _looks_encoded(text)):
        return text
    return f"{_START}{b64encode(text.encode()).decode()}{_END}"


def decode_value(value: str) -> str:
    """Return the text that a header value encodes.

    Raises ValueError for characters that no header may have, and for invalid base64.
    """
    # RFC 9110, section 5.5: white space around a value is no part of it
    value = value.strip(" \t")
    if not _VISIBLE.fullmatch(value):
        raise ValueError("invalid characters")
    if not _looks_encoded(value) or len(value) < len(_START + _END):
        return value
    try:
        return b64decode(value[len(_START) : -len(_END)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("invalid base64") from None


def request_headers(
    method: str,
    params: Mapping[str, Any],
    parameters: Sequence[HeaderParameter] = (),
    *,
    version: str = LATEST,
) -> dict[str, str]:
    """Return the MCP headers that repeat parts of a request.

    Raises ValueError for an integer that is too large for a header.
    """
    headers = {VERSION: version, METHOD: method}
    name = name_of(method, params)
    if name is not None:
        headers[NAME] = encode_value(name)
    for parameter in parameters:
        text = _text(parameter.value(params.get("arguments")))
        if text is not None:
            headers[parameter.header] = encode_value(text)
    return headers


def name_of(method: str, params: Mapping[str, Any]) -> str | None:
    """Return the value of `Mcp-Name` for a request; None if it has none."""
    member = NAME_MEMBERS.get(method)
    name = None if member is None else params.get(member)
    return name if isinstance(name, str) else None


def check_headers(
    headers: Mapping[str, str],
    *,
    version: str,
    method: str,
    name: str | None,
    arguments: Mapping[str, Any] | None = None,
    parameters: Sequence[HeaderParameter] = (),
) -> str | None:
    """Return the problem with a request's headers in one sentence; None if they are valid.

    `version`, `method`, `name` and `arguments` are those in the request's body; `parameters` are
    those of the called tool.
    """
    wrong = _compare(headers, VERSION, version) or _compare(headers, METHOD, method)
    if wrong is None and name is not None:
        wrong = _compare_encoded(headers, NAME, name)
    for parameter in parameters:
        if wrong is not None:
            break
        wrong = _check_parameter(headers, parameter, arguments)
    return wrong


def _compare(headers: Mapping[str, str], header: str, expected: str) -> str | None:
    value = headers.get(header.lower())
    if value is None:
        return f"{header} header is missing"
    if value == expected or value.strip(" \t") == expected:
        return None
    return _mismatch(header, value, expected)


def _compare_encoded(headers: Mapping[str, str], header: str, expected: str) -> str | None:
    value = headers.get(header.lower())
    if value == expected and _PLAIN.fullmatch(value) and not _looks_encoded(value):
        return None
    if value is None:
        return f"{header} header is missing"
    try:
        text = decode_value(value)
    except ValueError as error:
        return f"{header} header has {error}"
    return None if text == expected else _mismatch(header, text, expected)


def _check_parameter(
    headers: Mapping[str, str], parameter: HeaderParameter, arguments: Any
) -> str | None:
    header, value = parameter.header, parameter.value(arguments)
    header_value = headers.get(header.lower())
    if header_value is not None and (value is None or isinstance(value, Mapping | list)):
        return f"{header} header is given, and the arguments have no value for it"
    try:
        text = _text(value)
    except ValueError as error:
        return f"{header} header: {error}"
    if text is None:
        return None
    if header_value is not None and isinstance(value, int | float) and not isinstance(value, bool):
        # 2026-07-28, Streamable HTTP, server validation: integers are compared as numbers
        number = _INTEGER.fullmatch(header_value.strip(" \t"))
        if number is not None and int(number[1]) == value:
            return None
    return _compare_encoded(headers, header, text)


def _mismatch(header: str, value: str, expected: str) -> str:
    return (
        f"{header} header value {value[:_SHOWN]!r} does not match body value {expected[:_SHOWN]!r}"
    )


def _text(value: Any) -> str | None:
    """Return a value as header text; None for values that no header repeats.

    Raises ValueError for an integer that is too large for a header.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float() if not value.is_integer():
            return repr(value)
        case int() | float():
            if abs(value) > MAX_INTEGER:
                raise ValueError("an integer is too large to be in a header")
            return str(int(value))
        case _:
            return None


def _looks_encoded(text: str) -> bool:
    return text.startswith(_START) and text.endswith(_END)


def _is_primitive(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema allows only strings, integers, booleans and null.

    Return False for a schema that allows only null, because null has no header.
    """
    options = schema.get("anyOf", schema.get("oneOf"))
    schemas = options if isinstance(options, list) and "type" not in schema else [schema]
    kinds = [kind for each in schemas for kind in _types(each)]
    return set(kinds) <= {*_PRIMITIVE, "null"} and any(kind != "null" for kind in kinds)


def _types(schema: Any) -> list[str]:
    """Return the type names that a schema without combinators allows.

    An empty name stands for a type that is not known.
    """
    if not isinstance(schema, Mapping):
        return [""]
    if "type" in schema:
        types = schema["type"]
        return [str(it) for it in types] if isinstance(types, list) else [str(types)]
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return [""]
    return [_TYPE_NAMES.get(type(value), "") for value in values]


def _annotated(
    schema: Mapping[str, Any],
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield all schemas with an `ANNOTATION` inside one schema, each with its path.

    The path is empty if no chain of `properties` leads to the schema. Only positions of schemas are
    searched: a property may have the annotation's name, and examples are data.
    """
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while waiting:
        path, node = waiting.pop()
        if not isinstance(node, Mapping):
            continue
        if ANNOTATION in node:
            yield path or (), node
        waiting.extend(reversed(list(_inner(path, node))))


def _inner(
    path: tuple[str, ...] | None, node: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...] | None, Any]]:
    for keyword in _SCHEMA_MAPS:
        inner = node.get(keyword)
        if isinstance(inner, Mapping):
            reachable = path is not None and keyword == "properties"
            for name, each in inner.items():
                yield (*path, name) if reachable and path is not None else None, each
    for keyword in _SCHEMAS:
        inner = node.get(keyword)
        for each in inner if isinstance(inner, list) else (inner,):
            yield None, each
