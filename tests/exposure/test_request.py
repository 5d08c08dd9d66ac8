"""From arguments to requests: where values go, how they are spelled, what is refused."""

from __future__ import annotations

import base64
import datetime as dt
import uuid
from typing import Any

import pytest
from msgspec import Raw

from accord.exposure.request import Request, RequestPlan
from accord.exposure.routes import BodyForm, Location, Route, RouteParameter
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError
from accord.schema.schema import Schema


def parameter(
    name: str, location: Location, *, wire_name: str | None = None, **members: Any
) -> RouteParameter:
    return RouteParameter(
        name=name,
        wire_name=name if wire_name is None else wire_name,
        location=location,
        **{"required": location == "path", **members},
    )


def get(*parameters: RouteParameter, path: str = "/") -> RequestPlan:
    return RequestPlan(Route(method="GET", path=path, parameters=parameters))


def post(form: BodyForm, *parameters: RouteParameter, required: bool = True) -> RequestPlan:
    return RequestPlan(
        Route(method="POST", path="/", parameters=parameters, body=form, body_required=required)
    )


def refusal(plan: RequestPlan, arguments: dict[str, Any]) -> tuple[str, Any]:
    with pytest.raises(InvalidParamsError) as raised:
        plan.build(arguments)
    return raised.value.message, raised.value.data


def test_everything_goes_where_it_belongs() -> None:
    plan = RequestPlan(
        Route(
            method="PUT",
            path="/users/{id}/notes",
            body="json",
            parameters=(
                parameter("id", "path"),
                parameter("lang", "query"),
                parameter("token", "header", wire_name="X-Token"),
                parameter("session", "cookie", wire_name="sid"),
                parameter("theme", "cookie"),
                parameter("text", "body"),
                parameter("lang_body", "body", wire_name="lang"),
            ),
        )
    )
    assert plan.build(
        {
            "id": 7,
            "lang": "de",
            "token": "t",
            "session": "s",
            "theme": "dark",
            "text": "ü",
            "lang_body": None,
        }
    ) == Request(
        path="/users/7/notes",
        raw_path=b"/users/7/notes",
        query=b"lang=de",
        headers=[
            (b"x-token", b"t"),
            (b"content-type", b"application/json"),
            (b"content-length", b"25"),
        ],
        cookies=b"sid=s; theme=dark",
        body='{"text":"ü","lang":null}'.encode(),
    )


def test_nothing_given_is_nothing_sent() -> None:
    plan = get(
        parameter("q", "query"), parameter("h", "header"), parameter("c", "cookie"), path="/a b/ü"
    )
    assert plan.build({}) == Request("/a b/ü", b"/a%20b/%C3%BC", b"", [], b"", b"")


# Paths


@pytest.mark.parametrize(
    ("value", "path", "raw_path"),
    [
        ("plain", "/x/plain/y", b"/x/plain/y"),
        ("a b", "/x/a b/y", b"/x/a%20b/y"),
        ("50%", "/x/50%/y", b"/x/50%25/y"),
        ("a%2Fb", "/x/a%2Fb/y", b"/x/a%252Fb/y"),
        ("ü?#;", "/x/ü?#;/y", b"/x/%C3%BC%3F%23%3B/y"),
        ("...", "/x/.../y", b"/x/.../y"),
        ("a..b", "/x/a..b/y", b"/x/a..b/y"),
        ("\r\n", "/x/\r\n/y", b"/x/%0D%0A/y"),
        (7, "/x/7/y", b"/x/7/y"),
        (-7, "/x/-7/y", b"/x/-7/y"),
        (2**80, "/x/1208925819614629174706176/y", b"/x/1208925819614629174706176/y"),
        (1.5, "/x/1.5/y", b"/x/1.5/y"),
        (True, "/x/true/y", b"/x/true/y"),
        (dt.date(2026, 1, 2), "/x/2026-01-02/y", b"/x/2026-01-02/y"),
        (uuid.UUID(int=1), f"/x/{uuid.UUID(int=1)}/y", f"/x/{uuid.UUID(int=1)}/y".encode()),
        (["a", "b,c"], "/x/a,b,c/y", b"/x/a,b%2Cc/y"),
        ({"k": "v", "l": [1]}, "/x/k,v,l,[1]/y", b"/x/k,v,l,%5B1%5D/y"),
        (Raw(b'"a b"'), "/x/a b/y", b"/x/a%20b/y"),
    ],
)
def test_a_path_value_fills_its_segment(value: Any, path: str, raw_path: bytes) -> None:
    plan = get(parameter("id", "path", style="simple", explode=False), path="/x/{id}/y")
    request = plan.build({"id": value})
    assert (request.path, request.raw_path) == (path, raw_path)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", "a value that is not empty"),
        (None, "a value that is not empty"),
        ([], "a value that is not empty"),
        ("a/b", "a value without '/'"),
        ("/", "a value without '/'"),
        (["a", "b/c"], "a value without '/'"),
        (".", "a value without the path segments '.' and '..'"),
        ("..", "a value without the path segments '.' and '..'"),
        ("%2e", "a value without the path segments '.' and '..'"),
        (".%2E", "a value without the path segments '.' and '..'"),
        ("%2e%2e%2fadmin", "a value without the path segments '.' and '..'"),
        ("..\\admin", "a value without the path segments '.' and '..'"),
        ("\ud800", "text without lone surrogates"),
        ([["\ud800"]], "text without lone surrogates"),
        (Raw(b"1e999"), "what can be decoded (Number out of range)"),
    ],
)
def test_a_path_value_cannot_lead_elsewhere(value: Any, expected: str) -> None:
    message, data = refusal(get(parameter("id", "path"), path="/x/{id}"), {"id": value})
    assert message.startswith(f"parameter 'id': expected {expected}, got ")
    assert data["expected"] == expected


def test_a_path_value_with_slashes_is_taken_where_the_route_says_so() -> None:
    plan = get(parameter("rest", "path", slashes=True), path="/files/{rest:path}")
    request = plan.build({"rest": "/a b/c.txt"})
    assert (request.path, request.raw_path) == ("/files//a b/c.txt", b"/files//a%20b/c.txt")


@pytest.mark.parametrize("value", ["", "a/../b", "..", "./a", "a/%2e%2e", "a\\..\\b"])
def test_a_path_value_with_slashes_cannot_climb(value: str) -> None:
    plan = get(parameter("rest", "path", slashes=True), path="/files/{rest}")
    assert refusal(plan, {"rest": value})[1]["parameter"] == "rest"


@pytest.mark.parametrize(
    ("style", "explode", "value", "raw_path"),
    [
        ("simple", True, {"r": 1, "g": 2}, b"/r=1,g=2"),
        ("simple", False, {"r": 1, "g": 2}, b"/r,1,g,2"),
        ("label", False, "blue", b"/.blue"),
        ("label", False, ["a", "b"], b"/.a,b"),
        ("label", True, ["a", "b"], b"/.a.b"),
        ("label", True, {"r": 1, "g": 2}, b"/.r=1.g=2"),
        ("label", False, {"r": 1, "g": 2}, b"/.r,1,g,2"),
        ("matrix", False, "blue", b"/;c=blue"),
        ("matrix", False, ["a", "b"], b"/;c=a,b"),
        ("matrix", True, ["a", "b"], b"/;c=a;c=b"),
        ("matrix", True, {"r": 1, "g": 2}, b"/;r=1;g=2"),
        ("matrix", False, {"r": 1, "g": 2}, b"/;c=r,1,g,2"),
        ("json", False, [1, "a"], b"/%5B1%2C%22a%22%5D"),
    ],
)
def test_paths_have_the_styles_of_openapi(
    style: str, explode: bool, value: Any, raw_path: bytes
) -> None:
    plan = get(parameter("c", "path", style=style, explode=explode), path="/{c}")
    assert plan.build({"c": value}).raw_path == raw_path


def test_several_values_and_the_text_between_them_make_a_path() -> None:
    plan = get(parameter("b", "path"), parameter("a", "path"), path="/v{a}.{b}/{a}")
    assert plan.build({"a": 1, "b": "x"}).path == "/v1.x/1"


# Queries


@pytest.mark.parametrize(
    ("style", "explode", "value", "query"),
    [
        ("form", True, "a b&c=d", b"q=a%20b%26c%3Dd"),
        ("form", True, "", b"q="),
        ("form", True, True, b"q=true"),
        ("form", True, False, b"q=false"),
        ("form", True, 1.0, b"q=1.0"),
        ("form", True, None, b""),
        ("form", True, [], b""),
        ("form", True, ["a", "b,c"], b"q=a&q=b%2Cc"),
        ("form", True, [None, True, [1, "x"], {"y": 2}], b"q=null&q=true&q=%5B1%2C%22x%22%5D&q=%7B%22y%22%3A2%7D"),
        ("form", True, {"r": 1, "g": None}, b"r=1&g=null"),
        ("form", False, ["a", "b,c"], b"q=a,b%2Cc"),
        ("form", False, [], b"q="),
        ("form", False, {"r": 1, "g": 2}, b"q=r,1,g,2"),
        ("spaceDelimited", False, ["a", "b"], b"q=a%20b"),
        ("pipeDelimited", False, ["a", "b"], b"q=a%7Cb"),
        ("pipeDelimited", True, ["a", "b"], b"q=a&q=b"),
        ("pipeDelimited", False, {"r": 1, "g": 2}, b"q=r%7C1%7Cg%7C2"),
        ("deepObject", True, {"r": 1, "g": [2]}, b"q%5Br%5D=1&q%5Bg%5D=%5B2%5D"),
        ("deepObject", True, ["a", "b"], b"q=a&q=b"),
        ("deepObject", True, "a", b"q=a"),
        ("json", True, {"r": [1]}, b"q=%7B%22r%22%3A%5B1%5D%7D"),
        ("json", True, "a", b"q=%22a%22"),
        ("form", True, Raw(b"[1,2]"), b"q=1&q=2"),
        ("form", True, dt.datetime(2026, 1, 2, tzinfo=dt.UTC), b"q=2026-01-02T00%3A00%3A00Z"),
    ],
)  # fmt: skip
def test_queries_have_the_styles_of_openapi(
    style: str, explode: bool, value: Any, query: bytes
) -> None:
    plan = get(parameter("q", "query", style=style, explode=explode))
    assert plan.build({"q": value}).query == query


SINGLE = [
    ({"type": "integer"}, "int"),
    ({"type": ["string", "null"]}, "str | null"),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "a value"),
    ({"$ref": "#/$defs/Colour"}, "a value"),
]
MANY: list[Any] = [
    {},
    {"type": "array", "items": {"type": "integer"}},
    {"anyOf": [{"type": "integer"}, {"type": "object"}]},
    {"$ref": "#/$defs/Colours"},
    {"$ref": "#/$defs/Self"},
]
DEFINED = {
    "Colour": {"type": "string", "enum": ["red"]},
    "Colours": {"type": "array"},
    "Self": {"$ref": "#/$defs/Self"},
}


@pytest.mark.req("O-19")
@pytest.mark.parametrize("place", ["query", "form", "multipart"])
@pytest.mark.parametrize(("schema", "expected"), SINGLE)
def test_several_values_for_one_are_refused_and_not_lost(
    place: Any, schema: dict[str, Any], expected: str
) -> None:
    location: Location = "query" if place == "query" else "body"
    size = parameter("size", location, schema=Schema(schema, DEFINED), required=False)
    plan = get(size) if place == "query" else post(place, size)
    for value, kind in (([], "array"), ([1], "array"), ([1, 2], "array"), ({"a": 1}, "object")):
        message, _ = refusal(plan, {"size": value})
        assert message == f"parameter 'size': expected {expected}, got {kind}"
    plan.build({"size": 1})
    plan.build({"size": None})


@pytest.mark.parametrize("schema", MANY)
def test_several_values_are_taken_where_the_route_may_want_them(schema: dict[str, Any]) -> None:
    plan = get(parameter("q", "query", schema=Schema(schema, DEFINED), explode=True, style="form"))
    assert plan.build({"q": [1, 2]}).query == b"q=1&q=2"


def test_several_files_for_one_are_refused() -> None:
    file = parameter("file", "body", schema=Schema({"type": "string", "format": "binary"}))
    message, _ = refusal(post("multipart", file), {"file": ["YQ==", "YQ=="]})
    assert message == "parameter 'file': expected a file, got array"


def test_a_key_is_encoded_as_a_value_is() -> None:
    plan = get(parameter("q", "query", wire_name="a[b] ü&"))
    assert plan.build({"q": 1}).query == b"a%5Bb%5D%20%C3%BC%26=1"


def test_an_argument_can_be_the_whole_query() -> None:
    plan = get(parameter("query", "query", wire_name=""))
    assert plan.build({"query": {"a": [1, 2], "b": "&"}}).query == b"a=1&a=2&b=%26"
    assert plan.build({"query": None}).query == b""
    message, _ = refusal(plan, {"query": "a=1"})
    assert message == "parameter 'query': expected object, got str"


# Headers and cookies


@pytest.mark.parametrize(
    ("explode", "value", "lines"),
    [
        (False, "plain text", [b"plain text"]),
        (False, "", [b""]),
        (False, "\xe9\t!", [b"\xe9\t!"]),
        (False, 7, [b"7"]),
        (False, True, [b"true"]),
        (False, None, []),
        (False, ["a", 1], [b"a,1"]),
        (True, ["a", 1], [b"a", b"1"]),
        (False, {"r": 1, "g": 2}, [b"r,1,g,2"]),
        (True, {"r": 1, "g": 2}, [b"r=1,g=2"]),
    ],
)
def test_headers_have_the_style_of_openapi(explode: bool, value: Any, lines: list[bytes]) -> None:
    plan = get(parameter("h", "header", wire_name="X-H", style="simple", explode=explode))
    assert plan.build({"h": value}).headers == [(b"x-h", line) for line in lines]


def test_a_header_may_carry_json() -> None:
    plan = get(parameter("h", "header", style="json"))
    assert plan.build({"h": {"a": [1]}}).headers == [(b"h", b'{"a":[1]}')]


@pytest.mark.parametrize(
    "value",
    ["a\r\nx: y", "a\nb", "a\rb", "\0", " a", "a ", "\ta", "€", "\x7f", "\x1b", ["a", "b\n"]],
)
def test_a_header_cannot_be_broken_out_of(value: Any) -> None:
    message, _ = refusal(get(parameter("h", "header", explode=True)), {"h": value})
    expected = "what a header carries: Latin-1 on one line, no space around it"
    assert message.startswith(f"parameter 'h': expected {expected}, got ")


@pytest.mark.parametrize(
    "value", ["a;b", "a b", "a,b", 'a"', "a\\b", "a\r\nb", "\0", "ü", ["a", "b"]]
)
def test_a_cookie_cannot_be_broken_out_of(value: Any) -> None:
    message, _ = refusal(get(parameter("c", "cookie")), {"c": value})
    expected = "what a cookie carries: ASCII without spaces and '\",;\\'"
    assert message.startswith(f"parameter 'c': expected {expected}, got ")


def test_a_cookie_of_null_is_not_sent() -> None:
    plan = get(parameter("c", "cookie"), parameter("d", "cookie"))
    assert plan.build({"c": None, "d": 1}).cookies == b"d=1"


# Bodies


def content(request: Request) -> tuple[dict[bytes, bytes], bytes]:
    return dict(request.headers), request.body


def test_members_of_a_json_body_are_passed_on_as_they_were_written() -> None:
    plan = post("json", parameter("price", "body"), parameter("more", "body"))
    written = {"price": Raw(b"10.10"), "more": Raw(b'{"n": 12345678901234567890.0}')}
    assert plan.build(written).body == b'{"price":10.10,"more":{"n": 12345678901234567890.0}}'


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, "text", None, Raw(b"[1, 2]")])
def test_an_argument_can_be_the_whole_json_body(value: Any) -> None:
    plan = post("json", parameter("body", "body", wire_name="", required=True))
    body = plan.build({"body": value}).body
    assert body.replace(b" ", b"") == {
        "list": b"[1,2]", "dict": b'{"a":1}', "str": b'"text"', "NoneType": b"null", "Raw": b"[1,2]",
    }[type(value).__name__]  # fmt: skip


def test_a_required_json_body_is_there_even_if_it_is_empty() -> None:
    plan = post("json", parameter("a", "body"))
    json = {b"content-type": b"application/json", b"content-length": b"2"}
    assert content(plan.build({})) == (json, b"{}")


def test_an_optional_body_is_left_out_if_nothing_is_given() -> None:
    forms: list[BodyForm] = ["json", "form", "multipart", "text", "binary"]
    for form in forms:
        plan = post(form, parameter("a", "body"), required=False)
        assert content(plan.build({})) == ({b"content-length": b"0"}, b"")


def test_a_form_is_url_encoded() -> None:
    plan = post("form", parameter("a", "body"), parameter("b c", "body"), parameter("d", "body"))
    assert content(plan.build({"a": "ü&", "b c": [1, 2], "d": None})) == (
        {b"content-type": b"application/x-www-form-urlencoded", b"content-length": b"27"},
        b"a=%C3%BC%26&b%20c=1&b%20c=2",
    )


def test_an_argument_can_be_the_whole_form() -> None:
    plan = post("form", parameter("body", "body", wire_name=""))
    assert plan.build({"body": {"a": 1, "b": ["x", "y"]}}).body == b"a=1&b=x&b=y"


def test_text_is_sent_as_utf_8() -> None:
    plan = post("text", parameter("body", "body", wire_name=""))
    assert content(plan.build({"body": "ü"})) == (
        {b"content-type": b"text/plain; charset=utf-8", b"content-length": b"2"},
        "ü".encode(),
    )
    assert refusal(plan, {"body": 1})[0] == "parameter 'body': expected str, got int"
    assert refusal(plan, {"body": "\ud800"})[1]["expected"] == "text without lone surrogates"


def test_bytes_are_given_in_base64() -> None:
    plan = post("binary", parameter("body", "body", wire_name=""))
    assert content(plan.build({"body": base64.b64encode(b"\0\xff").decode()})) == (
        {b"content-type": b"application/octet-stream", b"content-length": b"2"},
        b"\0\xff",
    )
    for value in ("?", "AA", "AA=A", 7, None, ["AA=="], "\xfc"):
        assert refusal(plan, {"body": value})[1]["expected"] == "base64 text"


@pytest.mark.parametrize(
    ("form", "media_type", "content_type"),
    [
        ("json", "application/vnd.api+json", b"application/vnd.api+json"),
        ("text", "text/csv; header=present", b"text/csv; charset=utf-8"),
        ("binary", "image/png", b"image/png"),
    ],
)
def test_a_body_has_the_media_type_that_the_route_names(
    form: BodyForm, media_type: str, content_type: bytes
) -> None:
    body = parameter("body", "body", wire_name="")
    route = Route(method="PUT", path="/", body=form, body_media_type=media_type, parameters=(body,))
    request = RequestPlan(route).build({"body": "AAAA"})
    assert dict(request.headers)[b"content-type"] == content_type


FILE = Schema({"type": "string", "format": "binary"})
FILES = Schema({"type": "array", "items": {"anyOf": [{"contentMediaType": "image/png"}]}})


def test_a_multipart_body_has_fields_and_files() -> None:
    plan = post(
        "multipart",
        parameter("note", "body"),
        parameter("ids", "body"),
        parameter("gone", "body"),
        parameter("file", "body", schema=FILE),
        parameter("more", "body", schema=FILES),
    )
    picture = {"data": "AAE=", "filename": 'a"\r\n.png', "mediaType": "image/png"}
    request = plan.build(
        {"note": "ü", "ids": [1, 2], "gone": None, "file": "AAE=", "more": [picture]}
    )
    boundary = dict(request.headers)[b"content-type"].partition(b"boundary=")[2]
    assert request.body == b"".join(
        b"--" + boundary + b"\r\ncontent-disposition: form-data; " + part + b"\r\n"
        for part in (
            'name="note"\r\n\r\nü'.encode(),
            b'name="ids"\r\n\r\n1',
            b'name="ids"\r\n\r\n2',
            b'name="file"; filename="file"\r\ncontent-type: application/octet-stream\r\n\r\n\0\1',
            b'name="more"; filename="a%22%0D%0A.png"\r\ncontent-type: image/png\r\n\r\n\0\1',
        )
    ) + (b"--" + boundary + b"--\r\n")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"filename": "a"}, "a file: base64 text, or an object of data, filename, mediaType"),
        (
            {"data": "AA==", "x": 1},
            "a file: base64 text, or an object of data, filename, mediaType",
        ),
        ({"data": "AA==", "filename": 1}, "a filename that is text"),
        ({"data": "AA==", "filename": "\ud800"}, "text without lone surrogates"),
        ({"data": "AA==", "mediaType": "image/png\r\nx: y"}, "a mediaType such as image/png"),
        ({"data": "AA==", "mediaType": 7}, "a mediaType such as image/png"),
        ({"data": "?"}, "base64 text"),
        (7, "base64 text"),
    ],
)
def test_what_is_no_file_is_refused(value: Any, expected: str) -> None:
    plan = post("multipart", parameter("file", "body", schema=FILE))
    assert refusal(plan, {"file": value})[1]["expected"] == expected


# Names


def test_an_unknown_argument_is_refused_with_the_name_that_comes_close() -> None:
    plan = get(parameter("limit", "query"), parameter("offset", "query"))
    assert refusal(plan, {"limt": 1}) == (
        "parameter 'limt': no such parameter, did you mean 'limit'? "
        "(allowed by name: 'limit', 'offset')",
        {
            "reason": "invalid_params",
            "parameter": "limt",
            "path": "limt",
            "expected": "no such parameter",
            "got": "one",
            "allowed": ["limit", "offset"],
            "suggestion": "limit",
        },
    )


def test_every_problem_is_told() -> None:
    plan = get(
        parameter("id", "path", schema=Schema({"type": "integer"})),
        parameter("name", "query", required=True, schema=Schema({"type": ["string", "null"]})),
        parameter("any", "query", required=True, schema=Schema(True)),
        parameter("h", "header"),
        path="/{id}",
    )
    message, data = refusal(plan, {"h": "\n", "x": 1, "y": 2})
    assert message.endswith(" (and 5 more)")
    assert [(each["parameter"], each["expected"], each["got"]) for each in data["problems"]] == [
        ("h", "what a header carries: Latin-1 on one line, no space around it", "str"),
        ("x", "no such parameter", "one"),
        ("y", "no such parameter", "one"),
        ("id", "int", "nothing"),
        ("name", "str | null", "nothing"),
        ("any", "a value", "nothing"),
    ]


def test_a_refused_value_is_not_repeated() -> None:
    message, data = refusal(get(parameter("h", "header")), {"h": "secret\n"})
    assert "secret" not in message + repr(data)


def test_a_part_of_the_nested_form_holds_its_members() -> None:
    query = parameter(
        "query",
        "query",
        wire_name="",
        members=(parameter("a-b", "query"), parameter("c", "query", required=True)),
    )
    path = parameter("path", "path", wire_name="", members=(parameter("id", "path"),))
    plan = get(path, query, path="/x/{id}")
    request = plan.build({"path": Raw(b'{"id": 1}'), "query": {"a-b": [1, 2], "c": "z"}})
    assert (request.path, request.query) == ("/x/1", b"a-b=1&a-b=2&c=z")
    _, data = refusal(plan, {"path": {"id": ""}, "query": {"d": 1}})
    assert [(each["parameter"], each["path"]) for each in data["problems"]] == [
        ("path", "path.id"),
        ("query", "query.d"),
        ("query", "query.c"),
    ]
    assert refusal(plan, {"path": 7})[0] == "parameter 'path': expected object, got int"


# Routes that cannot be called


@pytest.mark.parametrize(
    ("route", "message"),
    [
        (
            Route(method="GET", path="/{id}"),
            "GET /{id} has places for ['id'], and the required parameters of its path are []",
        ),
        (
            Route(method="GET", path="/", parameters=(parameter("id", "path"),)),
            "GET / has places for [], and the required parameters of its path are ['id']",
        ),
        (
            Route(method="GET", path="/", parameters=(parameter("a b", "header"),)),
            "GET / wants a header 'a b', and no header is called so",
        ),
        (
            Route(method="GET", path="/", parameters=(parameter("a;b", "cookie"),)),
            "GET / wants a cookie 'a;b', and no cookie is called so",
        ),
        (
            Route(method="GET", path="/", parameters=(parameter("Content-Length", "header"),)),
            "GET / wants the header 'Content-Length' from its caller, who cannot know",
        ),
        (
            Route(method="GET", path="/", parameters=(parameter("a", "body"),)),
            "GET / has no body, and parameter 'a' is in it",
        ),
        (
            Route(method="POST", path="/", body="json", body_media_type="a/b\r\nx: y"),
            "POST / has no media type in 'a/b\\r\\nx: y'",
        ),
        (
            Route(
                method="POST",
                path="/",
                body="json",
                parameters=(parameter("a", "body"), parameter("body", "body", wire_name="")),
            ),
            "POST / has a parameter for the whole body and others in it",
        ),
    ],
)
def test_a_route_that_cannot_be_called_is_refused_at_once(route: Route, message: str) -> None:
    with pytest.raises(RegistrationError) as raised:
        RequestPlan(route)
    assert str(raised.value) == message
