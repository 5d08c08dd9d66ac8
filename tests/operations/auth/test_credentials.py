"""What a request presents, and where it comes from."""

from __future__ import annotations

import pytest

from accord.operations.auth.credentials import (
    Addresses,
    RequestCredentials,
    credentials_in,
    expired_cookie,
    session_cookie,
)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, RequestCredentials(safe=True)),
        ({"authorization": "Bearer abc"}, RequestCredentials(bearer="abc", safe=True)),
        ({"authorization": "bearer   abc"}, RequestCredentials(bearer="abc", safe=True)),
        ({"authorization": "Basic YTpi"}, RequestCredentials(bearer="Basic YTpi", safe=True)),
        ({"authorization": "Bearer a b"}, RequestCredentials(bearer="Bearer a b", safe=True)),
        ({"cookie": "a=b; accord_session=xyz; c=d"}, RequestCredentials(cookie="xyz", safe=True)),
        ({"cookie": "__Host-accord_session=xyz"}, RequestCredentials(safe=True)),
        (
            {"cookie": "accord_session=one; accord_session=two"},
            RequestCredentials(cookie="one", safe=True),
        ),
        ({"x-csrf-token": "t"}, RequestCredentials(csrf="t", safe=True)),
        (
            {"authorization": "Bearer " + "x" * 5000},
            RequestCredentials(bearer="x" * 257, safe=True),
        ),
    ],
)
def test_credentials_are_read_from_headers(
    fields: dict[str, str], expected: RequestCredentials
) -> None:
    assert credentials_in("GET", fields) == expected


def test_over_https_only_the_cookie_counts_that_nobody_else_can_set() -> None:
    fields = {"cookie": "accord_session=planted; __Host-accord_session=own"}
    assert credentials_in("POST", fields, secure=True) == RequestCredentials(cookie="own")


@pytest.mark.req("H-18")
def test_credentials_do_not_show_themselves() -> None:
    shown = repr(RequestCredentials(bearer="secret one", cookie="secret two", csrf="secret three"))
    assert shown == "RequestCredentials(bearer, cookie, csrf)"


def test_a_cookie_is_for_the_server_and_for_nothing_else() -> None:
    assert session_cookie("t", secure=False, max_age=60) == (
        "accord_session=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=60"
    )
    assert session_cookie("t", secure=True, max_age=60) == (
        "__Host-accord_session=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure"
    )
    assert expired_cookie(secure=False) == (
        "accord_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"
    )


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1:5000", "", "192.0.2.1"),
        ("[2001:db8::1]:5000", "", "2001:db8::1"),
        ("::ffff:192.0.2.1", "", "192.0.2.1"),
        ("/run/accord.sock", "203.0.113.5", ""),
        ("", "", ""),
        ("192.0.2.1:5000", "203.0.113.5", "192.0.2.1"),  # who is not trusted says what they like
        ("10.0.0.1:5000", "203.0.113.5", "203.0.113.5"),
        ("10.0.0.1:5000", "198.51.100.9, 203.0.113.5, 10.0.0.2", "203.0.113.5"),
        ("10.0.0.1:5000", "made up, 203.0.113.5", "203.0.113.5"),
        ("10.0.0.1:5000", "made up", "10.0.0.1"),
        ("10.0.0.1:5000", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
    ],
)
def test_an_address_is_believed_as_far_as_trusted_proxies_say_it(
    peer: str, forwarded: str, expected: str
) -> None:
    addresses = Addresses(["10.0.0.0/8"])
    assert addresses.client(peer, {"x-forwarded-for": forwarded}) == expected


@pytest.mark.parametrize(
    ("peer", "scheme", "proto", "expected"),
    [
        ("192.0.2.1:5000", "https", "", True),
        ("192.0.2.1:5000", "http", "https", False),
        ("10.0.0.1:5000", "http", "https", True),
        ("10.0.0.1:5000", "http", "http", False),
        ("", "http", "https", False),
    ],
)
def test_https_is_believed_of_trusted_proxies(
    peer: str, scheme: str, proto: str, expected: bool
) -> None:
    addresses = Addresses(["10.0.0.0/8"])
    assert addresses.is_secure(peer, scheme, {"x-forwarded-proto": proto}) is expected
