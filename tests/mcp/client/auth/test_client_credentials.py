"""Tokens without a user: for programs, workloads, and users whom an enterprise vouches for."""

from __future__ import annotations

from typing import Any

import pytest

from accord.mcp.client.auth import (
    AuthorizationError,
    ClientCredentials,
    EnterpriseManaged,
    OAuthError,
    PrivateKey,
    UntrustedError,
    WorkloadIdentity,
)
from accord.mcp.client.auth.dpop import new_key
from tests.mcp.client.auth.authority import Authority
from tests.mcp.client.auth.conftest import World
from tests.mcp.client.auth.site import Answer, served

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


async def test_a_program_shows_its_secret(world: World) -> None:
    world.authority.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    async with world.client(ClientCredentials("known", "secret", scopes=["a"])) as client:
        assert (await client.call_tool("anything")).text == "done"
    (asked,) = world.authority.to("POST /token")
    assert asked.basic == ("known", "secret")
    assert asked.form == {
        "grant_type": "client_credentials",
        "scope": "a",
        "resource": world.service.endpoint,
    }
    assert world.authority.places == [
        "GET /.well-known/oauth-authorization-server",
        "POST /token",
    ]


async def test_a_program_signs_with_its_key(world: World) -> None:
    async with world.client(ClientCredentials("known", private_key=new_key())):
        pass
    (asked,) = world.authority.to("POST /token")
    assert set(asked.form) == {
        "grant_type",
        "client_assertion",
        "client_assertion_type",
        "resource",
    }


async def test_a_program_gets_a_new_token_when_the_old_one_ends(world: World) -> None:
    async with world.client(ClientCredentials("known", "secret", scopes=["a"])) as client:
        world.authority.granted.clear()
        await client.call_tool("anything")
    forms = [asked.form for asked in world.authority.to("POST /token")]
    assert [form["grant_type"] for form in forms] == ["client_credentials"] * 2
    assert forms[0] == forms[1]


async def test_a_program_that_is_refused_hears_why(world: World) -> None:
    world.authority.refuses["client_credentials"] = "invalid_client"
    with pytest.raises(OAuthError, match="invalid_client"):
        async with world.client(ClientCredentials("known", "wrong")):
            pass
    assert len(world.authority.to("POST /token")) == 1


async def test_a_program_whose_token_is_not_renewed_hears_why(world: World) -> None:
    world.authority.token["expires_in"] = 0
    async with world.client(ClientCredentials("known", "secret")) as client:
        world.authority.refuses["client_credentials"] = "invalid_client"
        with pytest.raises(OAuthError, match="invalid_client"):
            await client.call_tool("anything")
    assert len(world.authority.to("POST /token")) == 2


async def test_a_program_is_not_known_to_another_authorization_server(world: World) -> None:
    auth = ClientCredentials("known", "secret", issuer="https://honest.example")
    with pytest.raises(UntrustedError):
        async with world.client(auth):
            pass
    assert world.authority.asked == []


def test_a_program_has_one_kind_of_credentials() -> None:
    with pytest.raises(ValueError, match="client_secret or a private_key"):
        ClientCredentials("known")
    with pytest.raises(ValueError, match="client_secret or a private_key"):
        ClientCredentials("known", "secret", private_key=new_key())


async def test_a_key_that_cannot_sign_is_reported(world: World) -> None:
    auth = ClientCredentials("known", private_key=PrivateKey("nonsense"))
    with pytest.raises(AuthorizationError, match="cannot sign with ES256"):
        async with world.client(auth):
            pass


@pytest.mark.parametrize("client", [None, "workload"])
async def test_a_workload_presents_what_its_platform_gives(
    world: World, client: str | None
) -> None:
    audiences: list[str] = []

    async def assertion(audience: str) -> str:
        audiences.append(audience)
        return "a.b.c"

    async with world.client(WorkloadIdentity(assertion, client_id=client)):
        pass
    (asked,) = world.authority.to("POST /token")
    named = {} if client is None else {"client_id": client}
    expected = {"grant_type": JWT_BEARER, "assertion": "a.b.c", "resource": world.service.endpoint}
    assert asked.form == {**expected, **named}
    assert audiences == [world.authority.issuer]


async def test_a_workload_that_is_refused_does_not_try_again(world: World) -> None:
    world.authority.refuses[JWT_BEARER] = "invalid_grant"
    with pytest.raises(OAuthError, match="invalid_grant"):
        async with world.client(WorkloadIdentity("a.b.c")):
            pass
    assert len(world.authority.to("POST /token")) == 1


class Provider(Authority):
    """An enterprise's identity provider."""

    def __init__(self) -> None:
        super().__init__()
        self.well_known = ["/.well-known/openid-configuration"]
        self.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        self.given: dict[str, Any] = {
            "access_token": "id-jag",
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "token_type": "N_A",
        }
        self.routes["POST /token"] = lambda asked: Answer(json=self.given)


async def _enterprise(world: World, provider: Provider, **options: Any) -> None:
    async with served(provider):
        provider.publish()
        auth = EnterpriseManaged(
            idp=provider.url,
            idp_client_id="at-idp",
            idp_client_secret="idp-secret",
            client_id="known",
            client_secret="secret",
            **{"id_token": "id-token", **options},
        )
        async with world.client(auth) as client:
            await client.call_tool("anything")


async def test_an_enterprise_vouches_for_its_user(world: World) -> None:
    world.service.metadata["scopes_supported"] = ["a"]
    world.authority.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    provider = Provider()
    await _enterprise(world, provider)
    (exchange,) = provider.to("POST /token")
    assert exchange.form == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "audience": world.authority.issuer,
        "resource": world.service.endpoint,
        "scope": "a",
        "subject_token": "id-token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "client_id": "at-idp",
        "client_secret": "idp-secret",
    }
    (asked,) = world.authority.to("POST /token")
    assert asked.basic == ("known", "secret")
    assert asked.form == {
        "grant_type": JWT_BEARER,
        "assertion": "id-jag",
        "scope": "a",
        "resource": world.service.endpoint,
    }


async def test_the_identity_may_be_asked_for_each_time(world: World) -> None:
    async def fresh() -> str:
        return "fresh"

    provider = Provider()
    await _enterprise(world, provider, id_token=fresh)
    (exchange,) = provider.to("POST /token")
    assert exchange.form["subject_token"] == "fresh"


async def test_another_kind_of_token_is_not_passed_on(world: World) -> None:
    provider = Provider()
    provider.given["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
    with pytest.raises(AuthorizationError, match="another kind"):
        await _enterprise(world, provider)
    assert world.authority.to("POST /token") == []


async def test_what_the_provider_refuses_is_said(world: World) -> None:
    provider = Provider()
    provider.routes["POST /token"] = lambda asked: Answer(400, {"error": "invalid_grant"})
    with pytest.raises(OAuthError, match="identity provider"):
        await _enterprise(world, provider)
