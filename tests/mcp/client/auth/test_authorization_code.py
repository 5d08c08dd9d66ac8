"""A user allows a client to act for them."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from accord.mcp import Client
from accord.mcp.client.auth import (
    AuthorizationError,
    DiscoveryError,
    OAuth,
    OAuthError,
    UntrustedError,
)
from tests.mcp.client.auth.authority import Authority
from tests.mcp.client.auth.browser import REDIRECT
from tests.mcp.client.auth.conftest import World
from tests.mcp.client.auth.service import Service
from tests.mcp.client.auth.site import Answer, served


@pytest.mark.req("M-15")
async def test_a_call_is_made_with_a_token_that_the_user_allowed(world: World) -> None:
    async with world.client() as client:
        assert (await client.call_tool("anything")).text == "done"
    assert world.service.places == [
        "POST /mcp",
        "GET /.well-known/oauth-protected-resource/mcp",
        "POST /mcp",
        "POST /mcp",
    ]
    assert world.service.tokens == ["", "Bearer token-1", "Bearer token-1"]
    assert world.authority.places == [
        "GET /.well-known/oauth-authorization-server",
        "POST /register",
        "GET /authorize",
        "POST /token",
    ]


async def test_the_user_is_sent_with_pkce_state_and_the_resource(world: World) -> None:
    async with world.client():
        pass
    (url,) = world.browser.visited
    parameters = dict(parse_qsl(urlsplit(url).query))
    assert len(parameters.pop("state")) >= 43
    assert len(parameters.pop("code_challenge")) == 43
    assert parameters == {
        "response_type": "code",
        "client_id": "client-1",
        "redirect_uri": REDIRECT,
        "code_challenge_method": "S256",
        "resource": world.service.endpoint,
    }


async def test_the_code_is_exchanged_for_the_same_resource(world: World) -> None:
    async with world.client():
        pass
    (asked,) = world.authority.to("POST /token")
    form = asked.form
    assert len(form.pop("code_verifier")) >= 43
    assert form == {
        "grant_type": "authorization_code",
        "code": "code-1",
        "redirect_uri": REDIRECT,
        "client_id": "client-1",
        "resource": world.service.endpoint,
    }
    assert asked.query == ""


async def test_states_and_verifiers_are_never_the_same(world: World) -> None:
    for _ in range(2):
        async with world.client():
            pass
    first, second = (dict(parse_qsl(urlsplit(url).query)) for url in world.browser.visited)
    assert first["state"] != second["state"]
    assert first["code_challenge"] != second["code_challenge"]


async def test_a_query_of_the_authorization_endpoint_is_kept(world: World) -> None:
    world.authority.metadata["authorization_endpoint"] = (
        f"{world.authority.url}/authorize?tenant=one&client_id=forged"
    )
    async with world.client():
        pass
    (asked,) = world.authority.to("GET /authorize")
    assert (asked.parameters["tenant"], asked.parameters["client_id"]) == ("one", "client-1")
    assert asked.query.count("client_id") == 1


async def test_an_authorization_server_for_programs_is_of_no_use_to_users(world: World) -> None:
    world.authority.metadata["authorization_endpoint"] = None
    with pytest.raises(DiscoveryError, match="no authorization endpoint"):
        async with world.client():
            pass


@pytest.mark.parametrize("methods", [None, [], ["plain"]])
async def test_without_pkce_there_is_no_going_on(world: World, methods: list[str] | None) -> None:
    world.authority.metadata["code_challenge_methods_supported"] = methods
    with pytest.raises(UntrustedError, match="PKCE"):
        async with world.client():
            pass
    assert world.browser.visited == []


@pytest.mark.parametrize(
    ("advertised", "iss", "accepted"),
    [
        (True, "right", True),
        (True, None, False),
        (True, "https://evil.example", False),
        (None, "right", True),
        (None, None, True),
        (None, "https://evil.example", False),
        (True, "right/", False),
        (None, "right/", False),
    ],
)
async def test_an_answer_must_come_from_the_server_that_was_asked(
    world: World, advertised: bool | None, iss: str | None, accepted: bool
) -> None:
    world.authority.metadata["authorization_response_iss_parameter_supported"] = advertised or False
    world.authority.answer["iss"] = iss and iss.replace("right", world.authority.issuer)
    if accepted:
        async with world.client():
            pass
    else:
        with pytest.raises(UntrustedError):
            async with world.client():
                pass
        assert world.authority.to("POST /token") == []


async def test_an_error_of_another_server_is_not_shown(world: World) -> None:
    world.authority.answer |= {
        "iss": "https://evil.example",
        "code": None,
        "error": "server_error",
        "error_description": "call this number",
    }
    with pytest.raises(UntrustedError) as caught:
        async with world.client():
            pass
    assert "number" not in str(caught.value)


async def test_what_the_user_denies_is_said(world: World) -> None:
    world.authority.answer |= {
        "code": None,
        "error": "access_denied",
        "error_description": "the user\r\nsaid no",
    }
    with pytest.raises(OAuthError) as caught:
        async with world.client():
            pass
    assert (caught.value.error, caught.value.description) == ("access_denied", "the user?said no")
    assert len(world.browser.visited) == 1


@pytest.mark.parametrize(
    "answer", [{"state": "guessed"}, {"state": None}, {"state": ""}, {"code": None}, {"code": ""}]
)
async def test_an_answer_with_another_state_or_no_code_is_refused(
    world: World, answer: dict[str, str | None]
) -> None:
    world.authority.answer |= answer
    with pytest.raises(AuthorizationError):
        async with world.client():
            pass
    assert world.authority.to("POST /token") == []


async def test_an_answer_that_says_something_twice_is_refused(world: World) -> None:
    async def twice(url: str) -> str:
        return f"{await world.browser.redirected(url)}&code=another"

    with pytest.raises(UntrustedError, match="twice"):
        async with world.client(world.oauth(redirect_handler=twice)):
            pass


async def test_an_answer_with_very_many_parameters_is_refused(world: World) -> None:
    async def many(url: str) -> str:
        return f"{await world.browser.redirected(url)}{'&a=1' * 100}"

    with pytest.raises(UntrustedError, match="malformed"):
        async with world.client(world.oauth(redirect_handler=many)):
            pass


async def test_a_user_who_never_comes_back_is_not_waited_for(world: World) -> None:
    async def never(url: str) -> str:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(AuthorizationError, match=r"within 0\.01 seconds"):
        async with world.client(world.oauth(redirect_handler=never, wait_seconds=0.01)):
            pass


@pytest.mark.parametrize(
    "token",
    [
        {"token_type": "mac"},
        {"token_type": None},
        {"token_type": "DPoP"},
        {"access_token": ""},
        {"access_token": "two words"},
        {"access_token": "line\r\nx: y"},
        {"access_token": "t" * 20_000},
        {"access_token": 5},
    ],
)
async def test_tokens_that_cannot_be_used_are_refused(world: World, token: dict[str, Any]) -> None:
    world.authority.token |= token
    with pytest.raises(AuthorizationError):
        async with world.client():
            pass
    assert world.service.tokens == [""]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(500), "HTTP 500"),
        (Answer(302, headers={"location": "/token"}), "HTTP 302"),
        (Answer(200, body=b"<html>"), "without a usable token"),
        (Answer(200, body=b"[" * 100_000), "without a usable token"),
        (Answer(200, body=b" " * 300_000), "over the limit"),
        (Answer(400, {"error": "invalid_grant"}), "invalid_grant"),
        (Answer(401, body=b"who?"), "HTTP 401"),
    ],
)
async def test_token_endpoints_that_give_no_token_are_reported(
    world: World, answer: Answer, message: str
) -> None:
    world.authority.routes["POST /token"] = lambda asked: answer
    with pytest.raises(AuthorizationError, match=message):
        async with world.client():
            pass
    assert len(world.authority.to("POST /token")) == 1


async def test_a_server_that_refuses_the_newest_token_is_not_asked_for_ever(world: World) -> None:
    world.service.check = lambda asked, token: world.service.unauthorized()
    with pytest.raises(AuthorizationError, match="refuses the token"):
        async with world.client():
            pass
    assert len(world.browser.visited) == 1


async def test_calls_made_at_once_ask_the_user_once(world: World) -> None:
    auth = world.oauth()
    async with world.client(auth) as client:
        world.authority.granted.clear()  # every token is over
        world.authority.refresh_tokens.clear()
        await asyncio.gather(*(client.call_tool("anything") for _ in range(20)))
    assert len(world.browser.visited) == 2


async def test_one_object_serves_several_servers_with_tokens_of_their_own(world: World) -> None:
    other = Authority()
    other.token["access_token"] = "other"
    second = Service(other)
    auth = world.oauth()
    async with served(other, second):
        other.publish()
        second.publish()
        async with (
            world.client(auth) as one,
            Client(second.endpoint, auth=auth, mode="modern") as two,
        ):
            await one.call_tool("anything")
            await two.call_tool("anything")
    assert set(world.service.tokens) == {"", "Bearer token-1"}
    assert set(second.tokens) == {"", "Bearer other"}


@pytest.mark.parametrize(("scope", "asked"), [("", 1), ("more", 2)])
async def test_servers_of_one_resource_share_a_token_that_is_good_enough(
    world: World, scope: str, asked: int
) -> None:
    world.service.metadata["resource"] = world.service.url
    world.service.routes["POST /other"] = world.service.call
    auth = world.oauth()
    async with world.client(auth):
        at = f"{world.service.url}/.well-known/oauth-protected-resource/mcp"
        world.service.challenge = f'Bearer resource_metadata="{at}", scope="{scope}"'
        async with Client(f"{world.service.url}/other", auth=auth, mode="modern"):
            pass
    assert len(world.browser.visited) == asked
    used = world.service.to("POST /other")[-1].headers["authorization"]
    assert used == f"Bearer token-{asked}"


def test_settings_that_cannot_work_are_refused_at_once() -> None:
    async def handler(url: str) -> str:
        return url

    with pytest.raises(ValueError, match="loopback"):
        OAuth(redirect="https://app.example/callback")
    with pytest.raises(ValueError, match="loopback"):
        OAuth(redirect="http://0.0.0.0:80/callback")
    with pytest.raises(ValueError, match="not a URL"):
        OAuth(redirect="nonsense")
    with pytest.raises(ValueError, match="redirect_handler needs"):
        OAuth(redirect_handler=handler)
    with pytest.raises(ValueError, match="https URL with a path"):
        OAuth(client_metadata_url="http://app.example/client.json")
    with pytest.raises(ValueError, match="https URL with a path"):
        OAuth(client_metadata_url="https://app.example/")
    with pytest.raises(ValueError, match="belong to a client_id"):
        OAuth(client_secret="secret")
