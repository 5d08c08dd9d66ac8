"""The document of a router: every member, and when it is made."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from accord import RegistrationError, Router
from accord.openrpc import (
    About,
    Contact,
    Example,
    ExternalDocs,
    License,
    Server,
    ServerVariable,
    Tag,
)
from accord.openrpc.document import RouterDocument
from accord.openrpc.info import Info
from accord.transports.pages import etag_of
from tests.openrpc.zoo import described

INFO = Info(title="Things", version="1.0")


def methods(router: Router) -> dict[str, Any]:
    return {each["name"]: each for each in RouterDocument(router, INFO).to_json()["methods"]}


def params(function: Any, about: About | None = None) -> tuple[str, list[Any]]:
    """How a function's params are given, and what is said about each."""
    router = Router()
    router.add(function, "it", about=about)
    method = methods(router)["it"]
    return method["paramStructure"], method["params"]


@pytest.mark.req("O-08")
def test_a_router_without_methods_has_the_smallest_document() -> None:
    assert RouterDocument(Router(), INFO).to_json() == {
        "openrpc": "1.3.2",
        "info": {"title": "Things", "version": "1.0"},
        "methods": [],
    }


@pytest.mark.req("O-08")
def test_everything_that_is_said_about_the_api_is_in_it() -> None:
    document = RouterDocument(
        Router(),
        Info(
            title="Things",
            version="1.0",
            description="All *things*.",
            terms_of_service="https://example.com/terms",
            contact=Contact(name="Ann", url="https://example.com", email="ann@example.com"),
            license=License("MIT", "https://example.com/mit"),
        ),
        servers=[
            Server(
                "https://${region}.example.com/rpc",
                name="production",
                summary="The real one.",
                description="Be careful.",
                variables={"region": ServerVariable("eu", ("eu", "us"), "Where.")},
            ),
            Server("http://localhost:8000/rpc"),
        ],
        docs=ExternalDocs("https://example.com/docs", "More."),
        openrpc="1.4.0",
    )
    assert document.to_json() == {
        "openrpc": "1.4.0",
        "info": {
            "title": "Things",
            "version": "1.0",
            "description": "All *things*.",
            "termsOfService": "https://example.com/terms",
            "contact": {"name": "Ann", "url": "https://example.com", "email": "ann@example.com"},
            "license": {"name": "MIT", "url": "https://example.com/mit"},
        },
        "servers": [
            {
                "url": "https://${region}.example.com/rpc",
                "name": "production",
                "summary": "The real one.",
                "description": "Be careful.",
                "variables": {
                    "region": {"default": "eu", "enum": ["eu", "us"], "description": "Where."}
                },
            },
            {"url": "http://localhost:8000/rpc"},
        ],
        "methods": [],
        "externalDocs": {"url": "https://example.com/docs", "description": "More."},
    }


@pytest.mark.req("O-07", "O-08")
def test_everything_that_is_said_about_methods_is_in_it() -> None:
    document = RouterDocument(described(), INFO).to_json()
    assert document["methods"] == [
        {
            "name": "users.get",
            "summary": "Get a user.",
            "description": "With all fields, or some.",
            "tags": [{"$ref": "#/components/tags/users"}, {"name": "read"}],
            "paramStructure": "either",
            "params": [
                {
                    "name": "id",
                    "description": "Which one.",
                    "required": True,
                    "schema": {"type": "integer"},
                },
                {
                    "name": "fields",
                    "schema": {
                        "anyOf": [
                            {"type": "array", "items": {"type": "string"}},
                            {"type": "null"},
                        ],
                        "default": None,
                    },
                },
            ],
            "result": {
                "name": "result",
                "description": "The user.",
                "schema": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "errors": [
                {"$ref": "#/components/errors/no_such_user"},
                {"$ref": "#/components/errors/resource_not_found"},
                {"$ref": "#/components/errors/rate_limited"},
            ],
            "links": [
                {
                    "name": "rename",
                    "summary": "Rename it.",
                    "method": "users.rename",
                    "params": {"id": "${result.id}"},
                }
            ],
            "examples": [
                {
                    "name": "the first",
                    "summary": "One.",
                    "params": [{"name": "id", "value": 1}],
                    "result": {"name": "result", "value": {"id": 1}},
                },
                {
                    "name": "told",
                    "params": [{"name": "id", "value": 2}, {"name": "fields", "value": ["id"]}],
                },
            ],
            "externalDocs": {"url": "https://example.com/get", "description": "How."},
        },
        {
            "name": "users.rename",
            "summary": "Rename a user",
            "description": "By their id.",
            "tags": [{"$ref": "#/components/tags/users"}],
            "paramStructure": "either",
            "params": [
                {"name": "id", "required": True, "schema": {"type": "integer"}},
                {
                    "name": "name",
                    "required": True,
                    "schema": {"type": "string"},
                    "deprecated": True,
                },
            ],
            "result": {"name": "result", "schema": {"type": "null"}},
            "errors": [{"$ref": "#/components/errors/no_such_user_2"}],
            "deprecated": True,
        },
    ]
    assert document["components"] == {
        "errors": {
            "no_such_user": {"code": 404, "message": "No such user", "data": {"id": 7}},
            "no_such_user_2": {"code": 404, "message": "No such user"},
            "rate_limited": {"code": -32010, "message": "Busy"},
            "resource_not_found": {"code": -32001, "message": "Resource not found"},
        },
        "tags": {
            "users": {
                "name": "users",
                "description": "People.\n\nThose who *use* it.",
                "externalDocs": {"url": "https://example.com/users"},
            }
        },
    }


def test_tags_can_be_described_for_all_methods_at_once() -> None:
    document = RouterDocument(described(), INFO, tags=[Tag("read", "Only looks.")]).to_json()
    assert document["methods"][0]["tags"][1] == {"$ref": "#/components/tags/read"}
    assert document["components"]["tags"]["read"] == {"name": "read", "description": "Only looks."}


def test_a_type_that_several_methods_take_is_described_once() -> None:
    class Thing(msgspec.Struct):
        name: str

    router = Router()
    router.add(lambda: None, "nothing")

    def take(thing: Thing, other: Thing | None = None) -> Thing:
        return thing

    take.__annotations__ = {"thing": Thing, "other": Thing | None, "return": Thing}
    router.add(take)
    document = RouterDocument(router, INFO).to_json()
    ref = {"$ref": "#/components/schemas/Thing"}
    [_, method] = document["methods"]
    assert [each["schema"] for each in (*method["params"], method["result"])] == [
        ref,
        {"anyOf": [ref, {"type": "null"}], "default": None},
        ref,
    ]
    assert list(document["components"]["schemas"]) == ["Thing"]


# Which params there are, and how they are given


def test_params_of_a_plain_function_are_given_either_way() -> None:
    def function(a: int, b: str = "x") -> None: ...

    assert params(function) == (
        "either",
        [
            {"name": "a", "required": True, "schema": {"type": "integer"}},
            {"name": "b", "schema": {"type": "string", "default": "x"}},
        ],
    )


def test_positional_only_params_are_given_by_position() -> None:
    def function(a: int, /, b: int) -> None: ...

    structure, given = params(function)
    assert (structure, [each["name"] for each in given]) == ("by-position", ["a", "b"])


def test_keyword_only_params_are_given_by_name_with_required_ones_first() -> None:
    def function(a: int = 0, *, b: int) -> None: ...

    structure, given = params(function)
    assert (structure, [each["name"] for each in given]) == ("by-name", ["b", "a"])


def test_values_of_any_number_are_one_param_that_says_so() -> None:
    def function(*numbers: int) -> None: ...

    assert params(function) == (
        "by-position",
        [
            {
                "name": "numbers",
                "description": "Any number of further values, by position.",
                "schema": {"type": "integer"},
                "x-variadic": True,
            }
        ],
    )


def test_values_under_any_name_are_one_param_that_says_so() -> None:
    def function(a: int, **others: bool) -> None: ...

    assert params(function, About(params={"others": "Flags."})) == (
        "by-name",
        [
            {"name": "a", "required": True, "schema": {"type": "integer"}},
            {
                "name": "others",
                "description": "Flags.",
                "schema": {"type": "boolean"},
                "x-variadic": True,
            },
        ],
    )


def test_what_cannot_be_given_together_with_most_others_is_left_out() -> None:
    def function(a: int, /, b: int = 1, *, c: int = 2) -> None: ...

    structure, given = params(function)
    assert (structure, [each["name"] for each in given]) == ("by-position", ["a", "b"])


def test_the_context_is_no_param() -> None:
    from accord import Context

    def function(context: Context, a: int) -> None: ...

    function.__annotations__["context"] = Context
    assert [each["name"] for each in params(function)[1]] == ["a"]


def test_the_description_in_an_annotation_belongs_to_the_param() -> None:
    def function(a) -> None: ...  # type: ignore[no-untyped-def]

    function.__annotations__["a"] = Annotated[int, msgspec.Meta(ge=1, description="How many.")]
    assert params(function)[1] == [
        {
            "name": "a",
            "description": "How many.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        }
    ]


def test_an_annotation_that_cannot_be_hashed_is_described_too() -> None:
    def function(a) -> None: ...  # type: ignore[no-untyped-def]

    function.__annotations__["a"] = Annotated[int, ["whatever"]]
    [described] = params(function)[1]
    assert described["schema"] == {"type": "integer"}


def test_a_default_that_json_cannot_say_or_nobody_can_send_is_left_out() -> None:
    def function(a: Any = object(), b: int = None, c: Any = None) -> None: ...  # type: ignore[assignment]  # noqa: B008, RUF013

    assert [each["schema"] for each in params(function)[1]] == [
        {},
        {"type": "integer"},
        {"default": None},
    ]


# Examples


def examples(function: Any, example: Example) -> Any:
    router = Router()
    router.add(function, "it", about=About(examples=(example,)))
    return methods(router)["it"]["examples"][0]["params"]


def test_examples_are_in_the_order_of_the_params() -> None:
    def function(a: int, b: int, c: int = 3) -> None: ...

    given = examples(function, Example(name="x", params={"b": 2, "a": 1}))
    assert given == [{"name": "a", "value": 1}, {"name": "b", "value": 2}]


def test_a_gap_in_an_example_by_position_is_filled_with_the_default() -> None:
    def function(a: int, /, b: int = 5, c: int = 6) -> None: ...

    given = examples(function, Example(name="x", params={"a": 1, "c": 2}))
    assert [each["value"] for each in given] == [1, 5, 2]


def test_a_gap_that_cannot_be_filled_is_refused() -> None:
    def function(a: int, /, b: Any = object(), c: int = 6) -> None: ...  # noqa: B008

    with pytest.raises(RegistrationError, match="example 'x' lacks 'b', which stands before"):
        examples(function, Example(name="x", params={"a": 1, "c": 2}))


def test_examples_spread_the_values_of_any_number() -> None:
    def numbers(*numbers: int) -> None: ...

    def others(**others: int) -> None: ...

    assert examples(numbers, Example(name="x", params={"numbers": [1, 2]})) == [
        {"name": "numbers", "value": 1},
        {"name": "numbers", "value": 2},
    ]
    assert examples(others, Example(name="x", params={"others": {"a": 1}})) == [
        {"name": "a", "value": 1}
    ]


# What does not fit


@pytest.mark.parametrize(
    ("about", "complaint"),
    [
        (
            About(params={"c": "What?"}),
            "method 'it': its description speaks of the parameter 'c', which it has not",
        ),
        (
            About(deprecated_params=("c",)),
            "method 'it': its description speaks of the parameter 'c', which it has not",
        ),
        (
            About(examples=(Example(name="x", params={"a": 1, "c": 2}),)),
            "method 'it': its example 'x' names 'c', which is no parameter",
        ),
        (
            About(examples=(Example(name="x", params={"b": 2}),)),
            "method 'it': its example 'x' lacks 'a', which is required",
        ),
        (
            About(errors=("parse_eror",)),
            "method 'it': no error is called 'parse_eror'; did you mean parse_error or server_error?",
        ),
        (
            About(errors=(77,)),
            "method 'it': the catalogue has no error 77; describe it with ErrorAbout",
        ),
    ],
)
def test_what_is_said_must_fit_the_method(about: About, complaint: str) -> None:
    def function(a: int, b: int = 0) -> None: ...

    with pytest.raises(RegistrationError) as caught:
        params(function, about)
    assert str(caught.value) == complaint


def test_a_server_must_have_an_absolute_url() -> None:
    for url in (
        "/rpc",
        "example.com/rpc",
        "localhost:8000",
        "https://",
        "http://a b/",
        "http://x:y",
    ):
        with pytest.raises(ValueError, match="is not absolute"):
            Server(url)
    with pytest.raises(ValueError, match="has no variable 'region'"):
        Server("https://${region}.example.com")


def test_only_versions_of_openrpc_that_are_known_can_be_asked_for() -> None:
    with pytest.raises(
        ValueError, match=r"OpenRPC '2\.0\.0' is not known here, only 1\.3 and 1\.4"
    ):
        RouterDocument(Router(), INFO, openrpc="2.0.0")


# When it is made


@pytest.mark.req("O-09")
def test_it_is_made_once_and_again_when_the_methods_change() -> None:
    router = Router()
    document = RouterDocument(router, INFO)
    first = document.page()
    assert document.page() is first
    assert (first.media_type, first.etag) == ("application/json", etag_of(first.body))
    router.add(lambda: None, "later")
    second = document.page()
    assert document.page() is second
    assert [each["name"] for each in document.to_json()["methods"]] == ["later"]
    assert second.etag != first.etag
    router.remove("later")
    assert document.page() == first


def test_the_order_of_declaration_changes_nothing() -> None:
    one, two = Router(), Router()
    for router, names in ((one, ("a", "b")), (two, ("b", "a"))):
        for name in names:
            router.add(lambda: None, name)
    assert RouterDocument(one, INFO).page() == RouterDocument(two, INFO).page()


@pytest.mark.req("O-09")
def test_the_place_it_is_asked_at_is_its_server_where_none_was_given() -> None:
    document = RouterDocument(Router(), INFO)
    assert document.to_json("http://here/")["servers"] == [{"url": "http://here/"}]
    assert "servers" not in document.to_json()
    fixed = RouterDocument(Router(), INFO, servers=[Server("https://there/")])
    assert fixed.to_json("http://here/")["servers"] == [{"url": "https://there/"}]


def test_it_is_kept_for_a_bounded_number_of_places() -> None:
    document = RouterDocument(Router(), INFO)
    first = document.page("http://0/")
    assert document.page("http://0/") is first
    for number in range(1, 100):
        document.page(f"http://{number}/")
    again = document.page("http://0/")
    assert again == first
    assert again is not first
