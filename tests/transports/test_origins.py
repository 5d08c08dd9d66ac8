"""Whom the `Origin` rule lets in."""

from __future__ import annotations

import pytest

from accord.transports.origins import is_loopback, origin_allowed


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
