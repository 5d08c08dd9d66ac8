"""Tokens that end, and what is done before and after."""

from __future__ import annotations

import asyncio

import pytest

from accord.mcp.client.auth import MemoryStorage
from accord.mcp.client.auth.tokens import TokenResponse, stale_at
from accord.mcp.client.auth_hook import AuthRequest
from tests.mcp.client.auth.conftest import World
from tests.mcp.client.auth.site import Answer, Asked


def _refreshes(world: World) -> list[dict[str, str]]:
    return [
        asked.form
        for asked in world.authority.to("POST /token")
        if asked.form["grant_type"] == "refresh_token"
    ]


async def test_a_token_is_renewed_before_it_ends(world: World) -> None:
    async with world.client() as client:
        world.authority.token["expires_in"] = 0
        del world.authority.granted["token-1"]
        await client.call_tool("anything")
        world.authority.token["expires_in"] = 3600
        await client.call_tool("anything")
        await client.call_tool("anything")
    assert world.service.tokens[2:] == [
        "Bearer token-1",
        "Bearer token-2",
        "Bearer token-3",
        "Bearer token-3",
    ]
    assert _refreshes(world)[0] == {
        "grant_type": "refresh_token",
        "refresh_token": "refresh-1",
        "client_id": "client-1",
        "resource": world.service.endpoint,
    }


async def test_calls_made_at_once_renew_a_token_once(world: World) -> None:
    async with world.client() as client:
        del world.authority.granted["token-1"]
        await asyncio.gather(*(client.call_tool("anything") for _ in range(20)))
    assert len(_refreshes(world)) == 1
    assert len(world.browser.visited) == 1


async def test_a_refused_token_is_renewed_without_the_user(world: World) -> None:
    async with world.client() as client:
        del world.authority.granted["token-1"]
        await client.call_tool("anything")
    assert world.service.tokens[-2:] == ["Bearer token-1", "Bearer token-2"]
    assert len(world.browser.visited) == 1


async def test_refresh_tokens_follow_one_another(world: World) -> None:
    async with world.client() as client:
        for number in (1, 2):
            del world.authority.granted[f"token-{number}"]
            await client.call_tool("anything")
    assert [form["refresh_token"] for form in _refreshes(world)] == ["refresh-1", "refresh-2"]


async def test_a_refresh_token_stays_where_there_is_no_new_one(world: World) -> None:
    async with world.client() as client:
        world.authority.token["refresh_token"] = None
        del world.authority.granted["token-1"]
        await client.call_tool("anything")
        world.authority.refresh_tokens.add("refresh-1")
        del world.authority.granted["token-2"]
        await client.call_tool("anything")
    assert [form["refresh_token"] for form in _refreshes(world)] == ["refresh-1", "refresh-1"]


@pytest.mark.parametrize("error", ["invalid_grant", "invalid_client", "unauthorized_client"])
async def test_when_renewing_is_refused_the_user_is_asked(world: World, error: str) -> None:
    async with world.client() as client:
        world.authority.refuses["refresh_token"] = error
        del world.authority.granted["token-1"]
        await client.call_tool("anything")
    assert len(world.browser.visited) == 2
    assert len(world.authority.registered) == (1 if error == "invalid_grant" else 2)


async def test_a_token_that_ends_is_used_when_nobody_can_renew_it(world: World) -> None:
    world.authority.token["expires_in"] = 0

    def once(asked: Asked) -> Answer:
        world.authority.routes["POST /token"] = lambda asked: Answer(503)
        return world.authority.give(asked)

    world.authority.routes["POST /token"] = once
    async with world.client() as client:
        await client.call_tool("anything")
        await client.call_tool("anything")
    assert set(world.service.tokens[1:]) == {"Bearer token-1"}
    assert len(world.authority.to("POST /token")) == 2


async def test_a_token_that_ends_at_once_is_used_once(world: World) -> None:
    world.authority.token |= {"expires_in": 0, "refresh_token": None}
    async with world.client() as client:
        await client.call_tool("anything")
    assert world.service.tokens == ["", "Bearer token-1", "", "Bearer token-2"]


async def test_without_a_refresh_token_the_user_is_asked_once_more(world: World) -> None:
    world.authority.token["refresh_token"] = None
    async with world.client() as client:
        del world.authority.granted["token-1"]
        await client.call_tool("anything")
    assert len(world.browser.visited) == 2


async def test_a_token_is_kept_for_the_next_time(world: World) -> None:
    storage = MemoryStorage()
    for _ in range(2):
        async with world.client(world.oauth(storage=storage)) as client:
            await client.call_tool("anything")
    assert len(world.browser.visited) == 1
    assert world.service.tokens.count("") == 1


async def test_a_kept_token_is_renewed_without_the_user(world: World) -> None:
    storage = MemoryStorage()
    world.authority.token["expires_in"] = 0
    async with world.client(world.oauth(storage=storage)):
        pass
    world.authority.token["expires_in"] = 3600
    async with world.client(world.oauth(storage=storage)) as client:
        await client.call_tool("anything")
    assert len(world.browser.visited) == 1
    assert world.service.tokens.count("") == 1


@pytest.mark.parametrize("ends", ["refused", "stale"])
async def test_what_another_program_got_is_used(world: World, ends: str) -> None:
    storage = MemoryStorage()
    world.authority.token["expires_in"] = 0 if ends == "stale" else 3600
    async with (
        world.client(world.oauth(storage=storage)) as one,
        world.client(world.oauth(storage=storage)) as two,
    ):
        world.authority.token["expires_in"] = 3600
        world.authority.granted.clear()
        await one.call_tool("anything")
        asked = len(world.authority.asked)
        await two.call_tool("anything")
    assert len(world.authority.asked) == asked
    assert len(world.browser.visited) == 1


async def test_a_kept_token_of_another_client_is_not_renewed(world: World) -> None:
    storage = MemoryStorage()
    async with world.client(world.oauth(storage=storage)):
        pass
    del world.authority.granted["token-1"]
    async with world.client(world.oauth(storage=storage, client_id="public")):
        pass
    assert _refreshes(world) == []
    assert len(world.browser.visited) == 2


async def test_what_was_kept_and_cannot_be_read_is_as_good_as_absent(world: World) -> None:
    class Broken(MemoryStorage):
        async def get(self, key: str) -> bytes | None:
            return b"{"

    async with world.client(world.oauth(storage=Broken())):
        pass
    assert len(world.browser.visited) == 1


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_only_calls_bring_up_a_browser(world: World, method: str) -> None:
    auth = world.oauth()
    url = world.service.endpoint
    request = AuthRequest(method=method, url=url, server=url)
    again = await auth.challenged(request, 401, {"www-authenticate": "Bearer"})
    assert (again, world.browser.visited) == (False, [])


@pytest.mark.parametrize(
    ("expires_in", "stale"),
    [
        (3600, 1000 + 3570),
        (100, 1000 + 90),
        (0, 1000),
        ("3600", 1000 + 3570),
        (None, None),
        ("soon", None),
        (-5, None),
        (1e300, None),
        ("nan", None),
    ],
)
def test_a_token_is_replaced_some_time_before_its_end(
    expires_in: float | str | None, stale: float | None
) -> None:
    response = TokenResponse(access_token="t", token_type="Bearer", expires_in=expires_in)
    assert stale_at(response, 1000.0) == stale
