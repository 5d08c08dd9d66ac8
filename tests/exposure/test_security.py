"""Credentials that routes declare: they are in the document, and go along with calls."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, Query, Security, UploadFile
from fastapi.security import (
    APIKeyCookie,
    APIKeyHeader,
    APIKeyQuery,
    HTTPBasic,
    HTTPBasicCredentials,
    HTTPBearer,
    OAuth2PasswordBearer,
)
from pydantic import BaseModel

from accord import Router, connect, serve
from accord.exposure.find import find_routes
from accord.exposure.in_process import Exposed, InProcess
from accord.exposure.request_body import described
from accord.exposure.routes import name_routes, rpc_name
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError
from accord.mcp import Client, Server
from accord.openrpc import Api, expose
from accord.openrpc.linter import lint
from tests.openrpc.judges import Judges

HEADER = APIKeyHeader(name="X-Key", auto_error=False)
QUERY = APIKeyQuery(name="api key", auto_error=False)
COOKIE = APIKeyCookie(name="sid", auto_error=False)
BEARER = HTTPBearer(auto_error=False)
BASIC = HTTPBasic(auto_error=False)
OAUTH = OAuth2PasswordBearer(tokenUrl="login", auto_error=False)


class Item(BaseModel):
    size: int = 1
    tags: list[int] = []


def guarded() -> FastAPI:
    """An application that answers with the credentials that it was shown."""
    app = FastAPI()

    @app.get("/keys")
    def keys(
        header: Annotated[str | None, Security(HEADER)],
        query: Annotated[str | None, Security(QUERY)],
        cookie: Annotated[str | None, Security(COOKIE)],
    ) -> list[str | None]:
        return [header, query, cookie]

    @app.get("/bearer")
    def bearer(shown: Annotated[Any, Security(BEARER)]) -> str | None:
        return shown and str(shown.credentials)

    @app.get("/basic")
    def basic(shown: Annotated[HTTPBasicCredentials | None, Security(BASIC)]) -> str | None:
        return shown.username if shown else None

    @app.get("/oauth")
    def oauth(shown: Annotated[str | None, Security(OAUTH, scopes=["read"])]) -> str | None:
        return shown

    @app.get("/open")
    def opened(seen: Annotated[str | None, Query(alias="api key")] = None) -> str | None:
        return seen

    @app.put("/items/{id}")
    def put_item(
        id: int,
        item: Item,
        size: Annotated[int, Query(ge=1)] = 1,
        many: Annotated[list[int], Query()] = [],  # noqa: B006 - read by FastAPI alone
    ) -> int:
        return id

    @app.post("/files")
    @rpc_name("upload")
    async def upload(file: UploadFile, more: list[UploadFile], note: str = "") -> list[str]:
        return [(await file.read()).decode(), str(file.filename), *(str(x.filename) for x in more)]

    return app


HEADERS = {
    "x-key": "h",
    "cookie": "theme=dark; sid=c; more=1",
    "authorization": "Bearer t",
    "x-other": "no",
}


def api_of(**options: Any) -> Api:
    return expose(guarded(), **options)


@pytest.fixture(params=["ours", "asgi"])
async def http(request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the endpoint `/rpc`, on our server or mounted into the application."""
    if request.param == "ours":
        async with (
            serve(api_of().router, "http://127.0.0.1:0/rpc") as server,
            httpx.AsyncClient(base_url=server.url.removesuffix("/rpc")) as client,
        ):
            yield client
        return
    app = guarded()
    expose(app, at="/rpc")
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def ask(http: httpx.AsyncClient, method: str, url: str = "/rpc", **headers: str) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    answer = await http.post(url, json=message, headers={**HEADERS, **headers})
    return answer.json()["result"]


@pytest.mark.req("O-17")
async def test_declared_credentials_of_the_caller_go_along(http: httpx.AsyncClient) -> None:
    assert await ask(http, "keys.get", "/rpc?other=1&api+key=q%20q&x=2") == ["h", "q q", "c"]
    assert await ask(http, "keys.get") == ["h", None, "c"]
    assert await ask(http, "bearer.get") == "t"
    assert await ask(http, "oauth.get") == "t"
    basic = base64.b64encode(b"ann:secret").decode()
    assert await ask(http, "basic.get", authorization=f"Basic {basic}") == "ann"


@pytest.mark.req("O-17")
async def test_routes_that_declare_nothing_are_shown_nothing(http: httpx.AsyncClient) -> None:
    assert await ask(http, "open.get", "/rpc?api+key=q") is None


@pytest.mark.req("O-17")
@pytest.mark.parametrize("declares", [True, False])
async def test_credentials_go_along_over_a_websocket(declares: bool) -> None:
    async with (
        serve(api_of().router, "ws://127.0.0.1:0/rpc") as server,
        connect(f"{server.url}?other=1&api+key=q%20q", headers=HEADERS) as peer,
    ):
        if declares:
            assert await peer.call("keys.get") == ["h", "q q", "c"]
            assert await peer.call("bearer.get") == "t"
        else:
            assert await peer.call("open.get") is None


async def seen(forward: list[str], name: str, **options: Any) -> Any:
    """What a route was shown where these headers are forwarded."""
    app = guarded()
    route = name_routes(find_routes(app))[name]
    in_process = InProcess(app, forward=forward)
    scope = {"query_string": b"api+key=q"}
    raw = await in_process.call(route, options.get("arguments", {}), headers=HEADERS, scope=scope)
    return bytes(raw)


@pytest.mark.req("O-17")
async def test_an_empty_forward_keeps_everything_back() -> None:
    assert await seen([], "keys.get") == b"[null,null,null]"
    assert await seen([], "bearer.get") == b"null"
    assert await seen(["x-other"], "keys.get") == b'["h","q","c"]'
    assert await seen(["x-other"], "bearer.get") == b'"t"'
    assert await seen(["cookie"], "keys.get") == b'["h","q","c"]'


@pytest.mark.req("O-17")
async def test_an_argument_stands_before_a_key_of_the_caller() -> None:
    app = FastAPI()

    @app.get("/both")
    def both(
        key: Annotated[str | None, Security(QUERY)], own: Annotated[str, Query(alias="api key")]
    ) -> list[str | None]:
        return [key, own]

    route = name_routes(find_routes(app))["both.get"]
    raw = await InProcess(app).call(
        route, {"api_key": "mine"}, scope={"query_string": b"api+key=theirs&a"}
    )
    assert bytes(raw) == b'["mine","mine"]'


@pytest.mark.req("O-17")
async def test_tools_of_mcp_are_the_same_routes() -> None:
    async with Client(Server.from_app(guarded(), naming="path")) as client:
        tool = next(each for each in await client.list_tools() if each.name == "upload")
        assert tool.input_schema["properties"]["file"]["anyOf"][0] == BASE64


# The document

BASE64 = {"type": "string", "contentEncoding": "base64"}


def methods() -> dict[str, Any]:
    return {each["name"]: each for each in api_of().document()["methods"]}


@pytest.mark.req("O-18")
def test_the_document_says_what_is_called_and_where_each_value_goes() -> None:
    put = methods()["items.id.put"]
    assert put["x-route"] == "PUT /items/{id}"
    assert [(each["name"], each["x-in"], each.get("x-name")) for each in put["params"]] == [
        ("id", "path", None),
        ("size", "query", None),
        ("many", "query", None),
        ("size_body", "body", "size"),
        ("tags", "body", None),
    ]
    [nested] = [
        each
        for each in expose(guarded(), nested=True).document()["methods"]
        if each["name"] == "items.id.put"
    ]
    assert {each["name"]: each["x-in"] for each in nested["params"]} == {
        "path": "path",
        "body": "body",
        "query": "query",
    }
    assert "x-in" not in methods()["rpc.discover"]


@pytest.mark.req("O-18")
def test_the_document_names_security_schemes() -> None:
    document = api_of().document()
    assert document["x-securitySchemes"] == {
        "APIKeyCookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
        "APIKeyHeader": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "APIKeyQuery": {"type": "apiKey", "in": "query", "name": "api key"},
        "HTTPBasic": {"type": "http", "scheme": "basic"},
        "HTTPBearer": {"type": "http", "scheme": "bearer"},
        "OAuth2PasswordBearer": {
            "type": "oauth2",
            "flows": {"password": {"scopes": {}, "tokenUrl": "login"}},
        },
    }
    by_name = {each["name"]: each.get("x-security") for each in document["methods"]}
    assert by_name["keys.get"] == [{"APIKeyHeader": []}, {"APIKeyQuery": []}, {"APIKeyCookie": []}]
    assert by_name["oauth.get"] == [{"OAuth2PasswordBearer": ["read"]}]
    assert by_name["open.get"] is None


@pytest.mark.req("O-18")
def test_schemes_of_one_name_are_told_apart() -> None:
    other = FastAPI()

    @other.get("/other")
    def mine(key: Annotated[str, Security(APIKeyHeader(name="X-Mine"))]) -> str:
        return key

    router = Router()
    for app in (guarded(), other):
        for name, route in name_routes(find_routes(app)).items():
            router.add(Exposed(InProcess(app), route), name)
    api = Api(router, title="t", version="1")
    schemes = api.document()["x-securitySchemes"]
    assert {schemes["APIKeyHeader"]["name"], schemes["APIKeyHeader_2"]["name"]} == {
        "X-Key",
        "X-Mine",
    }
    [said] = [each for each in api.document()["methods"] if each["name"] == "other.get"]
    assert schemes[next(iter(said["x-security"][0]))]["name"] == "X-Mine"


@pytest.fixture(scope="module")
def judges() -> Judges:
    return Judges()


@pytest.mark.req("O-18")
def test_the_document_is_valid(judges: Judges) -> None:
    document = api_of().document("http://example.com/rpc")
    assert lint(document) == []
    assert judges.meta_schema(document) == []
    assert judges.schema_utils(document) == ["ok"]


@pytest.mark.req("O-18")
def test_a_security_of_the_whole_document_counts_where_an_operation_has_none() -> None:
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "security": [{"mtls": []}, {}],
        "paths": {"/a": {"get": {}, "post": {"security": []}}},
        "components": {
            "securitySchemes": {
                "mtls": {"$ref": "#/components/securitySchemes/tls"},
                "tls": {"type": "mutualTLS"},
                "lost": {"type": "apiKey", "in": "body", "name": "x"},
            }
        },
    }
    get, post = find_routes(None, openapi=document)
    assert get.security.requirements == ({"mtls": []}, {})
    assert [(each.name, each.place) for each in get.security.schemes] == [("mtls", "")]
    assert post.security.requirements == ()
    document["security"] = [{"nobody": []}]
    with pytest.raises(RegistrationError, match="there is no security scheme 'nobody'"):
        find_routes(None, openapi=document)
    document["security"] = [{"lost": []}]
    with pytest.raises(RegistrationError, match="'in' is one of header, query, cookie"):
        find_routes(None, openapi=document)


# Uploads


@pytest.mark.req("O-18")
def test_uploads_say_how_files_are_given() -> None:
    upload = methods()["upload"]
    file, more = (each for each in upload["params"] if each["name"] in ("file", "more"))
    base64_text, file_object = file["schema"]["anyOf"]
    assert base64_text == BASE64
    assert file_object["properties"]["data"] == BASE64
    assert file_object["required"] == ["data"]
    assert "base64" in file["description"]
    assert more["schema"]["items"]["anyOf"] == file["schema"]["anyOf"]


@pytest.mark.parametrize("form", ["as text", "as an object"])
async def test_files_are_taken_as_they_are_described(form: str) -> None:
    app = guarded()
    route = name_routes(find_routes(app))["upload"]
    data = base64.b64encode(b"hello").decode()
    file: Any = data if form == "as text" else {"data": data, "filename": "a.txt"}
    raw = await InProcess(app).call(route, {"file": file, "more": [file]})
    name = "file" if form == "as text" else "a.txt"
    assert bytes(raw).decode() == f'["hello","{name}","{name.replace("file", "more")}"]'


@pytest.mark.req("O-19")
async def test_a_file_that_is_missing_is_asked_for() -> None:
    app = guarded()
    route = name_routes(find_routes(app))["upload"]
    with pytest.raises(InvalidParamsError, match="'file': expected a file, got nothing"):
        await InProcess(app).call(route, {"more": []})


def test_a_body_of_bytes_says_that_it_is_base64() -> None:
    document = {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "paths": {
            "/raw": {
                "put": {
                    "requestBody": {
                        "content": {
                            "application/pdf": {"schema": {"type": "string", "format": "binary"}}
                        }
                    }
                }
            }
        },
    }
    [route] = find_routes(None, openapi=document)
    [shown] = (described(route, each) for each in route.parameters)
    assert (shown.schema.value, shown.description) == (BASE64, "The content, in base64.")


# Errors


@pytest.mark.req("O-19")
@pytest.mark.parametrize(
    ("arguments", "path", "expected", "got"),
    [
        ({"size": 0}, "size", "greater than or equal to 1", "int"),
        ({"size": "0"}, "size", "greater than or equal to 1", "str"),
        ({"size": True}, "size", "a valid integer", "bool"),
        ({"size": 1.5}, "size", "a valid integer", "float"),
        ({"size_body": "x"}, "size_body", "a valid integer", "str"),
        ({"tags": [1, None]}, "tags[1]", "a valid integer", "null"),
        ({"tags": [1, {"a": 1}]}, "tags[1]", "a valid integer", "object"),
        ({"id": False}, "id", "a valid integer", "bool"),
        ({"tags": [1.5]}, "tags[0]", "a valid integer", "float"),
        ({"many": ["x"]}, "many[0]", "a valid integer", "str"),
        ({"many": 1.5}, "many", "a valid integer", "float"),
        ({"many": False}, "many", "a valid integer", "bool"),
    ],
)
async def test_errors_speak_of_what_the_caller_sent(
    arguments: dict[str, Any], path: str, expected: str, got: str
) -> None:
    app = guarded()
    route = name_routes(find_routes(app))["items.id.put"]
    with pytest.raises(InvalidParamsError) as refused:
        await InProcess(app).call(route, {"id": 1, "tags": [], **arguments})
    data = refused.value.data
    assert (data["path"], data["expected"], data["got"]) == (path, expected, got)
    assert f"expected {expected}, got {got}" in refused.value.message


@pytest.mark.req("O-19")
async def test_errors_speak_of_what_the_caller_sent_in_the_nested_form() -> None:
    app = guarded()
    route = name_routes(find_routes(app, nested=True))["items.id.put"]
    with pytest.raises(InvalidParamsError) as refused:
        await InProcess(app).call(route, {"path": {"id": 1}, "query": {"size": 0}, "body": {}})
    assert (refused.value.data["path"], refused.value.data["got"]) == ("query.size", "int")


@pytest.mark.req("O-19")
async def test_a_null_that_was_left_out_is_what_came() -> None:
    app = FastAPI()

    @app.get("/need")
    def need(size: int) -> int:
        return size

    route = name_routes(find_routes(app))["need.get"]
    with pytest.raises(InvalidParamsError, match="expected a value, got null"):
        await InProcess(app).call(route, {"size": None})
