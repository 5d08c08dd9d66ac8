"""Routes from an OpenAPI document, which may be anyone's, and may be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from accord import RegistrationError
from accord.exposure import Route, RouteParameter, RouteResponse, find_routes, rpc_hidden
from accord.schema.schema import Schema

JSON = "application/json"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """An application of which only the document is known."""


def document(paths: Any, *, version: str = "3.1.0", **components: Any) -> dict[str, Any]:
    info = {"title": "Test", "version": "1"}
    return {"openapi": version, "info": info, "paths": paths, "components": components}


def find(paths: Any, **components: Any) -> list[Route]:
    return find_routes(app, openapi=document(paths, **components))


def find_one(operation: Any, *, method: str = "get", path: str = "/it", **components: Any) -> Route:
    [found] = find({path: {method: operation}}, **components)
    return found


def taking(schema: Any, *, required: bool = True, media_type: str = JSON) -> dict[str, Any]:
    """An operation with a body."""
    content = {media_type: {"schema": schema}}
    return {"requestBody": {"required": required, "content": content}}


def names(found: Route) -> list[str]:
    return [each.name if each.required else f"{each.name}?" for each in found.parameters]


@pytest.mark.req("O-02")
def test_everything_that_an_operation_says_is_read() -> None:
    operation = {
        "operationId": "readUser",
        "summary": "Read",
        "description": "Reads a user.",
        "tags": ["users", "read"],
        "deprecated": True,
        "x-rpc-name": "users.read",
        "parameters": [
            {
                "name": "fields",
                "in": "query",
                "description": "Which ones.",
                "deprecated": True,
                "style": "pipeDelimited",
                "schema": {"type": "array", "items": {"type": "string"}, "default": ["id"]},
            },
            {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
        ],
        "responses": {
            "200": {
                "description": "The user.",
                "content": {
                    "text/csv": {},
                    JSON: {"schema": {"$ref": "#/components/schemas/User"}},
                },
            },
            "4XX": {"description": "No."},
            "default": {"description": "Else.", "content": {"text/plain": {}}},
            "x-note": "nothing",
        },
    }
    user = {"type": "object", "properties": {"id": {"type": "integer"}}}
    assert find_one(operation, path="/users/{id}", schemas={"User": user, "Other": {}}) == Route(
        method="GET",
        path="/users/{id}",
        parameters=(
            RouteParameter(
                name="id",
                wire_name="id",
                location="path",
                schema=Schema({"type": "integer"}),
                required=True,
                style="simple",
                explode=False,
            ),
            RouteParameter(
                name="fields",
                wire_name="fields",
                location="query",
                schema=Schema({"type": "array", "items": {"type": "string"}, "default": ["id"]}),
                default=["id"],
                description="Which ones.",
                deprecated=True,
                style="pipeDelimited",
                explode=False,
            ),
        ),
        responses=(
            RouteResponse(200, "The user.", Schema({"$ref": "#/$defs/User"}, {"User": user}), JSON),
            RouteResponse(400, "No."),
            RouteResponse(None, "Else.", None, "text/plain"),
        ),
        operation_id="readUser",
        rpc_name="users.read",
        tags=("users", "read"),
        summary="Read",
        description="Reads a user.",
        deprecated=True,
    )


def test_only_methods_with_a_result_are_read() -> None:
    every = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
    found = find({"/it": {method: {} for method in every} | {"summary": "x", "x-more": 1}})
    assert [each.method for each in found] == ["GET", "POST", "PUT", "PATCH", "DELETE"]


def test_parameters_of_the_path_are_shared_and_may_be_replaced() -> None:
    shared = [
        {"name": "id", "in": "path", "schema": {"type": "string"}},
        {"name": "page", "in": "query", "schema": {"type": "string"}},
        {"name": "page", "in": "header", "schema": {"type": "string"}},
    ]
    own = [{"name": "page", "in": "query", "required": True, "schema": {"type": "integer"}}]
    plain, replaced = find(
        {"/{id}": {"parameters": shared, "get": {}, "put": {"parameters": own}}},
    )
    assert names(plain) == ["id", "page?", "page_header?"]
    assert names(replaced) == ["id", "page", "page_header?"]
    assert replaced.parameters[1].schema == Schema({"type": "integer"})


def test_references_are_followed_wherever_they_may_stand() -> None:
    found = find_routes(
        app,
        openapi=document(
            {"/it": {"$ref": "#/components/pathItems/It~1~0 self"}},
            pathItems={
                "It/~ self": {
                    "parameters": [{"$ref": "#/components/parameters/Again"}],
                    "post": {
                        "requestBody": {"$ref": "#/components/requestBodies/Body"},
                        "responses": {"200": {"$ref": "#/components/responses/Good"}},
                    },
                }
            },
            parameters={
                "Again": {"$ref": "#/components/parameters/Page"},
                "Page": {
                    "name": "page",
                    "in": "query",
                    "schema": {"$ref": "#/components/schemas/N"},
                },
            },
            requestBodies={
                "Body": {"content": {JSON: {"schema": {"$ref": "#/components/schemas/Tree"}}}}
            },
            responses={"Good": {"content": {JSON: {"schema": {"$ref": "#/components/schemas/N"}}}}},
            schemas={
                "N": {"type": "integer"},
                "Tree": {
                    "type": "object",
                    "properties": {"below": {"$ref": "#/components/schemas/Tree"}},
                },
            },
        ),
    )
    number = Schema({"$ref": "#/$defs/N"}, {"N": {"type": "integer"}})
    tree = {"type": "object", "properties": {"below": {"$ref": "#/$defs/Tree"}}}
    assert [(each.name, each.schema) for each in found[0].parameters] == [
        ("page", number),
        ("below", Schema({"$ref": "#/$defs/Tree"}, {"Tree": tree})),
    ]
    assert found[0].responses == (RouteResponse(200, "", number, JSON),)


def test_schemas_of_the_older_dialect_are_converted() -> None:
    parameter = {
        "name": "n",
        "in": "query",
        "schema": {"type": "integer", "nullable": True, "minimum": 0, "exclusiveMinimum": True},
    }
    paths = {"/it": {"get": {"parameters": [parameter]}}}
    [found] = find_routes(app, openapi=document(paths, version="3.0.3"))
    assert found.parameters[0].schema == Schema(
        {"type": ["integer", "null"], "exclusiveMinimum": 0}
    )


@pytest.mark.parametrize(
    ("said", "style", "explode"),
    [
        ({"in": "query"}, "form", True),
        ({"in": "query", "explode": False}, "form", False),
        ({"in": "query", "style": "deepObject", "explode": True}, "deepObject", True),
        ({"in": "query", "style": "spaceDelimited"}, "spaceDelimited", False),
        ({"in": "header"}, "simple", False),
        ({"in": "cookie"}, "form", True),
        ({"in": "path"}, "simple", False),
        ({"in": "path", "style": "matrix"}, "matrix", False),
        ({"in": "path", "style": "label", "explode": True}, "label", True),
    ],
)
def test_how_values_are_spelled_is_kept(said: dict[str, Any], style: str, explode: bool) -> None:
    found = find_one({"parameters": [{"name": "it", **said}]}, path="/{it}").parameters
    spelled = next(each for each in found if each.location == said["in"])
    assert (spelled.style, spelled.explode) == (style, explode)


def test_a_parameter_with_content_is_sent_as_json_text() -> None:
    content = {JSON: {"schema": {"type": "object"}}}
    [found] = find_one(
        {"parameters": [{"name": "f", "in": "query", "content": content}]}
    ).parameters
    assert (found.schema, found.style) == (Schema({"type": "object"}), "json")


def test_path_parameters_that_nothing_declares_are_strings() -> None:
    found = find_one({}, path="/a/{b}/c-{d}.json")
    assert [(each.name, each.schema) for each in found.parameters] == [
        ("b", Schema({"type": "string"})),
        ("d", Schema({"type": "string"})),
    ]


PLAIN = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (PLAIN, ["b", "a?"]),
        ({**PLAIN, "title": "T", "description": "D", "x-more": 1}, ["b", "a?"]),
        ({**PLAIN, "additionalProperties": False}, ["b", "a?"]),
        ({"properties": {"a": True}}, ["a?"]),
        ({"allOf": [PLAIN], "title": "T"}, ["b", "a?"]),
        ({"$ref": "#/components/schemas/Plain"}, ["b", "a?"]),
        ({"$ref": "#/components/schemas/Plain", "description": "D"}, ["b", "a?"]),
        ({"allOf": [{"$ref": "#/components/schemas/Plain"}]}, ["b", "a?"]),
        ({**PLAIN, "properties": {"a": {"readOnly": True}, "b": {}}}, ["b"]),
        ({**PLAIN, "additionalProperties": True}, ["body"]),
        ({**PLAIN, "additionalProperties": {"type": "string"}}, ["body"]),
        ({**PLAIN, "minProperties": 1}, ["body"]),
        ({**PLAIN, "oneOf": [{}]}, ["body"]),
        ({**PLAIN, "type": ["object", "null"]}, ["body"]),
        ({**PLAIN, "nullable": True}, ["body"]),
        ({"allOf": [PLAIN, {}]}, ["body"]),
        ({"allOf": [PLAIN], "required": ["a"]}, ["body"]),
        ({"anyOf": [PLAIN]}, ["body"]),
        ({"$ref": "#/components/schemas/Again"}, ["body"]),
        ({"$ref": "#/components/schemas/Plain", "minProperties": 1}, ["body"]),
        ({"type": "object"}, ["body"]),
        ({"type": "object", "properties": {}}, ["body"]),
        ({"type": "array", "items": PLAIN}, ["body"]),
        ({"type": "string"}, ["body"]),
        (True, ["body"]),
        ({}, ["body"]),
    ],
)
def test_a_body_that_is_no_more_than_its_members_gives_them(
    schema: Any, expected: list[str]
) -> None:
    schemas = {"Plain": PLAIN, "Again": {"allOf": [{"$ref": "#/components/schemas/Again"}]}}
    assert names(find_one(taking(schema), method="post", schemas=schemas)) == expected


def test_members_of_a_body_that_may_be_left_out_may_be_left_out() -> None:
    found = find_one(taking(PLAIN, required=False), method="post")
    assert (names(found), found.body_required) == (["a?", "b?"], False)


def test_members_of_a_body_say_what_their_schemas_say() -> None:
    member = {"type": "integer", "default": 3, "description": "How many.", "deprecated": True}
    [found] = find_one(taking({"properties": {"n": member}}), method="post").parameters
    assert found == RouteParameter(
        name="n",
        wire_name="n",
        location="body",
        schema=Schema(member),
        default=3,
        description="How many.",
        deprecated=True,
    )
    assert find_one(taking(PLAIN), method="post").parameters[0].default is UNSET


@pytest.mark.parametrize(
    ("media_types", "form"),
    [
        ([JSON], "json"),
        (["application/json; charset=utf-8"], "json"),
        (["application/vnd.api+json"], "json"),
        (["*/*"], "json"),
        (["application/xml", "multipart/form-data", "application/x-www-form-urlencoded"], "form"),
        (["multipart/form-data", JSON], "json"),
        (["application/xml"], "binary"),
        (["text/csv", "image/png"], "text"),
        ([], "none"),
    ],
)
def test_the_form_that_is_easiest_to_write_is_chosen(media_types: list[str], form: str) -> None:
    content = {media_type: {"schema": PLAIN} for media_type in media_types}
    found = find_one({"requestBody": {"content": content}}, method="post")
    assert found.body == form


def test_routes_with_only_multipart_bodies_are_left_out() -> None:
    operation = taking(PLAIN, media_type="multipart/form-data")
    assert find({"/it": {"post": operation}}) == []
    named = find({"/it": {"post": {**operation, "x-rpc-name": "it"}}})
    assert [(each.rpc_name, each.body) for each in named] == [("it", "multipart")]


def test_a_body_or_an_answer_without_a_schema_is_anything() -> None:
    operation = {
        "requestBody": {"content": {JSON: {}}},
        "responses": {"200": {"content": {JSON: {}}}, "204": {}},
    }
    found = find_one(operation, method="post")
    assert [(each.name, each.schema) for each in found.parameters] == [("body", Schema({}))]
    assert found.responses == (
        RouteResponse(200, "", Schema({}), JSON),
        RouteResponse(204, "", None, ""),
    )


def test_what_the_application_knows_of_its_routes_is_added_to_a_given_document() -> None:
    @rpc_hidden
    async def hidden(request: Request) -> Response:
        return Response()

    async def files(request: Request) -> Response:
        return Response()

    known = Starlette(
        routes=[
            StarletteRoute("/hidden", hidden),
            StarletteRoute("/files/{path:path}", files, name="files"),
            StarletteRoute("/undocumented", files),
        ]
    )
    paths: dict[str, Any] = {
        "/hidden": {"get": {}},
        "/files/{path}": {"get": {}},
        "/elsewhere": {"get": {}},
    }
    found = find_routes(known, openapi=document(paths))
    assert [(str(it), it.name, it.hidden) for it in found] == [
        ("GET /hidden", "hidden", True),
        ("GET /files/{path}", "files", False),
        ("GET /elsewhere", "", False),
    ]
    assert found[1].parameters[0].slashes


def loops(length: int) -> dict[str, Any]:
    refs = {f"P{n}": {"$ref": f"#/components/parameters/P{n + 1}"} for n in range(length)}
    return {**refs, f"P{length}": {"name": "p", "in": "query"}}


def test_references_may_follow_each_other_up_to_a_limit() -> None:
    operation = {"parameters": [{"$ref": "#/components/parameters/P0"}]}
    assert names(find_one(operation, parameters=loops(31))) == ["p?"]
    with pytest.raises(RegistrationError, match=r"more than 32 references follow each other$"):
        find_one(operation, parameters=loops(32))


@pytest.mark.parametrize(
    ("openapi", "message"),
    [
        ([], "an OpenAPI document is an object, not an array"),
        ({}, "a document of OpenAPI 3 is needed, and this is OpenAPI None"),
        ({"swagger": "2.0"}, "a document of OpenAPI 3 is needed, and this is Swagger 2.0"),
        ({"openapi": 3}, "a document of OpenAPI 3 is needed, and this is OpenAPI 3"),
        ({"openapi": "3.1.0", "paths": 1}, "the OpenAPI document, at paths: expected an object, found 1"),
        ({"openapi": "3.1.0", "paths": {1: {}}}, "the OpenAPI document, at paths: expected an object, found one with keys that are no strings"),
        ({"openapi": "3.1.0", "components": []}, "the OpenAPI document, at components: expected an object, found an array"),
        (document({"it": {}}), "the OpenAPI document, at paths.it: a path begins with '/'"),
        (document({"/it": "x" * 100}), f"the OpenAPI document, at paths./it: expected an object, found '{'x' * 79}…"),
    ],
)  # fmt: skip
def test_what_is_no_document_is_refused(openapi: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        find_routes(app, openapi=openapi)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (3, ": expected an object, found 3"),
        ({"tags": "users"}, ".tags: expected an array, found 'users'"),
        ({"tags": [1]}, ".tags: expected a string, found 1"),
        ({"summary": {}}, ".summary: expected a string, found an object"),
        ({"x-rpc-name": ""}, ".x-rpc-name: a name is a string that is not empty"),
        ({"parameters": {}}, ".parameters: expected an array, found an object"),
        ({"parameters": [1]}, ".parameters[0]: expected an object, found 1"),
        ({"parameters": [{"in": "query"}]}, ".parameters[0].name: expected a string, found None"),
        ({"parameters": [{"name": "a", "in": "moon"}]}, ".parameters[0]: 'in' is one of path, query, header, cookie, not 'moon'"),
        ({"parameters": [{"name": "a", "in": []}]}, ".parameters[0]: 'in' is one of path, query, header, cookie, not an array"),
        ({"parameters": [{"name": "a", "in": "path"}]}, ": its path has no parameter 'a'"),
        ({"parameters": [{"name": "a", "in": "query", "style": "matrix"}]}, ".parameters[0]: style 'matrix' is not for the query: form, spaceDelimited, pipeDelimited, deepObject"),
        ({"parameters": [{"name": "a", "in": "query", "schema": 1}]}, ".parameters[0].schema: expected a schema, found 1"),
        ({"parameters": [{"$ref": "#/components/parameters/No"}]}, ".parameters[0]: the reference '#/components/parameters/No' leads nowhere"),
        ({"parameters": [{"$ref": "https://example.com/"}]}, ".parameters[0]: 'https://example.com/' is no reference into the document itself"),
        ({"parameters": [{"$ref": 1}]}, ".parameters[0]: 1 is no reference into the document itself"),
        ({"parameters": [{"$ref": "#/components/parameters/Loop"}]}, ".parameters[0]: more than 32 references follow each other"),
        ({"parameters": [{"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/No"}}]}, ".parameters[0].schema: there is no schema 'No' among the components"),
        (taking({"$ref": "#/components/schemas/Loop"}), ".requestBody.content.application/json.schema: more than 32 references follow each other"),
        (taking({**PLAIN, "required": 1}), ".requestBody.content.application/json.schema.required: expected an array, found 1"),
        ({"requestBody": []}, ".requestBody: expected an object, found an array"),
        ({"requestBody": {"content": {JSON: 1}}}, ".requestBody.content.application/json: expected an object, found 1"),
        ({"responses": []}, ".responses: expected an object, found an array"),
        ({"responses": {"ok": {}}}, ".responses.ok: a response is for a status, a range such as 2XX, or 'default'"),
        ({"responses": {"200": 1}}, ".responses.200: expected an object, found 1"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_its_place(operation: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        find_one(
            operation,
            method="post",
            parameters={"Loop": {"$ref": "#/components/parameters/Loop"}},
            schemas={"Loop": {"$ref": "#/components/schemas/Loop"}},
        )
    where = "" if message.startswith(".x-rpc") else "the OpenAPI document, at "
    assert str(caught.value) == f"{where}paths./it.post{message}"


def test_a_document_that_is_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"items": schema}
    with pytest.raises(
        RegistrationError, match=r"nested more than 100 levels deep, and that is the"
    ):
        find_one(taking(schema), method="post")


def test_a_document_that_holds_itself_is_refused() -> None:
    paths: dict[str, Any] = {}
    paths["/it"] = paths
    with pytest.raises(
        RegistrationError, match=r"nested more than 100 levels deep, and that is the"
    ):
        find(paths)


def test_a_document_that_repeats_itself_too_often_is_refused() -> None:
    laugh: Any = ["ha"] * 10
    for _ in range(10):
        laugh = [laugh] * 10
    with pytest.raises(RegistrationError, match=r"has more than 1,000,000 values, and that is the"):
        find_routes(app, openapi={**document({}), "x-laugh": laugh})


def test_a_schema_with_too_many_parts_is_refused() -> None:
    schema: dict[str, Any] = {"properties": {f"p{n}": {"items": {}} for n in range(60_000)}}
    with pytest.raises(RegistrationError, match=r"\.schema: a schema of more than 100,000 parts$"):
        find_one(taking(schema), method="post")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["$ref", "name", "in", "schema", "content", JSON, "properties", "required", "allOf"]
            )
            | st.text(max_size=5),
            inner | st.sampled_from(["query", "path", "#/components", "#/components/schemas/S"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(operation=VALUES, schema=VALUES)
def test_no_document_crashes(operation: Any, schema: Any) -> None:
    for key in ("requestBody", "responses", "parameters", "tags"):
        for value in (operation, [operation], {"200": operation}, {"content": {JSON: operation}}):
            try:
                found = find_one({key: value}, method="post", schemas={"S": schema})
            except RegistrationError:
                continue
            assert (found.method, found.path) == ("POST", "/it")
