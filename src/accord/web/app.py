"""The application of the pages: authentication, routing, CSRF checks and error pages.

A request that changes data must come from one of our pages: browsers send the origin of a request,
and every form contains a CSRF token of the session. Users without a session are redirected to the
sign-in page.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.recorders import CHANNEL
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.operations.adapters.rest_messages import correlation_line
from accord.operations.adapters.rest_routes import RouteTree, path_names
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import Addresses, RequestCredentials
from accord.operations.context import Caller
from accord.operations.errors import (
    ForbiddenError,
    MalformedRequestError,
    NotFoundError,
    ServiceError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from accord.operations.runner import InternalOperationError, Runner
from accord.transports.http.admission import Origins
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import NO_MEMORY, RETRY_AFTER, Reply, text_reply
from accord.transports.http.web_app import SMALL_BODY, BodyLimit, Exchange, LivingApp, Underway
from accord.web.forms import Words, read_form, read_words
from accord.web.layout import PendingCountCache
from accord.web.request import PageCache, PageRequest, PageRoute, Pages, PageServices, read_cookies
from accord.web.responses import (
    HTML_TYPE,
    PAGE_HEADERS,
    PLACE,
    Assets,
    FileDownload,
    Html,
    PageResponse,
    Redirect,
    page_headers,
)
from accord.web.templating import Templates

log = logging.getLogger("accord.web")

SIGN_IN: Final = "/sign-in"
CSRF_FIELD: Final = "csrf"
LONG_FORM: Final = 64 * 1024
"""Forms with more bytes than this are parsed in a thread."""
MAX_FORM: Final = 4 * 1024 * 1024
"""The most bytes of a form without files: percent-encoded, a character takes up to nine bytes."""
MAX_IN_FLIGHT: Final = 500
"""The most page requests in flight; further requests get 503."""


class PageHead(Struct, frozen=True):
    """The head of a request, before its body is read."""

    request: WebRequest
    route: PageRoute | None
    """The route at the path, None if there is no page."""
    values: Mapping[str, str]

    @property
    def route_path(self) -> str:
        """The path with parameter names instead of values; empty if there is no page."""
        return "" if self.route is None else self.route.path


class WebPages(LivingApp[PageHead]):
    """The application that serves the pages at the root path.

    It implements `LivingApp`: an application that is started and shut down.
    """

    def __init__(
        self,
        runner: Runner,
        accounts: Accounts,
        pages: Sequence[Pages],
        *,
        public_url: str = "",
        trusted_proxies: Sequence[str] = (),
        assets: Assets | None = None,
    ) -> None:
        assets = assets or Assets()
        self._authenticator = RequestAuthenticator(accounts, "web", Addresses(trusted_proxies))
        self._services = PageServices(
            runner=runner,
            accounts=accounts,
            assets=assets,
            templates=Templates(assets),
            pending_counts=PendingCountCache(),
            cache=PageCache(),
            public_url=public_url,
            authenticator=self._authenticator,
        )
        runner.listen(lambda *_: self._forget())
        self._origins = [Origins(None)]
        if public_url:  # a proxy may use another host name
            self._origins.append(Origins((origin_of(public_url),)))
        self._routes: RouteTree[PageRoute] = RouteTree()
        for each in pages:
            for route in each:
                self._routes.add(route.verb, route.path, route)
        self._underway = Underway()
        self._stop: Callable[[], None] = lambda: None

    def _forget(self) -> None:
        """Clear the caches of page data after a write."""
        self._services.pending_counts.forget()
        self._services.cache.forget()

    # The methods of `LivingApp`

    def judge(self, request: WebRequest) -> Reply | PageHead:
        place = request.place or ""
        if place.startswith(f"{PLACE}/"):
            return self._services.assets.reply(request, place[len(PLACE) + 1 :])
        if not any(origins.let_in(request) for origins in self._origins):
            return text_reply(403, "this comes from a page of another site", PAGE_HEADERS)
        found = self._routes.find(place)
        verb = "GET" if request.method == "HEAD" else request.method
        route = None if found is None else found.by_verb.get(verb)
        if found is not None and route is None:
            verbs = ", ".join(sorted(found.by_verb))
            return text_reply(
                405, f"this page takes {verbs}", f"allow: {verbs}\r\n".encode() + PAGE_HEADERS
            )
        if found is None and verb != "GET":
            return text_reply(404, "there is nothing here", PAGE_HEADERS)
        names = path_names(route.path) if route is not None else ()
        values = dict(zip(names, found.values if found else (), strict=True))
        return PageHead(request, route, values)

    def body_limit(self, judged: PageHead) -> BodyLimit:
        route = judged.route
        if judged.request.method != "POST" or route is None or route.is_public:
            return SMALL_BODY
        return BodyLimit(None if route.is_upload else MAX_FORM)

    async def admit(self, judged: PageHead, channel: ChannelInfo) -> Reply | PageHead:
        if judged.route is None or judged.route.is_public:
            return judged
        credentials = self._authenticator.credentials(judged.request, channel)
        page_request = _page_request(self._services, judged, credentials)
        try:
            if not credentials.token:
                raise UnauthenticatedError
            # The CSRF token is in the form, which is not read yet: check the session only.
            await self._caller(replace(credentials, safe=True))
        except Exception as error:  # noqa: BLE001 - any failure is shown as a page
            answer = await _complete(await self._refused(page_request, error))
            return _reply(answer, credentials)
        return judged

    def exhausted(self, request: WebRequest) -> Reply:
        return text_reply(503, NO_MEMORY, RETRY_AFTER + PAGE_HEADERS)

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return text_reply(413, f"a form may have {most:,} bytes", PAGE_HEADERS)

    def handle(self, judged: PageHead, body: bytes, exchange: Exchange) -> None:
        credentials = self._authenticator.credentials(judged.request, exchange.channel)
        task = self._underway.begin(self._serve(judged, credentials, body, exchange))
        if judged.request.method in ("GET", "HEAD"):
            exchange.on_gone = partial(_cancel, task)

    async def start(self) -> None:
        """Subscribe to writes by other processes, which clear the caches."""
        self._stop = await self._services.runner.store.listen(CHANNEL, self._forget)

    async def close(self, drain: float) -> None:
        """Stop, after waiting up to `drain` seconds for requests in flight."""
        self._stop()
        await self._underway.close(drain)
        self._services.templates.close()

    async def _serve(
        self, head: PageHead, credentials: RequestCredentials, body: bytes, exchange: Exchange
    ) -> None:
        page_request = _page_request(self._services, head, credentials)
        try:
            answer = await _complete(await self._answer(page_request, head, body))
        except Exception as error:  # noqa: BLE001 - any failure is shown as a page
            answer = await _complete(await self._refused(page_request, error))
        reply = _reply(answer, credentials)
        exchange.reply(reply.body, status=reply.status, headers=reply.headers)

    async def _refused(self, page_request: PageRequest, error: Exception) -> PageResponse:
        """Return the error response to a request; `error` is what the page raised."""
        if isinstance(error, UnauthenticatedError):
            return _to_sign_in(page_request)
        if not isinstance(error, ServiceError | InternalOperationError):
            log.error(
                "a page at %r failed",
                page_request.http.path[:200],
                exc_info=error,
                extra={"correlation_id": page_request.credentials.correlation_id},
            )
        return await self._failure(page_request, error)

    async def _answer(self, page_request: PageRequest, head: PageHead, body: bytes) -> PageResponse:
        if len(self._underway) > MAX_IN_FLIGHT:
            raise ServiceUnavailableError("too many pages are being made: try again")
        request = head.request
        page_request.query = read_words(request.query)
        if request.method == "POST":
            # Parsing megabytes takes a second, handing them to a thread a millisecond.
            is_long = len(body) > LONG_FORM
            read = partial(read_form, request.fields.get("content-type", ""), body)
            page_request.form = await asyncio.to_thread(read) if is_long else read()
        credentials = page_request.credentials
        if page_request.form[CSRF_FIELD]:
            credentials = replace(credentials, csrf=page_request.form[CSRF_FIELD][:256])
        if credentials.token and (head.route is None or not head.route.is_public):
            page_request.caller = await self._caller(credentials)
            page_request.csrf = self._services.accounts.csrf_token(credentials)
        if head.route is None:
            raise NotFoundError("there is no such page")
        if page_request.caller is None and not head.route.is_public:
            raise UnauthenticatedError
        return await head.route.function(page_request)

    async def _caller(self, credentials: RequestCredentials) -> Caller:
        if not credentials.by_cookie:
            raise MalformedRequestError("pages are for browsers: programs use the REST interface")
        return await self._authenticator.caller(credentials)

    async def _failure(self, page_request: PageRequest, error: Exception) -> PageResponse:
        """Return the error page: what failed, what is unaffected, what to try."""
        kind = error.kind if isinstance(error, ServiceError) else None
        status = 500 if kind is None else kind.status
        shown: dict[str, Any] = {
            "heading": "Something went wrong on our side" if kind is None else kind.title,
            "message": error.message if isinstance(error, ServiceError) else "",
            "is_forbidden": isinstance(error, ForbiddenError),
            "correlation_id": page_request.credentials.correlation_id,
        }
        if page_request.is_partial:
            return page_request.piece("error_piece.html", status=status, **shown)
        try:
            return await page_request.page("error.html", status=status, **shown)
        except Exception:  # noqa: BLE001 - the frame failed, too: show the error without it
            page_request.caller = None
            return await page_request.page("error.html", status=status, **shown)


def _page_request(
    services: PageServices, head: PageHead, credentials: RequestCredentials
) -> PageRequest:
    return PageRequest(
        services=services,
        caller=None,
        http=head.request,
        credentials=credentials,
        values=head.values,
        query=Words(),
        form=Words(),
        cookies=read_cookies(head.request.fields.get("cookie", ""), secure=credentials.secure),
    )


def _to_sign_in(page_request: PageRequest) -> PageResponse:
    request = page_request.http
    address = request.path + (f"?{request.query}" if request.query else "")
    back = f"?next={quote(address)}" if request.method == "GET" and address != "/" else ""
    return page_request.go(f"{SIGN_IN}{back}")


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


async def _complete(answer: PageResponse) -> PageResponse:
    """Return the response with a complete body: render the rest of a slow page."""
    if isinstance(answer, Html) and answer.rest is not None:
        return replace(answer, body=await answer.rest(), rest=None)
    return answer


def _reply(answer: PageResponse, credentials: RequestCredentials) -> Reply:
    status, lines, body = _head_and_body(answer)
    return Reply(status, lines + correlation_line(credentials.correlation_id), body)


def _head_and_body(answer: PageResponse) -> tuple[int, bytes, bytes]:
    match answer:
        case Html():
            lines = HTML_TYPE + answer.headers + page_headers(answer.policy)
            return answer.status, lines, answer.body.encode(errors="replace")
        case Redirect():
            location = quote(answer.path, safe="/:@!$&'()*+,;=~?%#-._")
            return (
                303,
                f"location: {location}\r\n".encode("ascii") + answer.headers + PAGE_HEADERS,
                b"",
            )
        case FileDownload():
            return 200, answer.headers + PAGE_HEADERS, answer.body


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
