"""The way from a request to its credentials, which is the same for every adapter."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.operations.auth.authentication import RequestAuthenticator, correlation_id_of
from accord.operations.auth.credentials import Addresses, RequestCredentials
from accord.operations.context import Face
from accord.transports.http.heads import Fields, WebRequest
from tests.operations.auth.world import World

HERE = ChannelInfo(scheme="http", address="10.0.0.1:5000", duplex=False)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def request(**fields: str) -> WebRequest:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    return WebRequest("POST", "/", "", "", Fields(pairs), 0, False)


@pytest.mark.parametrize("face", ["rest", "rpc", "a2a", "web"])
def test_a_request_says_who_sent_it_and_from_where(world: World, face: Face) -> None:
    authenticator = RequestAuthenticator(world.accounts, face, Addresses(["10.0.0.0/8"]))
    sent = request(
        authorization="Bearer abc",
        user_agent="curl",
        x_correlation_id="mine",
        x_forwarded_for="192.0.2.9",
        x_forwarded_proto="https",
        x_csrf_token="t",
        cookie="accord_session=planted; __Host-accord_session=own",
        traceparent=TRACE,
    )
    assert authenticator.credentials(sent, HERE) == RequestCredentials(
        bearer="abc",
        cookie="own",
        csrf="t",
        secure=True,
        face=face,
        client="curl",
        address="192.0.2.9",
        correlation_id="mine",
        traceparent=TRACE,
    )


@pytest.mark.parametrize("others", [{}, {"authorization": ""}], ids=["none", "empty"])
def test_over_https_a_cookie_needs_its_prefix_also_beside_an_empty_authorization(
    world: World, others: dict[str, str]
) -> None:
    authenticator = RequestAuthenticator(world.accounts, "rest")
    https = ChannelInfo(scheme="https", address="10.0.0.1:5000", duplex=False)
    planted = request(cookie="accord_session=planted", **others)
    own = request(cookie="accord_session=planted; __Host-accord_session=own", **others)
    assert authenticator.credentials(planted, https).token == ""
    assert authenticator.credentials(own, https).token == "own"
    assert authenticator.credentials(planted, HERE).token == "planted"


def test_a_client_of_mcp_has_a_token_and_ids_of_the_server(world: World) -> None:
    authenticator = RequestAuthenticator(world.accounts, "mcp")
    sent = request(cookie="accord_session=own", x_csrf_token="t", x_correlation_id="mine")
    found = authenticator.credentials(sent, HERE)
    assert found.correlation_id not in ("", "mine")
    assert replace(found, correlation_id="") == RequestCredentials(face="mcp", address="10.0.0.1")
    assert authenticator.credentials(sent, None).address == ""


def test_equal_heads_are_parsed_once_but_each_request_has_an_id(world: World) -> None:
    authenticator = RequestAuthenticator(world.accounts, "rest")
    sent = request(authorization="Bearer abc")
    first, second = authenticator.credentials(sent, HERE), authenticator.credentials(sent, HERE)
    assert first.bearer is second.bearer
    assert first.correlation_id != second.correlation_id
    assert correlation_id_of(sent) != correlation_id_of(sent)


def test_a_trace_stands_for_a_correlation_id(world: World) -> None:
    sent = request(traceparent=TRACE)
    assert correlation_id_of(sent) == "0af7651916cd43dd8448eb211c80319c"
    assert correlation_id_of(request(traceparent=TRACE, x_correlation_id="mine")) == "mine"


def test_what_a_head_says_is_computed_once() -> None:
    seen: list[WebRequest] = []

    def read(head: WebRequest) -> int:
        seen.append(head)
        return len(head.path)

    sent = request()
    assert (sent.once(read), sent.once(read)) == (1, 1)
    moved = replace(sent, path="/ab")
    assert moved.once(read) == 3
    assert seen == [sent, moved]
