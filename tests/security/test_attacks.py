"""What an attacker tries from outside on the whole system, and is refused."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.patience import PATIENCE
from tests.security.fortress import Fortress
from tests.web.house import ADMIN, PASSWORD

pytestmark = [pytest.mark.asyncio(loop_scope="session")]

TRAVERSALS = (
    *(
        "/static/../../../../etc/passwd",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static/..%2f..%2fkey",
    ),
    *("/static//etc/passwd", "/static/%00", "/static/....//....//key", "/static/..\\..\\key"),
    *("/.git/config", "/accord.db", "/key", "/first-run.txt", "/../key", "/%2e%2e/key"),
    *("/rpc/explore/../../key", "/api/v1/../../key", "/api/v1/runs/..%2f..%2fkey/events"),
    *("/items/..%2F..%2Fkey", "/baselines/%2e%2e%2fkey/export", "/api/v1/export?format=../key"),
)
SMUGGLED = b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n"
AMBIGUOUS: Mapping[str, bytes] = {
    "two ends": b"content-length: 4\r\ntransfer-encoding: chunked\r\n",
    "two lengths": b"content-length: 4\r\ncontent-length: 40\r\n",
    "a list of lengths": b"content-length: 4, 40\r\n",
    "a signed length": b"content-length: +4\r\n",
    "an unknown coding": b"transfer-encoding: xchunked\r\n",
    "a hidden coding": b"transfer-encoding: chunked, identity\r\n",
    "a coding in a vertical tab": b"transfer-encoding:\x0bchunked\r\n",
    "a blank before the colon": b"transfer-encoding : chunked\r\n",
    "a folded line": b"x: y\r\n transfer-encoding: chunked\r\n",
    "a bare line feed": b"x: y\ntransfer-encoding: chunked\r\n",
    "a bare carriage return": b"x: y\rtransfer-encoding: chunked\r\n",
    "a zero byte": b"x: y\x00\r\n",
}
CONTROLS = ("a\r\nset-cookie: evil=1", "a\nset-cookie: evil=1", "a\u2028b", "a\x00b")


async def test_no_path_leads_out_of_what_is_served(fortress: Fortress) -> None:
    bearer = (await fortress.bearer())["Authorization"].encode()
    heads = [b"GET %b HTTP/1.1\r\nhost: x\r\n" % path.encode() for path in TRAVERSALS]
    heads += [head + b"authorization: %b\r\n" % bearer for head in heads]
    answers = await fortress.raw(*(head + b"connection: close\r\n\r\n" for head in heads))
    for head, answer in zip(heads, answers, strict=True):
        assert int(answer[9:12]) in (303, 400, 401, 404, 422), head
        assert b"root:" not in answer
        assert b"[core]" not in answer


async def test_a_request_whose_end_is_in_doubt_hides_no_other(fortress: Fortress) -> None:
    head = b"POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    rest = b"\r\n0\r\n\r\n" + SMUGGLED
    answers = await fortress.raw(*(head + lines + rest for lines in AMBIGUOUS.values()))
    for how, answer in zip(AMBIGUOUS, answers, strict=True):
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ")), how
        assert answer.count(b"HTTP/1.1 ") == 1, how
        assert b"accord_" not in answer, "nothing of the metrics"


@pytest.mark.parametrize("text", CONTROLS)
async def test_no_text_becomes_a_header(fortress: Fortress, text: str) -> None:
    nobody = fortress.nobody
    given = {"username": ADMIN, "password": PASSWORD, "next": f"/{text}"}
    answers = [
        await nobody.post("/sign-in", data=given),
        await nobody.get("/sign-in", params={"next": f"/{text}"}),
        await nobody.post("/theme", data={"theme": text, "next": f"/{text}"}),
        await fortress.call("GET", "/epics", params={"cursor": text}),
        await fortress.call("GET", "/export", params={"format": text, "epic_id": text}),
        await nobody.get(f"/items/{text.encode().hex()}"),
    ]
    nobody.cookies.clear()
    for answer in answers:
        assert "evil" not in {
            line.partition("=")[0] for line in answer.headers.get_list("set-cookie")
        }
        assert answer.status_code < 500


async def test_a_correlation_id_that_is_none_is_not_repeated(fortress: Fortress) -> None:
    for sent in ("x" * 300, "<script>", "a b", '{"level":"error"}'):
        answer = await fortress.nobody.get("/api/v1", headers={"X-Correlation-Id": sent})
        assert answer.headers["x-correlation-id"] != sent


async def test_what_is_compressed_is_not_unpacked(fortress: Fortress) -> None:
    bodies = {
        "/api/v1/epics": b'{"title": "Plain", "dry_run": true}',
        "/rpc": b'{"jsonrpc": "2.0", "id": 1, "method": "get_own_user"}',
        "/api/v1/mcp": b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}',
        "/a2a": b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}}',
    }
    sent = {"Content-Type": "application/json"} | await fortress.bearer()
    for path, body in bodies.items():
        plain = await fortress.nobody.post(path, content=body, headers=sent)
        assert plain.status_code in (200, 201), path
        headers = {**sent, "Content-Encoding": "gzip"}
        packed = await fortress.nobody.post(path, content=gzip.compress(body), headers=headers)
        refused = packed.status_code == 415 or packed.json()["error"]["code"] == -32700
        assert refused, (path, packed.text)
    form = f"username={ADMIN}&password={PASSWORD}".encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Encoding": "gzip"}
    answer = await fortress.nobody.post("/sign-in", content=gzip.compress(form), headers=headers)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("reqif", '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><REQ-IF>&b;</REQ-IF>'),
        ("reqif", "<a>" * 5_000 + "</a>" * 5_000),
        ("json", "[" * 100_000),
        ("csv", "kind,title\n" + 'epic,"' + "a" * 100_000),
        ("markdown", "#" * 100_000),
        ("csv", "PK\x03\x04" + "\x00" * 100),
    ],
)
async def test_a_file_that_is_a_bomb_breaks_nothing(
    fortress: Fortress, format: str, content: str
) -> None:
    answer = await fortress.call(
        "POST", "/import", json={"format": format, "content": content, "dry_run": True}
    )
    assert answer.status_code in (200, 400, 413, 422), answer.text[:300]
    assert "root:" not in answer.text
    if answer.status_code == 200:  # nothing was found in it
        assert answer.json()["created"] == 0


STEPS = "steps:\n  - {name: a, type: call, operation: list_epics, input: {}}\n"
BOMBS = {
    "laughs": ("input: {type: object, enum: &a [x, x], examples: [*a]}\n", "aliases are not read"),
    "code": ("description: !!python/object/apply:os.system [id]\n", "tags like"),
    "deep": (f"input: {'{a: ' * 100}1{'}' * 100}\n", "nested deeper than 64"),
    "large": (f"description: {'x' * 600_000}\n", "over the limit of 524,288"),
}


async def define(fortress: Fortress, text: str) -> httpx.Response:
    headers = {"Content-Type": "application/yaml"}
    return await fortress.call("POST", "/workflows", content=text.encode(), headers=headers)


@pytest.mark.parametrize("name", BOMBS)
async def test_a_definition_that_is_a_bomb_is_refused(fortress: Fortress, name: str) -> None:
    lines, reason = BOMBS[name]
    harmless = await define(fortress, f"name: {name}\n{STEPS}")
    assert harmless.status_code == 201, harmless.text
    answer = await define(fortress, f"name: {name}\n{lines}{STEPS}")
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]


async def test_a_pattern_in_a_definition_is_not_evaluated(fortress: Fortress) -> None:
    schema = "{type: object, properties: {word: {type: string, pattern: (a+)+$}}}"
    saved = await define(fortress, f"name: slow\ninput: {schema}\n{STEPS}")
    assert saved.status_code == 201, saved.text
    async with asyncio.timeout(PATIENCE):
        given = {"input": {"word": "a" * 200 + "!"}}
        answer = await fortress.call("POST", "/workflows/slow/runs", json=given)
    assert answer.status_code == 202, answer.text
    other = await fortress.call("POST", "/workflows/slow/runs", json={"input": {"word": 5}})
    assert other.status_code == 422, "the rest of the schema is"


@pytest.mark.parametrize(
    "sought",
    [
        *('"' * 2_000, "a*" * 500, "(" * 500, "NEAR(a b, 99999999)", "a AND " * 400, "%" * 1_000),
        *(
            "'; DROP TABLE users; --",
            "\\" * 1_000,
            "a" * 2_000,
            "-" * 500,
            "title:" * 300,
            "é" * 900,
        ),
    ],
)
async def test_no_search_takes_long_or_breaks(fortress: Fortress, sought: str) -> None:
    async with asyncio.timeout(PATIENCE):
        answer = await fortress.call("GET", "/search", params={"query": sought})
    assert answer.status_code in (200, 422), answer.text[:300]


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":' * 50_000,
        b"[" * 200_000 + b"]" * 200_000,
        b'{"title": "x", "title": "y"}',
        b'{"title": "x"}\x00',
        b'{"title": "x", "dry_run": true, "dry_run": false}',
        b'{"title": "x", "description": "a", "\\u0064escription": "b"}',
        b'{"title": ' + b"9" * 100_000 + b"}",
        b'{"title": 1e999999999}',
        b'{"__proto__": {"role": "Administrator"}, "constructor": 1}',
        b'{"title": "x", "author_id": "someone else", "id": "mine"}',
    ],
    ids=range(10),
)
async def test_no_json_breaks_it_or_sets_what_it_should_not(
    fortress: Fortress, body: bytes
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await fortress.call("POST", "/epics", content=body, headers=headers)
    assert answer.status_code in (400, 422), answer.text[:200]


@pytest.mark.parametrize(
    "name", ["аdmin", "admin\u200b", "ａdmin", "admin ", "Admin", "adm\u0131n", "ad\u00admin"]
)
async def test_nobody_gets_a_name_that_looks_like_another(fortress: Fortress, name: str) -> None:
    answer = await fortress.call("POST", "/users", json={"username": name})
    assert answer.status_code in (409, 422), answer.text[:200]
    wrong = {"username": name, "password": "x" * 12}
    assert (await fortress.nobody.post("/api/v1/sessions", json=wrong)).status_code == 401


async def test_nobody_makes_themselves_more_than_they_are(fortress: Fortress) -> None:
    await fortress.house.add_person("walter", "User")
    bearer = await fortress.bearer("walter")
    nobody = fortress.nobody
    tries: list[tuple[str, str, dict[str, Any]]] = [
        ("PATCH", "/api/v1/users/me", {"email": "w@example.org", "role": "Administrator"}),
        ("PUT", "/api/v1/users/walter", {"role": "Administrator"}),
        ("POST", "/api/v1/tokens", {"name": "t", "scopes": ["admin"]}),
        ("POST", "/api/v1/tokens", {"name": "t", "user": ADMIN}),
        ("PUT", "/api/v1/users/admin/password", {"password": "a sentence of mine"}),
        ("DELETE", "/api/v1/sessions/0123456789abcdef", {}),
    ]
    for verb, path, body in tries:
        answer = await nobody.request(verb, path, json=body or None, headers=bearer)
        assert answer.status_code in (403, 404, 422), (verb, path, answer.text)
    me = (await nobody.get("/api/v1/users/me", headers=bearer)).json()
    assert (me["role"], me["email"]) == ("User", "")
