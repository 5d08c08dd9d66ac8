"""`Api`: a router as an ASGI application, with its OpenRPC document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Annotated, Any, ClassVar, Final, Self, TypeAlias, TypedDict, Unpack
from urllib.parse import quote

from msgspec import Meta, Raw

from accord.jsonrpc.methods.context import Observer
from accord.jsonrpc.methods.method import About, ExternalDocs, Tag
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.runtime.threads import ThreadPool
from accord.openrpc.document import OPENRPC, RouterDocument
from accord.openrpc.explorer import explorer_pages
from accord.openrpc.info import DISCOVER, Contact, Info, License, Server
from accord.telemetry.metrics import Metrics
from accord.telemetry.observers import all_of
from accord.transports.asgi import AsgiEndpoint
from accord.transports.asgi.scope import Event, Receive, Scope, Send
from accord.transports.options import check_options
from accord.transports.pages import Page, Pages, PageSource

MAX_PLACE_CHARACTERS: Final = 1024
"""Maximum length of an endpoint's URL in characters; a longer URL is left out of the document."""

# RFC 3986, section 3.2.2: a name, an IPv4 address, or an IPv6 one in brackets.
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")

current_place: Final[ContextVar[str]] = ContextVar("accord.openrpc.api", default="")
"""The URL of the endpoint that received the current request; empty if unknown."""


def place_of(scope: MutableMapping[str, Any], path: str) -> str:
    """Return the URL of the endpoint at `path` in the application of an ASGI scope.

    The URL ends with a slash, so that no framework redirects requests to it. The result is empty if
    the request in `scope` names no valid host, or if the URL is longer than `MAX_PLACE_CHARACTERS`.
    """
    hosts = _hosts(scope["headers"])
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        return ""
    folder = quote(scope.get("root_path", "").rstrip("/") + path.rstrip("/"), safe="/~")
    place = f"{scope.get('scheme', 'http')}://{hosts[0]}{folder}/"
    return place if len(place) <= MAX_PLACE_CHARACTERS else ""


def _hosts(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name == b"host"]


# OpenRPC's own text refers to its meta-schema on the web here, which tools cannot follow offline.
OpenRpcDocument: TypeAlias = Annotated[
    Raw, Meta(title="OpenRPC document", extra_json_schema={"type": "object"})
]

_ABOUT: Final = About(
    summary="The OpenRPC document that describes the methods of this service.",
    result="An OpenRPC document.",
)


def add_discover(router: Router, document: Callable[[], bytes]) -> None:
    """Add the method `rpc.discover` to `router`; it returns the OpenRPC document.

    `document` returns the document as JSON bytes. Raises `RegistrationError` if the router already
    has a method of that name.
    """

    def discover() -> OpenRpcDocument:
        return Raw(document())

    router.add(discover, DISCOVER, about=_ABOUT, protocol=True)


DOCUMENT_PAGE: Final = "openrpc.json"
METRICS_PAGE: Final = "metrics"


class EndpointOptions(TypedDict, total=False):
    """The options of `AsgiEndpoint`, except its pages."""

    path: str
    limits: Limits | None
    origins: tuple[str, ...] | None
    threads: ThreadPool | None
    drain: float
    strict_codes: bool
    debug: bool
    observer: Observer | None


class ApiOptions(EndpointOptions, total=False):
    """The options of `Api`, except its router, title and version."""

    description: str
    terms_of_service: str
    contact: Contact | None
    license: License | None
    servers: Sequence[str | Server]
    tags: Sequence[Tag]
    external_docs: ExternalDocs | None
    openrpc: str
    explorer: bool
    metrics: Metrics | bool


class NamedApiOptions(ApiOptions):
    """All options of `Api` except its router: `ApiOptions`, title and version."""

    title: str
    version: str


class Api:
    """An ASGI application that serves a router and its OpenRPC document.

        app.mount("/rpc", Api(router, title="Pets", version="1.0"))

    Calls are POST requests to the path of the mount. Below this path, `openrpc.json` is the
    document; the method `rpc.discover`, which is added to the router, returns it too. Without
    `servers`, the document names the URL of the request. `explore` is a page to read about the
    methods and call them in a browser, unless `explorer` is False. The option `metrics`, True or a
    `Metrics`, adds a page for Prometheus at `metrics`. Other options are those of `AsgiEndpoint`.

    `behind` is a context manager for resources of the methods, such as a database. If the API is
    the whole ASGI application, `behind` is entered at startup and exited at shutdown. If another
    server or application serves the router, enter and exit `behind` by `async with api`.

    Raises `RegistrationError` if a description does not fit its method. With `check` False, the
    document is not made, and so not checked, before the first request for it.
    """

    __accord_endpoint__: ClassVar = True

    def __init__(
        self,
        router: Router,
        *,
        title: str,
        version: str,
        description: str = "",
        terms_of_service: str = "",
        contact: Contact | None = None,
        license: License | None = None,
        servers: Sequence[str | Server] = (),
        tags: Sequence[Tag] = (),
        external_docs: ExternalDocs | None = None,
        openrpc: str = OPENRPC,
        explorer: bool = True,
        metrics: Metrics | bool = False,
        behind: AbstractAsyncContextManager[Any] | None = None,
        check: bool = True,
        **endpoint: Unpack[EndpointOptions],
    ) -> None:
        check_options(type(self), endpoint, EndpointOptions.__annotations__)
        info = Info(
            title=title,
            version=version,
            description=description,
            terms_of_service=terms_of_service,
            contact=contact,
            license=license,
        )
        self._document = RouterDocument(
            router,
            info,
            servers=[Server(each) if isinstance(each, str) else each for each in servers],
            tags=tags,
            docs=external_docs,
            openrpc=openrpc,
        )
        self.router = router
        self.place = ""
        """The public URL of the router, for documents without servers. Set it if `accord.serve` or
        another server serves the router; otherwise the URL of the request is used."""
        self._describe(check)
        pages: dict[str, PageSource] = {DOCUMENT_PAGE: self._page}
        if metrics is not False:
            counting = Metrics() if metrics is True else metrics
            endpoint["observer"] = _both(counting, endpoint.get("observer"))
            pages[METRICS_PAGE] = counting.page
        self.observer = endpoint.get("observer")
        """The observer of every call; pass it to `accord.serve` if that serves the router."""
        exploring = partial(explorer_pages, title=title) if explorer else _no_pages
        self.pages: Pages = {**pages, **exploring(endpoint=".")}
        """The pages next to the endpoint: the document, the explorer and the metrics. Pass them to
        a server as `accord.serve(router, url, pages=api.pages)`."""
        self._behind = nullcontext() if behind is None else behind
        self._path = endpoint.get("path", "")
        # Frameworks redirect a POST to a mount that has no slash behind it.
        mounted = {**pages, **exploring(endpoint="./")}
        self._endpoint = AsgiEndpoint(router, pages=mounted, **endpoint)

    def document(self, place: str = "") -> dict[str, Any]:
        """Return the OpenRPC document, with `place` as its server if none is configured."""
        return self._document.to_json(place or self.place)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        token = current_place.set(place_of(scope, self._path))
        try:
            await self._endpoint(scope, receive, send)
        finally:
            current_place.reset(token)

    async def __aenter__(self) -> Self:
        await self._behind.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._behind.__aexit__(kind, error, traceback)

    def _describe(self, check: bool) -> None:
        """Add `rpc.discover`; with `check`, make the document now to find its errors."""
        add_discover(self.router, lambda: self._page().body)
        try:
            if check:
                self._document.page()
        except Exception:
            self.router.remove(DISCOVER)
            raise

    def _page(self) -> Page:
        """Return the document for the current request, ready to be sent."""
        return self._document.page(current_place.get() or self.place)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:

            async def send_last(event: Event) -> None:
                if event["type"] == "lifespan.shutdown.complete":
                    await stack.aclose()  # a server may go as soon as it is told
                await send(event)

            try:
                await stack.enter_async_context(self._behind)
            except Exception as error:  # noqa: BLE001 - foreign code, whose error is reported to the server
                await receive()
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await self._endpoint(scope, receive, send_last)


def _no_pages(*, endpoint: str) -> Pages:  # noqa: ARG001 - the signature of explorer_pages
    """Return no pages; replaces `explorer_pages` if the explorer is off."""
    return {}


def _both(metrics: Metrics, other: Observer | None) -> Observer:
    return metrics if other is None else all_of(metrics, other)
