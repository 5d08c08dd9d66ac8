"""An OpenAPI 3 document: operations, references, schemas and security schemes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote, unquote_plus

from msgspec import Struct

from accord.jsonrpc.protocol.errors import RegistrationError
from accord.schema.bundle import SchemaTooLargeError, from_openapi
from accord.schema.schema import Json, Schema, change_references, referred

METHODS = ("get", "post", "put", "patch", "delete")
"""The HTTP methods that can be called: HEAD, OPTIONS and TRACE have no result."""

MOST_VALUES = 1_000_000
MOST_DEPTH = 100
MOST_REFERENCES = 32
"""Maximum length of a chain of references."""

_MOST_SHOWN = 80


class Entry(Struct, frozen=True):
    """An operation in an OpenAPI document, with the parameters that its path defines."""

    method: str
    """The HTTP method in capitals."""
    path: str
    operation: Mapping[str, Any]
    shared: list[Any]
    """The parameters that the path defines for all its operations."""
    place: str


class Document:
    """An OpenAPI document.

    Methods raise `RegistrationError` where the document is invalid.
    """

    def __init__(self, value: Mapping[str, Any], *, header_lines: bool = False) -> None:
        self._value = value
        self.header_lines = header_lines
        """True if the application expects the items of an array on separate header lines."""
        self.version = _version(value)
        components = expect_object(value.get("components", {}), "components")
        schemas = expect_object(components.get("schemas", {}), "components.schemas")
        self._schemas: Mapping[str, Any] = schemas
        self.security_schemes = expect_object(
            components.get("securitySchemes", {}), "components.securitySchemes"
        )
        self.security: Any = value.get("security", [])
        """The security requirements of operations that do not define their own."""
        self._definitions: dict[str, Json] = {}
        """Converted schemas of the document by name, as far as they were needed."""
        self._reach: dict[str, frozenset[str]] = {}
        """The definitions that each definition refers to directly."""

    def entries(self) -> Iterator[Entry]:
        """Yield every operation, in the document's order."""
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
        """Return the object `value`, or its target if it is a reference.

        Raises `RegistrationError`, with `place` in its message, if there is no such object.
        """
        seen = 0
        found = expect_object(value, place)
        while "$ref" in found:
            seen += 1
            if seen > MOST_REFERENCES:
                raise wrong(place, f"more than {MOST_REFERENCES} references follow each other")
            found = expect_object(self._follow(found["$ref"], place), place)
        return found

    def schema(self, value: Any, place: str) -> Schema:
        """Convert a schema of the document; the result has the definitions that it needs."""
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
        """Convert a schema to JSON Schema 2020-12; return it, and the names it refers to."""
        if not isinstance(value, Mapping | bool):
            raise wrong(place, f"expected a schema, found {shown(value)}")
        try:
            converted = from_openapi(value, self.version)
        except SchemaTooLargeError as error:
            raise wrong(place, str(error)) from error
        return converted, _names(converted)


def _names(schema: Json) -> frozenset[str]:
    """Return the names of the definitions that a schema refers to."""
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
    """Return the error for a fault at `place` in the OpenAPI document."""
    return RegistrationError(f"the OpenAPI document, at {place}: {what}")


def check_size(value: Any) -> None:
    """Raise `RegistrationError` for a document that is too large or too deep to be read.

    A document read from YAML may contain the same object many times over, or itself: each
    occurrence counts.
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
    """Return a short description of an unexpected value for an error message.

    The value may be anything.
    """
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "an array"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


Place: TypeAlias = Literal["header", "query", "cookie", ""]

_PLACES: Final[tuple[Place, ...]] = ("header", "query", "cookie")
_AUTHORIZATION: Final = frozenset({"http", "oauth2", "openIdConnect"})
"""Types of security schemes with credentials in the Authorization header."""


class SecurityScheme(Struct, frozen=True, kw_only=True):
    """A way to authenticate the caller."""

    name: str
    said: dict[str, Any]
    """The Security Scheme Object, as it is in the document."""
    place: Place = ""
    """The part of the request with the credentials; empty if there is none, as with mutual TLS."""
    field: str = ""
    """The name of the header, query key or cookie."""


class Security(Struct, frozen=True, kw_only=True):
    """The authentication that a route requires."""

    requirements: tuple[dict[str, list[str]], ...] = ()
    """Alternative requirements. Each one has the names of schemes that are required together, with
    their scopes."""
    schemes: tuple[SecurityScheme, ...] = ()


NO_SECURITY: Final = Security()


def read_security(document: Document, operation: Mapping[str, Any], place: str) -> Security:
    """Return the security requirements of an operation.

    The default is the security of the document.
    """
    said = operation.get("security", document.security)
    requirements = []
    names: dict[str, None] = {}
    for each in expect_array(said, f"{place}.security"):
        alternative = {
            name: expect_array(scopes, f"{place}.security.{name}")
            for name, scopes in expect_object(each, f"{place}.security").items()
        }
        requirements.append(alternative)
        names.update(dict.fromkeys(alternative))
    schemes = tuple(_scheme(document, name, place) for name in names)
    return Security(requirements=tuple(requirements), schemes=schemes)


def _scheme(document: Document, name: str, place: str) -> SecurityScheme:
    if name not in document.security_schemes:
        raise wrong(place, f"there is no security scheme {shown(name)} among the components")
    here = f"components.securitySchemes.{name}"
    said = dict(document.resolve(document.security_schemes[name], here))
    kind = said.get("type")
    if kind == "apiKey":
        where: Any = said.get("in")
        if where not in _PLACES:
            raise wrong(here, f"'in' is one of {', '.join(_PLACES)}, not {shown(where)}")
        field = expect_text(said.get("name"), f"{here}.name")
        return SecurityScheme(name=name, said=said, place=where, field=field)
    if kind in _AUTHORIZATION:
        return SecurityScheme(name=name, said=said, place="header", field="authorization")
    return SecurityScheme(name=name, said=said)


class RouteCredentials:
    """The credentials for a route's security schemes, from the caller's request."""

    def __init__(self, security: Security) -> None:
        fields = {
            place: {each.field for each in security.schemes if each.place == place}
            for place in _PLACES
        }
        self.headers = frozenset(field.lower() for field in fields["header"])
        self._cookies = frozenset(fields["cookie"])
        self._keys = frozenset(fields["query"])

    def cookies(self, header: str) -> str:
        """Return the cookies in a Cookie header that are credentials of the route."""
        if not self._cookies:
            return ""
        pairs = (pair.strip() for pair in header.split(";"))
        return "; ".join(pair for pair in pairs if pair.partition("=")[0] in self._cookies)

    def query(self, query: bytes, taken: bytes) -> bytes:
        """Return the fields of a query that are credentials, except those in `taken`."""
        if not self._keys or not query:
            return b""
        given = {_key(field) for field in taken.split(b"&")}
        fields = (
            field
            for field in query.split(b"&")
            if (key := _key(field)) in self._keys and key not in given
        )
        return b"&".join(fields)


def _key(field: bytes) -> str:
    return unquote_plus(field.partition(b"=")[0].decode("latin-1"))
