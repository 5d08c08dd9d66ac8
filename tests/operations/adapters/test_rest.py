"""The REST face over real HTTP: what is asked, and what is answered."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import httpx
import pytest

from accord.jsonrpc.protocol.errors import RegistrationError
from accord.operations.adapters.rest_routes import RestRoute, RouteTree
from accord.operations.operation import Rest
from tests.operations.adapters.shop import Bucket, Shop, operations, shop_at


@pytest.mark.req("H-13")
async def test_what_is_created_has_a_location_and_can_be_read(shop: Shop) -> None:
    made = await shop.pen("p 1", "Quill")
    change = made.headers["accord-change-id"]
    assert (made.status_code, made.json()) == (
        201,
        {"id": "p 1", "title": "Quill", "price": 1, "version": 1, "change_id": change},
    )
    assert made.headers["location"] == "/api/v1/pens/p%201"
    read = await shop.client.get(made.headers["location"])
    assert (read.status_code, read.json()) == (
        200,
        {"id": "p 1", "title": "Quill", "price": 1, "version": 1},
    )


@pytest.mark.req("H-13")
async def test_lists_are_pages_with_a_cursor(shop: Shop) -> None:
    for name in ("a", "b", "c"):
        await shop.pen(name)
    first = (await shop.get("/pens", params={"limit": 2})).json()
    assert [pen["id"] for pen in first.pop("items")] == ["a", "b"]
    assert first == {"next_cursor": "b", "has_more": True, "total": 3}
    rest = (await shop.get("/pens", params={"cursor": "b"})).json()
    assert [pen["id"] for pen in rest.pop("items")] == ["c"]
    assert rest == {"next_cursor": None, "has_more": False, "total": 3}


@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
async def test_put_and_patch_change_what_is_named_and_nothing_else(shop: Shop, verb: str) -> None:
    await shop.pen("p1", "Quill", price=7)
    changed = await shop.client.request(verb, "/api/v1/pens/p1", json={"title": "Pencil"})
    assert changed.status_code == 200
    assert (await shop.get("/pens/p1")).json() == {
        "id": "p1",
        "title": "Pencil",
        "price": 7,
        "version": 2,
    }


async def test_what_is_deleted_is_gone(shop: Shop) -> None:
    await shop.pen()
    deleted = await shop.delete("/pens/p1")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert "content-length" not in deleted.headers
    assert deleted.headers["accord-change-id"]
    assert (await shop.get("/pens/p1")).status_code == 404


async def test_a_word_of_the_path_goes_before_a_value_in_it(local: Shop) -> None:
    await local.pen("dear", price=9)
    await local.pen("cheap", price=2)
    assert (await local.get("/pens/cheapest")).json()["id"] == "cheap"


async def test_query_words_become_typed_arguments(local: Shop) -> None:
    asked = await local.get("/found?tags=a&tags=b%26c&limit=3&colour=red&cheap=true")
    assert asked.json() == {"tags": ["a", "b&c"], "limit": 3, "colour": "red", "cheap": True}
    assert (await local.get("/found?c=blue")).json()["colour"] == "blue"
    assert (await local.get("/found?tags=one+two&")).json()["tags"] == ["one two"]
    assert (await local.get("/found")).json()["tags"] == []


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("tagz=a", "/tagz"),
        ("limit=0", "/limit"),
        ("limit=ten", "/limit"),
        ("limit=1&limit=2", "/limit"),
        ("limit=" + "9" * 5000, "/limit"),
        ("colour=green", "/colour"),
        ("colour=null", "/colour"),
        ("cheap=perhaps", "/cheap"),
        ("tags=" + "x" * 21, "/tags/0"),
        ("tags=a%00b", "/tags/0"),
        ("dry_run=true", "/dry_run"),
        ("c=red&colour=blue", "/colour"),
    ],
)
async def test_a_wrong_word_in_the_query_is_named(local: Shop, query: str, pointer: str) -> None:
    refused = await local.get(f"/found?{query}")
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert error["pointer"] == pointer


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (b"{", 400, None),
        (b'{"id": "\xff"}', 400, None),
        (b'{"id": "\\ud800", "title": "t"}', 400, None),
        (b"[" * 50_000, 400, None),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, 400, None),
        (b"[]", 422, ""),
        (b"null", 422, ""),
        (b"", 422, "/id"),
        (b"{}", 422, "/id"),
        (b'{"id": "x"}', 422, "/title"),
        (b'{"id": "x", "title": ""}', 422, "/title"),
        (b'{"id": "x", "title": 5}', 422, "/title"),
        (b'{"id": "x", "title": "t\\u0000"}', 422, "/title"),
        (b'{"id": "x", "title": "t", "price": 99999999999999999999}', 422, "/price"),
        (b'{"id": "x", "title": "t", "colour": "red"}', 422, "/colour"),
        (b'{"id": "x", "title": "t", "a/b~c": 1}', 422, "/a~1b~0c"),
        (b'{"id": "x", "title": "t", "%s": 1}' % (b"n" * 9_000), 422, "/" + "n" * 100),
    ],
)
async def test_a_wrong_body_is_refused_with_its_place(
    local: Shop, body: bytes, status: int, pointer: str | None
) -> None:
    headers = {"content-type": "application/json"}
    refused = await local.post("/pens", content=body, headers=headers)
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"
    assert len(refused.content) < 2_000
    errors = refused.json().get("errors")
    assert (None if errors is None else errors[0]["pointer"]) == pointer


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        ({"content-type": "application/json; charset=UTF-8"}, True),
        ({"content-type": "Application/JSON"}, True),
        ({"content-type": "application/json; charset=latin-1"}, False),
        ({"content-type": "application/x-www-form-urlencoded"}, False),
        ({"content-type": "text/plain"}, False),
        ({}, False),
        ({"content-type": "application/json", "content-encoding": "gzip"}, False),
    ],
)
async def test_bodies_are_json(local: Shop, headers: dict[str, str], accepted: bool) -> None:
    answer = await local.post("/pens", content=b'{"id": "x", "title": "t"}', headers=headers)
    assert answer.status_code == (201 if accepted else 415)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"blue": 3, "red": 4}', "application/json"),
        (b"blue,3\nred,4\n", "text/csv"),
        (b"blue,3\nred,4\n", "Text/CSV; charset=utf-8"),
    ],
)
async def test_a_body_may_be_one_value_or_a_text(shop: Shop, body: bytes, kind: str) -> None:
    headers = {"content-type": kind}
    tried = await shop.post("/deliveries?dry_run=true", content=body, headers=headers)
    assert (tried.status_code, len(tried.json()["changes"])) == (200, 2)
    keyed = {**headers, "idempotency-key": "first"}
    taken = await shop.post("/deliveries", content=body, headers=keyed)
    assert (taken.status_code, taken.json()) == (202, {"lines": 2, "pens": 2})
    again = await shop.post("/deliveries", content=body, headers=keyed)
    assert (again.json(), again.headers["idempotent-replayed"]) == ({"lines": 2, "pens": 2}, "true")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "text/csv", 422),
        (b"\xff,1", "text/csv", 400),
        (b"blue,1", "text/csv; charset=latin-1", 415),
        (b"blue,1", "text/plain", 415),
        (b"{", "application/json", 400),
        (b'{"blue": "\xff"}', "application/json", 400),
        (b"[" * 100 + b"]" * 100, "application/json", 400),
        (b"[1]", "application/json", 422),
        (b'{"blue": "dear"}', "application/json", 422),
        (b"blue\x00,1", "text/csv", 422),
    ],
)
async def test_a_value_or_text_that_is_none_is_refused(
    local: Shop, body: bytes, kind: str, status: int
) -> None:
    refused = await local.post("/deliveries", content=body, headers={"content-type": kind})
    assert refused.status_code == status, refused.text
    assert refused.headers["content-type"] == "application/problem+json"


async def test_a_body_where_none_belongs_is_refused(local: Shop) -> None:
    asked = await local.client.request("GET", "/api/v1/pens", json={"limit": 3})
    assert (asked.status_code, asked.json()["code"]) == (415, "unsupported_media_type")


async def test_a_body_over_the_limit_is_not_read(local: Shop) -> None:
    refused = await local.pen(title="x" * 200_000)
    assert (refused.status_code, refused.json()["code"]) == (413, "content_too_large")
    assert "100,000" in refused.json()["detail"]

    async def pieces() -> Any:
        for _ in range(5):
            yield b"x" * 50_000

    headers = {"content-type": "application/json"}
    chunked = await local.post("/pens", content=pieces(), headers=headers)
    assert (chunked.status_code, chunked.json()["code"]) == (413, "content_too_large")


async def test_other_verbs_are_told_which_there_are(local: Shop) -> None:
    refused = await local.client.request("PUT", "/api/v1/pens")
    assert (refused.status_code, refused.json()["code"]) == (405, "method_not_allowed")
    assert refused.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    asked = await local.client.request("OPTIONS", "/api/v1/pens/p1")
    assert (asked.status_code, asked.content) == (204, b"")
    assert asked.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"
    assert (await local.client.request("TRACE", "/api/v1/pens")).status_code == 405
    assert (await local.client.request("PATCH", "/api/v1/openapi.json")).status_code == 405


async def test_head_tells_of_what_get_would_give(local: Shop) -> None:
    await local.pen()
    got = await local.get("/pens/p1")
    head = await local.client.head("/api/v1/pens/p1")
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-length", "content-type", "etag"):
        assert head.headers[name] == got.headers[name]
    assert (await local.client.head("/api/v1/pens/none")).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing", "/pens/", "/pens//", "//pens", "/pens/p1/", "/pens/p1/nothing", "/PENS"),
        *("/pens/%2e%2e/pens", "/pens%2Fcheapest%2Fx", "/%00", "/pens/a%2Fb"),
    ],
)
async def test_where_nothing_is_a_problem_says_so(local: Shop, path: str) -> None:
    url = httpx.URL(local.url.rstrip("/") + "/api/v1").copy_with(raw_path=f"/api/v1{path}".encode())
    answer = await local.client.get(url)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("raw", "id"),
    [
        ("a%20b", "a b"),
        ("%C3%A9", "é"),
        ("a+b", "a+b"),
        ("%2525", "%25"),
        ("x%3Fy%23z", "x?y#z"),
        ("';DROP TABLE pens;--", "';DROP TABLE pens;--"),
    ],
)
async def test_values_in_the_path_are_decoded_once(shop: Shop, raw: str, id: str) -> None:
    await shop.pen(id)
    raw_path = f"/api/v1/pens/{raw}".encode()
    url = httpx.URL(shop.url.rstrip("/")).copy_with(raw_path=raw_path)
    assert (await shop.client.get(url)).json()["id"] == id


@pytest.mark.parametrize("raw", ["%FF", "%C3%28", "%ED%A0%80", "%00", "p1%00", "%zz"])
async def test_values_that_are_no_text_name_nothing(shop: Shop, raw: str) -> None:
    url = httpx.URL(shop.url.rstrip("/")).copy_with(raw_path=f"/api/v1/pens/{raw}".encode())
    assert (await shop.client.get(url)).status_code in (404, 422)


async def test_a_query_that_is_no_utf_8_is_malformed(local: Shop) -> None:
    url = httpx.URL(local.url.rstrip("/")).copy_with(raw_path=b"/api/v1/found?tags=%FF")
    refused = await local.client.get(url)
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed_request")


# Who asks


@pytest.mark.req("H-13")
@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer x", "Bearer", "Basic YTpi", "Bearer a, Bearer b", "Bearer " + "x" * 4000],
)
async def test_without_a_valid_token_nothing_is_told(
    local: Shop, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    async with httpx.AsyncClient(base_url=local.url) as nobody:
        answers = [
            await nobody.get("/api/v1/pens/none", headers=headers),
            await nobody.get("/api/v1/found?tagz=1", headers=headers),
            await nobody.post("/api/v1/pens", json={"wrong": 1}, headers=headers),
        ]
    for answer in answers:
        assert (answer.status_code, answer.json()["detail"]) == (401, "a valid token is required")
        assert answer.headers["www-authenticate"] == 'Bearer realm="accord"'


async def test_two_authorization_headers_are_none(local: Shop) -> None:
    twice = [("authorization", f"Bearer {local.token}")] * 2
    async with httpx.AsyncClient(base_url=local.url) as client:
        assert (await client.get("/api/v1/pens", headers=twice)).status_code == 401


async def test_a_caller_is_known_by_address_and_program(local: Shop) -> None:
    headers = [
        (b"user-agent", b"tool/1.0 \xad" + b"x" * 500),
        (b"x-forwarded-for", b"203.0.113.9"),
        (b"x-correlation-id", b"c-1"),
    ]
    await local.get("/pens", headers=headers)
    record = local.trail.records[-1]
    assert (record.operation, record.address, record.correlation_id) == (
        "list_pens",
        "127.0.0.1",
        "c-1",
    )
    assert record.client == ("tool/1.0 ?" + "x" * 500)[:200]
    assert record.face == "rest"


async def test_trusted_proxies_say_where_a_request_comes_from(local_url: str) -> None:
    async with shop_at(local_url, rest={"trusted_proxies": ["127.0.0.0/8"]}) as shop:
        headers = {"x-forwarded-for": "198.51.100.1, 203.0.113.9, 127.0.0.7"}
        await shop.get("/pens", headers=headers)
        assert shop.trail.records[-1].address == "203.0.113.9"


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ({"x-correlation-id": "abc-1.2:3_4"}, "abc-1.2:3_4"),
        (
            {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
            "4bf92f3577b34da6a3ce929d0e0e4736",
        ),
        ({"x-correlation-id": "a b"}, None),
        ({"x-correlation-id": "x" * 65}, None),
        ({"x-correlation-id": "<script>"}, None),
        ({"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}, None),
        ({}, None),
    ],
)
async def test_a_request_has_a_correlation_id(
    local: Shop, sent: dict[str, str], found: str | None
) -> None:
    answers = [await local.get(path, headers=sent) for path in ("/pens", "/nothing", "")]
    ids = [answer.headers["x-correlation-id"] for answer in answers]
    if found is not None:
        assert ids == [found] * 3
    else:
        assert len(set(ids)) == 3
        assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


async def test_equal_requests_have_different_correlation_ids(local: Shop) -> None:
    ids = {(await local.get("/pens")).headers["x-correlation-id"] for _ in range(3)}
    assert len(ids) == 3


async def test_what_is_refused_is_on_record(local: Shop) -> None:
    await local.get("/found?limit=0")
    await local.post("/pens", json={})
    told = [(each.operation, each.outcome, each.error) for each in local.trail.records[-2:]]
    assert told == [
        ("find_pens", "refused", "validation_failed"),
        ("create_pen", "refused", "validation_failed"),
    ]


# What answers say beside their content


async def test_answers_are_not_kept_by_others_nor_guessed_at(local: Shop) -> None:
    for answer in (await local.get("/pens"), await local.get("/nothing")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.req("H-16")
async def test_answers_say_what_is_left_of_the_calls(local_url: str) -> None:
    async with shop_at(local_url, limiter=Bucket(7)) as shop:
        read = await shop.get("/pens")
        missing = await shop.get("/pens/none")
        refused = await shop.post("/pens", json={"id": "a", "title": "t"})
        allowed = await shop.get("/pens")
        stopped = await shop.post("/pens", json={"id": "b", "title": "t"})
    policy = '"calls";q=7;w=60'
    left = [each.headers["ratelimit"] for each in (read, missing, refused, allowed, stopped)]
    assert left == [f'"calls";r={count};t=60' for count in (6, 5, 0, 0, 0)]
    assert {each.headers["ratelimit-policy"] for each in (read, stopped)} == {policy}
    assert [each.status_code for each in (read, missing, refused)] == [200, 404, 201]
    assert (stopped.status_code, stopped.headers["retry-after"]) == (429, "3")


async def test_what_is_left_is_counted_for_equal_requests_too(local_url: str) -> None:
    async with shop_at(local_url, limiter=Bucket(9)) as shop:
        refused = [await shop.get("/found?limit=0&tagz=1") for _ in range(3)]
    left = [each.headers["ratelimit"] for each in refused]
    assert left == [f'"calls";r={count};t=60' for count in (8, 7, 6)]
    assert {each.status_code for each in refused} == {422}


async def test_hints_are_told_with_what_was_done(local: Shop) -> None:
    made = await local.pen(price=1000)
    assert made.json()["hints"] == [
        {"code": "dear", "message": "nobody will buy it", "reference_id": ""}
    ]


# Dry runs and calls that are made again


@pytest.mark.parametrize("where", ["query", "body"])
async def test_a_dry_run_says_what_would_change(shop: Shop, where: str) -> None:
    body = {"id": "p1", "title": "Quill", "price": 1000}
    asked: dict[str, Any] = {"params": {"dry_run": "true"}} if where == "query" else {}
    if where == "body":
        body["dry_run"] = True
    preview = await shop.post("/pens", json=body, **asked)
    assert preview.status_code == 200
    assert "location" not in preview.headers
    assert "accord-change-id" not in preview.headers
    told = preview.json()
    assert told["result"] == {"id": "p1", "title": "Quill", "price": 1000, "version": 1}
    assert [each["action"] for each in told["changes"]] == ["created"]
    assert [each["code"] for each in told["hints"]] == ["dear"]
    assert (await shop.get("/pens/p1")).status_code == 404


async def test_a_dry_run_of_a_deletion_deletes_nothing(local: Shop) -> None:
    await local.pen()
    preview = await local.delete("/pens/p1", params={"dry_run": "true"})
    assert (preview.status_code, preview.json()["result"]) == (200, {"deleted": "p1"})
    assert (await local.get("/pens/p1")).status_code == 200


async def test_query_and_body_must_not_contradict_each_other(local: Shop) -> None:
    body = {"id": "p1", "title": "t", "dry_run": False}
    refused = await local.post("/pens", json=body, params={"dry_run": "true"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/dry_run")


async def test_a_call_that_is_made_again_does_nothing_again(shop: Shop) -> None:
    headers = {"idempotency-key": "key-1"}
    body = {"id": "p1", "title": "t"}
    first = await shop.post("/pens", json=body, headers=headers)
    again = await shop.post("/pens", json=body, headers={"idempotency-key": '"key-1"'})
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    for name in ("location", "etag", "accord-change-id"):
        assert again.headers[name] == first.headers[name]
    other = await shop.post("/pens", json={"id": "p2", "title": "t"}, headers=headers)
    assert other.status_code == 409


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "é"])
async def test_a_key_that_is_none_is_refused(local: Shop, key: str) -> None:
    headers = [(b"idempotency-key", key.encode("latin-1"))]
    refused = await local.post("/pens", json={"id": "a", "title": "t"}, headers=headers)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (
        422,
        "/idempotency_key",
    )


# Pages of other origins


async def test_pages_of_other_origins_are_not_let_in(local: Shop) -> None:
    refused = await local.get("/pens", headers={"origin": "https://evil.example"})
    assert (refused.status_code, refused.json()["code"]) == (403, "origin_not_allowed")
    own = await local.get("/pens", headers={"origin": local.url.rstrip("/")})
    assert own.status_code == 200
    assert "access-control-allow-origin" not in own.headers
    asked = {"origin": "https://evil.example", "access-control-request-method": "GET"}
    assert (await local.client.options("/api/v1/pens", headers=asked)).status_code == 403


async def test_pages_that_are_named_are_let_in(local_url: str) -> None:
    origin = "https://pages.example"
    async with shop_at(local_url, rest={"origins": (origin,)}) as shop:
        asked = {"origin": origin, "access-control-request-method": "PUT"}
        preflight = await shop.client.options("/api/v1/pens/p1", headers=asked)
        answer = await shop.get("/pens", headers={"origin": origin})
        other = await shop.get("/pens", headers={"origin": "https://evil.example"})
    assert preflight.status_code == 204
    assert "PUT" in preflight.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-origin"] == origin
    assert other.status_code == 403


# Under load, and at the end


async def test_more_requests_than_the_limit_are_told_to_come_again(local_url: str) -> None:
    async with shop_at(local_url, rest={"max_in_flight": 0}) as shop:
        answer = await shop.get("/pens")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"


async def test_the_index_names_the_document(local: Shop) -> None:
    async with httpx.AsyncClient(base_url=local.url) as nobody:
        for path in ("/api/v1", "/api/v1/"):
            assert (await nobody.get(path)).json() == {
                "title": "Pens",
                "version": "1",
                "openapi": "/api/v1/openapi.json",
            }


async def test_many_at_once_are_all_answered(shop: Shop) -> None:
    await asyncio.gather(*(shop.pen(f"p{number:02d}") for number in range(40)))
    assert (await shop.get("/pens")).json()["total"] == 40


def test_operations_that_share_a_route_are_refused() -> None:
    routes: RouteTree[int] = RouteTree()
    routes.add("GET", "/pens/{id}", 1)
    with pytest.raises(RegistrationError, match=r"two routes GET /pens/\{name\}"):
        routes.add("GET", "/pens/{name}", 2)


def test_a_path_names_parameters_of_its_operation_only() -> None:
    with pytest.raises(RegistrationError, match="get_pen has no parameter 'name'"):
        RestRoute(operations["get_pen"], Rest("GET", "/pens/{name}"), "/api/v1")
