"""Calls of a web application's routes in process, through raw ASGI."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType, TracebackType
from typing import Any, Final
from urllib.parse import quote, urlsplit

from msgspec import Raw, Struct

from accord.exposure.asgi import Exchange, Lifespan
from accord.exposure.openapi import NO_SECURITY, RouteCredentials
from accord.exposure.request import FRAMING, TOKEN, Pair, Request, RequestPlan
from accord.exposure.response import read_response
from accord.exposure.routes import Route
from accord.exposure.serialization import header_value
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.channel import KIB, MIB
from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.transports.asgi.endpoint import SCOPE
from accord.transports.asgi.scope import App, Scope
from accord.transports.http.heads import QUERY

TRACE_CONTEXT: Final = ("traceparent", "tracestate")
"""The headers of W3C Trace Context, which are always forwarded."""

_OURS: Final = FRAMING | {
    "accept",
    "accept-encoding",
    "connection",
    "content-type",
    "te",
    "upgrade",
}
_DEFAULT_URL: Final = "http://localhost"
_PORTS: Final = {"http": 80, "https": 443}
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class InProcessLimits(Struct, frozen=True, kw_only=True):
    """The limits of a call of a route."""

    max_response_bytes: int = 16 * MIB
    """Maximum size of a response; a call with a larger one ends at once with error -32014."""
    max_error_bytes: int = 64 * KIB
    """Maximum number of bytes of a response's body in the data of an error."""
    seconds: float | None = 60.0
    """Timeout in seconds until the last byte of a response; None for no timeout."""
    max_background: int = 1_000
    """Maximum number of answered calls on which the application still works; at this limit further
    calls end with error -32010."""
    drain_seconds: float = 10.0
    """Seconds that background work has to finish when the application is stopped."""


class InProcess:
    """A web application whose routes are called as functions.

    `forward` names headers of the caller that are forwarded with a call. The trace context is
    forwarded too and, unless `forward` is empty, the credentials that the route declares: headers,
    cookies and query keys of its security schemes. `base_url` is the URL at which the application
    sees itself; the default is the URL of the request that led to the call, else http://localhost.
    `root_path` is the prefix of the application's paths.

    If a server runs the application already, `async with` is not needed. Otherwise start and stop
    the application with `async with`.
    """

    def __init__(
        self,
        app: App,
        *,
        forward: Iterable[str] = ("authorization",),
        base_url: str | None = None,
        root_path: str = "",
        limits: InProcessLimits | None = None,
    ) -> None:
        self._app = app
        self._limits = InProcessLimits() if limits is None else limits
        names = _checked(forward)
        self._forward = {name: name.encode("ascii") for name in (*names, *TRACE_CONTEXT)}
        self._forwards_declared = bool(names)
        self._fixed_place = base_url is not None
        self._place = _Place.at(_DEFAULT_URL if base_url is None else base_url)
        self._root_path = root_path.rstrip("/")
        self._raw_root_path = quote(self._root_path).encode("ascii")
        self._plans: dict[int, RequestPlan] = {}
        """The request plan of each route, by the `id` of the route. A plan keeps its route alive,
        so that no other route gets the same `id`."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._lifespan: Lifespan | None = None

    async def call(
        self,
        route: Route,
        arguments: Mapping[str, Any],
        *,
        headers: Mapping[str, str] = _NOTHING,
        scope: Mapping[str, Any] = _NOTHING,
    ) -> Any:
        """Return the result of calling a route; a JSON response becomes a `msgspec.Raw`.

        Arguments may be `msgspec.Raw` too. `headers` are those of the caller, of which the allowed
        ones are forwarded. `scope` is the ASGI scope of the request that led to this call, if there
        is one: the application then sees its client, its state and its host.

        Cancelling this call cancels the application's work on it. Raises `RpcError` if the call
        fails.
        """
        plan = self.prepare(route)
        request = plan.build(arguments)
        credentials = plan.credentials if self._forwards_declared else _NO_CREDENTIALS
        self._check_room()
        limits = self._limits
        exchange = Exchange(route, request.body, max_bytes=limits.max_response_bytes)
        loop = asyncio.get_running_loop()
        inner = self._scope(route, request, credentials, headers, scope)
        task = self._own(_start_task(exchange.run(self._app, inner), loop))
        timer = None
        if limits.seconds is not None:
            timer = loop.call_later(limits.seconds, exchange.time_out, limits.seconds)
        self._waiting += 1
        try:
            response = await exchange.response()
        except BaseException:
            if not exchange.answered:
                exchange.leave()
                task.cancel()
            raise
        finally:
            self._waiting -= 1
            if timer is not None:
                timer.cancel()
        try:
            return read_response(
                route, response, max_error_bytes=limits.max_error_bytes, arguments=arguments
            )
        except RpcError as error:
            if exchange.correlation_id:
                error.data["correlationId"] = exchange.correlation_id
            raise

    def prepare(self, route: Route) -> RequestPlan:
        """Return the plan of a route, which is computed once.

        `call` does this too, for a route that was not prepared before. Raises `RegistrationError`
        for a route that cannot be called as described.
        """
        plan = self._plans.get(id(route))
        if plan is None:
            plan = self._plans[id(route)] = RequestPlan(route)
        return plan

    @property
    def in_background(self) -> int:
        """Number of answered calls on which the application still works."""
        return len(self._tasks) - self._waiting

    # Beginning and end

    async def __aenter__(self) -> InProcess:
        lifespan = Lifespan(self._app)
        await lifespan.start()
        self._lifespan = lifespan
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.drain()
        if self._lifespan is not None:
            await self._lifespan.stop()
            self._lifespan = None

    async def drain(self) -> None:
        """Wait up to `drain_seconds` for background work, then cancel the rest."""
        loop = asyncio.get_running_loop()
        tasks = [task for task in self._tasks if task.get_loop() is loop]
        if tasks:
            await asyncio.wait(tasks, timeout=self._limits.drain_seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _own(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        if not task.done():
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return task

    def _check_room(self) -> None:
        most = self._limits.max_background
        if self.in_background >= most:
            raise own_error(
                "busy", f"{most:,} calls still have background work, the limit", limit=most
            )

    # Scopes

    def _scope(
        self,
        route: Route,
        request: Request,
        credentials: RouteCredentials,
        headers: Mapping[str, str],
        outer: Mapping[str, Any],
    ) -> Scope:
        place = self._place
        if not self._fixed_place and "server" in outer:
            place = _Place.of(outer, headers, place)
        state = outer.get("state", _NOTHING) if self._lifespan is None else self._lifespan.state
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": route.method,
            "scheme": place.scheme,
            "path": self._root_path + request.path,
            "raw_path": self._raw_root_path + request.raw_path,
            "query_string": _with_keys(request.query, credentials, outer),
            "root_path": self._root_path,
            "headers": self._headers(request, credentials, headers, place),
            "client": outer.get("client"),
            "server": place.server,
            "state": dict(state),
            "extensions": {},
        }

    def _headers(
        self,
        request: Request,
        credentials: RouteCredentials,
        headers: Mapping[str, str],
        place: _Place,
    ) -> list[Pair]:
        """Return the request's headers: from the arguments, the caller, and defaults.

        A header from the arguments takes precedence over one from the caller, and both over a
        default.
        """
        taken = {name for name, _ in request.headers}
        found: list[Pair] = []
        cookies = request.cookies
        for name, value in headers.items():
            lowered = name.lower()
            raw = self._forward.get(lowered)
            if raw is None and lowered in credentials.headers and lowered not in _OURS:
                raw = lowered.encode("ascii")
            if raw is None and lowered == "cookie":
                value = credentials.cookies(value)
                raw = b"cookie" if value else None
            if raw is None or raw in taken:
                continue
            if raw == b"cookie" and cookies:
                # Of two cookies with one name applications take the last.
                cookies = header_value(value) + b"; " + cookies
            else:
                found.append((raw, header_value(value)))
        if cookies:
            found.append((b"cookie", cookies))
        taken.update(name for name, _ in found)
        ours = [pair for pair in place.headers if pair[0] not in taken]
        return ours + found + request.headers


_NO_CREDENTIALS: Final = RouteCredentials(NO_SECURITY)


def _with_keys(query: bytes, credentials: RouteCredentials, outer: Mapping[str, Any]) -> bytes:
    """Return `query` with the route's credentials that the caller's query contains."""
    keys = credentials.query(outer.get("query_string", b""), query)
    return b"&".join(filter(None, (query, keys)))


class _Place(Struct, frozen=True):
    """An origin: the scheme, host and port at which an application sees itself."""

    scheme: str
    server: tuple[str, int | None]
    headers: tuple[Pair, ...]

    @classmethod
    def at(cls, url: str) -> _Place:
        """Return the origin in a base URL.

        Raises ValueError unless `url` is an HTTP URL without a path.
        """
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname or parts.path.rstrip("/"):
            raise ValueError(f"base_url {url!r} is not like http://example.com:8000")
        server = (parts.hostname, parts.port or _PORTS[parts.scheme])
        return cls(parts.scheme, server, _basic(parts.netloc))

    @classmethod
    def of(cls, scope: Mapping[str, Any], headers: Mapping[str, str], default: _Place) -> _Place:
        """Return the origin to which the caller's request was sent, from its ASGI scope."""
        host = headers.get("host")
        return cls(
            scope.get("scheme", default.scheme),
            scope["server"] or default.server,
            default.headers if host is None else _basic(host),
        )


def _basic(host: str) -> tuple[Pair, ...]:
    return (b"host", header_value(host)), (b"accept", b"application/json")


def _checked(names: Iterable[str]) -> list[str]:
    """Return the names of headers to forward, checked and in lower case.

    Raises ValueError for a name that is invalid or that cannot be forwarded.
    """
    if isinstance(names, str):
        raise ValueError(f"forward is a list of headers, not the string {names!r}")
    lowered = [name.lower() for name in names]
    for name in lowered:
        if TOKEN.fullmatch(name) is None:
            raise ValueError(f"{name!r} is not the name of a header")
        if name in _OURS:
            raise ValueError(f"the header {name} belongs to the call and cannot be forwarded")
    return lowered


if sys.version_info >= (3, 12):

    def _start_task(coroutine: Any, loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
        return asyncio.Task(coroutine, loop=loop, eager_start=True)
else:

    def _start_task(coroutine: Any, loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
        return loop.create_task(coroutine)


class Exposed:
    """A route of an application, to be added to a router: `router.add(exposed, "users.get")`.

    It takes its arguments by name; any text may be the name of an argument. Values are passed on as
    the caller wrote them; members of a JSON body are not even decoded. Raises `RegistrationError`
    for a route that cannot be called as described.
    """

    def __init__(self, in_process: InProcess, route: Route) -> None:
        in_process.prepare(route)
        self.in_process = in_process
        self.route = route

    def __repr__(self) -> str:
        return f"<Exposed {self.route}>"

    async def __call__(self, context: Context, /, **arguments: Raw) -> Any:
        return await self.in_process.call(
            self.route, arguments, headers=context.headers, scope=_scope(context)
        )


def _scope(context: Context) -> Mapping[str, Any]:
    """Return the ASGI scope of the request that led to the call.

    If the call did not come through ASGI, the scope has only the client's address and the query.
    """
    scope: Mapping[str, Any] | None = context.state.get(SCOPE)
    if scope is not None:
        return scope
    client = _client(context.channel.address)
    query = context.state.get(QUERY) or _query(context.channel.details.get("target", ""))
    return {"client": client, "query_string": query} if query else {"client": client}


def _query(target: str) -> bytes:
    """Return the query in `target`, the request target of a caller's WebSocket."""
    return target.partition("?")[2].encode("latin-1", "replace")


@lru_cache(maxsize=1024)
def _client(address: str) -> tuple[str, int] | None:
    """Return the host and port in an address; None for an address without them."""
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        return None
    return host.removeprefix("[").removesuffix("]"), int(port)
