"""The OpenRPC document of a router, rebuilt only when its methods change.

The document is cached as JSON bytes. `Components` collects the schemas, errors and tags that
methods share, each written once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from accord.exposure.openapi import Security, SecurityScheme
from accord.jsonrpc.methods.method import ErrorAbout, Example, ExternalDocs, Link, Method, Tag
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.catalogue import CATALOGUE
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.openrpc.descriptions import (
    Description,
    Param,
    describe_function,
    describe_route,
    route_of,
)
from accord.openrpc.info import Info, Server
from accord.schema.bundle import Bundle
from accord.schema.schema import Json, Schema
from accord.transports.pages import Page, etag_of

_BREAK = re.compile(r"[^a-z0-9]+")
_MAX_KEY_CHARACTERS = 60


class Components:
    """The components of a document; equal components are stored once."""

    def __init__(self, tags: Iterable[Tag] = ()) -> None:
        self._bundle = Bundle(refs="#/components/schemas/", dialect="draft-07")
        self._errors = _SharedComponents("errors")
        self._tags = _SharedComponents("tags")
        self._security_schemes = _SharedComponents("securitySchemes")
        self._described = {tag.name: tag for tag in reversed(list(tags)) if _says_more(tag)}

    def schema(self, schema: Schema) -> Json:
        """Return the schema for use in the document; its definitions become components."""
        return self._bundle.add(schema)

    def error(self, error: ErrorAbout) -> Json:
        """Add an error to the components, and return a reference to it."""
        value: dict[str, Any] = {"code": error.code, "message": error.message}
        if error.data is not UNSET:
            value["data"] = plain(error.data)
        entry = CATALOGUE.get(error.code)
        known = entry is not None and entry.message == error.message
        key = entry.name if entry and known else _key(error.message) or f"error_{error.code}"
        return self._errors.put(key, value)

    def security_scheme(self, scheme: SecurityScheme) -> str:
        """Add a security scheme, and return its name in the document.

        If routes of different applications have different schemes with the same name, the schemes
        get different names.
        """
        return self._security_schemes.name(scheme.name, plain(scheme.said))

    @property
    def security_schemes(self) -> dict[str, Any]:
        """The security schemes of the methods by name.

        OpenRPC has no member for security schemes; they are in the extension `x-securitySchemes`.
        """
        return dict(sorted(self._security_schemes.values.items()))

    def tag(self, tag: str | Tag) -> Json:
        """Return the tag, or a reference to its component if it has more than a name."""
        name = tag if isinstance(tag, str) else tag.name
        described = self._described.get(name)
        if described is None:
            return {"name": name}
        return self._tags.put(_key(name) or "tag", _tag_object(described))

    def to_json(self) -> dict[str, Any]:
        """Return the member `components` of the document."""
        groups = {
            "schemas": self._bundle.definitions,
            "errors": self._errors.values,
            "tags": self._tags.values,
        }
        return {name: dict(sorted(values.items())) for name, values in groups.items() if values}


class _SharedComponents:
    """Components of one group by key; equal values are stored once."""

    def __init__(self, group: str) -> None:
        self.values: dict[str, Any] = {}
        self._group = group
        self._keys: dict[bytes, str] = {}

    def put(self, key: str, value: Json) -> Json:
        return {"$ref": f"#/components/{self._group}/{self.name(key, value)}"}

    def name(self, key: str, value: Json) -> str:
        form = msgspec.json.encode(value)
        if form not in self._keys:
            self._keys[form] = free = _free(key, self.values)
            self.values[free] = value
        return self._keys[form]


def plain(value: Any) -> Json:
    """Convert a Python value to the JSON value (object, array, …) that it encodes to.

    Raises TypeError or ValueError if JSON cannot express the value.
    """
    return msgspec.json.decode(encode(value))


def external_docs(docs: ExternalDocs) -> Json:
    return {"url": docs.url, **({"description": docs.description} if docs.description else {})}


def _tag_object(tag: Tag) -> Json:
    # The meta-schema has no summary for tags, though the text of OpenRPC 1.3.2 has.
    text = "\n\n".join(part for part in (tag.summary, tag.description) if part)
    value: dict[str, Any] = {"name": tag.name}
    if text:
        value["description"] = text
    if tag.external_docs is not None:
        value["externalDocs"] = external_docs(tag.external_docs)
    return value


def _says_more(tag: Tag) -> bool:
    return bool(tag.summary or tag.description or tag.external_docs)


def _key(text: str) -> str:
    return _BREAK.sub("_", text.lower())[:_MAX_KEY_CHARACTERS].strip("_")


def _free(key: str, taken: dict[str, Any]) -> str:
    number, free = 1, key
    while free in taken:
        number += 1
        free = f"{key}_{number}"
    return free


RESULT = "result"
"""The name of every result: OpenRPC requires a name, and `result` is the one in JSON-RPC."""


def method_object(about: Description, components: Components) -> Json:
    """Return the OpenRPC Method Object for a description.

    Raises `RegistrationError` if an example does not fit the method.
    """
    params = [_descriptor(param, components) for param in about.params]
    result = {
        "name": RESULT,
        "description": about.result_description,
        "schema": components.schema(about.result),
    }
    value: dict[str, Any] = {
        "name": about.name,
        "summary": about.summary,
        "description": about.description,
        "tags": [components.tag(tag) for tag in about.tags],
        "paramStructure": about.structure,
        "params": params,
        "result": _without_empty(result, keep=("schema",)),
        "errors": _errors(about, components),
        "links": [_link(link) for link in about.links],
        "examples": [_example(about, example) for example in about.examples],
        "deprecated": about.deprecated,
    }
    if about.route is not None:
        value["x-route"] = f"{about.route.method} {about.route.path}"
        value["x-security"] = _security(about.route.security, components)
    if about.external_docs is not None:
        value["externalDocs"] = external_docs(about.external_docs)
    return _without_empty(value, keep=("params",))


def _descriptor(param: Param, components: Components) -> Json:
    value: dict[str, Any] = {
        "name": param.name,
        "description": param.description,
        "required": param.required,
        "schema": components.schema(param.schema),
        "deprecated": param.deprecated,
        "x-in": param.place,
        "x-name": param.wire_name,
        "x-variadic": param.variadic,
    }
    return _without_empty(value, keep=("schema",))


def _security(security: Security, components: Components) -> list[Json]:
    """Return a route's alternative security requirements, as in OpenAPI.

    Each alternative is an object with scopes by the name of a scheme in the document.
    """
    names = {each.name: components.security_scheme(each) for each in security.schemes}
    return [
        {names[name]: scopes for name, scopes in alternative.items()}
        for alternative in security.requirements
    ]


def _errors(about: Description, components: Components) -> list[Json]:
    # OpenRPC 1.3.2, Method Object: "The Errors MUST have unique error codes."
    by_code = {error.code: error for error in reversed(about.errors)}
    return [components.error(error) for _, error in sorted(by_code.items(), reverse=True)]


def _link(link: Link) -> Json:
    value: dict[str, Any] = {
        "name": link.name,
        "summary": link.summary,
        "description": link.description,
        "method": link.method,
        "params": plain(link.params),
    }
    return _without_empty(value)


def _example(about: Description, example: Example) -> Json:
    value: dict[str, Any] = {
        "name": example.name,
        "summary": example.summary,
        "description": example.description,
        "params": [{"name": name, "value": plain(it)} for name, it in _given(about, example)],
    }
    if example.result is not UNSET:
        value["result"] = {"name": RESULT, "value": plain(example.result)}
    return _without_empty(value, keep=("params",))


def _given(about: Description, example: Example) -> list[tuple[str, Any]]:
    """Return the params of an example in the order of the method's parameters.

    If params are passed by position, defaults fill the gaps before a given param. Raises
    `RegistrationError` if the example does not fit the method.
    """
    rest = dict(example.params)
    given: list[tuple[str, Any]] = []
    skipped: list[Param] = []
    for param in about.params:
        if param.name not in rest:
            skipped.append(param)
            continue
        if about.structure == "by-position":
            given += [(each.name, _default(about, example, each)) for each in skipped]
            skipped.clear()
        value = rest.pop(param.name)
        if not param.variadic:
            given.append((param.name, value))
        elif about.structure == "by-position":
            given += [(param.name, each) for each in value]
        else:
            given += value.items()
    if rest:
        raise _unfit(about, example, f"names '{next(iter(rest))}', which is no parameter")
    if any(param.required for param in skipped):
        missing = next(param.name for param in skipped if param.required)
        raise _unfit(about, example, f"lacks '{missing}', which is required")
    return given


def _default(about: Description, example: Example, param: Param) -> Any:
    if (
        param.required
        or not isinstance(param.schema.value, dict)
        or "default" not in param.schema.value
    ):
        raise _unfit(about, example, f"lacks '{param.name}', which stands before others")
    return param.schema.value["default"]


def _unfit(about: Description, example: Example, why: str) -> RegistrationError:
    return RegistrationError(f"method '{about.name}': its example '{example.name}' {why}")


def _without_empty(value: dict[str, Any], keep: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the object without empty members, except those in `keep`."""
    return {key: it for key, it in value.items() if it or key in keep}


OPENRPC: Final = "1.3.2"
"""The default version of the OpenRPC specification."""

MAX_CACHED_URLS: Final = 32
"""Maximum number of server URLs for which the encoded document is cached."""

_KNOWN_VERSION = re.compile(r"1\.[34]\.\d+")


class RouterDocument:
    """The document of one router, always up to date.

    Raises ValueError for a version of OpenRPC other than 1.3 and 1.4. Methods of this class raise
    `RegistrationError` if a description does not fit the JSON-RPC method that it describes.
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
        self._made: _RenderedDocument | None = None
        self._described: dict[str, tuple[Method, Description]] = {}
        """The descriptions in the document that was built last, by method name; they are reused for
        methods that have not changed."""

    def page(self, place: str = "") -> Page:
        """Return the document ready to be sent, with an entity tag.

        `place` is the URL of the server that got the request; it becomes the server in a document
        without configured servers.
        """
        return self._current().page("" if self._servers else place)

    def to_json(self, place: str = "") -> dict[str, Any]:
        """Return the document as a new JSON object, which the caller may change."""
        value: dict[str, Any] = msgspec.json.decode(self.page(place).body)
        return value

    def _current(self) -> _RenderedDocument:
        if self._made is None or self._made.version != self._router.version:
            version = self._router.version
            self._made = _RenderedDocument(version, self._head(), self._servers, self._rest())
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


class _RenderedDocument:
    """An encoded document, cached for each server URL."""

    def __init__(self, version: int, head: Json, servers: tuple[Server, ...], rest: Json) -> None:
        self.version = version
        self._head = msgspec.json.encode(head)[:-1]
        self._servers = servers
        self._rest = msgspec.json.encode(rest)[1:]
        self._pages: dict[str, Page] = {}

    def page(self, place: str) -> Page:
        page = self._pages.get(place)
        if page is None:
            while len(self._pages) >= MAX_CACHED_URLS:
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
    """Return the description of a method.

    Raises `RegistrationError` if its `About` does not fit the method.
    """
    route = route_of(method)
    return describe_function(method) if route is None else describe_route(method, route)


def _described_tags(methods: list[Description]) -> list[Tag]:
    return [tag for method in methods for tag in method.tags if isinstance(tag, Tag)]


def _members(value: Struct) -> Json:
    return {key: it for key, it in msgspec.to_builtins(value).items() if it is not None}
