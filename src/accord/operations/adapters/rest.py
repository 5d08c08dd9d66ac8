"""`RestApp`: the operations of a registry over REST, as an application of our HTTP server.

    judge    find the route, parse path and query; refuse what needs no body to be refused
    handle   authenticate ─▶ run the operation ─▶ a response, or a problem (RFC 9457)

Routes and arguments are derived from the operations, the runner checks permissions, and
`accord.operations.adapters.errors` names the errors.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.operations.adapters.openapi import openapi_document
from accord.operations.adapters.rest_messages import (
    EXPOSED,
    NO_ROUTE,
    PRIVATE,
    SAFETY,
    TOO_LARGE,
    WRONG_ORIGIN,
    WRONG_TYPE,
    WRONG_VERB,
    Conditions,
    Further,
    RequestWords,
    RestHead,
    RestResponse,
    RouteTarget,
    WriteBody,
    correlation_line,
    encode,
    error_response,
    refusal,
)
from accord.operations.adapters.rest_routes import (
    EXPECTED_VERSION,
    SIGN_IN,
    SIGN_OUT,
    RestRoute,
    RouteTree,
    SignIn,
    SignOut,
)
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.authentication import RequestAuthenticator, correlation_id_of
from accord.operations.auth.credentials import Addresses, RequestCredentials
from accord.operations.errors import (
    KINDS,
    InvalidError,
    ServiceError,
    ServiceUnavailableError,
    StaleError,
)
from accord.operations.runner import InternalOperationError, Runner
from accord.transports.http.admission import Origins
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import NO_MEMORY, RETRY_AFTER, Reply, page_reply
from accord.transports.http.web_app import (
    SMALL_BODY,
    BodyLimit,
    Exchange,
    LivingApp,
    Stream,
    Underway,
)
from accord.transports.pages import Page, PageSource, etag_of

log = logging.getLogger("accord.operations.rest")

ROOT: Final = "/api/v1"
MAX_IN_FLIGHT: Final = 1_000
"""Maximum number of requests in flight; more are answered 503."""
MAX_POURING: Final = 2_000
"""Maximum number of responses being streamed; requests for more are answered 503."""
OPENAPI: Final = "openapi.json"
VERSION_POINTER: Final = f"/{EXPECTED_VERSION}"

_JSON: Final = "application/json"
_MEDIA_TYPE: Final = re.compile(
    r'([a-z0-9.+-]+/[a-z0-9.+-]+)[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?',
    re.IGNORECASE,
)
_PUBLIC: Final = (
    ("cache-control", "no-cache"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
)


class RestApp(LivingApp[RestHead]):
    """An application that serves operations below `root`.

    It implements `LivingApp`, an application with `start` and `close`.

    `trusted_proxies` are networks of proxies whose `X-Forwarded-For` header is trusted. `origins`
    are other origins whose web pages may send requests; by default none may. `further` are
    additional routes to handlers that are no operations.
    """

    def __init__(
        self,
        runner: Runner,
        accounts: Accounts,
        *,
        title: str = "Accord",
        version: str = "1",
        root: str = ROOT,
        trusted_proxies: Sequence[str] = (),
        origins: tuple[str, ...] | None = None,
        further: Sequence[Further] = (),
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self._authenticator = RequestAuthenticator(accounts, "rest", Addresses(trusted_proxies))
        self._origins = Origins(origins, exposed=EXPOSED)
        self._root = root
        self._routes: RouteTree[RouteTarget] = RouteTree()
        for operation in runner.registry:
            for rest in operation.rest:
                route = RestRoute(operation, rest, root)
                target = OperationTarget(route, runner, self._authenticator)
                self._routes.add(rest.verb, rest.path, target)
        self._routes.add("POST", SIGN_IN, SignIn(self._authenticator, root))
        self._routes.add("DELETE", SIGN_OUT, SignOut(self._authenticator))
        for each in further:
            self._routes.add(each.verb, each.path, each.make(self._authenticator))
        shown = _page(encode({"title": title, "version": version, "openapi": f"{root}/{OPENAPI}"}))

        @cache  # made on first use: few starts are followed by a request for it
        def document() -> Page:
            return _page(
                openapi_document(
                    runner.registry, title=title, version=version, root=root, further=further
                )
            )

        self._pages: dict[str, PageSource] = {OPENAPI: document, "": lambda: shown}
        self._max_in_flight = max_in_flight
        self._underway = Underway()
        self._pouring = Underway()

    # The interface of `LivingApp`

    def judge(self, request: WebRequest) -> Reply | RestHead:
        if not self._origins.let_in(request):
            return _refuse(request, WRONG_ORIGIN, "Requests of this origin are not let in")
        lines = self._origins.lines(request)
        page = self._pages.get(request.place or "") if request.place is not None else None
        if page is not None:
            return self._show(request, page).adding(lines)
        found = None if request.place is None else self._routes.find(request.place)
        if found is None:
            return _refuse(request, NO_ROUTE, "There is nothing at this path", lines)
        verb = "GET" if request.method == "HEAD" else request.method
        target = found.by_verb.get(verb)
        if target is None:
            return self._other_verb(request, found.by_verb).adding(lines)
        refused = _body_refusal(request, target)
        if refused is not None:
            return refused.adding(lines)
        fields = request.fields
        return RestHead(
            request=request,
            target=target,
            route_path=f"{self._root}{found.path}",
            values=found.values,
            words=_read_words(target, found.values, request.query),
            conditions=Conditions(
                fields.get("if-match"), fields.get("if-none-match"), fields.get("idempotency-key")
            ),
            is_text=request.once(_media_type) in target.texts,
            lines=PRIVATE + lines,
        )

    def body_limit(self, judged: RestHead) -> BodyLimit:
        return BodyLimit() if judged.target.is_private else SMALL_BODY

    def admit(
        self, judged: RestHead, channel: ChannelInfo
    ) -> RestHead | Awaitable[Reply | RestHead]:
        if not judged.target.is_private:
            return judged
        return self._admit(judged, self._authenticator.credentials(judged.request, channel))

    async def _admit(self, head: RestHead, credentials: RequestCredentials) -> Reply | RestHead:
        try:
            await self._authenticator.caller(credentials)
        except ServiceError as error:
            answer = _error(error, head, credentials)
            return Reply(answer.status, _lines(head, credentials, answer), answer.body)
        return head

    def exhausted(self, request: WebRequest) -> Reply:
        lines = RETRY_AFTER + self._origins.lines(request)
        return _refuse(request, KINDS["unavailable"], NO_MEMORY, lines)

    def too_large(self, request: WebRequest, most: int) -> Reply:
        detail = f"The body of the request is over the limit of {most:,} bytes"
        return _refuse(request, TOO_LARGE, detail, self._origins.lines(request))

    def handle(self, judged: RestHead, body: bytes, exchange: Exchange) -> None:
        credentials = self._authenticator.credentials(judged.request, exchange.channel)
        if len(self._underway) >= self._max_in_flight:
            _send(exchange, judged, credentials, _error(_busy(), judged, credentials))
            return
        task = self._underway.begin(self._serve(judged, credentials, body, exchange))
        # A read ends with its client; a write is finished, as it may be committed already.
        if not judged.target.writes:
            exchange.on_gone = partial(_cancel, task)

    async def start(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def close(self, drain: float) -> None:
        """End streamed responses, and wait up to `drain` seconds for the other requests."""
        await self._pouring.close(0)
        await self._underway.close(drain)

    async def _serve(
        self, head: RestHead, credentials: RequestCredentials, body: bytes, exchange: Exchange
    ) -> None:
        try:
            answer = await head.target.answer(head, credentials, body)
        except (ServiceError, InternalOperationError) as error:
            answer = _error(error, head, credentials)
        except Exception as error:
            log.exception(
                "a request for %r failed",
                head.request.path[:200],
                extra={"correlation_id": credentials.correlation_id},
            )
            answer = _error(error, head, credentials)
        if answer.pour is not None and len(self._pouring) >= MAX_POURING:
            answer = _error(_busy(), head, credentials)
        if answer.pour is None:
            _send(exchange, head, credentials, answer)
            return
        stream = exchange.stream(status=answer.status, headers=_lines(head, credentials, answer))
        task = self._pouring.begin(_pour(answer.pour, stream, credentials))
        exchange.on_gone = partial(_cancel, task)

    def _show(self, request: WebRequest, page: PageSource) -> Reply:
        if request.method not in ("GET", "HEAD"):
            return self._wrong_verb(request, "GET, HEAD, OPTIONS")
        shown = page_reply(page(), request.fields.get("if-none-match"))
        return shown.adding(correlation_line(correlation_id_of(request)))

    def _other_verb(self, request: WebRequest, by_verb: Mapping[str, Any]) -> Reply:
        verbs = sorted({*by_verb, "OPTIONS", *(("HEAD",) if "GET" in by_verb else ())})
        return self._wrong_verb(request, ", ".join(verbs))

    def _wrong_verb(self, request: WebRequest, verbs: str) -> Reply:
        preflight = self._origins.preflight(request, verbs)
        if preflight is not None:
            return preflight.adding(self._origins.lines(request))
        allow = f"allow: {verbs}\r\n".encode("ascii")
        if request.method == "OPTIONS":
            return Reply(204, allow + SAFETY + correlation_line(correlation_id_of(request)))
        return _refuse(request, WRONG_VERB, f"This path takes {verbs}", allow)


class OperationTarget:
    """An operation at one verb and path; implements `RouteTarget`."""

    is_private = True

    def __init__(
        self, route: RestRoute, runner: Runner, authenticator: RequestAuthenticator
    ) -> None:
        self._route = route
        self._runner = runner
        self._authenticator = authenticator
        self.takes_body = route.takes_body
        self.texts = route.rest.texts
        self.writes = route.operation.writes
        self.read_words = route.read_words

    async def answer(
        self, head: RestHead, credentials: RequestCredentials, body: bytes
    ) -> RestResponse:
        caller = await self._authenticator.caller(credentials)
        route = self._route
        values: dict[str, Any] = {}

        def arguments() -> dict[str, Any]:
            values.update(route.arguments(head, body))
            return values

        try:
            outcome = await self._runner.run(route.operation, arguments, caller)
        except InvalidError as error:
            if values and head.conditions.if_match and error.errors[0].pointer == VERSION_POINTER:
                # RFC 9110, section 13.1.1: 412 for any version but the current one
                raise StaleError(error.message, **error.data) from error
            raise
        return route.answer(outcome, head)


def _read_words(target: RouteTarget, values: tuple[str, ...], query: str) -> RequestWords | None:
    try:
        return target.read_words(values, query)
    except ServiceError:
        return None


def _media_type(request: WebRequest) -> str:
    """Return the media type of the body; empty if it is missing or its charset is not UTF-8."""
    found = _MEDIA_TYPE.fullmatch(request.fields.get("content-type", ""))
    return "" if found is None else found[1].lower()


def _body_refusal(request: WebRequest, target: RouteTarget) -> Reply | None:
    if request.length == 0:
        return None
    if not target.takes_body:
        return _refuse(request, WRONG_TYPE, f"{request.method} takes no body here")
    fields = request.fields
    if fields.get("content-encoding", "identity").lower() != "identity":
        detail = "Send the body without content-encoding"
        return _refuse(request, WRONG_TYPE, detail, b"accept-encoding: identity\r\n")
    taken = (_JSON, *target.texts)
    if request.once(_media_type) not in taken:
        what = "JSON" if len(taken) == 1 else "JSON or text"
        detail = f"Send the body as {what} in UTF-8, with content-type: {' or '.join(taken)}"
        accept = f"accept: {', '.join(taken)}\r\n".encode("ascii")
        return _refuse(request, WRONG_TYPE, detail, accept)
    return None


def _refuse(request: WebRequest, kind: Any, detail: str, headers: bytes = b"") -> Reply:
    return refusal(
        kind,
        detail,
        path=request.path,
        correlation_id=correlation_id_of(request),
        headers=headers,
    )


def _page(body: bytes) -> Page:
    return Page(body=body, media_type="application/json", etag=etag_of(body), headers=_PUBLIC)


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def _busy() -> ServiceUnavailableError:
    return ServiceUnavailableError("too many requests are being answered: try again")


def _error(error: Exception, head: RestHead, credentials: RequestCredentials) -> RestResponse:
    correlation_id = credentials.correlation_id
    return error_response(error, path=head.request.path, correlation_id=correlation_id)


def _send(
    exchange: Exchange, head: RestHead, credentials: RequestCredentials, answer: RestResponse
) -> None:
    exchange.reply(answer.body, status=answer.status, headers=_lines(head, credentials, answer))


def _lines(head: RestHead, credentials: RequestCredentials, answer: RestResponse) -> bytes:
    return answer.headers + head.lines + correlation_line(credentials.correlation_id)


async def _pour(pour: WriteBody, stream: Stream, credentials: RequestCredentials) -> None:
    try:
        await pour(stream)
    except Exception:
        log.exception("an answer broke off", extra={"correlation_id": credentials.correlation_id})
    finally:
        stream.close()
