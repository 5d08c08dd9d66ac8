"""An OpenAPI 3 document: its operations, what its references lead to, its schemas.

The document may be anyone's: what it says is checked as it is read, with the place named.
Knows nothing of applications, nor of how parameters are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from accord.jsonrpc.errors import RegistrationError
from accord.schema.from_openapi import SchemaTooLargeError, from_openapi
from accord.schema.schema import Json, Schema, change_references, referred

METHODS = ("get", "post", "put", "patch", "delete")
"""What is called: HEAD, OPTIONS and TRACE have no result."""

MOST_VALUES = 1_000_000
MOST_DEPTH = 100
MOST_REFERENCES = 32
"""How many references may follow each other before one leads to something."""

_MOST_SHOWN = 80


class Entry(Struct, frozen=True):
    """One operation as the document has it, with what its path says for all operations."""

    method: str
    """In capitals."""
    path: str
    operation: Mapping[str, Any]
    shared: list[Any]
    """The parameters of the path."""
    place: str


class Document:
    """A document to read. Raises `RegistrationError` wherever it is not what it should be."""

    def __init__(self, value: Mapping[str, Any], *, header_lines: bool = False) -> None:
        self._value = value
        self.header_lines = header_lines
        """Whether the application wants the items of an array on header lines of their own."""
        self.version = _version(value)
        components = expect_object(value.get("components", {}), "components")
        schemas = expect_object(components.get("schemas", {}), "components.schemas")
        self._schemas: Mapping[str, Any] = schemas
        self.security_schemes = expect_object(
            components.get("securitySchemes", {}), "components.securitySchemes"
        )
        self.security: Any = value.get("security", [])
        """What operations ask for that do not say it themselves."""
        self._definitions: dict[str, Json] = {}
        """Schemas of the document that were asked for, converted."""
        self._reach: dict[str, frozenset[str]] = {}
        """For each of them, those that it refers to directly."""

    def entries(self) -> Iterator[Entry]:
        """Every operation, in the document's order."""
        paths = expect_object(self._value.get("paths", {}), "paths")
        for path, item in paths.items():
            place = f"paths.{path}"
            if not path.startswith("/"):
                raise wrong(place, "a path begins with '/'")
            item = self.resolve(item, place)
            shared = expect_array(item.get("parameters", []), f"{place}.parameters")
            for method in METHODS:
                if method in item:
                    here = f"{place}.{method}"
                    operation = expect_object(item[method], here)
                    yield Entry(method.upper(), path, operation, shared, here)

    def resolve(self, value: Any, place: str) -> Mapping[str, Any]:
        """The object that stands at `place`, or that the reference there leads to."""
        seen = 0
        found = expect_object(value, place)
        while "$ref" in found:
            seen += 1
            if seen > MOST_REFERENCES:
                raise wrong(place, f"more than {MOST_REFERENCES} references follow each other")
            found = expect_object(self._follow(found["$ref"], place), place)
        return found

    def schema(self, value: Any, place: str) -> Schema:
        """A schema of the document as one that stands alone."""
        converted, direct = self._convert(value, place)
        needed: dict[str, Json] = {}
        waiting = sorted(direct)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed[name] = self._define(name, place)
                waiting.extend(sorted(self._reach[name] - needed.keys()))
        return Schema(converted, dict(sorted(needed.items())))

    def _follow(self, ref: Any, place: str) -> Any:
        if not isinstance(ref, str) or not ref.startswith("#/"):
            raise wrong(place, f"{shown(ref)} is no reference into the document itself")
        found: Any = self._value
        for step in unquote(ref[2:]).split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or step not in found:
                raise wrong(place, f"the reference {shown(ref)} leads nowhere")
            found = found[step]
        return found

    def _define(self, name: str, place: str) -> Json:
        if name not in self._definitions:
            if name not in self._schemas:
                raise wrong(place, f"there is no schema {shown(name)} among the components")
            converted, direct = self._convert(self._schemas[name], f"components.schemas.{name}")
            self._definitions[name], self._reach[name] = converted, direct
        return self._definitions[name]

    def _convert(self, value: Any, place: str) -> tuple[Json, frozenset[str]]:
        """A schema in JSON Schema 2020-12, and the names that it refers to."""
        if not isinstance(value, Mapping | bool):
            raise wrong(place, f"expected a schema, found {shown(value)}")
        try:
            converted = from_openapi(value, self.version)
        except SchemaTooLargeError as error:
            raise wrong(place, str(error)) from error
        return converted, _names(converted)


def _names(schema: Json) -> frozenset[str]:
    """The definitions that a schema refers to."""
    names: set[str] = set()

    def note(ref: str) -> Json:
        found = referred(ref)
        if found is not None:
            names.add(found[0])
        return {}

    change_references(schema, note)
    return frozenset(names)


def expect_object(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise wrong(place, f"expected an object, found {shown(value)}")
    if not all(isinstance(key, str) for key in value):
        raise wrong(place, "expected an object, found one with keys that are no strings")
    return value


def expect_array(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise wrong(place, f"expected an array, found {shown(value)}")
    return list(value)


def expect_text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise wrong(place, f"expected a string, found {shown(value)}")
    return value


def wrong(place: str, what: str) -> RegistrationError:
    """The error that says what is the matter at a place of the document."""
    return RegistrationError(f"the OpenAPI document, at {place}: {what}")


def check_size(value: Any) -> None:
    """Raises `RegistrationError` for a document that is too large or too deep to be read.

    A document read from YAML may hold the same object many times over, or itself: it is
    counted as often as it is there.
    """
    values = 0
    waiting = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        values += 1
        if values > MOST_VALUES:
            raise RegistrationError(
                f"the OpenAPI document has more than {MOST_VALUES:,} values, and that is the limit"
            )
        if depth > MOST_DEPTH:
            raise RegistrationError(
                f"the OpenAPI document is nested more than {MOST_DEPTH} levels deep, and that is "
                "the limit"
            )
        inside = each.values() if isinstance(each, Mapping) else each
        if isinstance(each, Mapping | list | tuple):
            waiting.extend((one, depth + 1) for one in inside)


def _version(value: Any) -> str:
    if not isinstance(value, Mapping):
        raise RegistrationError(f"an OpenAPI document is an object, not {shown(value)}")
    version = value.get("openapi")
    if not isinstance(version, str) or not version.startswith("3."):
        said = f"OpenAPI {version}" if "swagger" not in value else f"Swagger {value['swagger']}"
        raise RegistrationError(f"a document of OpenAPI 3 is needed, and this is {said}")
    return version


def shown(value: Any) -> str:
    """What stands there instead, cut short: a document may hold anything."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "an array"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
