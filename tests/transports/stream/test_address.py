"""URLs of streams."""

from __future__ import annotations

import pytest

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.stream.address import InetAddress, UnixAddress, parse


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
    assert parse(url) == address


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
        parse(url)
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
        parse(url)
    assert caught.value.message == message
