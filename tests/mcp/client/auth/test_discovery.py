"""How a client finds out who gives tokens, and whom it does not believe."""

from __future__ import annotations

from typing import Any

import pytest

from accord.mcp import Client
from accord.mcp.client.auth import AuthorizationError, DiscoveryError, UntrustedError
from tests.mcp.client.auth.authority import Authority
from tests.mcp.client.auth.conftest import World
from tests.mcp.client.auth.service import Service
from tests.mcp.client.auth.site import Answer, served


async def _connect(world: World) -> None:
    async with world.client():
        pass


async def test_the_place_that_the_challenge_names_is_asked_alone(world: World) -> None:
    world.service.metadata_at = ["/custom/metadata.json"]
    world.service.publish()
    del world.service.routes["GET /.well-known/oauth-protected-resource/mcp"]
    await _connect(world)
    assert world.service.places[1:2] == ["GET /custom/metadata.json"]


@pytest.mark.parametrize(
    ("at", "asked"),
    [
        ("/mcp", ["/mcp"]),
        ("", ["/mcp", ""]),
    ],
)
async def test_without_a_hint_the_well_known_places_are_asked_in_order(
    world: World, at: str, asked: list[str]
) -> None:
    root = "/.well-known/oauth-protected-resource"
    world.service.routes.pop(f"GET {root}/mcp")
    world.service.metadata_at = [f"{root}{at}"]
    world.service.challenge = "Bearer"
    world.service.publish()
    await _connect(world)
    assert world.service.places[1:-1] == [f"GET {root}{each}" for each in asked]


async def test_a_server_at_the_root_has_its_metadata_at_the_root() -> None:
    authority = Authority()
    service = Service(authority, path="/")
    service.metadata_at = ["/.well-known/oauth-protected-resource"]
    service.challenge = "Bearer"
    world = World()
    async with served(authority, service):
        authority.publish()
        service.publish()
        async with Client(service.url, auth=world.oauth(), mode="modern"):
            pass
    assert service.places[1:-1] == ["GET /.well-known/oauth-protected-resource"]


_OAUTH = "/.well-known/oauth-authorization-server"
_OIDC = "/.well-known/openid-configuration"


@pytest.mark.parametrize(
    ("prefix", "places"),
    [
        ("", [_OAUTH]),
        ("", [_OAUTH, _OIDC]),
        ("/tenant", [f"{_OAUTH}/tenant"]),
        ("/tenant", [f"{_OAUTH}/tenant", f"{_OIDC}/tenant"]),
        ("/tenant", [f"{_OAUTH}/tenant", f"{_OIDC}/tenant", f"/tenant{_OIDC}"]),
    ],
)
async def test_an_authorization_server_is_looked_for_in_order(
    prefix: str, places: list[str]
) -> None:
    world = World()
    authority = world.authority = Authority(prefix)
    service = world.service = Service(authority)
    authority.well_known = places[-1:]
    async with served(authority, service):
        authority.publish()
        service.publish()
        await _connect(world)
    assert authority.places[: len(places)] == [f"GET {place}" for place in places]
    assert authority.places[len(places)] == f"POST {prefix}/register"


@pytest.mark.parametrize(
    "resource", ["https://evil.example/mcp", "{origin}/mcp2", "{origin}/mcp/deeper", "nonsense"]
)
async def test_metadata_for_another_resource_is_not_used(world: World, resource: str) -> None:
    world.service.metadata["resource"] = resource.format(origin=world.service.url)
    with pytest.raises(UntrustedError, match="another resource"):
        await _connect(world)
    assert world.authority.asked == []


async def test_the_resource_is_named_exactly_as_the_metadata_names_it(world: World) -> None:
    world.service.metadata["resource"] = world.service.url
    await _connect(world)
    (authorize,) = world.authority.to("GET /authorize")
    (token,) = world.authority.to("POST /token")
    assert authorize.parameters["resource"] == world.service.url
    assert token.form["resource"] == world.service.url


@pytest.mark.parametrize("issuer", ["https://honest.example", "{issuer}/", "{issuer}/x"])
async def test_metadata_of_another_issuer_is_not_used(world: World, issuer: str) -> None:
    world.authority.metadata["issuer"] = issuer.format(issuer=world.authority.issuer)
    with pytest.raises(UntrustedError, match="another issuer"):
        await _connect(world)
    assert world.authority.to("POST /register") == []


@pytest.mark.parametrize(
    "endpoint", ["authorization_endpoint", "token_endpoint", "registration_endpoint"]
)
@pytest.mark.parametrize("url", ["http://elsewhere.example/x", "javascript:alert(1)", "/token"])
async def test_endpoints_without_tls_are_not_used(world: World, endpoint: str, url: str) -> None:
    world.authority.metadata[endpoint] = url
    with pytest.raises(UntrustedError, match="endpoint"):
        await _connect(world)
    assert world.authority.places == ["GET /.well-known/oauth-authorization-server"]


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"authorization_servers": []}, DiscoveryError),
        ({"authorization_servers": None}, DiscoveryError),
        ({"authorization_servers": ["http://elsewhere.example"]}, UntrustedError),
        ({"authorization_servers": ["not a url"]}, UntrustedError),
    ],
)
async def test_metadata_must_name_an_authorization_server(
    world: World, metadata: dict[str, Any], error: type[Exception]
) -> None:
    world.service.metadata |= metadata
    with pytest.raises(error):
        await _connect(world)
    assert world.authority.asked == []


async def test_the_first_of_several_authorization_servers_is_used(world: World) -> None:
    world.service.metadata["authorization_servers"] = [
        world.authority.issuer,
        "https://other.example",
    ]
    await _connect(world)
    assert world.authority.places[0].startswith("GET /.well-known/")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(404),
        Answer(200, body=b"<html>not found</html>"),
        Answer(200, {"issuer": 5}),
        Answer(200, body=b"\xff\xfe"),
        Answer(302, headers={"location": "http://127.0.0.1:9/elsewhere"}),
        Answer(302, headers={"location": "http://[bad"}),
    ],
)
async def test_an_authorization_server_without_metadata_is_not_used(
    world: World, answer: Answer
) -> None:
    world.authority.routes["GET /.well-known/oauth-authorization-server"] = lambda asked: answer
    with pytest.raises(DiscoveryError, match="no metadata"):
        await _connect(world)


async def test_a_document_may_have_moved_on_its_own_host(world: World) -> None:
    world.authority.routes |= {
        "GET /.well-known/oauth-authorization-server": lambda asked: Answer(
            301, headers={"location": "/moved"}
        ),
        "GET /moved": world.authority.describe,
    }
    await _connect(world)
    assert "GET /moved" in world.authority.places


async def test_a_document_that_moves_in_circles_is_not_followed_for_ever(world: World) -> None:
    place = "GET /.well-known/oauth-authorization-server"
    world.authority.routes[place] = lambda asked: Answer(
        301, headers={"location": "/.well-known/oauth-authorization-server"}
    )
    with pytest.raises(DiscoveryError):
        await _connect(world)
    assert len(world.authority.to(place)) == 4


async def test_a_document_that_is_too_large_is_not_read(world: World) -> None:
    place = "GET /.well-known/oauth-protected-resource/mcp"
    world.service.routes[place] = lambda asked: Answer(200, body=b" " * 300_000)
    with pytest.raises(AuthorizationError, match="over the limit of 262,144 bytes"):
        await _connect(world)


@pytest.mark.parametrize("status", [404, 200])
async def test_a_place_that_the_server_names_must_have_metadata(world: World, status: int) -> None:
    place = "GET /.well-known/oauth-protected-resource/mcp"
    world.service.routes[place] = lambda asked: Answer(status, body=b"nothing")
    with pytest.raises(DiscoveryError, match="where the server says"):
        await _connect(world)


async def test_a_server_in_trouble_is_not_taken_for_an_older_one(world: World) -> None:
    place = "GET /.well-known/oauth-protected-resource/mcp"
    world.service.challenge = "Bearer"
    world.service.routes[place] = lambda asked: Answer(503)
    with pytest.raises(DiscoveryError, match="HTTP 503"):
        await _connect(world)
    assert world.service.places == ["POST /mcp", place]


async def test_an_authorization_server_that_is_not_there_is_reported(world: World) -> None:
    world.service.metadata["authorization_servers"] = ["http://127.0.0.1:9"]
    with pytest.raises(AuthorizationError, match="cannot be asked"):
        await _connect(world)


class Old(Authority):
    """2025-03-26: a server that gives its own tokens, without metadata of the resource."""

    def __init__(self) -> None:
        super().__init__()
        self.service = Service(self)
        self.service.challenge = "Bearer"
        self.routes[f"POST {self.service.path}"] = self.service.call

    @property
    def endpoint(self) -> str:
        return f"{self.url}{self.service.path}"


@pytest.mark.parametrize("path", ["", "/", "/oauth"])
async def test_an_old_server_describes_its_own_endpoints(world: World, path: str) -> None:
    old = Old()
    async with served(old):
        old.metadata = {
            "issuer": f"{old.url}{path}",
            "token_endpoint": f"{old.url}/oauth/token",
        }
        old.publish()
        old.routes["POST /oauth/token"] = old.routes.pop("POST /token")
        async with Client(old.endpoint, auth=world.oauth(), mode="modern"):
            pass
    assert old.places == [
        "POST /mcp",
        "GET /.well-known/oauth-protected-resource/mcp",
        "GET /.well-known/oauth-protected-resource",
        "GET /.well-known/oauth-authorization-server",
        "POST /register",
        "GET /authorize",
        "POST /oauth/token",
        "POST /mcp",
    ]


async def test_an_old_server_without_metadata_has_its_endpoints_at_the_usual_places(
    world: World,
) -> None:
    old = Old()
    async with served(old), Client(old.endpoint, auth=world.oauth(), mode="modern"):
        pass
    assert old.places[-4:] == ["POST /register", "GET /authorize", "POST /token", "POST /mcp"]
    (token,) = old.to("POST /token")
    assert token.form["resource"] == old.endpoint


async def test_an_old_server_cannot_speak_for_another(world: World) -> None:
    old = Old()
    old.metadata["issuer"] = "https://honest.example"
    async with served(old):
        old.publish()
        with pytest.raises(UntrustedError, match="another issuer"):
            async with Client(old.endpoint, auth=world.oauth(), mode="modern"):
                pass


async def test_known_credentials_are_not_shown_to_an_old_server(world: World) -> None:
    old = Old()
    auth = world.oauth(client_id="known", client_secret="secret", issuer="https://honest.example")
    async with served(old):
        with pytest.raises(UntrustedError, match="no longer come from"):
            async with Client(old.endpoint, auth=auth, mode="modern"):
                pass
    assert old.to("GET /authorize") == []
