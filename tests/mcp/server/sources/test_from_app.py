"""The routes of a web application as tools and resources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI, Header, HTTPException, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel

from accord import RegistrationError, RpcError
from accord.mcp import Client, ImageContent, Principal, ResourceContents, Server, ToolAnnotations
from accord.mcp.client.client import Mode
from tests.mcp.server.direct import Caller

pytestmark = pytest.mark.req("M-16")


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


class Cup(BaseModel):
    id: int
    name: str


EVENTS: list[str] = []


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    EVENTS.append("begin")
    yield
    EVENTS.append("end")


def shop() -> FastAPI:
    app = FastAPI(title="Shop", version="2.0", lifespan=lifespan)

    @app.get("/cups/{id}")
    async def read_cup(id: int, big: bool = False) -> Cup:
        """One cup."""
        if id == 0:
            raise HTTPException(404, "no such cup")
        return Cup(id=id, name="big" if big else "small")

    @app.post("/cups")
    async def add_cup(cup: Cup) -> list[Cup]:
        return [cup]

    @app.delete("/cups/{id}", status_code=204)
    async def remove_cup(id: int) -> None: ...

    @app.get("/picture")
    async def picture() -> Response:
        return Response(b"GIF8", media_type="image/gif")

    @app.get("/readme", response_class=PlainTextResponse)
    async def readme() -> str:
        return "read me"

    @app.get("/me")
    async def me(request: Request, authorization: str = Header("nobody")) -> dict[str, str]:
        principal = getattr(request.state, "principal", None)
        return {
            "authorization": authorization,
            "other": request.headers.get("x-other", ""),
            "subject": "" if principal is None else principal.subject,
        }

    @app.get("/broken")
    async def broken() -> None:
        raise OSError("secret")

    return app


async def test_routes_are_described_as_tools(mode: Mode) -> None:
    async with Client(Server.from_app(shop()), mode=mode) as client:
        assert client.server is not None
        assert (client.server.name, client.server.version) == ("Shop", "2.0")
        tools = {tool.name: tool for tool in await client.list_tools()}
    assert list(tools) == [
        *("read_cup", "add_cup", "remove_cup", "picture", "readme", "me", "broken"),
    ]
    cup = tools["read_cup"]
    assert (cup.title, cup.description) == ("Read Cup", "One cup.")
    assert cup.input_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "title": "Id"},
            "big": {"type": "boolean", "title": "Big", "default": False},
        },
        "required": ["id"],
    }
    assert cup.annotations == ToolAnnotations(read_only_hint=True)
    assert tools["remove_cup"].annotations == ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True
    )
    assert cup.output_schema is not None
    assert tools["picture"].output_schema is None


async def test_routes_are_called_through_the_application(mode: Mode) -> None:
    async with Client(Server.from_app(shop()), mode=mode) as client:
        cup = await client.call_tool("read_cup", {"id": 3, "big": True})
        cups = await client.call_tool("add_cup", {"id": 4, "name": "new"})
        gone = await client.call_tool("remove_cup", {"id": 3})
        picture = await client.call_tool("picture")
        readme = await client.call_tool("readme")
    assert cup.structured == {"id": 3, "name": "big"}
    assert cups.text == '[{"id":4,"name":"new"}]'
    assert gone.content == []
    assert picture.content == [ImageContent.of(b"GIF8", "image/gif")]
    assert readme.text == "read me"


async def test_what_an_application_refuses_is_told_to_the_model(mode: Mode) -> None:
    async with Client(Server.from_app(shop()), mode=mode) as client:
        missing = await client.call_tool("read_cup", {"id": 0})
        wrong = await client.call_tool("read_cup", {"id": "x"})
        unknown = await client.call_tool("read_cup", {"id": 1, "color": "red"})
        broken = await client.call_tool("broken")
    assert (missing.is_error, missing.text) == (True, "404 Not Found: no such cup")
    assert wrong.is_error
    assert "'id'" in wrong.text
    assert unknown.is_error
    assert "color" in unknown.text
    assert broken.is_error
    assert "secret" not in broken.text


async def test_routes_may_be_resources(mode: Mode) -> None:
    server = Server.from_app(shop(), resources=["/cups/*", "/picture", "/readme"])
    async with Client(server, mode=mode) as client:
        assert [tool.name for tool in await client.list_tools()] == [
            *("add_cup", "remove_cup", "me", "broken"),
        ]
        listed = [it.uri for it in await client.list_resources()]
        assert listed == ["app:///picture", "app:///readme"]
        (template,) = await client.list_resource_templates()
        assert template.uri_template == "app:///cups/{id}{?big}"
        cup = await client.read_resource("app:///cups/3?big=true")
        picture = await client.read_resource("app:///picture")
        readme = await client.read_resource("app:///readme")
        with pytest.raises(RpcError, match="Resource not found"):
            await client.read_resource("app:///cups/0")
    assert cup.contents == [
        ResourceContents.of("app:///cups/3?big=true", '{"id":3,"name":"big"}', "application/json")
    ]
    assert picture.contents[0].blob == "R0lGOA=="
    assert readme.contents == [ResourceContents.of("app:///readme", "read me", "text/plain")]


async def test_routes_are_chosen_and_named() -> None:
    server = Server.from_app(
        shop(), name="cups", include="/cups/*", exclude="DELETE /cups/*", naming="method"
    )
    assert server.info.name == "cups"
    assert server.tools.names() == ["get_cups_id"]
    with pytest.raises(RegistrationError, match="no route matches"):
        Server.from_app(shop(), include="/nope")


async def test_the_application_lives_with_the_server() -> None:
    EVENTS.clear()
    async with Client(Server.from_app(shop())) as client:
        await client.ping()
        assert EVENTS == ["begin"]
    assert EVENTS == ["begin", "end"]
    async with Client(Server.from_app(shop(), start_app=False)) as client:
        assert (await client.call_tool("readme")).text == "read me"
    assert EVENTS == ["begin", "end"]


async def test_the_application_knows_the_caller_and_the_headers_it_may() -> None:
    server = Server.from_app(shop())
    caller = Caller(Principal(subject="ada"), authorization="Bearer t", x_other="o")
    answer = await caller.ask(server, "tools/call", name="me", arguments={})
    assert answer["result"]["structuredContent"] == {
        "authorization": "Bearer t",
        "other": "",
        "subject": "ada",
    }


async def test_an_application_may_be_known_by_its_document_alone(mode: Mode) -> None:
    app = shop()

    async def asgi(scope: object, receive: object, send: object) -> None:
        await app(scope, receive, send)  # type: ignore[arg-type]

    server = Server.from_app(asgi, openapi=app.openapi(), naming="method")
    async with Client(server, mode=mode) as client:
        assert (await client.call_tool("get_cups_id", {"id": 3})).structured == {
            "id": 3,
            "name": "small",
        }
