"""Routes of FastAPI applications: which are found, and what they take and answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Cookie, FastAPI, File, Header, Query, UploadFile
from msgspec import UNSET
from pydantic import BaseModel, ConfigDict
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Host, Mount, Route as StarletteRoute, Router
from starlette.staticfiles import StaticFiles

from accord.exposure import (
    Route,
    RouteParameter,
    RouteResponse,
    find_routes,
    name_routes,
    rpc_hidden,
    rpc_name,
    select,
)
from accord.schema.schema import Schema
from tests.exposure.shop import make_shop

NUMBER = Schema({"type": "integer", "minimum": 1, "description": "The number on the box."})


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    first: int
    second: list[str] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


def route(app: Any, name: str, **options: Any) -> Route:
    """The route that is called `GET /path` in the application."""
    return {str(each): each for each in find_routes(app, **options)}[name]


def parameters(found: Route) -> list[str]:
    """The names of a route's parameters, those that may be left out with a `?`."""
    return [each.name if each.required else f"{each.name}?" for each in found.parameters]


@pytest.mark.req("O-02")
def test_all_routes_of_a_shop_are_found_with_their_parameters() -> None:
    found = {str(each): " ".join(parameters(each)) for each in find_routes(make_shop())}
    assert found == {
        "GET /products": "q? tag? availability? offset? limit?",
        "POST /products": "name price description? tags? attributes?",
        "GET /products/filtered": "min_price? tags? order_by?",
        "GET /products/export": "",
        "GET /products/search/{phrase}": "phrase",
        "GET /products/{product_id}": "product_id if_none_match?",
        "PUT /products/{product_id}": "product_id name price description? tags? attributes?",
        "PATCH /products/{product_id}": "product_id name? price? availability?",
        "DELETE /products/{product_id}": "product_id",
        "GET /products/{product_id}/picture": "product_id",
        "GET /products/{product_id}/reviews": "product_id",
        "POST /products/{product_id}/reviews": "product_id review notify?",
        "GET /categories": "",
        "PUT /categories/{name}": "name name_body dry? children?",
        "PUT /categories/{name}/order": "name body",
        "GET /orders": "id?",
        "POST /orders": "lines x_request_id? gift? deliverOn?",
        "POST /orders/bulk": "body",
        "GET /orders/{order_id}": "order_id",
        "POST /orders/{order_id}/pay": "order_id body",
        "POST /orders/{order_id}/cancel": "order_id",
        "GET /orders/{order_id}/invoice": "order_id",
        "GET /orders/{order_id}/parcel": "order_id",
        "POST /login": "username password grant_type? scope? client_id? client_secret?",
        "GET /me": "",
        "PUT /me/address": "street city country",
        "DELETE /me/address": "",
        "GET /me/view": "theme? last_seen?",
        "POST /feedback": "topic text stars?",
        "GET /parcels/{code}": "code",
        "GET /quote": "on at? within? urgency? exact? weights?",
        "GET /headers": "x_trace? x_api_version?",
        "GET /catalogue": "old_style?",
        "GET /stats": "",
        "GET /home": "",
        "GET /licence": "",
        "GET /ticker": "",
        "POST /sum": "body",
        "POST /maybe": "body?",
        "GET /teapot": "",
        "GET /crash": "",
        "GET /admin/customers/{name}": "name",
        "POST /admin/opening": "opened",
        "GET /legacy/stock/{id}": "id query?",
        "POST /legacy/notes": "query? body?",
        "GET /legacy/shelves/{place}": "place query?",
        "DELETE /legacy/shelves/{place}": "place query?",
    }


def test_a_route_says_all_that_the_application_says_of_it() -> None:
    found = route(make_shop(), "GET /products/{product_id}/picture")
    assert found == Route(
        method="GET",
        path="/products/{product_id}/picture",
        parameters=(
            RouteParameter(
                name="product_id",
                wire_name="product_id",
                location="path",
                schema=Schema({**NUMBER.value, "title": "Product Id"}),
                required=True,
                description="The number on the box.",
                style="simple",
                explode=False,
            ),
        ),
        responses=found.responses,
        name="get_picture",
        tags=("products",),
        summary="Get Picture",
    )
    assert [(each.status, each.description, each.media_type) for each in found.responses] == [
        (200, "Successful Response", "image/png"),
        (404, "Not Found", "application/json"),
        (422, "Validation Error", "application/json"),
    ]
    assert found.success == RouteResponse(200, "Successful Response", None, "image/png")


def test_the_schema_of_an_answer_comes_with_what_it_refers_to() -> None:
    success = route(make_shop(), "GET /categories").success
    assert success is not None
    assert success.schema == Schema(
        {"$ref": "#/$defs/Category-Output"},
        {
            "Category-Output": {
                "type": "object",
                "title": "Category",
                "properties": {
                    "name": {"type": "string", "title": "Name"},
                    "children": {
                        "type": "array",
                        "title": "Children",
                        "items": {"$ref": "#/$defs/Category-Output"},
                        "default": [],
                    },
                },
                "required": ["name"],
            }
        },
    )


def test_defaults_deprecations_and_descriptions_are_kept() -> None:
    listing = route(make_shop(), "GET /products")
    defaults = {each.name: each.default for each in listing.parameters}
    assert defaults == {
        "q": UNSET,
        "tag": UNSET,
        "availability": UNSET,
        "offset": 0,
        "limit": 10,
    }
    old = route(make_shop(), "GET /catalogue")
    assert (old.deprecated, old.parameters[0].deprecated) == (True, True)
    assert (
        listing.description == "List products.\n\nIn the order of their numbers, a page at a time."
    )


def test_values_know_their_place_and_their_name_on_the_wire() -> None:
    shop = make_shop()
    places = {
        each.name: (each.location, each.wire_name, each.style, each.explode)
        for path in ("GET /headers", "GET /me/view", "GET /orders", "PUT /categories/{name}")
        for each in route(shop, path).parameters
    }
    assert places == {
        "x_trace": ("header", "x-trace", "simple", True),
        "x_api_version": ("header", "X-API-Version", "simple", True),
        "theme": ("cookie", "theme", "form", True),
        "last_seen": ("cookie", "last-seen", "form", True),
        "id": ("query", "id", "form", True),
        "name": ("path", "name", "simple", False),
        "name_body": ("body", "name", "form", True),
        "dry": ("query", "dry", "form", True),
        "children": ("body", "children", "form", True),
    }


@pytest.mark.parametrize(
    ("path", "form", "required"),
    [
        ("GET /products", "none", False),
        ("POST /orders", "json", True),
        ("POST /maybe", "json", False),
        ("POST /login", "form", True),
    ],
)
def test_the_form_of_the_body_is_known(path: str, form: str, required: bool) -> None:
    found = route(make_shop(), path)
    assert (found.body, found.body_required) == (form, required)


def test_only_a_path_convertor_lets_slashes_through() -> None:
    shop = make_shop()
    slashes = {
        path: route(shop, path).parameters[0].slashes
        for path in ("GET /products/search/{phrase}", "GET /products/{product_id}")
    }
    assert slashes == {"GET /products/search/{phrase}": True, "GET /products/{product_id}": False}


def test_reading_an_application_does_not_freeze_its_document() -> None:
    shop = make_shop()
    find_routes(shop)
    assert shop.openapi_schema is None

    @shop.get("/later")
    async def later() -> None: ...

    assert "/later" in shop.openapi()["paths"]


def test_routes_added_after_the_document_was_made_are_found() -> None:
    app = FastAPI()
    kept = app.openapi()

    @app.get("/later")
    async def later() -> None: ...

    assert [str(each) for each in find_routes(app)] == ["GET /later"]
    assert app.openapi_schema is kept


def test_an_application_without_docs_pages_is_read_all_the_same() -> None:
    app = FastAPI(openapi_url=None)
    app.get("/users")(lambda: None)
    assert [str(each) for each in find_routes(app)] == ["GET /users"]


def test_a_document_of_the_applications_own_making_is_what_counts() -> None:
    app = FastAPI()
    app.get("/users")(lambda: None)
    app.get("/secret")(lambda: None)
    made = app.openapi

    def own() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = made()
            del app.openapi_schema["paths"]["/secret"]
            app.openapi_schema["paths"]["/users"]["get"]["x-rpc-name"] = "everybody"
        return app.openapi_schema

    app.openapi = own  # type: ignore[method-assign]
    assert [(str(each), each.rpc_name) for each in find_routes(app)] == [
        ("GET /users", "everybody")
    ]
    assert app.openapi_schema is None


def test_a_document_that_is_given_stands_in_for_one_that_cannot_be_made() -> None:
    app = FastAPI()

    @app.get("/users/{rest:path}")
    async def read(rest: str) -> None: ...

    document = app.openapi()

    def fail() -> dict[str, Any]:
        raise AssertionError("it cannot be made")

    app.openapi = fail  # type: ignore[method-assign]
    [found] = find_routes(app, openapi=document)
    assert (str(found), found.name, found.parameters[0].slashes) == (
        "GET /users/{rest}",
        "read",
        True,
    )


def test_made_up_operation_ids_are_not_taken_for_names() -> None:
    app = FastAPI()
    app.get("/a", name="first")(lambda: None)
    app.get("/b", name="second", operation_id="theSecond")(lambda: None)
    own = APIRouter(generate_unique_id_function=lambda route: f"own-{route.name}")
    own.get("/c", name="third")(lambda: None)
    app.include_router(own, prefix="/own")
    assert [(each.operation_id, each.name) for each in find_routes(app)] == [
        ("", "first"),
        ("theSecond", "second"),
        ("own-third", "third"),
    ]


def test_what_is_no_call_is_left_out(tmp_path: Path) -> None:
    app = FastAPI()
    app.mount("/static", StaticFiles(directory=tmp_path))
    app.mount("/unknown", lambda scope, receive, send: None)  # type: ignore[arg-type, return-value]
    app.websocket("/socket")(lambda socket: None)
    app.head("/users")(lambda: None)
    app.options("/users")(lambda: None)
    app.trace("/users")(lambda: None)
    app.get("/private", include_in_schema=False)(lambda: None)
    app.router.routes.append(Host("api.example.com", app=Router()))

    @app.post("/upload")
    async def upload(file: UploadFile) -> None: ...

    app.get("/users")(lambda: None)
    assert [str(each) for each in find_routes(app)] == ["GET /users"]


def test_a_json_rpc_endpoint_in_the_application_is_left_out() -> None:
    class Endpoint:
        __accord_endpoint__ = True
        routes = ()

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

    app = FastAPI()
    app.get("/users")(lambda: None)
    app.mount("/rpc", Endpoint())
    app.router.routes.append(StarletteRoute("/other", Endpoint(), methods=["POST"]))
    app.router.routes.append(Mount("/third", GZipMiddleware(Endpoint())))
    assert [str(each) for each in find_routes(app)] == ["GET /users"]


@pytest.mark.req("O-05")
def test_a_name_given_on_purpose_brings_in_what_is_left_out_by_default() -> None:
    app = FastAPI()

    @app.get("/health/{part}", include_in_schema=False)
    @rpc_name("health")
    async def health(part: str, deep: bool = False) -> None: ...

    @app.post("/upload", openapi_extra={"x-rpc-name": "files.put"})
    async def upload(file: Annotated[bytes, File()], comment: str = "") -> None: ...

    found = name_routes(select(find_routes(app)))
    assert {name: (str(it), it.body, parameters(it)) for name, it in found.items()} == {
        "health": ("GET /health/{part}", "none", ["part", "query?"]),
        "files.put": ("POST /upload", "multipart", ["file", "comment?"]),
    }


@pytest.mark.req("O-05")
def test_routes_are_named_and_hidden_where_they_are_defined() -> None:
    app = FastAPI()

    @rpc_name("users.find")
    @app.get("/a")
    async def above() -> None: ...

    @app.get("/b")
    @rpc_name("users.keep")
    async def below() -> None: ...

    @app.get("/c")
    @rpc_hidden
    async def hidden() -> None: ...

    app.get("/d", openapi_extra={"x-rpc-hidden": True})(lambda: None)
    found = find_routes(app)
    assert [(str(each), each.rpc_name, each.hidden) for each in found] == [
        ("GET /a", "users.find", False),
        ("GET /b", "users.keep", False),
        ("GET /c", "", True),
        ("GET /d", "", True),
    ]
    assert list(name_routes(select(found))) == ["users.find", "users.keep"]


def test_routers_in_routers_give_their_prefixes_tags_and_parameters() -> None:
    inner = APIRouter(prefix="/rooms", tags=["rooms"])

    @inner.get("/{room}")
    async def read(house: int, room: str) -> None: ...

    @inner.get("/")
    async def listing(house: int) -> None: ...

    outer = APIRouter(prefix="/houses/{house}", tags=["houses"])
    outer.include_router(inner, deprecated=True)
    app = FastAPI()
    app.include_router(outer, prefix="/v1")
    app.include_router(inner, prefix="/v2", tags=["new"])
    assert [(str(it), parameters(it), it.tags, it.deprecated) for it in find_routes(app)] == [
        ("GET /v1/houses/{house}/rooms/{room}", ["house", "room"], ("houses", "rooms"), True),
        ("GET /v1/houses/{house}/rooms/", ["house"], ("houses", "rooms"), True),
        ("GET /v2/rooms/{room}", ["room", "house"], ("new", "rooms"), False),
        ("GET /v2/rooms/", ["house"], ("new", "rooms"), False),
    ]


def test_mounts_give_their_path_and_its_parameters() -> None:
    tenant = FastAPI()
    tenant.get("/users/{id}")(lambda id: None)
    nested = FastAPI()
    nested.mount("/tenants/{tenant:int}", tenant)
    router = APIRouter()
    router.mount("/side", tenant)
    app = FastAPI()
    app.mount("/all", nested)
    app.include_router(router, prefix="/in")
    app.router.routes.append(
        Mount("/zipped", tenant, middleware=[Middleware(GZipMiddleware)]),
    )
    found = find_routes(app)
    assert [(str(each), parameters(each)) for each in found] == [
        ("GET /all/tenants/{tenant}/users/{id}", ["tenant", "id"]),
        ("GET /in/side/users/{id}", ["id"]),
        ("GET /zipped/users/{id}", ["id"]),
    ]
    assert found[0].parameters[0].schema == Schema({"type": "integer", "minimum": 0})


def test_a_parameter_that_the_path_has_twice_is_one_parameter() -> None:
    inner = FastAPI()
    inner.get("/{id}")(lambda id: None)
    app = FastAPI()
    app.mount("/{id}", inner)
    assert [(str(it), parameters(it)) for it in find_routes(app)] == [("GET /{id}/{id}", ["id"])]


def test_the_first_of_two_routes_with_one_path_is_the_one_that_is_called() -> None:
    app = FastAPI()
    app.get("/users", name="first")(lambda: None)
    app.get("/users", name="second", operation_id="other")(lambda: None)
    assert [each.name for each in find_routes(app)] == ["first"]


def test_plain_routes_in_fastapi_are_found_too() -> None:
    async def plain(request: Request) -> Response:
        """Say hello."""
        return JSONResponse({})

    app = FastAPI()
    app.add_route("/plain/{id:int}", plain, methods=["GET", "POST"])
    router = APIRouter()
    router.add_route("/plain", plain)
    app.include_router(router, prefix="/in")
    found = [(str(each), parameters(each), each.summary) for each in find_routes(app)]
    assert found == [
        ("GET /plain/{id}", ["id", "query?"], "Say hello."),
        ("POST /plain/{id}", ["id", "query?", "body?"], "Say hello."),
        ("GET /in/plain", ["query?"], "Say hello."),
    ]


def test_a_router_alone_is_described_too() -> None:
    router = APIRouter()

    @router.get("/users/{id}")
    async def read(id: int, full: bool = False) -> None: ...

    assert [parameters(each) for each in find_routes(router)] == [["id", "full?"]]


def test_middleware_around_an_application_is_seen_through() -> None:
    app = FastAPI()
    app.get("/users")(lambda: None)
    assert [str(each) for each in find_routes(GZipMiddleware(GZipMiddleware(app)))] == [
        "GET /users"
    ]


def test_headers_of_the_connection_and_of_the_caller_are_no_parameters() -> None:
    app = FastAPI()

    @app.get("/")
    async def read(
        authorization: Annotated[str, Header()],
        host: Annotated[str, Header()],
        accept: Annotated[str, Header()],
        user_agent: Annotated[str, Header()],
    ) -> None: ...

    assert [parameters(each) for each in find_routes(app)] == [["user_agent"]]


def test_models_of_query_header_and_cookie_give_their_fields() -> None:
    app = FastAPI()

    @app.get("/query")
    async def query(it: Annotated[Closed, Query()]) -> None: ...

    @app.get("/header")
    async def header(it: Annotated[Closed, Header()]) -> None: ...

    @app.get("/cookie")
    async def cookie(it: Annotated[Closed, Cookie()]) -> None: ...

    assert [parameters(each) for each in find_routes(app)] == [["first", "second?"]] * 3


def test_a_body_that_takes_any_further_member_is_one_parameter() -> None:
    app = FastAPI()

    @app.post("/open")
    async def put(it: Open) -> None: ...

    assert [parameters(each) for each in find_routes(app)] == [["body"]]


def test_the_nested_form_has_an_object_for_each_part_of_the_request() -> None:
    found = route(make_shop(), "PUT /categories/{name}", nested=True)
    assert [(each.name, each.location, each.required) for each in found.parameters] == [
        ("path", "path", True),
        ("body", "body", True),
        ("query", "query", False),
    ]
    path, body, query = found.parameters
    assert [each.name for each in path.members] == ["name"]
    assert path.schema == Schema(
        {
            "type": "object",
            "properties": {"name": {"type": "string", "title": "Name"}},
            "required": ["name"],
            "additionalProperties": False,
        }
    )
    assert (body.wire_name, body.members, body.schema.value) == (
        "",
        (),
        {"$ref": "#/$defs/Category-Input"},
    )
    assert query.schema.value == {
        "type": "object",
        "properties": {"dry": {"type": "boolean", "title": "Dry", "default": False}},
        "additionalProperties": False,
    }


def test_the_nested_form_keeps_the_names_of_the_wire() -> None:
    shop = make_shop()
    named = {
        each.name: [member.name for member in each.members]
        for path in ("GET /headers", "GET /me/view", "POST /legacy/notes")
        for each in route(shop, path, nested=True).parameters
    }
    assert named == {
        "headers": ["x-trace", "X-API-Version"],
        "cookies": ["theme", "last-seen"],
        "query": [],
        "body": [],
    }


def test_the_shop_is_the_same_with_its_document_given() -> None:
    """But for what is not in the document: mounts, and how FastAPI wants lists in headers."""
    shop = make_shop()
    own = {str(each): each for each in find_routes(shop)}
    given = find_routes(shop, openapi=json.loads(json.dumps(shop.openapi())))
    assert [str(each) for each in given] == [
        name for name in own if not name.partition(" ")[2].startswith(("/admin", "/legacy"))
    ]
    different = [str(each) for each in given if each != own[str(each)]]
    assert different == [
        str(each)
        for each in given
        if any(parameter.location == "header" for parameter in each.parameters)
    ]
