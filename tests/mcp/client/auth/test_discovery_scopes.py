"""Which scopes are asked for, first and later."""

from __future__ import annotations

import pytest

from accord.jsonrpc.protocol.errors import TransportError
from accord.mcp.client.auth import ClientCredentials, InsufficientScopeError
from accord.mcp.client.auth_hook import AuthRequest
from tests.mcp.client.auth.conftest import World
from tests.mcp.client.auth.site import Answer, Asked


def _asked_for(world: World) -> list[str | None]:
    return [asked.parameters.get("scope") for asked in world.authority.to("GET /authorize")]


def _need(world: World, **scopes: str) -> None:
    """Let each method need a scope."""

    def check(asked: Asked, token: str) -> Answer | None:
        needed = scopes.get(asked.json["method"].replace("/", "_"))
        if needed is None or needed in world.authority.granted[token].split():
            return None
        return world.service.insufficient(needed)

    world.service.check = check


async def test_the_scopes_of_the_challenge_come_first(world: World) -> None:
    world.service.metadata["scopes_supported"] = ["a", "b"]
    at = f"{world.service.url}/.well-known/oauth-protected-resource/mcp"
    world.service.challenge = f'Bearer scope="c d", resource_metadata="{at}"'
    async with world.client():
        pass
    assert _asked_for(world) == ["c d"]


async def test_what_is_no_scope_or_too_much_is_left_out(world: World) -> None:
    many = [f"s{number}" for number in range(150)]
    world.service.metadata["scopes_supported"] = ["two words", 'qu"ote', "", "x" * 201, *many]
    async with world.client():
        pass
    assert _asked_for(world) == [" ".join(many[:100])]


async def test_otherwise_all_scopes_of_the_resource_are_asked_for(world: World) -> None:
    world.service.metadata["scopes_supported"] = ["a", "b"]
    async with world.client():
        pass
    assert _asked_for(world) == ["a b"]


async def test_where_nobody_names_any_there_is_no_scope(world: World) -> None:
    async with world.client():
        pass
    assert _asked_for(world) == [None]


async def test_an_application_may_want_more(world: World) -> None:
    world.service.metadata["scopes_supported"] = ["a"]
    async with world.client(world.oauth(scopes=["z", "a"])):
        pass
    assert _asked_for(world) == ["a z"]


@pytest.mark.parametrize(
    ("authority", "resource", "asked"),
    [
        (["a", "offline_access"], ["a"], "a offline_access"),
        (["a"], ["a"], "a"),
        (None, ["a"], "a"),
        (["offline_access"], None, None),
    ],
)
async def test_refresh_tokens_are_asked_for_where_that_is_known(
    world: World, authority: list[str] | None, resource: list[str] | None, asked: str | None
) -> None:
    world.authority.metadata["scopes_supported"] = authority
    world.service.metadata["scopes_supported"] = resource
    async with world.client():
        pass
    assert _asked_for(world) == [asked]


async def test_a_call_that_needs_more_is_made_again_with_all_scopes(world: World) -> None:
    world.service.metadata["scopes_supported"] = ["read"]
    _need(world, tools_list="read", tools_call="write")
    async with world.client() as client:
        await client.list_tools()
        assert (await client.call_tool("anything")).text == "done"
        await client.list_tools()
    assert _asked_for(world) == ["read", "read write"]


async def test_what_is_not_given_is_not_asked_for_again(world: World) -> None:
    world.authority.token["scope"] = "read"
    _need(world, tools_call="write")
    async with world.client() as client:
        for _ in range(3):
            with pytest.raises(InsufficientScopeError) as caught:
                await client.call_tool("anything")
            assert caught.value.scopes == ("write",)
    assert len(world.browser.visited) == 2


async def test_a_server_that_wants_what_it_has_is_given_up(world: World) -> None:
    world.service.metadata["scopes_supported"] = ["admin"]
    world.service.check = lambda asked, token: world.service.insufficient("admin")
    with pytest.raises(InsufficientScopeError):
        async with world.client():
            pass
    assert len(world.browser.visited) == 1


async def test_a_server_that_always_wants_more_is_given_up(world: World) -> None:
    wanted = iter(range(100))
    world.service.check = lambda asked, token: world.service.insufficient(f"s{next(wanted)}")
    with pytest.raises(InsufficientScopeError):
        async with world.client():
            pass
    assert len(world.browser.visited) == 3


@pytest.mark.parametrize("challenge", ["Bearer", 'Bearer error="insufficient_scope"', ""])
async def test_a_refusal_for_other_reasons_is_left_as_it_is(world: World, challenge: str) -> None:
    world.service.check = lambda asked, token: Answer(403, headers={"www-authenticate": challenge})
    with pytest.raises(TransportError, match="403"):
        async with world.client():
            pass
    assert len(world.browser.visited) == 1


async def test_programs_get_further_scopes_by_themselves(world: World) -> None:
    world.authority.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    _need(world, tools_call="write")
    async with world.client(ClientCredentials("known", "secret", scopes=["read"])) as client:
        await client.call_tool("anything")
    assert [asked.form["scope"] for asked in world.authority.to("POST /token")] == [
        "read",
        "read write",
    ]


async def test_a_stream_in_the_background_asks_nobody_for_more(world: World) -> None:
    auth = world.oauth()
    url = world.service.endpoint
    request = AuthRequest(method="GET", url=url, server=url)
    headers = {"www-authenticate": 'Bearer error="insufficient_scope", scope="a"'}
    assert await auth.challenged(request, 403, headers) is False
    assert world.browser.visited == []
