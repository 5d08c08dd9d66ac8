"""Passwords and sessions as people have them on the pages and over REST."""

from __future__ import annotations

import re

import pytest

from accord.web.responses import FileDownload
from tests.security.fortress import Fortress
from tests.web.house import ADMIN, PASSWORD

pytestmark = [pytest.mark.asyncio(loop_scope="session")]


async def page(fortress: Fortress, path: str, username: str = ADMIN) -> str:
    cookie = f"__Host-accord_session={await fortress.house.session(username)}"
    answer = await fortress.nobody.get(path, headers={"cookie": cookie})
    assert answer.status_code == 200, path
    return answer.text


async def test_passwords_are_typed_hidden_and_may_be_pasted(fortress: Fortress) -> None:
    await fortress.house.add_person("nina", "User")
    pages = [(await fortress.nobody.get("/sign-in")).text, await page(fortress, "/account")]
    pages.append(await page(fortress, "/set-up", "nina"))
    fields = [each for text in pages for each in re.findall(r"<input[^>]*password[^>]*>", text)]
    assert len(fields) == 7  # the one to sign in with, and three each to change it
    for field in fields:
        assert 'type="password"' in field
        assert re.search(r'autocomplete="(current|new)-password"', field)
        assert "paste" not in field


@pytest.mark.parametrize(
    "password",
    [" blanks at both ends ", "pâsswörd with accents", "\U0001f40e" * 9 + "abcd", "wxyz" * 64],
)
async def test_any_password_is_verified_as_it_was_typed(fortress: Fortress, password: str) -> None:
    name = f"typed{abs(hash(password)) % 10**9}"
    made = await fortress.call("POST", "/users", json={"username": name, "password": password})
    assert made.status_code == 201, made.text
    for typed in (password, password.strip(), password.upper(), password[:72], password[:-1]):
        given = {"username": name, "password": typed}
        answer = await fortress.nobody.post("/api/v1/sessions", json=given)
        assert answer.status_code == (201 if typed == password else 401)
    fortress.nobody.cookies.clear()


async def test_every_page_has_a_way_to_sign_out(fortress: Fortress) -> None:
    for path in ("/", "/requirements", "/search", "/runs", "/workflows", "/users", "/tokens"):
        assert 'href="/account"' in await page(fortress, path), path
    assert 'action="/sign-out"' in await page(fortress, "/account")


async def test_an_administrator_ends_the_sessions_of_somebody(fortress: Fortress) -> None:
    await fortress.house.add_person("sven", "User")
    bearer = await fortress.bearer("sven")
    nobody = fortress.nobody
    assert (await nobody.get("/api/v1/users/me", headers=bearer)).status_code == 200
    given = {"password": "another sentence of words"}
    assert (await fortress.call("PUT", "/users/sven/password", json=given)).status_code == 200
    assert (await nobody.get("/api/v1/users/me", headers=bearer)).status_code == 401


async def test_a_token_in_a_query_is_none(fortress: Fortress) -> None:
    token = await fortress.house.session()
    call = {"jsonrpc": "2.0", "id": 1, "method": "get_own_user"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    places = (
        *(("GET", "/api/v1/users/me", None), ("POST", "/rpc", call)),
        *(("POST", "/api/v1/mcp", ping), ("POST", "/a2a", call)),
    )
    for verb, path, body in places:
        known = {"Authorization": f"Bearer {token}"}
        answer = await fortress.nobody.request(verb, path, json=body, headers=known)
        assert answer.status_code == 200, (path, answer.text)
        for name in ("token", "access_token", "session", "api_key", "authorization"):
            answer = await fortress.nobody.request(verb, path, json=body, params={name: token})
            is_told = path == "/api/v1/mcp" and name == "access_token"
            assert answer.status_code == (400 if is_told else 401), (path, name)


async def test_no_verb_gives_back_what_was_sent(fortress: Fortress) -> None:
    headers = {"X-Secret": "a secret of mine"} | await fortress.bearer()
    for verb in ("TRACE", "TRACK", "DEBUG", "CONNECT"):
        for path in ("/", "/api/v1/epics", "/rpc", "/api/v1/mcp", "/healthz"):
            answer = await fortress.nobody.request(verb, path, headers=headers)
            assert answer.status_code in (400, 404, 405, 501), (verb, path)
            assert "a secret of mine" not in answer.text


@pytest.mark.parametrize("name", ['a";x="b', "ä\r\nx: y.csv", "../../etc/passwd", "a;b.csv"])
async def test_a_name_of_a_file_is_encoded(name: str) -> None:
    lines = FileDownload(b"", name, "text/csv; charset=utf-8").headers.split(b"\r\n")
    assert len(lines) == 3
    assert lines[1].startswith(b'content-disposition: attachment; filename="')
    assert lines[1].count(b'"') == 2
    assert lines[1].isascii()


async def test_a_password_of_somebody_is_never_answered(fortress: Fortress) -> None:
    for path in ("/users/me", "/users/admin", "/users", "/sessions", "/tokens"):
        answer = await fortress.call("GET", path)
        assert PASSWORD not in answer.text
        assert "argon2" not in answer.text
        assert "hash" not in answer.text
