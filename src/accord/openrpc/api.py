"""`Api`: a router that is described, as an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypedDict, Unpack

from accord.jsonrpc.about import ExternalDocs, Tag
from accord.jsonrpc.limits import Limits
from accord.jsonrpc.router import Router
from accord.jsonrpc.threads import ThreadPool
from accord.openrpc.discover import DISCOVER, add_discover
from accord.openrpc.document import OPENRPC, Document
from accord.openrpc.info import Contact, Info, License, Server
from accord.openrpc.place import current_place, place_of
from accord.transports.asgi import AsgiEndpoint
from accord.transports.asgi.protocol import Receive, Scope, Send
from accord.transports.pages import Page, Pages

DOCUMENT_PAGE = "openrpc.json"


class EndpointOptions(TypedDict, total=False):
    """What `AsgiEndpoint` can be told, beside its pages."""

    path: str
    limits: Limits | None
    origins: tuple[str, ...] | None
    threads: ThreadPool | None
    drain: float
    strict_codes: bool
    debug: bool


class Api:
    """The methods of a router, with the OpenRPC document that describes them.

        app.mount("/rpc", Api(router, title="Pets", version="1.0"))

    Calls are POSTs to where it is mounted. Below that, `openrpc.json` is the document, which
    the method `rpc.discover`, added to the router, answers with too. Where no `servers` are
    given, the document names the URL at which it was asked for.

    Raises `RegistrationError` when a description does not fit its method.
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
        **endpoint: Unpack[EndpointOptions],
    ) -> None:
        info = Info(
            title=title,
            version=version,
            description=description,
            terms_of_service=terms_of_service,
            contact=contact,
            license=license,
        )
        self._document = Document(
            router,
            info,
            servers=[Server(each) if isinstance(each, str) else each for each in servers],
            tags=tags,
            docs=external_docs,
            openrpc=openrpc,
        )
        self.router = router
        add_discover(router, lambda: self._page().body)
        try:
            self._document.page()  # what is wrong with it should show now
        except Exception:
            router.remove(DISCOVER)
            raise
        self.pages: Pages = {DOCUMENT_PAGE: self._page}
        """What stands beside the endpoint, for `accord.serve(router, url, pages=api.pages)`."""
        self._path = endpoint.get("path", "")
        self._endpoint = AsgiEndpoint(router, pages=self.pages, **endpoint)

    def document(self, place: str = "") -> dict[str, Any]:
        """The OpenRPC document; `place` is the server in it where none was given."""
        return self._document.to_json(place)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._endpoint(scope, receive, send)
            return
        token = current_place.set(place_of(scope, self._path))
        try:
            await self._endpoint(scope, receive, send)
        finally:
            current_place.reset(token)

    def _page(self) -> Page:
        return self._document.page(current_place.get())
