"""Security schemes of an OpenAPI document: what a route wants to be shown, and where.

A scheme says where credentials stand: in a header, a cookie or the query. That is what a call
of the route takes along from its caller; no argument is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote_plus

from msgspec import Struct

from accord.exposure.openapi import Document, expect_array, expect_object, expect_text, shown, wrong

Place: TypeAlias = Literal["header", "query", "cookie", ""]

_PLACES: Final[tuple[Place, ...]] = ("header", "query", "cookie")
_AUTHORIZATION: Final = frozenset({"http", "oauth2", "openIdConnect"})
"""Types whose credentials are in the header Authorization."""


class SecurityScheme(Struct, frozen=True, kw_only=True):
    """A way to show who calls."""

    name: str
    said: dict[str, Any]
    """The scheme as the document has it."""
    place: Place = ""
    """Where credentials stand; empty where it is not in the request, as with mutual TLS."""
    field: str = ""
    """The name of the header, query key or cookie."""


class Security(Struct, frozen=True, kw_only=True):
    """What a route asks for."""

    requirements: tuple[dict[str, list[str]], ...] = ()
    """Alternatives, each with schemes by name that are all needed, and their scopes."""
    schemes: tuple[SecurityScheme, ...] = ()


NO_SECURITY: Final = Security()


def read_security(document: Document, operation: Mapping[str, Any], place: str) -> Security:
    """Return what an operation asks for: its own word, else the document's."""
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


class Credentials:
    """Takes along what a route's schemes name, out of its caller's request."""

    def __init__(self, security: Security) -> None:
        fields = {
            place: {each.field for each in security.schemes if each.place == place}
            for place in _PLACES
        }
        self.headers = frozenset(field.lower() for field in fields["header"])
        self._cookies = frozenset(fields["cookie"])
        self._keys = frozenset(fields["query"])

    def cookies(self, header: str) -> str:
        """Return the cookies of a header that are credentials."""
        if not self._cookies:
            return ""
        pairs = (pair.strip() for pair in header.split(";"))
        return "; ".join(pair for pair in pairs if pair.partition("=")[0] in self._cookies)

    def query(self, query: bytes, taken: bytes) -> bytes:
        """Return the fields of a query that are credentials, but for those that are `taken`."""
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
