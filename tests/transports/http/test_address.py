"""URLs of endpoints."""

from __future__ import annotations

import pytest

from accord.jsonrpc.errors import ConnectError
from accord.transports.http.address import HttpAddress, parse


@pytest.mark.req("F-19")
@pytest.mark.parametrize(
    ("url", "address", "authority", "target", "text"),
    [
        (
            "http://Example.com",
            HttpAddress("http", "example.com", 80),
            "example.com",
            "/",
            "http://example.com:80/",
        ),
        (
            "https://example.com:8443/rpc?key=secret",
            HttpAddress("https", "example.com", 8443, "/rpc", "key=secret"),
            "example.com:8443",
            "/rpc?key=secret",
            "https://example.com:8443/rpc",
        ),
        (
            "https://[::1]/",
            HttpAddress("https", "::1", 443),
            "[::1]",
            "/",
            "https://[::1]:443/",
        ),
        ("http://[::1]:0/", HttpAddress("http", "::1", 0), "[::1]:0", "/", "http://[::1]:0/"),
    ],
)
def test_addresses(url: str, address: HttpAddress, authority: str, target: str, text: str) -> None:
    assert parse(url) == address
    assert (address.authority, address.target, str(address)) == (authority, target, text)
    assert address.secure is url.startswith("https")


@pytest.mark.req("F-27")
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http:///rpc", "'http:///rpc': it needs a scheme and a host"),
        ("ws://127.0.0.1/rpc", "'ws://127.0.0.1/rpc': it needs a scheme and a host"),
        ("http://me:secret@x/rpc", "'x': credentials belong into the option `headers`"),
        ("http://x/rpc#y", "'http://x/rpc#y': it has a fragment"),
        ("http://x/r pc", "'http://x/r pc': it has characters that have to be percent-encoded"),
        ("http://x/ré", "'http://x/ré': it has characters that have to be percent-encoded"),
        ("http://x:99999/", "'http://x:99999/': Port out of range 0-65535"),
    ],
)
def test_urls_that_cannot_be_used(url: str, why: str) -> None:
    with pytest.raises(ConnectError) as caught:
        parse(url)
    assert caught.value.message == f"cannot use the address {why}"
    assert not caught.value.recoverable
