"""Login sessions over REST: for programs by their token, for pages by a cookie."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from accord.operations.auth.storage import FIRST_USERNAME
from tests.operations.adapters.shop import Shop, shop_at

PASSWORD = "correct horse battery staple"


@pytest.fixture
async def signing(shop: Shop) -> AsyncIterator[tuple[Shop, httpx.AsyncClient]]:
    """A shop whose administrator has a password, and a client that nobody knows."""
    hashed = await shop.accounts.passwords.hash(PASSWORD)
    await shop.store.execute("UPDATE users SET password_hash = $1", hashed)
    async with httpx.AsyncClient(base_url=shop.url) as client:
        yield shop, client


async def sign_in(client: httpx.AsyncClient, password: str = PASSWORD) -> httpx.Response:
    body = {"username": FIRST_USERNAME, "password": password}
    return await client.post("/api/v1/sessions", json=body)


@pytest.mark.req("H-14")
async def test_a_program_signs_in_and_out_by_token(
    signing: tuple[Shop, httpx.AsyncClient],
) -> None:
    _, client = signing
    begun = await sign_in(client)
    assert begun.status_code == 201
    assert begun.headers["location"] == "/api/v1/sessions/current"
    assert sorted(begun.json()) == ["csrf_token", "expires_at", "token", "user"]
    client.cookies.clear()
    bearer = {"authorization": f"Bearer {begun.json()['token']}"}
    made = await client.post("/api/v1/pens", json={"id": "a", "title": "t"}, headers=bearer)
    assert made.status_code == 201
    ended = await client.delete("/api/v1/sessions/current", headers=bearer)
    assert ended.status_code == 204
    assert (await client.get("/api/v1/pens", headers=bearer)).status_code == 401


async def test_a_page_has_a_cookie_and_proves_what_it_changes(
    signing: tuple[Shop, httpx.AsyncClient],
) -> None:
    _, client = signing
    begun = await sign_in(client)
    cookie = begun.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert (await client.get("/api/v1/pens")).status_code == 200
    body = {"id": "a", "title": "t"}
    forged = await client.post("/api/v1/pens", json=body)
    assert (forged.status_code, forged.json()["code"]) == (403, "insufficient_permissions")
    proof = {"x-csrf-token": begun.json()["csrf_token"]}
    assert (await client.post("/api/v1/pens", json=body, headers=proof)).status_code == 201
    assert (await client.delete("/api/v1/sessions/current")).status_code == 403
    ended = await client.delete("/api/v1/sessions/current", headers=proof)
    assert (ended.status_code, "Max-Age=0" in ended.headers["set-cookie"]) == (204, True)
    assert (await client.get("/api/v1/pens")).status_code == 401


async def test_a_wrong_password_is_not_told_from_a_wrong_name(
    signing: tuple[Shop, httpx.AsyncClient],
) -> None:
    shop, client = signing
    wrong = [
        await sign_in(client, "wrong"),
        await client.post("/api/v1/sessions", json={"username": "nobody", "password": "wrong"}),
    ]
    for answer in wrong:
        assert (answer.status_code, answer.json()["detail"]) == (
            401,
            "the username or the password is wrong",
        )
        assert "set-cookie" not in answer.headers
    assert all("wrong" not in str(record) for record in shop.trail.records[:-2])


async def test_signing_in_takes_a_name_and_a_password_only(
    signing: tuple[Shop, httpx.AsyncClient],
) -> None:
    _, client = signing
    body = {"username": FIRST_USERNAME, "password": PASSWORD, "role": "Administrator"}
    refused = await client.post("/api/v1/sessions", json=body)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/role")
    assert PASSWORD not in refused.text
    for broken in (b"", b"[]", b'{"username": "x"}'):
        answer = await client.post(
            "/api/v1/sessions", content=broken, headers={"content-type": "application/json"}
        )
        assert answer.status_code == 422
    assert (await client.post("/api/v1/sessions?password=x", json=body)).status_code == 422
    keyed = await client.post(
        "/api/v1/sessions",
        json={"username": FIRST_USERNAME, "password": PASSWORD},
        headers={"idempotency-key": "k"},
    )
    assert keyed.status_code == 422


async def test_a_token_is_no_session_to_end(local: Shop) -> None:
    refused = await local.delete("/sessions/current")
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")


async def test_behind_a_proxy_with_https_the_cookie_is_for_https_only(local_url: str) -> None:
    async with shop_at(local_url, rest={"trusted_proxies": ["127.0.0.1"]}) as shop:
        hashed = await shop.accounts.passwords.hash(PASSWORD)
        await shop.store.execute("UPDATE users SET password_hash = $1", hashed)
        secure = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
        async with httpx.AsyncClient(base_url=shop.url, headers=secure) as client:
            begun = await sign_in(client)
            cookie = begun.headers["set-cookie"]
            token = begun.json()["token"]
            named = {"cookie": f"__Host-accord_session={token}"}
            assert (await client.get("/api/v1/pens", headers=named)).status_code == 200
    assert cookie.startswith("__Host-accord_session=")
    assert cookie.endswith("; Secure")
