"""URLs, and what messages show of them."""

from __future__ import annotations

import pytest

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.urls import host_and_port, scheme_of, shown, split


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
