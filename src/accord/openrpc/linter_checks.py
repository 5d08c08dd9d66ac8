"""Checks of the methods and schemas of a document, with its references resolved."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import unquote

from msgspec import UNSET, UnsetType

from accord.jsonrpc.methods.router import RESERVED_PREFIX
from accord.jsonrpc.protocol.catalogue import CATALOGUE, RESERVED
from accord.openrpc.info import DISCOVER
from accord.openrpc.linter_rules import DocumentFinding, Path, finding, json_type

_INDEX = re.compile(r"0|[1-9][0-9]*")


def is_local(ref: str) -> bool:
    """Return whether a reference leads into its own document."""
    return ref.startswith("#")


def follow(document: Any, ref: str) -> Any | UnsetType:
    """Return the target of a local reference; UNSET if there is none."""
    pointer = unquote(ref[1:])
    if pointer and not pointer.startswith("/"):
        return UNSET  # an anchor, which no tool for OpenRPC knows
    found = document
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and _INDEX.fullmatch(key) and int(key) < len(found):
            found = found[int(key)]
        else:
            return UNSET
    return found


def resolve(document: Any, value: Any) -> Any | UnsetType:
    """Return `value`, or its final target if it is a reference.

    UNSET if there is no target in the document.
    """
    seen: set[str] = set()
    while isinstance(value, dict) and isinstance(ref := value.get("$ref"), str):
        if ref in seen or not is_local(ref):
            return UNSET
        seen.add(ref)
        value = follow(document, ref)
    return value


def is_endless(document: Any, value: Any) -> bool:
    """Return whether the references that begin at `value` form an endless cycle."""
    seen: set[str] = set()
    while isinstance(value, dict) and isinstance(ref := value.get("$ref"), str) and is_local(ref):
        if ref in seen:
            return True
        seen.add(ref)
        value = follow(document, ref)
    return False


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
"""Keywords of JSON Schema that are newer than draft-07, each with its replacement."""


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
    """Yield a schema and every schema inside it, with their paths."""
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


def check_schema(path: Path, schema: Any) -> Iterator[DocumentFinding]:
    """Yield the findings in one schema, without those inside it."""
    if isinstance(schema, dict):
        yield from _check_keywords(path, schema)
        yield from _check_array(path, schema)
        yield from _check_required(path, schema)


def _check_keywords(path: Path, schema: dict[str, Any]) -> Iterator[DocumentFinding]:
    for key, value in schema.items():
        if key in _NEWER:
            message = f"'{key}' is not in draft 07, and is ignored by many: use {_NEWER[key]}"
            yield finding("schema-dialect", (*path, key), message)
        if key in _KEYWORDS:
            what, fits = _KEYWORDS[key]
            if not fits(value):
                shown = repr(value) if isinstance(value, str | int | float) else json_type(value)
                yield finding("schema-keyword", (*path, key), f"must be {what}, not {shown}")


def _check_array(path: Path, schema: dict[str, Any]) -> Iterator[DocumentFinding]:
    types = schema.get("type")
    is_array = types == "array" or (isinstance(types, list) and "array" in types)
    if is_array and not isinstance(schema.get("items"), dict):
        message = (
            "the array does not say in one schema what its items are; add 'items', for a tuple "
            "as {anyOf: […]} with equal minItems and maxItems"
        )
        yield finding("schema-array", path, message)


def _check_required(path: Path, schema: dict[str, Any]) -> Iterator[DocumentFinding]:
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


_SERVER_ERRORS = range(-32099, -32000 + 1)
"""The error codes whose meaning is defined by the server (JSON-RPC 2.0, section 5.1)."""


class MethodChecks:
    """Checks of a document's methods; a method may be given as a reference."""

    def __init__(self, document: Any) -> None:
        self._document = document
        listed = document.get("methods") if isinstance(document, dict) else None
        self._listed = [
            (("methods", index), method)
            for index, each in enumerate(listed if isinstance(listed, list) else [])
            if isinstance(method := resolve(document, each), dict)
        ]
        self._by_name = {
            name: method
            for _, method in reversed(self._listed)
            if isinstance(name := method.get("name"), str)
        }

    def check(self) -> Iterator[DocumentFinding]:
        names = ((path, method.get("name")) for path, method in self._listed)
        for path, name in _repeated(names):
            message = f"another method is called '{name}' already; give one of them another name"
            yield finding("method-duplicate", (*path, "name"), message)
        for path, method in self._listed:
            yield from self._check(path, method)

    def _check(self, path: Path, method: dict[str, Any]) -> Iterator[DocumentFinding]:
        yield from _check_name(path, method)
        yield from self._check_params(path, method)
        yield from self._check_errors(path, method)
        yield from self._check_tags(path, method)
        for index, example in self._items(method, "examples"):
            yield from self._check_example((*path, "examples", index), method, example)
        for index, link in self._items(method, "links"):
            yield from self._check_link((*path, "links", index), link)

    def _check_params(self, path: Path, method: dict[str, Any]) -> Iterator[DocumentFinding]:
        params = [((*path, "params", index), it) for index, it in self._items(method, "params")]
        for place, name in _repeated((place, it.get("name")) for place, it in params):
            message = f"another param is called '{name}' already; give one of them another name"
            yield finding("param-duplicate", (*place, "name"), message)
        optional = ""
        for place, param in params:
            if param.get("required") is not True:
                optional = optional or str(param.get("name"))
            elif optional:
                message = (
                    f"'{param.get('name')}' is required and stands behind '{optional}', which is "
                    "not; put required params first"
                )
                yield finding("param-order", place, message)

    def _check_errors(self, path: Path, method: dict[str, Any]) -> Iterator[DocumentFinding]:
        errors = [((*path, "errors", index), it) for index, it in self._items(method, "errors")]
        for place, code in _repeated((place, it.get("code")) for place, it in errors):
            message = f"the method has an error {code} already; its codes must differ"
            yield finding("error-duplicate", place, message)

    def _check_tags(self, path: Path, method: dict[str, Any]) -> Iterator[DocumentFinding]:
        tags = (((*path, "tags", index), it) for index, it in self._items(method, "tags"))
        for place, name in _repeated((place, it.get("name")) for place, it in tags):
            message = f"the method has the tag '{name}' already; take one of them away"
            yield finding("tag-duplicate", place, message)

    def _check_example(
        self, path: Path, method: dict[str, Any], example: dict[str, Any]
    ) -> Iterator[DocumentFinding]:
        params = [it for _, it in self._items(method, "params")]
        given = [it for _, it in self._items(example, "params")]
        by_position = method.get("paramStructure") == "by-position"
        yield from _check_given(path, params, given, by_position=by_position)
        if "result" in example and "result" not in method:
            message = (
                "the method has no result, so that it can only be notified, but the example has "
                "one; take it away, or describe the result of the method"
            )
            yield finding("example-result", (*path, "result"), message)

    def _check_link(self, path: Path, link: dict[str, Any]) -> Iterator[DocumentFinding]:
        name = link.get("method")
        if not isinstance(name, str):
            return
        method = self._by_name.get(name)
        if method is None:
            message = f"no method is called '{name}'; name one of this document"
            yield finding("link-method", (*path, "method"), message)
            return
        known = [it for _, it in self._items(method, "params")]
        given = link.get("params")
        if not isinstance(given, dict) or any(map(_is_variadic, known)):
            return
        for param in given:
            if param not in {it.get("name") for it in known}:
                message = f"'{name}' has no param '{param}'; give it only those it has"
                yield finding("link-param", (*path, "params", param), message)

    def _items(self, holder: dict[str, Any], member: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the objects in an array with their indices; references are resolved."""
        listed = holder.get(member)
        for index, each in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(found := resolve(self._document, each), dict):
                yield index, found


def check_error(path: Path, error: dict[str, Any]) -> Iterator[DocumentFinding]:
    """Yield the findings about the code of one error."""
    code = error.get("code")
    if not isinstance(code, int) or code not in RESERVED or code in _SERVER_ERRORS:
        return
    if CATALOGUE.get(code) is None:
        message = (
            f"code {code} is reserved, and nothing is defined for it; applications use codes "
            f"outside {RESERVED[0]} to {RESERVED[-1]}"
        )
        yield finding("error-reserved", (*path, "code"), message)


def _check_name(path: Path, method: dict[str, Any]) -> Iterator[DocumentFinding]:
    name = method.get("name")
    if isinstance(name, str) and name.startswith(RESERVED_PREFIX) and name != DISCOVER:
        message = (
            f"'{name}': names that begin with '{RESERVED_PREFIX}' are kept for the protocol, "
            "which has no such method; give it another name"
        )
        yield finding("method-reserved", (*path, "name"), message)
    if "result" not in method:
        message = (
            f"'{name}' has no result, so that it can only be notified; describe its result if "
            'it has one, {"type": "null"} if that is nothing'
        )
        yield finding("method-without-result", path, message)


def _check_given(
    path: Path, params: list[dict[str, Any]], given: list[dict[str, Any]], *, by_position: bool
) -> Iterator[DocumentFinding]:
    variadic = any(map(_is_variadic, params))
    names = [it.get("name") for it in params]
    if by_position:
        missing = names[len(given) :]
        surplus = list(range(len(params), len(given)))
    else:
        have = {it.get("name") for it in given}
        missing = [name for name in names if name not in have]
        surplus = [index for index, it in enumerate(given) if it.get("name") not in names]
    required = {it.get("name") for it in params if it.get("required") is True}
    for name in missing:
        if name in required:
            message = f"the example lacks '{name}', which is required; add it"
            yield finding("example-param-missing", (*path, "params"), message)
    for index in [] if variadic else surplus:
        message = (
            f"the method has no param '{given[index].get('name')}'; take it away, or give it "
            "the name of one"
        )
        yield finding("example-param-unknown", (*path, "params", index), message)


def _is_variadic(param: dict[str, Any]) -> bool:
    return param.get("x-variadic") is True


def _repeated(items: Iterable[tuple[Path, Any]]) -> Iterator[tuple[Path, Any]]:
    """Yield the items with a value that an earlier item has."""
    seen: Counter[Any] = Counter()
    for path, value in items:
        if isinstance(value, str | int):
            seen[value] += 1
            if seen[value] > 1:
                yield path, value
