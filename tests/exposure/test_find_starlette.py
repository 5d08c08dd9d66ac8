"""Routes of Starlette applications, which declare no more than their paths."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route as StarletteRoute, Router, WebSocketRoute

from accord import RegistrationError
from accord.exposure import Route, RouteParameter, find_routes, rpc_hidden, rpc_name
from accord.schema.schema import Schema


async def answer(request: Request) -> Response:
    """Answer.

    In any way.
    ---
    responses: not for readers
    """
    return Response()


def path_parameter(name: str, schema: dict[str, Any], *, slashes: bool = False) -> RouteParameter:
    return RouteParameter(
        name=name,
        wire_name=name,
        location="path",
        schema=Schema(schema),
        required=True,
        style="simple",
        explode=False,
        slashes=slashes,
    )


def test_a_route_offers_its_path_a_query_and_a_body() -> None:
    app = Starlette(routes=[StarletteRoute("/users/{id:int}", answer, methods=["PUT"])])
    query = {
        "type": "object",
        "additionalProperties": {
            "type": ["string", "number", "boolean", "array"],
            "items": {"type": ["string", "number", "boolean"]},
        },
    }
    said = "What goes into the query string, by name; an array gives a name several values."
    assert find_routes(app) == [
        Route(
            method="PUT",
            path="/users/{id}",
            parameters=(
                path_parameter("id", {"type": "integer", "minimum": 0}),
                RouteParameter(
                    name="query",
                    wire_name="",
                    location="query",
                    schema=Schema(query),
                    description=said,
                ),
                RouteParameter(
                    name="body", wire_name="", location="body", description="The body, as JSON."
                ),
            ),
            body="json",
            name="answer",
            summary="Answer.",
            description="In any way.",
        )
    ]


class LocaleConvertor(Convertor[str]):
    regex = "[a-z]{2}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


@pytest.mark.parametrize(
    ("convertor", "schema", "slashes"),
    [
        ("", {"type": "string"}, False),
        (":str", {"type": "string"}, False),
        (":int", {"type": "integer", "minimum": 0}, False),
        (":float", {"type": "number", "minimum": 0}, False),
        (":uuid", {"type": "string", "format": "uuid"}, False),
        (":path", {"type": "string"}, True),
        (":locale", {"type": "string"}, False),
    ],
)
def test_convertors_give_types(convertor: str, schema: dict[str, Any], slashes: bool) -> None:
    register_url_convertor("locale", LocaleConvertor())
    app = Starlette(routes=[StarletteRoute(f"/it/{{value{convertor}}}", answer)])
    [found] = find_routes(app)
    assert found.path == "/it/{value}"
    assert found.parameters[0] == path_parameter("value", schema, slashes=slashes)


def test_mounts_and_routers_are_walked_through() -> None:
    deep = Router([StarletteRoute("/", answer), StarletteRoute("/x", answer)])
    app = Starlette(
        routes=[
            Mount("/a/{a}", routes=[Mount("/b", deep)]),
            Mount("/plain", app=Starlette(routes=[StarletteRoute("/y", answer)])),
            WebSocketRoute("/socket", lambda socket: None),
            StarletteRoute("/hidden", answer, include_in_schema=False),
        ]
    )
    assert [str(each) for each in find_routes(app)] == [
        "GET /a/{a}/b/",
        "GET /a/{a}/b/x",
        "GET /plain/y",
    ]


class Users(HTTPEndpoint):
    """Users."""

    @rpc_name("users.find")
    async def get(self, request: Request) -> Response:
        """Find one."""
        return Response()

    @rpc_hidden
    async def delete(self, request: Request) -> Response:
        return Response()

    async def post(self, request: Request) -> Response:
        return Response()


@pytest.mark.req("O-05")
def test_a_class_gives_a_route_for_each_method_that_it_has() -> None:
    app = Starlette(routes=[StarletteRoute("/users", Users)])
    found = [(str(it), it.rpc_name, it.hidden, it.summary) for it in find_routes(app)]
    assert found == [
        ("GET /users", "users.find", False, "Find one."),
        ("POST /users", "", False, "Users."),
        ("DELETE /users", "", True, "Users."),
    ]


def test_an_application_as_endpoint_is_only_known_by_the_methods_it_is_given() -> None:
    class Application:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

    app = Starlette(
        routes=[
            StarletteRoute("/any", Application()),
            StarletteRoute("/post", Application(), methods=["POST"], name="post"),
        ]
    )
    assert [str(each) for each in find_routes(app)] == ["POST /post"]


def test_parameters_called_query_or_body_keep_their_names() -> None:
    app = Starlette(routes=[StarletteRoute("/{query}/{body}", answer, methods=["POST"])])
    [found] = find_routes(app)
    assert [each.name for each in found.parameters] == ["query", "body", "query_query", "body_body"]


def test_an_application_mounted_in_itself_is_refused() -> None:
    app = Starlette()
    app.mount("/again", app)
    with pytest.raises(
        RegistrationError,
        match=r"^applications are mounted in each other more than 32 levels deep, and that is the",
    ):
        find_routes(app)


def test_an_application_of_another_kind_needs_its_document() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    expected = (
        "the routes of builtins.function cannot be known: it is no application of Starlette or "
        "FastAPI; give its OpenAPI document as openapi=…"
    )
    with pytest.raises(RegistrationError, match=f"^{re.escape(expected)}$"):
        find_routes(app)


def test_middleware_around_itself_is_no_application() -> None:
    class Around:
        app: Any

    around = Around()
    around.app = around
    with pytest.raises(RegistrationError, match="cannot be known"):
        find_routes(around)


LEAN = """
import sys
from accord.exposure import find_routes

document = {"openapi": "3.1.0", "paths": {"/users": {"get": {}}}}
print([str(each) for each in find_routes(print, openapi=document)], "starlette" in sys.modules)

from starlette.applications import Starlette
from starlette.routing import Route

app = Starlette(routes=[Route("/users", lambda request: None)])
print([str(each) for each in find_routes(app)], "fastapi" in sys.modules)
"""


def test_nothing_is_loaded_that_the_program_does_not_use() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", LEAN], capture_output=True, text=True, check=True
    ).stdout
    assert printed == "['GET /users'] False\n['GET /users'] False\n"
