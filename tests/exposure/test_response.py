"""From responses to results and errors."""

from __future__ import annotations

import base64
import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from accord.exposure.response import ERRORS, Response, error_name, read_response
from accord.exposure.routes import Route, RouteParameter
from accord.jsonrpc.protocol.catalogue import CATALOGUE
from accord.jsonrpc.protocol.errors import RpcError
from accord.jsonrpc.protocol.messages import encode
from accord.schema.schema import Schema

ROUTE = Route(
    method="POST",
    path="/items/{id}",
    body="json",
    parameters=(
        RouteParameter(name="id", wire_name="id", location="path", required=True),
        RouteParameter(name="tag", wire_name="tag[]", location="query"),
        RouteParameter(name="token", wire_name="X-Token", location="header"),
        RouteParameter(name="price_", wire_name="price", location="body", schema=Schema({})),
    ),
)
WHOLE = Route(
    method="POST",
    path="/",
    body="json",
    parameters=(RouteParameter(name="body", wire_name="", location="body"),),
)


def answer(
    status: int = 200, body: bytes = b"", content_type: str = "", **headers: str
) -> Response:
    fields = {"content-type": content_type, **headers} if content_type else headers
    return Response(
        status=status,
        headers=[(k.replace("_", "-").encode(), v.encode("latin-1")) for k, v in fields.items()],
        body=body,
    )


def read(response: Response, route: Route = ROUTE, most: int = 1000) -> Any:
    return read_response(route, response, max_error_bytes=most)


def error(response: Response, route: Route = ROUTE, most: int = 1000) -> tuple[int, str, Any]:
    with pytest.raises(RpcError) as raised:
        read(response, route, most)
    encode(raised.value.data)  # all of it can be told
    return raised.value.code, raised.value.message, raised.value.data


# Results


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/vnd.x+json",
        "APPLICATION/JSON",
    ],
)
def test_json_is_passed_on_as_it_came(content_type: str) -> None:
    body = '{"a": 1.10,  "ü": 12345678901234567890.0}'.encode()
    result = read(answer(200, body, content_type))
    assert isinstance(result, Raw)
    assert bytes(result) == body


def test_json_of_many_lines_becomes_one() -> None:
    # A message may have to be one line.
    body = json.dumps({"a": ["x\ny", 1.0]}, indent=2).encode() + b"\r\n"
    assert bytes(read(answer(201, body, "application/json"))) == rb'{"a":["x\ny",1.0]}'


@pytest.mark.parametrize(
    "body",
    [b"{", b"NaN", b"{} {}", b'"\xff"', b'{"a":"\xc3"}', b"\xef\xbb\xbf1", b" "],
)
def test_broken_json_does_not_reach_the_caller(body: bytes) -> None:
    assert error(answer(200, body, "application/json")) == (
        -32603,
        "POST /items/{id} answered 200 with JSON that is not valid",
        {"reason": "internal_error", "status": 200},
    )


@pytest.mark.req("Q-04")
@pytest.mark.parametrize("levels", [129, 5_000])
def test_json_that_is_nested_too_deep_does_not_reach_the_caller(levels: int) -> None:
    assert error(answer(200, b"[" * levels, "application/json")) == (
        -32603,
        "POST /items/{id} answered 200 with JSON that is nested deeper than 128 levels",
        {"reason": "internal_error", "status": 200},
    )


@pytest.mark.parametrize("status", [200, 201, 202, 204, 205, 304])
def test_no_content_is_null(status: int) -> None:
    assert read(answer(status, b"", "application/json")) is None


@pytest.mark.parametrize("status", [204, 205, 304])
def test_content_where_there_can_be_none_is_ignored(status: int) -> None:
    assert read(answer(status, b"null{", "application/json")) is None


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/plain", "ü".encode(), "ü"),
        ("text/html; charset=utf-8", b"<p>", "<p>"),
        ("text/plain; charset=latin-1", b"\xfc", "ü"),
        ('text/csv; header=present; charset="utf-16"', "a,ü".encode("utf-16"), "a,ü"),
        ("application/xml; charset=iso-8859-1", b"<a>\xfc</a>", "<a>ü</a>"),
        ("Text/Plain", b"a\r\nb", "a\r\nb"),
    ],
)
def test_text_is_a_string(content_type: str, body: bytes, text: str) -> None:
    assert read(answer(200, body, content_type)) == text


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/plain", b"\xff"),
        ("text/plain; charset=ascii", b"\xff"),
        ("text/plain; charset=klingon", b"a"),
        ("text/plain; charset=hex", b"61"),
        ("text/plain; charset=\x00", b"a"),
        ("text/plain; charset=undefined", b"a"),
    ],
)
def test_text_in_no_charset_is_an_error(content_type: str, body: bytes) -> None:
    assert error(answer(200, body, content_type)) == (
        -32015,
        "POST /items/{id} answered 200 with text that is not in the charset it names",
        {"reason": "invalid_encoding", "status": 200, "mediaType": "text/plain"},
    )


@pytest.mark.parametrize(
    ("disposition", "filename"),
    [
        ("", None),
        ("inline", None),
        ('attachment; filename="a b.png"', "a b.png"),
        ("attachment; filename*=utf-8''%C3%BC.png", "ü.png"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="C:\\\\boot.ini"', "boot.ini"),
        ('attachment; filename="/"', None),
        ("attachment; filename*=klingon''x", "x"),
        ('attachment\r\n; filename="x"', "x"),
    ],
)
def test_anything_else_is_an_object_with_base64(disposition: str, filename: str | None) -> None:
    headers = {"content_disposition": disposition} if disposition else {}
    expected = {"mediaType": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}
    if filename is not None:
        expected["filename"] = filename
    assert read(answer(200, b"\x89PNG", "image/png", **headers)) == expected


def test_content_of_no_type_is_bytes() -> None:
    assert read(answer(200, b"{}")) == {"mediaType": "application/octet-stream", "data": "e30="}


def test_encoded_content_is_an_error() -> None:
    assert error(answer(200, b"\x1f\x8b", "application/json", content_encoding="gzip")) == (
        -32015,
        "POST /items/{id} answered 200 with content encoded as gzip, which was not asked for",
        {"reason": "invalid_encoding", "status": 200},
    )
    assert bytes(read(answer(200, b"1", "application/json", content_encoding="Identity"))) == b"1"


# Errors


def test_every_status_has_an_error_of_the_catalogue() -> None:
    assert {error_name(status) for status in range(300, 600)} >= set(ERRORS.values())
    for status in range(300, 600):
        if status != 304:
            code, _, data = error(answer(status))
            entry = CATALOGUE.named(error_name(status))
            assert (code, data) == (entry.code, {"reason": entry.name, "status": status})


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (302, -32000),
        (400, -32602),
        (401, -32051),
        (402, -32007),
        (403, -32052),
        (404, -32001),
        (405, -32065),
        (409, -32026),
        (410, -32001),
        (413, -32014),
        (418, -32007),
        (422, -32602),
        (429, -32010),
        (499, -32007),
        (500, -32000),
        (503, -32000),
        (504, -32009),
        (599, -32000),
    ],
)
def test_statuses_have_stable_codes(status: int, code: int) -> None:
    assert error(answer(status))[0] == code


@pytest.mark.parametrize("status", [0, 100, 199, 600, 999])
def test_a_status_that_no_answer_has_is_an_internal_error(status: int) -> None:
    assert error(answer(status))[:2] == (
        -32603,
        f"POST /items/{{id}} answered {status}, which no answer has",
    )


def test_an_error_says_what_the_application_says() -> None:
    body = b'{"detail": "no item 7", "more": [1]}'
    assert error(answer(404, body, "application/problem+json")) == (
        -32001,
        "404 Not Found: no item 7",
        {
            "reason": "resource_not_found",
            "status": 404,
            "body": {"detail": "no item 7", "more": [1]},
        },
    )


@pytest.mark.parametrize(
    ("content_type", "body", "message", "shown"),
    [
        ("application/json", b'{"message": "gone\\nfor good"}', "404 Not Found: gone\\nfor good", {"message": "gone\nfor good"}),
        ("application/json", b'{"detail": {"a": 1}, "title": "T"}', "404 Not Found: T", {"detail": {"a": 1}, "title": "T"}),
        ("application/json", b"[1]", "404 Not Found", [1]),
        ("application/json", b"{", "404 Not Found", "{"),
        ("text/plain", b"Not Found", "404 Not Found", "Not Found"),
        ("text/plain", b"nobody home", "404 Not Found: nobody home", "nobody home"),
        ("text/html", b"<h1>404</h1>", "404 Not Found", "<h1>404</h1>"),
        ("text/html; charset=klingon", b"<h1>\xfc</h1>", "404 Not Found", "<h1>ü</h1>"),
    ],
)  # fmt: skip
def test_the_message_of_an_error(content_type: str, body: bytes, message: str, shown: Any) -> None:
    expected = {"reason": "resource_not_found", "status": 404, "body": shown}
    assert error(answer(404, body, content_type)) == (-32001, message, expected)


def test_binary_content_and_no_content_are_left_out_of_an_error() -> None:
    expected = {"reason": "server_error", "status": 500}
    assert error(answer(500, b"\xff", "image/png"))[2] == expected
    assert error(answer(500))[2] == expected


def test_a_long_body_is_cut() -> None:
    data = error(answer(500, b'{"a": "' + b"x" * 2000 + b'"}', "application/json"), most=10)[2]
    assert data == {
        "reason": "server_error",
        "status": 500,
        "body": '{"a": "xxx',
        "truncated": True,
    }


def test_a_long_sentence_is_cut() -> None:
    _, message, _ = error(answer(500, b"x" * 500, "text/plain"))
    assert message == f"500 Internal Server Error: {'x' * 200}…"


def test_a_redirect_is_an_error_that_says_where_to() -> None:
    assert error(answer(307, location="/items/7/")) == (
        -32000,
        "POST /items/{id} answered 307 Temporary Redirect, and redirects are not followed",
        {"reason": "server_error", "status": 307, "location": "/items/7/"},
    )


@pytest.mark.parametrize(
    ("status", "header", "expected"),
    [(429, "7", 7), (503, "120", 120), (429, "Fri, 31 Dec 2027 23:59:59 GMT", "Fri, 31 Dec 2027 23:59:59 GMT"), (429, "9" * 400, "9" * 400)],
)  # fmt: skip
def test_an_error_says_when_to_try_again(status: int, header: str, expected: Any) -> None:
    assert error(answer(status, retry_after=header))[2]["retryAfter"] == expected


# Wrong values


def rejection(*entries: dict[str, Any]) -> Response:
    return answer(422, json.dumps({"detail": entries}).encode(), "application/json")


def test_a_rejected_value_is_reported_as_the_router_reports_its_own() -> None:
    entry = {
        "type": "int_parsing",
        "loc": ["path", "id"],
        "msg": "Input should be a valid integer",
        "input": "x",
    }
    assert error(rejection(entry)) == (
        -32602,
        "parameter 'id': expected a valid integer, got str",
        {
            "reason": "invalid_params",
            "parameter": "id",
            "path": "id",
            "expected": "a valid integer",
            "got": "str",
            "type": "int_parsing",
            "status": 422,
            "body": {"detail": [entry]},
        },
    )


def test_each_rejection_has_the_name_that_the_caller_knows() -> None:
    _, message, data = error(
        rejection(
            {"type": "missing", "loc": ["query", "tag[]"], "msg": "Field required", "input": None},
            {"type": "x", "loc": ["header", "x-token"], "msg": "Too short", "input": "a"},
            {"type": "x", "loc": ["body", "price", "amounts", 0], "msg": "Value error, no"},
            {"loc": ["body", "colour"], "msg": "Extra inputs are not permitted", "input": [1]},
            {"type": "x", "loc": ["cookie"], "msg": "Crumbs"},
            {"type": 7, "loc": [], "msg": "Nothing is right"},
        )
    )
    assert message == "parameter 'tag': expected a value, got nothing (and 5 more)"
    assert [(it["parameter"], it["path"], it["message"]) for it in data["problems"]] == [
        ("tag", "tag", "parameter 'tag': expected a value, got nothing"),
        ("token", "token", "parameter 'token': Too short"),
        ("price_", "price_.amounts[0]", "parameter 'price_.amounts[0]': Value error, no"),
        ("colour", "body.colour", "parameter 'body.colour': Extra inputs are not permitted"),
        ("cookie", "cookie", "parameter 'cookie': Crumbs"),
        ("params", "params", "parameter 'params': Nothing is right"),
    ]


def test_a_rejection_inside_the_whole_body_is_placed_in_it() -> None:
    entry = {"type": "x", "loc": ["body", 0, "name"], "msg": "Input should be a valid string"}
    with pytest.raises(RpcError) as raised:
        read(rejection(entry), WHOLE)
    assert raised.value.data["path"] == "body[0].name"


def test_a_rejection_in_the_nested_form_is_placed_in_its_part() -> None:
    member = RouteParameter(name="x-token", wire_name="x-token", location="header")
    part = RouteParameter(name="headers", wire_name="", location="header", members=(member,))
    route = Route(method="GET", path="/", parameters=(part,))
    entry = {"type": "missing", "loc": ["header", "x-token"], "msg": "Field required"}
    _, _, data = error(rejection(entry), route)
    assert (data["parameter"], data["path"]) == ("headers", "headers.x-token")


@pytest.mark.parametrize(
    "detail",
    [
        [],
        ["text"],
        [{"loc": "x", "msg": "y"}],
        [{"loc": []}],
        {"a": 1},
        None,
        7,
        [{"loc": [], "msg": 1}],
    ],
)
def test_another_list_of_details_is_left_as_it_is(detail: Any) -> None:
    body = json.dumps({"detail": detail}).encode()
    assert error(answer(422, body, "application/json")) == (
        -32602,
        f"422 {HTTPStatus(422).phrase}",
        {"reason": "invalid_params", "status": 422, "body": {"detail": detail}},
    )


def test_many_rejections_are_cut() -> None:
    entries = [{"loc": ["query", "tag[]", n], "msg": "no"} for n in range(500)]
    with pytest.raises(RpcError) as raised:
        read_response(ROUTE, rejection(*entries), max_error_bytes=1_000_000)
    assert len(raised.value.data["problems"]) == 10


def test_the_docs_have_the_table_of_statuses() -> None:
    page = Path(__file__).parents[2] / "docs" / "exposure.md"
    table = page.read_text(encoding="utf-8").partition("| status | code | `data.reason` |\n")[2]
    rows = [line.strip("|").split("|") for line in table.partition("\n\n")[0].splitlines()[1:]]
    named = {300: "3xx", 402: "other 4xx", 500: "other 5xx"} | {each: str(each) for each in ERRORS}
    assert [tuple(cell.strip() for cell in row) for row in rows] == [
        (shown, str(CATALOGUE.named(name).code), f"`{name}`")
        for shown, name in sorted(
            ((shown, error_name(status)) for status, shown in named.items()),
            key=lambda row: (
                row[0].replace("other 4xx", "499").replace("other 5xx", "599").replace("3xx", "300")
            ),
        )
    ]
