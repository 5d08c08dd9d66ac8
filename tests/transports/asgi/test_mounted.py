"""On a real server, alone and inside other applications."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from accord import connect
from accord.transports.asgi import AsgiEndpoint
from tests.transports.asgi.service import Service, client_of, note, uvicorn_serving
from tests.transports.http.service import chunked, post

CALL = b'{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}'
THREE = b'{"jsonrpc":"2.0","id":1,"result":3}'
HOLD = b'{"jsonrpc":"2.0","id":1,"method":"hold"}'


def alone(endpoint: AsgiEndpoint) -> Any:
    """The endpoint at /rpc of nothing else."""
    return endpoint


def in_starlette(endpoint: AsgiEndpoint) -> Any:
    return Starlette(routes=[Mount("/rpc", endpoint)])


def in_fastapi(endpoint: AsgiEndpoint) -> Any:
    app = FastAPI()
    app.mount("/rpc", endpoint)
    return app


def deep_inside(endpoint: AsgiEndpoint) -> Any:
    inner = FastAPI()
    inner.mount("/rpc", endpoint)
    return Starlette(routes=[Mount("/v1", Starlette(routes=[Mount("/api", inner)]))])


def as_a_route(endpoint: AsgiEndpoint) -> Any:
    app = FastAPI()
    app.add_route("/rpc{rest:path}", endpoint)  # type: ignore[arg-type]
    return app


def behind_middleware(endpoint: AsgiEndpoint) -> Any:
    async def pass_on(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        return await call_next(request)

    app = Starlette(routes=[Mount("/rpc", endpoint)])
    app.add_middleware(BaseHTTPMiddleware, dispatch=pass_on)
    return app


SETTINGS = [
    pytest.param(alone, "/rpc", "/rpc", id="alone"),
    pytest.param(in_starlette, "/", "/rpc/", id="starlette"),
    pytest.param(in_fastapi, "/", "/rpc/", id="fastapi"),
    pytest.param(deep_inside, "/", "/v1/api/rpc/", id="deep"),
    pytest.param(as_a_route, "/rpc", "/rpc", id="route"),
    pytest.param(behind_middleware, "/", "/rpc/", id="middleware"),
]


@pytest.mark.req("O-01")
@pytest.mark.parametrize(("wrap", "path", "target"), SETTINGS)
async def test_calls_and_pages_work_wherever_the_endpoint_is(
    wrap: Callable[[AsgiEndpoint], Any], path: str, target: str
) -> None:
    endpoint = AsgiEndpoint(Service().router, path=path, pages={"note": lambda: note("hi")})
    notification = b'{"jsonrpc":"2.0","method":"soon","params":[1]}'
    slow = CALL.replace(b'"add"', b'"add_in_thread"')
    to = target.encode()
    async with uvicorn_serving(wrap(endpoint)) as port, client_of(port) as client:
        for call in (CALL, slow):
            assert (await client.ask(post(call, target=to))).outcome == (200, THREE)
        assert (await client.ask(post(notification, target=to))).outcome == (204, b"")
        batch = b"[%b,%b,%b]" % (slow, notification, CALL)
        assert (await client.ask(post(batch, target=to))).outcome == (
            200, b"[%b,%b]" % (THREE, THREE),
        )  # fmt: skip
        page = b"%b/note" % to.rstrip(b"/")
        get = b"GET %b HTTP/1.1\r\nHost: x\r\n%b\r\n"
        shown = await client.ask(get % (page, b""))
        assert shown.outcome == (200, b"hi")
        tag = shown.headers["etag"].encode()
        again = await client.ask(get % (page, b"If-None-Match: %b\r\n" % tag))
        assert again.outcome == (304, b"")
        client.send((get % (page, b"")).replace(b"GET", b"HEAD"))
        head = await client.answer(head_only=True)
        assert (head.status, head.headers["content-length"]) == (200, "2")
        assert (await client.ask(get % (to, b""))).status == 405


@pytest.mark.req("O-01")
@pytest.mark.parametrize(("wrap", "path", "target"), SETTINGS)
async def test_a_client_that_is_gone_cancels_its_call(
    wrap: Callable[[AsgiEndpoint], Any], path: str, target: str
) -> None:
    service = Service()
    endpoint = AsgiEndpoint(service.router, path=path)
    async with uvicorn_serving(wrap(endpoint)) as port:
        async with client_of(port) as client:
            client.send(post(HOLD, target=target.encode()))
            await service.started.wait()
        await service.cancelled.wait()


@pytest.mark.parametrize("http", ["h11", "httptools"])
async def test_a_body_in_chunks_is_limited_and_the_connection_goes_on(http: str) -> None:
    endpoint = AsgiEndpoint(Service().router, path="/rpc")
    async with uvicorn_serving(endpoint, http=http) as port, client_of(port) as client:
        assert (await client.ask(chunked(CALL[:9], CALL[9:]))).outcome == (200, THREE)
        assert (await client.ask(post(CALL, b"Expect: 100-continue"))).status == 100
        assert (await client.answer()).outcome == (200, THREE)
    async with uvicorn_serving(endpoint, http=http) as port, client_of(port) as client:
        client.send(chunked(*[b"x" * 60_000] * 18))
        assert (await client.answer()).status == 413


async def test_our_own_client_calls_it() -> None:
    app = in_fastapi(AsgiEndpoint(Service().router))
    async with (
        uvicorn_serving(app) as port,
        connect(f"http://127.0.0.1:{port}/rpc/") as peer,
    ):
        assert await peer.call("add", [1, 2]) == 3
        assert await peer.call("soon", ["x"]) == "x"


async def test_a_path_before_the_application_does_not_matter() -> None:
    app = in_fastapi(AsgiEndpoint(Service().router))
    async with uvicorn_serving(app, root_path="/prefix") as port, client_of(port) as client:
        assert (await client.ask(post(CALL, target=b"/rpc/"))).outcome == (200, THREE)


async def test_it_stands_beside_other_routes() -> None:
    async def hello(request: Request) -> Response:
        return Response("hello")

    app = Starlette(routes=[Route("/", hello), Mount("/rpc", AsgiEndpoint(Service().router))])
    async with uvicorn_serving(app) as port, client_of(port) as client:
        assert (await client.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")).outcome == (200, b"hello")
        assert (await client.ask(post(CALL, target=b"/rpc/"))).outcome == (200, THREE)
