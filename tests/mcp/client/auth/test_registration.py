"""Who a client is for an authorization server, and how it shows that."""

from __future__ import annotations

from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from accord.mcp.client.auth import (
    AuthorizationError,
    MemoryStorage,
    OAuthError,
    PrivateKey,
    UntrustedError,
)
from tests.mcp.client.auth.authority import Authority
from tests.mcp.client.auth.browser import REDIRECT
from tests.mcp.client.auth.conftest import World
from tests.mcp.client.auth.site import Answer, served

DOCUMENT = "https://app.example/client.json"


async def _connect(world: World, **options: Any) -> dict[str, str]:
    async with world.client(world.oauth(**options)):
        pass
    return world.authority.to("POST /token")[-1].form


async def test_a_client_registers_itself(world: World) -> None:
    world.service.metadata["scopes_supported"] = ["a"]
    await _connect(world, client_name="Notes", client_uri="https://notes.example")
    assert world.authority.registered == [
        {
            "client_name": "Notes",
            "client_uri": "https://notes.example",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
            "scope": "a",
        }
    ]


async def test_a_client_elsewhere_is_a_web_application(world: World) -> None:
    await _connect(world, redirect="https://app.example/callback")
    assert world.authority.registered[0]["application_type"] == "web"


@pytest.mark.parametrize(
    ("supported", "asked"),
    [
        (["none", "client_secret_basic"], "none"),
        (["client_secret_post", "client_secret_basic"], "client_secret_basic"),
        (["client_secret_post"], "client_secret_post"),
        (["private_key_jwt"], "none"),
        (None, "client_secret_basic"),
    ],
)
async def test_a_client_asks_for_a_method_that_the_server_has(
    world: World, supported: list[str] | None, asked: str
) -> None:
    world.authority.metadata["token_endpoint_auth_methods_supported"] = supported
    await _connect(world)
    assert world.authority.registered[0]["token_endpoint_auth_method"] == asked


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("none", (None, {"client_id": "id"})),
        ("client_secret_basic", (("id", "s:/ü"), {})),
        ("client_secret_post", (None, {"client_id": "id", "client_secret": "s:/ü"})),
    ],
)
async def test_a_client_authenticates_as_it_was_registered(
    world: World, given: str, expected: tuple[tuple[str, str] | None, dict[str, str]]
) -> None:
    world.authority.routes["POST /register"] = lambda asked: Answer(
        201,
        {"client_id": "id", "client_secret": "s:/ü", "token_endpoint_auth_method": given},
    )
    await _connect(world)
    (asked,) = world.authority.to("POST /token")
    shown = {name: value for name, value in asked.form.items() if name.startswith("client_")}
    assert (asked.basic, shown) == expected


async def test_a_method_that_nobody_asked_for_is_refused(world: World) -> None:
    world.authority.routes["POST /register"] = lambda asked: Answer(
        201, {"client_id": "id", "token_endpoint_auth_method": "tls_client_auth"}
    )
    with pytest.raises(AuthorizationError, match="tls_client_auth"):
        await _connect(world)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (Answer(400, {"error": "invalid_redirect_uri"}), OAuthError, "invalid_redirect_uri"),
        (Answer(201, {"id": 1}), AuthorizationError, "no client id"),
        (Answer(500), AuthorizationError, "HTTP 500"),
    ],
)
async def test_a_registration_that_fails_is_reported(
    world: World, answer: Answer, error: type[Exception], message: str
) -> None:
    world.authority.routes["POST /register"] = lambda asked: answer
    with pytest.raises(error, match=message):
        await _connect(world)


async def test_without_registration_the_error_says_what_to_do(world: World) -> None:
    world.authority.metadata["registration_endpoint"] = None
    with pytest.raises(AuthorizationError) as caught:
        await _connect(world)
    assert "client_id" in caught.value.advice


async def test_a_registration_is_kept_and_used_again(world: World) -> None:
    storage = MemoryStorage()
    for _ in range(2):
        await _connect(world, storage=storage)
        world.authority.granted.clear()
        world.authority.refresh_tokens.clear()
    assert len(world.authority.registered) == 1


async def test_a_registration_that_is_over_is_not_used(world: World) -> None:
    storage = MemoryStorage()
    world.authority.routes["POST /register"] = lambda asked: Answer(
        201, {"client_id": "id", "client_secret": "s", "client_secret_expires_at": 1}
    )
    for _ in range(2):
        await _connect(world, storage=storage)
        world.authority.granted.clear()
        world.authority.refresh_tokens.clear()
    assert len(world.authority.to("POST /register")) == 2


async def test_a_client_that_is_no_longer_known_registers_again(world: World) -> None:
    storage = MemoryStorage()
    world.authority.refuses["authorization_code"] = "invalid_client"
    with pytest.raises(OAuthError, match="invalid_client"):
        await _connect(world, storage=storage)
    world.authority.refuses.clear()
    await _connect(world, storage=storage)
    assert len(world.authority.registered) == 2


@pytest.mark.parametrize(
    ("supported", "basic"),
    [(["client_secret_basic"], True), (["client_secret_post"], False), (None, True)],
)
async def test_a_client_that_is_known_shows_its_secret_as_the_server_takes_it(
    world: World, supported: list[str] | None, basic: bool
) -> None:
    world.authority.metadata["token_endpoint_auth_methods_supported"] = supported
    form = await _connect(world, client_id="known", client_secret="secret")
    (asked,) = world.authority.to("POST /token")
    assert asked.basic == (("known", "secret") if basic else None)
    assert form.get("client_secret") == (None if basic else "secret")
    assert world.authority.registered == []


async def test_a_method_may_be_fixed(world: World) -> None:
    form = await _connect(
        world, client_id="known", client_secret="secret", auth_method="client_secret_post"
    )
    assert form["client_secret"] == "secret"


async def test_a_known_client_without_a_secret_only_says_its_name(world: World) -> None:
    form = await _connect(world, client_id="public")
    assert form["client_id"] == "public"
    assert world.authority.to("POST /token")[0].basic is None


async def test_a_private_key_signs_for_the_issuer_alone(world: World) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    form = await _connect(world, client_id="known", private_key=PrivateKey(pem, id="one"))
    assertion = form["client_assertion"]
    claims = jwt.decode(assertion, private.public_key(), ["ES256"], audience=world.authority.issuer)
    assert (claims["iss"], claims["sub"], claims["exp"] - claims["iat"]) == ("known", "known", 60)
    assert jwt.get_unverified_header(assertion)["kid"] == "one"


async def test_a_document_is_used_where_the_server_reads_such(world: World) -> None:
    world.authority.metadata["client_id_metadata_document_supported"] = True
    form = await _connect(world, client_metadata_url=DOCUMENT)
    assert form["client_id"] == DOCUMENT
    assert world.authority.registered == []


async def test_a_document_is_of_no_use_elsewhere(world: World) -> None:
    form = await _connect(world, client_metadata_url=DOCUMENT)
    assert form["client_id"] == "client-1"


async def test_who_is_known_needs_no_document(world: World) -> None:
    world.authority.metadata["client_id_metadata_document_supported"] = True
    form = await _connect(world, client_id="public", client_metadata_url=DOCUMENT)
    assert form["client_id"] == "public"


async def test_a_new_authorization_server_gets_nothing_of_the_old_one(world: World) -> None:
    new = Authority()
    new.token["access_token"] = "new"
    async with served(new), world.client() as client:
        new.publish()
        old = world.authority
        world.service.authority = new
        await client.call_tool("anything")
    assert new.places == [
        "GET /.well-known/oauth-authorization-server",
        "POST /register",
        "GET /authorize",
        "POST /token",
    ]
    assert [asked.form["grant_type"] for asked in old.to("POST /token")] == ["authorization_code"]
    assert not any(b"refresh-1" in asked.body for asked in new.asked)


@pytest.mark.parametrize("said", [True, False])
async def test_known_credentials_are_not_shown_to_a_new_authorization_server(
    world: World, said: bool
) -> None:
    new = Authority()
    auth = world.oauth(
        client_id="known",
        client_secret="secret",
        issuer=world.authority.issuer if said else None,
    )
    async with served(new), world.client(auth) as client:
        new.publish()
        world.service.authority = new
        with pytest.raises(UntrustedError, match="no longer come from"):
            await client.call_tool("anything")
    assert new.asked == []


async def test_one_of_several_authorization_servers_can_be_chosen(world: World) -> None:
    world.service.metadata["authorization_servers"] = [
        "https://other.example",
        world.authority.issuer,
    ]
    form = await _connect(world, client_id="public", issuer=world.authority.issuer)
    assert form["client_id"] == "public"
