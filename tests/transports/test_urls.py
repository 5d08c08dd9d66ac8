"""URLs, origins and addresses."""

from __future__ import annotations

import pytest

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.urls import (
    InetAddress,
    UnixAddress,
    WebAddress,
    host_and_port,
    is_loopback,
    origin_allowed,
    parse_served_address,
    parse_stream_address,
    parse_web_address,
    scheme_of,
    shown,
    split,
)


@pytest.mark.parametrize(
    ("url", "scheme"),
    [("tcp://a:1", "tcp"), ("TCP://a:1", "tcp"), ("memory:a", "memory"), ("tcp", ""), ("", "")],
)
def test_the_scheme_stands_before_the_colon(url: str, scheme: str) -> None:
    assert scheme_of(url) == scheme


@pytest.mark.req("F-27")
@pytest.mark.parametrize(
    "url",
    [
        "ws://a:b?secret",
        "tcp://a:70000?secret",
        "tcp://secret@[a",
        "http://me:secret@a:b",
        "http://me:secret/@a:1/",
        "http://me:secret@a\u2100b/",
    ],
)
def test_a_malformed_url_is_a_connect_error_that_repeats_no_secret(url: str) -> None:
    with pytest.raises(ConnectError) as caught:
        split(url, advice="Write it well.")
    assert "is malformed, or its port is not within 0 and 65,535" in caught.value.message
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not caught.value.recoverable
    assert caught.value.advice == "Write it well."


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("ws://a:1/b#c", "ws://a:1/b#c"),
        ("ws://me:secret@a:1/b", "ws://…@a:1/b"),
        ("ws://me:sec/ret@a:1/b", "ws://…@a:1/b"),
        ("ws://me:sec?ret@a:1/b", "ws://…@a:1/b"),
        ("ws://me:sec@ret@a:1/b", "ws://…@a:1/b"),
        ("ws://me:sec\nret@a", "ws://…@a"),
        ("ws://a?key=secret", "ws://a?…"),
        ("ws://a/?key=sec?ret#b", "ws://a/?…#b"),
    ],
)
def test_neither_credentials_nor_queries_are_shown(url: str, text: str) -> None:
    assert shown(url) == text


def test_hosts_with_colons_are_in_brackets() -> None:
    assert (host_and_port("a", 1), host_and_port("::1", 1)) == ("a:1", "[::1]:1")


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        (None, "example.com", None),
        (None, "example.com", ()),
        ("https://example.com", "example.com", None),
        ("https://Example.com", "example.COM:443", None),
        ("http://example.com", "example.com", None),
        ("http://example.com:8080", "example.com:8080", None),
        ("http://[2001:db8::1]:8080", "[2001:db8::1]:8080", None),
        ("https://other.org", "example.com", ("*",)),
        ("null", "example.com", ("*",)),
        ("https://Other.org", "example.com", ("https://other.org",)),
    ],
)
def test_own_and_listed_origins_and_programs_are_let_in(
    origin: str | None, host: str, allowed: tuple[str, ...] | None
) -> None:
    assert origin_allowed(origin, host=host, allowed=allowed, loopback=False)


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        ("https://other.org", "example.com", None),
        ("https://example.com.other.org", "example.com", None),
        ("https://example.com:8443", "example.com", None),
        ("http://example.com", "example.com:443", None),
        ("https://example.com", "example.com", ()),
        ("https://example.com", "example.com", ("https://other.org",)),
        ("null", "example.com", None),
        ("", "", None),
        ("https://", "", None),
        ("https://[", "[", None),
        ("https://example.com:port", "example.com:port", None),
    ],
)
def test_foreign_and_unreadable_origins_are_kept_out(
    origin: str, host: str, allowed: tuple[str, ...] | None
) -> None:
    assert not origin_allowed(origin, host=host, allowed=allowed, loopback=False)


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("host", "let_in"),
    [
        ("localhost:7000", True),
        ("app.localhost:7000", True),
        ("127.0.0.1:7000", True),
        ("[::1]:7000", True),
        ("rebound.example:7000", False),
        ("192.0.2.1:7000", False),
    ],
)
def test_a_name_that_somebody_pointed_at_loopback_is_not_our_own_host(
    host: str, let_in: bool
) -> None:
    origin = f"http://{host}"
    assert origin_allowed(origin, host=host, allowed=None, loopback=True) is let_in


def test_loopback_hosts() -> None:
    hosts = ["localhost", "127.0.0.1", "127.9.9.9", "::1", "10.0.0.1", "example.com", ""]
    assert [host for host in hosts if is_loopback(host)] == hosts[:4]


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
    assert parse_web_address(url) == address


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
    address = parse_web_address(url)
    assert (address.target, address.authority, str(address)) == (target, authority, shown)


@pytest.mark.parametrize(
    ("scheme", "secure"), [("http", False), ("https", True), ("ws", False), ("wss", True)]
)
def test_the_scheme_tells_whether_there_is_tls(scheme: str, secure: bool) -> None:
    assert parse_web_address(f"{scheme}://a").secure is secure


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
        parse_web_address(url)
    assert caught.value.message == f"cannot use the address {why}"
    assert not caught.value.recoverable
    assert "http://host:port/path" in caught.value.advice


@pytest.mark.req("F-27")
def test_a_server_has_no_query() -> None:
    assert parse_served_address("ws://a/b") == parse_web_address("ws://a/b")
    with pytest.raises(ConnectError) as caught:
        parse_served_address("ws://a/b?c=d")
    assert caught.value.message == (
        "cannot use the address 'ws://a/b?…': a query is for clients to send"
    )


@pytest.mark.req("F-19")
@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("tcp://127.0.0.1:7000", InetAddress("tcp", "127.0.0.1", 7000)),
        ("tcp://localhost:0/", InetAddress("tcp", "localhost", 0)),
        ("tls://example.com:443", InetAddress("tls", "example.com", 443)),
        ("tcp://[::1]:7000", InetAddress("tcp", "::1", 7000)),
        ("unix:///run/accord.sock", UnixAddress("/run/accord.sock")),
        ("unix:///run/with%20space", UnixAddress("/run/with space")),
    ],
)
def test_url_names_an_address(url: str, address: InetAddress | UnixAddress) -> None:
    assert parse_stream_address(url) == address


def test_address_is_written_as_a_url() -> None:
    assert str(InetAddress("tcp", "::1", 7000)) == "tcp://[::1]:7000"
    assert str(InetAddress("tls", "localhost", 7000)) == "tls://localhost:7000"
    assert str(UnixAddress("/run/accord.sock")) == "unix:///run/accord.sock"


@pytest.mark.req("F-19", "F-27")
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("tcp://127.0.0.1", "it needs a host and a port"),
        ("tcp://:7000", "it needs a host and a port"),
        ("tcp://127.0.0.1:7000/path", "it has more than an address"),
        ("tcp://127.0.0.1:7000#top", "it has more than an address"),
        ("udp://127.0.0.1:7000", "the scheme 'udp' is unknown"),
        ("unix://relative/path", "it needs an absolute path"),
        ("unix:", "it needs an absolute path"),
        ("unix:///" + "x" * 107, "a path of 108 bytes is over the limit of 107"),
    ],
)
def test_url_that_names_no_address_is_refused_for_good(url: str, why: str) -> None:
    with pytest.raises(ConnectError) as caught:
        parse_stream_address(url)
    assert caught.value.message == f"cannot use the address {url!r}: {why}"
    assert not caught.value.recoverable
    assert "tcp://host:port" in caught.value.advice


@pytest.mark.req("F-27")
@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "tcp://me:secret@a:1",
            "cannot use the address 'tcp://…@a:1': it has more than an address",
        ),
        ("tcp://a:1?secret", "cannot use the address 'tcp://a:1?…': it has more than an address"),
    ],
)
def test_secrets_in_a_url_are_not_repeated(url: str, message: str) -> None:
    with pytest.raises(ConnectError) as caught:
        parse_stream_address(url)
    assert caught.value.message == message
