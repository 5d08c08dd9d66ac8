"""Calls of ASGI applications in process: scopes, headers, ends, limits, background work."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route as Place
from starlette.types import Receive, Scope, Send

from accord.exposure.in_process import InProcess, InProcessLimits
from accord.exposure.routes import Route, RouteParameter
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError, RpcError

ROOT = Route(method="GET", path="/")
POST = Route(
    method="POST",
    path="/",
    body="json",
    parameters=(RouteParameter(name="a", wire_name="a", location="body"),),
)
HEADERS = Route(
    method="GET",
    path="/",
    parameters=(
        RouteParameter(name="token", wire_name="Authorization", location="header"),
        RouteParameter(name="host", wire_name="Host", location="header"),
        RouteParameter(name="c", wire_name="c", location="cookie"),
    ),
)


def app_of(
    endpoint: Callable[[Request], Any], *middleware: Middleware, **options: Any
) -> Starlette:
    return Starlette(
        routes=[Place("/", endpoint, methods=["GET", "POST"])], middleware=middleware, **options
    )


async def shown_scope(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that answers with what it was called with."""
    received = await receive()
    shown = {
        key: [[name.decode(), line.decode("latin-1")] for name, line in value]
        if key == "headers"
        else value.decode("ascii")
        if isinstance(value, bytes)
        else value
        for key, value in scope.items()
    }
    shown["received"] = {**received, "body": received["body"].decode()}
    body = json.dumps(shown).encode()
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"application/json")],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def scope_of(calls: InProcess, route: Route = ROOT, **options: Any) -> Any:
    arguments = options.pop("arguments", {})
    return json.loads(bytes(await calls.call(route, arguments, **options)))


async def failure(calls: InProcess, route: Route = ROOT, **options: Any) -> tuple[int, str, Any]:
    with pytest.raises(RpcError) as raised:
        await calls.call(route, {}, **options)
    return raised.value.code, raised.value.message, raised.value.data


# What the application is called with


@pytest.mark.req("O-02")
async def test_the_scope_is_that_of_a_request_over_http() -> None:
    calls = InProcess(shown_scope)
    assert await scope_of(calls, POST, arguments={"a": "ü"}) == {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/",
        "raw_path": "/",
        "query_string": "",
        "root_path": "",
        "headers": [
            ["host", "localhost"],
            ["accept", "application/json"],
            ["content-type", "application/json"],
            ["content-length", "10"],
        ],
        "client": None,
        "server": ["localhost", 80],
        "state": {},
        "extensions": {},
        "received": {"type": "http.request", "body": '{"a":"ü"}', "more_body": False},
    }


async def test_a_base_url_and_a_root_path_are_where_the_application_believes_to_be() -> None:
    calls = InProcess(shown_scope, base_url="https://shop.example:8443/", root_path="/v 1/")
    scope = await scope_of(calls, scope={"server": ("other", 1), "scheme": "http"})
    assert {key: scope[key] for key in ("scheme", "server", "root_path", "path", "raw_path")} == {
        "scheme": "https",
        "server": ["shop.example", 8443],
        "root_path": "/v 1",
        "path": "/v 1/",
        "raw_path": "/v%201/",
    }
    assert ["host", "shop.example:8443"] in scope["headers"]


@pytest.mark.parametrize("url", ["", "example.com", "ftp://example.com", "http://", "http://a/b"])
def test_a_base_url_is_one_of_a_server(url: str) -> None:
    with pytest.raises(ValueError, match=r"is not like http://example\.com:8000"):
        InProcess(shown_scope, base_url=url)


async def test_only_allowed_headers_of_the_caller_go_along() -> None:
    caller = {
        "Authorization": "Bearer t",
        "traceparent": "00-ab-cd-01",
        "TraceState": "k=v",
        "Cookie": "sid=1",
        "X-Forwarded-For": "1.2.3.4",
        "Accept-Encoding": "gzip",
        "Content-Length": "7",
        "Host": "evil.example",
    }
    scope = await scope_of(InProcess(shown_scope), headers=caller)
    assert scope["headers"] == [
        ["host", "localhost"],
        ["accept", "application/json"],
        ["authorization", "Bearer t"],
        ["traceparent", "00-ab-cd-01"],
        ["tracestate", "k=v"],
    ]
    scope = await scope_of(
        InProcess(shown_scope, forward=["X-Key", "host"]), headers={**caller, "x-key": "k"}
    )
    assert [name for name, _ in scope["headers"]] == [
        "accept",
        "traceparent",
        "tracestate",
        "host",
        "x-key",
    ]


async def test_an_argument_stands_before_a_header_of_the_caller() -> None:
    calls = InProcess(shown_scope, forward=["authorization", "cookie"])
    scope = await scope_of(
        calls,
        HEADERS,
        arguments={"token": "mine", "host": "h", "c": "2"},
        headers={"authorization": "theirs", "cookie": "c=1; d=3"},
    )
    assert sorted(scope["headers"]) == [
        ["accept", "application/json"],
        ["authorization", "mine"],
        ["cookie", "c=1; d=3; c=2"],
        ["host", "h"],
    ]


async def test_a_cookie_of_the_caller_goes_along_by_itself_too() -> None:
    calls = InProcess(shown_scope, forward=["cookie"])
    scope = await scope_of(calls, HEADERS, headers={"cookie": "c=1"})
    assert ["cookie", "c=1"] in scope["headers"]


@pytest.mark.parametrize(
    "name", ["content-length", "Transfer-Encoding", "accept-encoding", "connection", "content-type"]
)
def test_headers_that_belong_to_the_call_cannot_be_forwarded(name: str) -> None:
    with pytest.raises(ValueError, match="belongs to the call and cannot be forwarded"):
        InProcess(shown_scope, forward=[name])


def test_what_is_forwarded_is_a_list_of_names() -> None:
    with pytest.raises(ValueError, match="is not the name of a header"):
        InProcess(shown_scope, forward=["a b"])
    with pytest.raises(ValueError, match="a list of headers, not the string"):
        InProcess(shown_scope, forward="authorization")


async def test_a_header_of_the_caller_cannot_be_broken_out_of() -> None:
    with pytest.raises(ValueError, match="on one line"):
        await InProcess(shown_scope).call(ROOT, {}, headers={"authorization": "a\r\nx: y"})


async def test_the_scope_of_the_request_that_led_to_the_call_shows_through() -> None:
    outer = {
        "client": ("192.0.2.1", 4711),
        "server": ("shop.example", 443),
        "scheme": "https",
        "state": {"db": "pool"},
        "path": "/rpc",
    }
    scope = await scope_of(InProcess(shown_scope), scope=outer, headers={"host": "shop.example"})
    assert {key: scope[key] for key in ("client", "server", "scheme", "state", "path")} == {
        "client": ["192.0.2.1", 4711],
        "server": ["shop.example", 443],
        "scheme": "https",
        "state": {"db": "pool"},
        "path": "/",
    }
    assert ["host", "shop.example"] in scope["headers"]
    assert (await scope_of(InProcess(shown_scope), scope={**outer, "server": None}))["server"] == [
        "localhost",
        80,
    ]


async def test_calls_do_not_share_the_state_of_a_request() -> None:
    async def mark(request: Request) -> Response:
        seen = hasattr(request.state, "mark")
        request.state.mark = True
        return JSONResponse(seen)

    calls, outer = InProcess(app_of(mark)), {"state": {"db": 1}}
    assert [bytes(await calls.call(ROOT, {}, scope=outer)) for _ in range(2)] == [b"false"] * 2
    assert outer == {"state": {"db": 1}}


async def test_a_route_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(RegistrationError):
        await InProcess(shown_scope).call(Route(method="GET", path="/{id}"), {})


async def test_wrong_arguments_do_not_reach_the_application() -> None:
    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    with pytest.raises(InvalidParamsError):
        await InProcess(never).call(POST, {"b": 1})


# Middleware


@pytest.mark.req("O-02")
async def test_the_middleware_of_the_application_is_in_force() -> None:
    async def show(request: Request) -> Response:
        return JSONResponse({"user": request.state.user, "body": (await request.body()).decode()})

    async def authenticate(request: Request, proceed: RequestResponseEndpoint) -> Response:
        if request.headers.get("authorization") != "Bearer t":
            return PlainTextResponse("who are you?", 401)
        request.state.user = "ada"
        return await proceed(request)

    calls = InProcess(
        app_of(
            show,
            Middleware(TrustedHostMiddleware, allowed_hosts=["localhost"]),
            Middleware(CORSMiddleware, allow_origins=["*"]),
            Middleware(GZipMiddleware, minimum_size=0),
            Middleware(BaseHTTPMiddleware, dispatch=authenticate),
        )
    )
    result = await calls.call(POST, {"a": 1}, headers={"authorization": "Bearer t"})
    assert json.loads(bytes(result)) == {"user": "ada", "body": '{"a":1}'}
    assert await failure(calls) == (
        -32051,
        "401 Unauthorized: who are you?",
        {"reason": "authentication_failed", "status": 401, "body": "who are you?"},
    )


async def test_an_answer_that_is_encoded_all_the_same_is_an_error() -> None:
    async def gzipped(request: Request) -> Response:
        return Response(b"\x1f\x8b", headers={"content-encoding": "gzip"})

    assert (await failure(InProcess(app_of(gzipped))))[0] == -32015


async def test_routes_in_mounts_are_reached() -> None:
    async def here(request: Request) -> Response:
        return JSONResponse([request.path_params, request.scope["root_path"], request.url.path])

    app = Starlette(routes=[Mount("/api/{v}", routes=[Mount("/x", routes=[Place("/{id}", here)])])])
    route = Route(
        method="GET",
        path="/api/{v}/x/{id}",
        parameters=tuple(
            RouteParameter(name=name, wire_name=name, location="path", required=True)
            for name in ("v", "id")
        ),
    )
    for root_path in ("", "/behind"):
        result = await InProcess(app, root_path=root_path).call(route, {"v": "ü", "id": "7"})
        assert json.loads(bytes(result)) == [
            {"v": "ü", "id": "7"},
            f"{root_path}/api/ü/x",
            f"{root_path}/api/ü/x/7",
        ]


# Failures


async def test_an_exception_reaches_the_log_and_not_the_caller(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def crash(scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError("secret")

    with pytest.raises(RpcError) as raised:
        await InProcess(crash).call(ROOT, {})
    error = raised.value
    assert (error.code, error.message) == (-32603, "Internal error")
    assert error.data == {"reason": "internal_error", "correlationId": error.data["correlationId"]}
    assert isinstance(error.__cause__, LookupError)
    (record,) = caplog.records
    assert record.getMessage() == f"GET / failed [{error.data['correlationId']}]"
    assert record.exc_info is not None
    assert record.exc_info[1] is error.__cause__


async def test_an_exception_that_the_application_answered_is_logged_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def crash(request: Request) -> Response:
        raise LookupError("secret")

    code, message, data = await failure(InProcess(app_of(crash)))
    assert (code, message) == (-32000, "500 Internal Server Error")
    (record,) = caplog.records
    correlation_id = record.getMessage().removeprefix("GET / failed [").removesuffix("]")
    assert data == {
        "reason": "server_error",
        "status": 500,
        "body": "Internal Server Error",
        "correlationId": correlation_id,
    }


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"type": "http.response.start", "status": 200}],
        [
            {"type": "http.response.start", "status": 200},
            {"type": "http.response.body", "body": b"part", "more_body": True},
        ],
    ],
)
async def test_an_application_that_does_not_answer_is_an_error(events: list[Any]) -> None:
    async def mute(scope: Scope, receive: Receive, send: Send) -> None:
        for event in events:
            await send(event)

    assert await failure(InProcess(mute)) == (
        -32603,
        "GET / ended without an answer",
        {"reason": "internal_error"},
    )


async def test_an_application_that_cancels_itself_is_an_error() -> None:
    async def give_up(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    assert (await failure(InProcess(give_up)))[1] == "GET / ended without an answer"


START = {"type": "http.response.start", "status": 200}
BODY = {"type": "http.response.body", "body": b""}


@pytest.mark.parametrize("events", [[BODY], [START, START]])
async def test_an_application_that_breaks_the_protocol_is_told_so(
    events: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def confused(scope: Scope, receive: Receive, send: Send) -> None:
        for event in events:
            await send(event)

    assert (await failure(InProcess(confused)))[:2] == (-32603, "Internal error")
    assert "RuntimeError" in caplog.text


async def test_other_events_and_other_kinds_of_bytes_are_taken() -> None:
    async def unusual(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.debug", "info": {}})
        await send({**START, "headers": ((k, v) for k, v in [(b"Content-Type", b"text/plain")])})
        await send({"type": "http.response.body", "body": bytearray(b"a"), "more_body": True})
        await send({"type": "http.response.body", "more_body": True})
        await send({"type": "http.response.body", "body": memoryview(b"b")})

    assert await InProcess(unusual).call(ROOT, {}) == "ab"


# Limits


async def _chunks(count: int | None = None) -> AsyncIterator[bytes]:
    sent = 0
    while count is None or sent < count:
        yield b"x" * 10
        sent += 1
        await asyncio.sleep(0)


async def test_a_stream_that_ends_is_a_result() -> None:
    async def stream(request: Request) -> Response:
        return StreamingResponse(_chunks(3), media_type="text/event-stream")

    assert await InProcess(app_of(stream)).call(ROOT, {}) == "x" * 30


async def test_a_stream_over_the_size_limit_is_cut_and_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    ended = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            async for chunk in _chunks():
                yield chunk
        finally:
            ended.set()

    async def stream(request: Request) -> Response:
        return StreamingResponse(endless(), media_type="text/event-stream")

    calls = InProcess(app_of(stream), limits=InProcessLimits(max_response_bytes=95))
    assert await failure(calls) == (
        -32014,
        "the answer of GET / is over the limit of 95 bytes",
        {"reason": "content_too_large", "limit": 95},
    )
    await ended.wait()
    await calls.drain()
    assert (calls.in_background, caplog.records) == (0, [])


async def test_an_answer_that_says_it_is_too_large_is_not_waited_for() -> None:
    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        await send({**START, "headers": [(b"content-length", b"96")]})
        raise AssertionError("the answer is not wanted")

    calls = InProcess(large, limits=InProcessLimits(max_response_bytes=95))
    assert (await failure(calls))[0] == -32014


async def test_an_answer_of_just_the_limit_is_taken() -> None:
    async def fitting(request: Request) -> Response:
        return PlainTextResponse("x" * 95)

    calls = InProcess(app_of(fitting), limits=InProcessLimits(max_response_bytes=95))
    assert await calls.call(ROOT, {}) == "x" * 95


async def test_an_answer_that_takes_too_long_is_given_up() -> None:
    gone = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(START)
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert await receive() == {"type": "http.disconnect"}
            gone.set()
            raise

    calls = InProcess(slow, limits=InProcessLimits(seconds=0.02))
    assert await failure(calls) == (
        -32009,
        "GET / took longer than 0.02 s, 9 bytes of its answer came",
        {"reason": "timeout"},
    )
    await gone.wait()


async def test_without_a_time_limit_an_answer_may_take_its_time() -> None:
    async def fast(request: Request) -> Response:
        return JSONResponse(1)

    calls = InProcess(app_of(fast), limits=InProcessLimits(seconds=None))
    assert bytes(await calls.call(ROOT, {})) == b"1"


# Cancellation


async def test_cancelling_a_call_cancels_the_application_and_disconnects_it() -> None:
    begun, listening, seen = asyncio.Event(), asyncio.Event(), []

    async def listen(receive: Receive) -> None:
        listening.set()
        seen.append((await receive())["type"])

    async def work(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        listener = asyncio.create_task(listen(receive))
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await listener
            with pytest.raises(OSError, match="nobody waits"):
                await send(START)
            raise
        finally:
            seen.append("ended")

    calls = InProcess(work)
    call = asyncio.create_task(calls.call(ROOT, {}))
    await begun.wait()
    await listening.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await calls.drain()
    assert seen == ["http.disconnect", "ended"]
    assert calls.in_background == 0


async def test_an_application_that_fails_once_its_caller_left_is_not_a_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    begun = asyncio.Event()

    async def work(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise LookupError

    calls = InProcess(work)
    call = asyncio.create_task(calls.call(ROOT, {}))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await calls.drain()
    assert caplog.records == []


async def test_an_application_can_ask_whether_its_caller_is_there() -> None:
    async def ask(request: Request) -> Response:
        await request.body()
        return JSONResponse(await request.is_disconnected())

    assert bytes(await InProcess(app_of(ask)).call(POST, {"a": 1})) == b"false"


# Background work


async def test_a_call_is_answered_before_background_work_is_done() -> None:
    release, done = asyncio.Event(), asyncio.Event()

    async def later() -> None:
        await release.wait()
        done.set()

    async def work(request: Request) -> Response:
        return JSONResponse("queued", background=BackgroundTask(later))

    calls = InProcess(app_of(work))
    assert bytes(await calls.call(ROOT, {})) == b'"queued"'
    assert (calls.in_background, done.is_set()) == (1, False)
    release.set()
    await done.wait()
    await calls.drain()
    assert calls.in_background == 0


async def test_background_work_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    release = asyncio.Event()

    async def later() -> None:
        await release.wait()
        raise LookupError("in the background")

    async def work(request: Request) -> Response:
        return JSONResponse(1, background=BackgroundTask(later))

    calls = InProcess(app_of(work))
    await calls.call(ROOT, {})
    release.set()
    await calls.drain()
    (record,) = caplog.records
    assert record.getMessage().startswith("GET / failed [")
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], LookupError)


async def test_at_the_limit_of_background_work_calls_are_refused() -> None:
    release = asyncio.Event()

    async def work(request: Request) -> Response:
        return JSONResponse(1, background=BackgroundTask(release.wait))

    calls = InProcess(app_of(work), limits=InProcessLimits(max_background=2))
    for _ in range(2):
        await calls.call(ROOT, {})
    assert await failure(calls) == (
        -32010,
        "2 calls still have background work, the limit",
        {"reason": "busy", "limit": 2},
    )
    release.set()
    await calls.drain()
    assert bytes(await calls.call(ROOT, {})) == b"1"


async def test_background_work_that_does_not_end_is_cancelled_at_the_end() -> None:
    cancelled = asyncio.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def work(request: Request) -> Response:
        return JSONResponse(1, background=BackgroundTask(forever))

    limits = InProcessLimits(drain_seconds=0.01)
    async with InProcess(app_of(work), limits=limits) as calls:
        await calls.call(ROOT, {})
    assert cancelled.is_set()
    assert calls.in_background == 0


# Beginning and end


async def test_an_application_that_nobody_serves_can_be_started_and_ended() -> None:
    events: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        events.append("started")
        yield {"db": "pool"}
        events.append("ended")

    async def show(request: Request) -> Response:
        events.append("called")
        return JSONResponse(request.state.db)

    async with InProcess(app_of(show, lifespan=lifespan)) as calls:
        assert bytes(await calls.call(ROOT, {})) == b'"pool"'
    assert events == ["started", "called", "ended"]


async def test_an_application_that_does_not_start_says_so(caplog: pytest.LogCaptureFixture) -> None:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        raise LookupError("no database")
        yield

    async def never(request: Request) -> Response:
        raise AssertionError

    with pytest.raises(RuntimeError, match="did not start: LookupError: no database"):
        async with InProcess(app_of(never, lifespan=lifespan)):
            raise AssertionError
    assert [record.getMessage() for record in caplog.records] == [
        "the application failed while it started or ended"
    ]


async def test_an_application_that_does_not_end_well_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        raise LookupError("locked")

    async def show(request: Request) -> Response:
        return JSONResponse(1)

    async with InProcess(app_of(show, lifespan=lifespan)):
        pass
    assert "locked" in caplog.text


async def test_an_application_without_a_lifespan_is_ready() -> None:
    async def simple(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await shown_scope(scope, receive, send)

    async def polite(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await shown_scope(scope, receive, send)

    for app in (simple, polite):
        async with InProcess(app) as calls:
            assert (await scope_of(calls))["path"] == "/"


async def test_a_start_that_is_cancelled_leaves_nothing_behind() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        begun.set()
        try:
            await asyncio.Event().wait()
            yield
        finally:
            ended.set()

    async def never(request: Request) -> Response:
        raise AssertionError

    async def enter() -> None:
        async with InProcess(app_of(never, lifespan=lifespan)):
            raise AssertionError

    entering = asyncio.create_task(enter())
    await begun.wait()
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert ended.is_set()
