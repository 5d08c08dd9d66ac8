"""URLs of HTTP endpoints and WebSockets."""

from __future__ import annotations

import pytest

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.web_address import WebAddress, parse, parse_served


@pytest.mark.req("F-19")
@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://Example.com", WebAddress("http", "example.com", 80)),
        (
            "https://example.com:8443/rpc?a=b",
            WebAddress("https", "example.com", 8443, "/rpc", "a=b"),
        ),
        ("https://[::1]/", WebAddress("https", "::1", 443)),
        ("http://127.0.0.1:0/", WebAddress("http", "127.0.0.1", 0)),
        ("ws://example.com", WebAddress("ws", "example.com", 80)),
        ("WSS://example.com", WebAddress("wss", "example.com", 443)),
        ("ws://[::1]:81/a/b?c=d", WebAddress("ws", "::1", 81, "/a/b", "c=d")),
    ],
)
def test_a_url_is_taken_apart(url: str, address: WebAddress) -> None:
    assert parse(url) == address


@pytest.mark.parametrize(
    ("url", "target", "authority", "shown"),
    [
        ("http://a/rpc?key=secret", "/rpc?key=secret", "a", "http://a:80/rpc"),
        ("https://[::1]:8443", "/", "[::1]:8443", "https://[::1]:8443/"),
        ("http://a:0", "/", "a:0", "http://a:0/"),
        ("ws://a:80/x?y", "/x?y", "a", "ws://a:80/x"),
        ("wss://a", "/", "a", "wss://a:443/"),
        ("ws://a:443", "/", "a:443", "ws://a:443/"),
        ("ws://[::1]", "/", "[::1]", "ws://[::1]:80/"),
    ],
)
def test_an_address_says_what_to_ask_for_and_shows_no_query(
    url: str, target: str, authority: str, shown: str
) -> None:
    address = parse(url)
    assert (address.target, address.authority, str(address)) == (target, authority, shown)


@pytest.mark.parametrize(
    ("scheme", "secure"), [("http", False), ("https", True), ("ws", False), ("wss", True)]
)
def test_the_scheme_tells_whether_there_is_tls(scheme: str, secure: bool) -> None:
    assert parse(f"{scheme}://a").secure is secure


@pytest.mark.req("F-27")
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http:///rpc", "'http:///rpc': it needs a scheme and a host"),
        ("ws://", "'ws://': it needs a scheme and a host"),
        ("tcp://a:1", "'tcp://a:1': it needs a scheme and a host"),
        ("http://me:secret@x/", "'http://…@x/': credentials belong into the option `headers`"),
        ("http://x/rpc#y", "'http://x/rpc#y': it has a fragment"),
        ("http://x/r pc", "'http://x/r pc': it has characters that have to be percent-encoded"),
        ("ws://x/ré", "'ws://x/ré': it has characters that have to be percent-encoded"),
        ("ws://x/?ü", "'ws://x/?…': it has characters that have to be percent-encoded"),
    ],
)
def test_a_url_that_names_no_address_is_refused_for_good(url: str, why: str) -> None:
    with pytest.raises(ConnectError) as caught:
        parse(url)
    assert caught.value.message == f"cannot use the address {why}"
    assert not caught.value.recoverable
    assert "http://host:port/path" in caught.value.advice


@pytest.mark.req("F-27")
def test_a_server_has_no_query() -> None:
    assert parse_served("ws://a/b") == parse("ws://a/b")
    with pytest.raises(ConnectError) as caught:
        parse_served("ws://a/b?c=d")
    assert caught.value.message == (
        "cannot use the address 'ws://a/b?…': a query is for clients to send"
    )
