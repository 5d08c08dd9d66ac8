"""An endpoint put into a web application at a path of its own."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from accord import RegistrationError
from accord.openrpc import expose

CALL = {"jsonrpc": "2.0", "id": 1, "method": "hello.get"}


async def hello(request: Request) -> JSONResponse:
    return JSONResponse("hello")


async def anything(request: Request) -> PlainTextResponse:
    return PlainTextResponse("anything")


def starlette() -> Starlette:
    return Starlette(routes=[Route("/hello", hello)])


def fastapi() -> FastAPI:
    app = FastAPI()

    @app.get("/hello")
    async def hello() -> str:
        return "hello"

    return app


def client(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://example.com")


@pytest.mark.req("O-01", "O-02")
@pytest.mark.parametrize("make", [starlette, fastapi])
@pytest.mark.parametrize("path", ["/rpc", "/rpc/"])
async def test_calls_reach_it_with_and_without_a_slash(make: Any, path: str) -> None:
    app = make()
    expose(app, at="/rpc")
    async with client(app) as http:
        answer = await http.post(path, json=CALL)
    assert answer.status_code == 200
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": "hello"}


async def test_its_pages_are_below_it() -> None:
    app = fastapi()
    expose(app, at="/api/rpc")
    async with client(app) as http:
        document = await http.get("/api/rpc/openrpc.json")
        other = await http.get("/api/rpcs")
    assert [it["name"] for it in document.json()["methods"]] == ["hello.get", "rpc.discover"]
    assert document.json()["servers"][0]["url"] == "http://example.com/api/rpc/"
    assert other.status_code == 404


async def test_a_route_that_takes_everything_does_not_hide_it() -> None:
    app = Starlette(routes=[Route("/hello", hello), Route("/{rest:path}", anything)])
    expose(app, at="/rpc", include="/hello")
    async with client(app) as http:
        answer = await http.post("/rpc", json=CALL)
        other = await http.get("/elsewhere")
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": "hello"}
    assert other.text == "anything"


def test_it_is_no_route_of_the_application() -> None:
    app = fastapi()
    expose(app, at="/rpc")
    assert sorted(app.openapi()["paths"]) == ["/hello"]
    assert sorted(expose(app).router.methods) == ["hello.get", "rpc.discover"]


@pytest.mark.parametrize("path", ["", "/", "rpc", "/rpc/{id}", "//rpc"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(RegistrationError, match="is no path such as"):
        expose(fastapi(), at=path)


def test_an_application_of_another_kind_is_refused() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    document = {
        "openapi": "3.1.0",
        "info": {"title": "x", "version": "1"},
        "paths": {"/hello": {"get": {"responses": {"200": {"description": "hello"}}}}},
    }
    with pytest.raises(RegistrationError, match="is for applications of Starlette and FastAPI"):
        expose(app, at="/rpc", openapi=document)
