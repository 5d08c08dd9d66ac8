"""What an application sees in a request is what the caller gave, for any text."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings, strategies as st
from starlette.applications import Starlette
from starlette.requests import Request as Seen
from starlette.responses import JSONResponse
from starlette.routing import Route as Place

from accord.exposure.in_process import InProcess
from accord.exposure.request import RequestPlan
from accord.exposure.routes import Route, RouteParameter
from accord.jsonrpc.protocol.errors import InvalidParamsError

TEXT = st.text()
"""Any Unicode that UTF-8 can carry."""
LATIN_1 = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_categories=["Cc"]))
COOKIE = st.text(
    st.sampled_from("".join(map(chr, range(0x21, 0x7F)))).filter(lambda it: it not in '",;\\')
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)

UNHURRIED = settings(deadline=None)
"""A call takes the turns of a loop, and a busy machine takes its time for them."""


async def echo(request: Seen) -> JSONResponse:
    body: Any = None
    if request.headers.get("content-type") == "application/x-www-form-urlencoded":
        body = (await request.form()).multi_items()
    elif request.method == "POST":
        body = await request.json()
    return JSONResponse(
        {
            "path": request.path_params,
            "raw": request.scope["raw_path"].decode("ascii"),
            "query": request.query_params.multi_items(),
            "header": request.headers.getlist("x-h"),
            "cookie": request.cookies,
            "body": body,
        }
    )


APP = InProcess(
    Starlette(
        routes=[
            Place("/in/{id}/side", echo),
            Place("/below/{rest:path}", echo),
            Place("/", echo, methods=["GET", "POST"]),
        ]
    )
)
SIDE = Route(
    method="GET",
    path="/in/{id}/side",
    parameters=(RouteParameter(name="id", wire_name="id", location="path", required=True),),
)
BELOW = Route(
    method="GET",
    path="/below/{rest}",
    parameters=(
        RouteParameter(name="rest", wire_name="rest", location="path", required=True, slashes=True),
    ),
)
ROOT = Route(
    method="GET",
    path="/",
    parameters=(
        RouteParameter(name="q", wire_name="q", location="query"),
        RouteParameter(name="ü&=", wire_name="ü&=", location="query"),
        RouteParameter(name="h", wire_name="X-H", location="header"),
        RouteParameter(name="c", wire_name="c", location="cookie"),
        RouteParameter(name="d", wire_name="d", location="cookie"),
    ),
)
BODY = Route(
    method="POST",
    path="/",
    body="json",
    parameters=(
        RouteParameter(name="a", wire_name="a", location="body"),
        RouteParameter(name="b_", wire_name="b", location="body"),
    ),
)
FORM = Route(method="POST", path="/", body="form", parameters=BODY.parameters)


async def seen(route: Route, arguments: dict[str, Any]) -> Any:
    return json.loads(bytes(await APP.call(route, arguments)))


@UNHURRIED
@given(TEXT)
async def test_a_path_value_arrives_or_is_refused(value: str) -> None:
    try:
        found = await seen(SIDE, {"id": value})
    except InvalidParamsError:
        decoded = unquote(value)
        parts = decoded.replace("\\", "/").split("/")
        assert not value or "/" in value or "." in parts or ".." in parts
    else:
        assert found["path"] == {"id": value}
        assert unquote(found["raw"]) == f"/in/{value}/side"
        assert found["raw"].count("/") == 3


@UNHURRIED
@given(st.text().filter(lambda it: "\n" not in it))
async def test_a_path_value_with_slashes_arrives_or_is_refused(value: str) -> None:
    try:
        found = await seen(BELOW, {"rest": value})
    except InvalidParamsError:
        parts = unquote(value).replace("\\", "/").split("/")
        assert not value or "." in parts or ".." in parts
    else:
        assert found["path"] == {"rest": value}


@UNHURRIED
@given(TEXT, st.lists(TEXT))
async def test_query_values_arrive(value: str, values: list[str]) -> None:
    found = await seen(ROOT, {"q": value, "ü&=": values})
    assert found["query"] == [["q", value], *(["ü&=", each] for each in values)]


@UNHURRIED
@given(LATIN_1, st.lists(LATIN_1))
async def test_header_values_arrive(value: str, values: list[str]) -> None:
    assert (await seen(ROOT, {"h": value}))["header"] == [value]
    assert (await seen(ROOT, {"h": values}))["header"] == values


@UNHURRIED
@given(COOKIE, COOKIE)
async def test_cookies_arrive(one: str, other: str) -> None:
    assert (await seen(ROOT, {"c": one, "d": other}))["cookie"] == {"c": one, "d": other}


@UNHURRIED
@given(TEXT)
def test_a_header_or_cookie_is_one_line_or_refused(value: str) -> None:
    for name in ("h", "c"):
        try:
            request = RequestPlan(ROOT).build({name: value})
        except InvalidParamsError:
            continue
        carried = [line for _, line in request.headers] + [request.cookies]
        assert not any(byte in line for line in carried for byte in b"\r\n\0")


@UNHURRIED
@given(JSON, JSON)
async def test_members_of_a_json_body_arrive(one: Any, other: Any) -> None:
    assert (await seen(BODY, {"a": one, "b_": other}))["body"] == {"a": one, "b": other}


@UNHURRIED
@given(TEXT, st.lists(TEXT, min_size=1, max_size=20))
async def test_form_fields_arrive(one: str, others: list[str]) -> None:
    found = await seen(FORM, {"a": one, "b_": others})
    assert found["body"] == [["a", one], *(["b", each] for each in others)]


@pytest.mark.parametrize("value", ["..%2f..", "a/../../b", "%2e%2e/x", "..\\..", "x/./y"])
async def test_no_value_climbs_out_of_its_place(value: str) -> None:
    for route, name in ((SIDE, "id"), (BELOW, "rest")):
        with pytest.raises(InvalidParamsError):
            await APP.call(route, {name: value})
