"""The OpenRPC document of a router: made once per change of its methods, kept as bytes.

Pure. It describes the methods and says where they are served; it serves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from accord.jsonrpc.about import ExternalDocs, Tag
from accord.jsonrpc.method import Method
from accord.jsonrpc.router import Router
from accord.openrpc.components import Components, external_docs
from accord.openrpc.description import Description
from accord.openrpc.functions import describe_function
from accord.openrpc.info import Info, Server
from accord.openrpc.method_object import method_object
from accord.openrpc.routes import describe_route, route_of
from accord.schema.schema import Json
from accord.transports.pages import Page, etag_of

OPENRPC: Final = "1.3.2"
"""The version of the specification that documents follow unless told otherwise."""

MOST_PLACES: Final = 32
"""How many places a document is kept for, ready to be sent."""

_KNOWN_VERSION = re.compile(r"1\.[34]\.\d+")


class Document:
    """The document of one router, up to date whenever it is asked for.

    Raises ValueError for a version of OpenRPC that is not 1.3 or 1.4. Asking raises
    `RegistrationError` when what is said about a method does not fit it.
    """

    def __init__(
        self,
        router: Router,
        info: Info,
        *,
        servers: Sequence[Server] = (),
        tags: Sequence[Tag] = (),
        docs: ExternalDocs | None = None,
        openrpc: str = OPENRPC,
    ) -> None:
        if not _KNOWN_VERSION.fullmatch(openrpc):
            raise ValueError(f"OpenRPC {openrpc!r} is not known here, only 1.3 and 1.4")
        self._router = router
        self._info = info
        self._servers = tuple(servers)
        self._tags = tuple(tags)
        self._docs = docs
        self._openrpc = openrpc
        self._made: _Made | None = None
        self._described: dict[str, tuple[Method, Description]] = {}
        """What the methods said when the document was last made: most say it again."""

    def page(self, place: str = "") -> Page:
        """The document as it is sent, with an entity tag.

        `place` is the URL of the server that is asked. The document names it where it was
        made without servers.
        """
        return self._current().page("" if self._servers else place)

    def to_json(self, place: str = "") -> dict[str, Any]:
        """The document as a value of its own."""
        value: dict[str, Any] = msgspec.json.decode(self.page(place).body)
        return value

    def _current(self) -> _Made:
        if self._made is None or self._made.version != self._router.version:
            version = self._router.version
            self._made = _Made(version, self._head(), self._servers, self._rest())
        return self._made

    def _head(self) -> Json:
        return {"openrpc": self._openrpc, "info": _members(self._info)}

    def _rest(self) -> Json:
        described = self._describe()
        components = Components([*self._tags, *_described_tags(described)])
        value: dict[str, Any] = {}
        value["methods"] = [method_object(each, components) for each in described]
        if shared := components.to_json():
            value["components"] = shared
        if components.security_schemes:
            value["x-securitySchemes"] = components.security_schemes
        if self._docs is not None:
            value["externalDocs"] = external_docs(self._docs)
        return value

    def _describe(self) -> list[Description]:
        fresh: dict[str, tuple[Method, Description]] = {}
        for name, method in sorted(self._router.methods.items()):
            if not method.about.hidden:
                known, description = self._described.get(name, (None, None))
                if known is not method or description is None:
                    description = describe(method)
                fresh[name] = method, description
        self._described = fresh
        return [description for _, description in fresh.values()]


class _Made:
    """A document as bytes, kept for each place that it was asked for at."""

    def __init__(self, version: int, head: Json, servers: tuple[Server, ...], rest: Json) -> None:
        self.version = version
        self._head = msgspec.json.encode(head)[:-1]
        self._servers = servers
        self._rest = msgspec.json.encode(rest)[1:]
        self._pages: dict[str, Page] = {}

    def page(self, place: str) -> Page:
        page = self._pages.get(place)
        if page is None:
            while len(self._pages) >= MOST_PLACES:
                del self._pages[next(iter(self._pages))]
            self._pages[place] = page = self._make(place)
        return page

    def _make(self, place: str) -> Page:
        servers = (Server(place),) if place else self._servers
        parts = [self._head, self._rest]
        if servers:
            parts.insert(1, b'"servers":' + msgspec.json.encode([*map(_members, servers)]))
        body = b",".join(parts)
        return Page(body=body, media_type="application/json", etag=etag_of(body))


def describe(method: Method) -> Description:
    """What there is to say about a method. Raises `RegistrationError`."""
    route = route_of(method)
    return describe_function(method) if route is None else describe_route(method, route)


def _described_tags(methods: list[Description]) -> list[Tag]:
    return [tag for method in methods for tag in method.tags if isinstance(tag, Tag)]


def _members(value: Struct) -> Json:
    return {key: it for key, it in msgspec.to_builtins(value).items() if it is not None}
