"""A web application exposed in one line: the document of its routes, and calls of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, Header, Query
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from accord import RegistrationError, Router, connect, serve
from accord.openrpc import expose
from accord.openrpc.linter import lint
from tests.exposure.shop import make_shop


class User(BaseModel):
    """Somebody."""

    id: int
    name: str


def users(**options: Any) -> FastAPI:
    app = FastAPI(title="Users", version="2.0", description="People.", **options)

    @app.get("/users/{id}", tags=["users"], responses={404: {"description": "Nobody"}})
    async def read_user(
        id: int,
        full: Annotated[bool, Query(description="All of it.", deprecated=True)] = False,
        x_key: Annotated[str, Header()] = "",
    ) -> User:
        """Read a user.

        By the id.
        """
        return User(id=id, name=x_key)

    @app.delete("/users/{id}", status_code=204, deprecated=True)
    async def delete_user(id: int) -> None:
        pass

    @app.get("/text", response_class=PlainTextResponse)
    async def text() -> str:
        return "hello"

    return app


@asynccontextmanager
async def client(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://example.com"
    ) as client:
        yield client


@pytest.mark.req("O-02", "O-08")
async def test_one_line_gives_methods_and_their_document() -> None:
    app = users()
    app.mount("/rpc", expose(app))
    async with client(app) as http:
        call = {"id": 7, "x_key": "Ann"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "users.id.get", "params": call}
        answer = await http.post("/rpc/", json=message)
        assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {"id": 7, "name": "Ann"}}
        document = (await http.get("/rpc/openrpc.json")).json()
    assert document["info"] == {"title": "Users", "version": "2.0", "description": "People."}
    assert document["servers"] == [{"url": "http://example.com/rpc/"}]
    assert [each["name"] for each in document["methods"]] == [
        "rpc.discover",
        "text.get",
        "users.id.delete",
        "users.id.get",
    ]
    [_, text, delete, get] = document["methods"]
    assert get == {
        "name": "users.id.get",
        "summary": "Read User",
        "description": "Read a user.\n\nBy the id.",
        "tags": [{"name": "users"}],
        "paramStructure": "by-name",
        "params": [
            {
                "name": "id",
                "required": True,
                "schema": {"title": "Id", "type": "integer"},
                "x-in": "path",
            },
            {
                "name": "full",
                "description": "All of it.",
                "schema": {"title": "Full", "type": "boolean", "default": False},
                "deprecated": True,
                "x-in": "query",
            },
            {
                "name": "x_key",
                "schema": {"title": "X-Key", "type": "string", "default": ""},
                "x-in": "header",
                "x-name": "x-key",
            },
        ],
        "result": {"name": "result", "schema": {"$ref": "#/components/schemas/User"}},
        "errors": [
            {"$ref": "#/components/errors/nobody"},
            {"$ref": "#/components/errors/validation_error"},
        ],
        "x-route": "GET /users/{id}",
    }
    assert document["components"]["errors"] == {
        "nobody": {"code": -32001, "message": "Nobody", "data": {"status": 404}},
        "validation_error": {
            "code": -32602,
            "message": "Validation Error",
            "data": {"status": 422},
        },
    }
    assert document["components"]["schemas"]["User"]["description"] == "Somebody."
    assert delete["deprecated"] is True
    assert delete["result"]["schema"] == {"type": "null"}
    assert text["result"]["schema"] == {"type": "string"}


@pytest.mark.req("O-08")
def test_the_shop_is_described_without_a_fault() -> None:
    document = expose(make_shop()).document("http://example.com/rpc/")
    assert lint(document) == []
    assert len(document["methods"]) > 40


def test_what_the_application_says_about_itself_is_in_the_document() -> None:
    app = users(
        terms_of_service="https://example.com/terms",
        contact={"name": "Ann", "email": "ann@example.com"},
        license_info={"name": "MIT", "url": "https://example.com/mit"},
        openapi_tags=[{"name": "users", "description": "All about users."}],
    )
    document = expose(
        app, title="Others", version="2.1", servers=["https://example.com/rpc"]
    ).document()
    assert document["info"] == {
        "title": "Others",
        "version": "2.1",
        "description": "People.",
        "termsOfService": "https://example.com/terms",
        "contact": {"name": "Ann", "email": "ann@example.com"},
        "license": {"name": "MIT", "url": "https://example.com/mit"},
    }
    assert document["components"]["tags"] == {
        "users": {"name": "users", "description": "All about users."}
    }


def test_routes_join_the_methods_of_a_router() -> None:
    router = Router()
    router.add(lambda: None, "own")
    api = expose(
        users(), router=router, include="/users/*", exclude="DELETE /users/*", prefix="web."
    )
    assert api.router is router
    assert sorted(router.methods) == ["own", "rpc.discover", "web.users.id.get"]


def test_nested_parameters_are_objects() -> None:
    api = expose(users(), include="GET /users/*", nested=True)
    [_, get] = api.document()["methods"]
    assert [each["name"] for each in get["params"]] == ["path", "query", "headers"]


def test_an_application_without_a_name_gets_one() -> None:
    async def hello(request: Request) -> JSONResponse:
        return JSONResponse("hello")

    app = Starlette(routes=[Route("/hello", hello)])
    document = expose(app).document()
    assert document["info"] == {"title": "API", "version": "0.1.0"}
    assert document["methods"][0]["name"] == "hello.get"


async def test_an_application_of_another_kind_is_described_by_openapi() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await JSONResponse({"path": scope["path"]})(scope, receive, send)

    openapi = {
        "openapi": "3.1.0",
        "info": {"title": "Plain", "version": "7", "contact": {"url": "not a url"}},
        "paths": {"/a": {"get": {"operationId": "a"}}},
    }
    api = expose(app, openapi=openapi, naming="operation")
    assert api.document()["info"] == {"title": "Plain", "version": "7"}
    async with client(api) as http:
        message = {"jsonrpc": "2.0", "id": 1, "method": "a"}
        assert (await http.post("/", json=message)).json()["result"] == {"path": "/a"}


def test_two_routes_of_one_name_stop_the_start() -> None:
    with pytest.raises(RegistrationError, match=r"method 'same' would be GET .* and DELETE"):
        expose(users(), naming=lambda route: "same")


# An application that nobody else starts


def started(log: list[str]) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        log.append("begun")
        yield
        log.append("ended")

    app = FastAPI(lifespan=lifespan)

    @app.get("/log")
    async def read() -> list[str]:
        return log

    return app


async def test_an_application_behind_the_whole_api_is_begun_and_ended_with_it() -> None:
    log: list[str] = []
    events = iter(["lifespan.startup", "lifespan.shutdown"])
    sent: list[str] = []

    async def receive() -> Any:
        return {"type": next(events)}

    async def send(event: Any) -> None:
        sent.append(event["type"])
        log.append(event["type"])

    await expose(started(log))({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)
    assert log == ["begun", "lifespan.startup.complete", "ended", "lifespan.shutdown.complete"]


async def test_an_application_that_cannot_begin_stops_the_start() -> None:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        raise OSError("no database")
        yield

    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(event: Any) -> None:
        sent.append(event)

    api = expose(FastAPI(lifespan=lifespan))
    await api({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)
    [event] = sent
    assert event["type"] == "lifespan.startup.failed"
    assert "no database" in event["message"]


async def test_exposed_routes_are_served_on_any_transport() -> None:
    log: list[str] = []
    async with (
        expose(started(log)) as api,
        serve(api.router, "memory:exposed"),
        connect("memory:exposed") as peer,
    ):
        assert await peer.call("log.get") == ["begun"]
    assert log == ["begun", "ended"]
