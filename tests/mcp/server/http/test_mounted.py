"""A server inside other web applications: anywhere, without a lifespan, without redirects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from accord.mcp import Server
from tests.mcp.server.http.service import (
    ACCEPT,
    initialize,
    make_server,
    modern_headers,
    request,
    with_meta,
)
from tests.transports.asgi.service import uvicorn_serving


def alone(server: Server) -> Any:
    return server.asgi("/mcp")


def at_the_root(server: Server) -> Any:
    return Starlette(routes=[Mount("/", server.asgi("/mcp"))])


def as_a_route(server: Server) -> Any:
    app = FastAPI()
    app.add_route("/mcp{rest:path}", server.asgi("/mcp"))  # type: ignore[arg-type]
    return app


def deep_inside(server: Server) -> Any:
    inner = FastAPI()
    inner.mount("/", server.asgi("/mcp"))
    return Starlette(routes=[Mount("/v1", inner)])


def behind_middleware(server: Server) -> Any:
    async def pass_on(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        return await call_next(request)

    app = Starlette(routes=[Mount("/", server.asgi("/mcp"))])
    app.add_middleware(BaseHTTPMiddleware, dispatch=pass_on)
    return app


SETTINGS = [
    pytest.param(alone, "/mcp", id="alone"),
    pytest.param(at_the_root, "/mcp", id="root"),
    pytest.param(as_a_route, "/mcp", id="route"),
    pytest.param(deep_inside, "/v1/mcp", id="deep"),
    pytest.param(behind_middleware, "/mcp", id="middleware"),
]


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("lifespan", ["on", "off"])
@pytest.mark.parametrize(("wrap", "path"), SETTINGS)
async def test_both_eras_work_wherever_the_server_is(
    wrap: Callable[[Server], Any], path: str, lifespan: str, slash: str
) -> None:
    async with (
        uvicorn_serving(wrap(make_server()), lifespan=lifespan) as port,
        httpx.AsyncClient() as client,
    ):
        url = f"http://127.0.0.1:{port}{path}{slash}"
        params = with_meta({"name": "report"}, progressToken=1)
        headers = {**ACCEPT, **modern_headers("tools/call", params)}
        answer = await client.post(url, json=request("tools/call", params), headers=headers)
        assert (answer.status_code, answer.text.count("data: {")) == (200, 3)
        answer = await client.post(url, json=initialize(), headers=ACCEPT)
        session = {"mcp-session-id": answer.headers["mcp-session-id"]}
        assert (await client.delete(url, headers=session)).status_code == 204


async def test_mounted_at_its_own_path_it_answers_there() -> None:
    app = FastAPI()
    app.mount("/mcp", make_server().asgi())
    async with uvicorn_serving(app) as port, httpx.AsyncClient() as client:
        url = f"http://127.0.0.1:{port}/mcp/"
        answer = await client.post(url, json=initialize(), headers=ACCEPT)
        assert answer.status_code == 200


def test_one_application_on_several_loops() -> None:
    app = at_the_root(make_server())

    async def use() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            params = with_meta({"name": "add", "arguments": {"a": 1, "b": 2}})
            headers = {**ACCEPT, **modern_headers("tools/call", params)}
            answer = await client.post("/mcp", json=request("tools/call", params), headers=headers)
            assert answer.json()["result"]["structuredContent"] == 3
            answer = await client.post("/mcp", json=initialize(), headers=ACCEPT)
            assert answer.status_code == 200

    for _ in range(2):
        asyncio.run(use())


async def test_web_sockets_are_refused() -> None:
    sent = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(event: Any) -> None:
        sent.append(event)

    await make_server().asgi()({"type": "websocket"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


async def test_other_scopes_are_not_served() -> None:
    async def nothing(*_: Any) -> Any:
        return {}

    with pytest.raises(NotImplementedError, match="'mail'"):
        await make_server().asgi()({"type": "mail"}, nothing, nothing)
