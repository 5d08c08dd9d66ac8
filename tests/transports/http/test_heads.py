"""Heads are read strictly."""

from __future__ import annotations

import httptools
import pytest
from msgspec.structs import replace

from accord.transports.http.heads import (
    CHUNKED,
    UNTIL_CLOSE,
    Fields,
    MalformedError,
    ResponseHead,
    WebRequest,
    read_request,
    read_response,
)
from tests.transports.http.smuggling import MALFORMED_HEADS


def test_a_request_head() -> None:
    raw = (
        b"POST /rpc?key=1 HTTP/1.1\r\nHost: Example.com:80\r\nContent-Type:application/json \t\r\n"
        b"content-length:\t07 \r\nAccept: */*\r\n\r\n"
    )
    assert read_request(raw) == WebRequest(
        method="POST",
        path="/rpc",
        place="rpc",
        query="key=1",
        fields=Fields(
            [
                (b"Host", b"Example.com:80"),
                (b"Content-Type", b"application/json \t"),
                (b"content-length", b"07 "),
                (b"Accept", b"*/*"),
            ]
        ),
        length=7,
        loopback=False,
        target="/rpc",
        minor=1,
        keep_alive=True,
    )


@pytest.mark.req("F-30")
@pytest.mark.parametrize("case", MALFORMED_HEADS)
def test_what_two_readers_could_take_differently_is_malformed(case: str) -> None:
    status, raw = MALFORMED_HEADS[case]
    end = raw.index(b"\r\n\r\n") + 4
    with pytest.raises(MalformedError) as caught:
        read_request(raw[:end])
    assert caught.value.status == status
    assert caught.value.reason


class LenientParser(httptools.HttpRequestParser):
    """What httptools would be if it were told to look away."""

    def __init__(self, protocol: object) -> None:
        super().__init__(protocol)
        self.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_keep_alive=True,
            lenient_transfer_encoding=True,
            lenient_version=True,
        )


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    "case",
    [
        "length and chunked",
        "chunked and length",
        "an unknown coding",
        "chunked twice",
        "chunked twice in a list",
        "chunked before another coding",
        "identity",
        "a quoted coding",
        "a coding in HTTP/1.0",
        "a newer minor version",
    ],
)
def test_where_a_body_ends_does_not_depend_on_the_parser(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(httptools, "HttpRequestParser", LenientParser)
    with pytest.raises(MalformedError) as caught:
        read_request(MALFORMED_HEADS[case][1])
    assert caught.value.status in (400, 501, 505)


@pytest.mark.parametrize("host", ["x", "x.example:8080", "127.0.0.1", "[::1]:80", "[2001:db8::1]"])
def test_hosts(host: str) -> None:
    head = read_request(f"POST / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert head.fields["host"] == host


@pytest.mark.parametrize(
    ("method", "target", "path"),
    [
        ("POST", "/", "/"),
        ("POST", "/a%20b/./c?d=/e", "/a%20b/./c"),
        ("POST", "http://X/rpc?y", "/rpc"),
        ("POST", "HTTPS://x/", "/"),
        ("POST", "http://x", "/"),
        ("POST", "http://x?y", "/"),
        ("OPTIONS", "*", "*"),
    ],
)
def test_targets(method: str, target: str, path: str) -> None:
    head = read_request(f"{method} {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert head.target == path


@pytest.mark.parametrize(
    ("version", "lines", "keep_alive"),
    [
        ("1.1", "", True),
        ("1.1", "Connection: keep-alive\r\n", True),
        ("1.1", "Connection: Close\r\n", False),
        ("1.1", "Connection: keep-alive, close\r\n", False),
        ("1.1", "Connection: keep-alive\r\nConnection: x ,\tclose\r\n", False),
        ("1.1", "Connection: closed\r\n", True),
        ("1.0", "", False),
        ("1.0", "Connection: Keep-Alive\r\n", True),
        ("1.0", "Connection: keep-alive, close\r\n", False),
    ],
)
def test_whether_a_connection_lives_on(version: str, lines: str, keep_alive: bool) -> None:
    head = read_request(f"POST / HTTP/{version}\r\nHost: x\r\n{lines}\r\n".encode())
    assert head.keep_alive is keep_alive


def test_http_1_0_needs_no_host() -> None:
    assert read_request(b"POST / HTTP/1.0\r\n\r\n").fields == {}


@pytest.mark.parametrize("wish", ["websocket", "h2c", "TLS/1.0"])
def test_the_wish_for_another_protocol_is_ignored(wish: str) -> None:
    lines = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {wish}\r\nHTTP2-Settings: AAA\r\n"
    raw = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n{lines}\r\n".encode()
    head = read_request(raw)
    assert (head.length, head.keep_alive, len(head.fields)) == (3, True, 5)


def test_chunked_in_any_letter_case() -> None:
    raw = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked \r\n\r\n"
    assert read_request(raw).length == CHUNKED


@pytest.mark.parametrize(
    ("raw", "head"),
    [
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/html\r\n\r\n",
            ResponseHead(
                200, 3, True, {b"content-length": b"3", b"content-type": b"text/html"}, []
            ),
        ),
        (b"HTTP/1.1 204\r\n\r\n", ResponseHead(204, 0, True, {}, [])),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", ResponseHead(304, 0, True, {}, [])),
        (b"HTTP/1.1 100 Continue\r\n\r\n", ResponseHead(100, 0, True, {}, [])),
        (b"HTTP/1.1 200 OK\r\n\r\n", ResponseHead(200, UNTIL_CLOSE, False, {}, [])),
        (
            b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            ResponseHead(200, 0, False, {b"content-length": b"0"}, []),
        ),
        (
            b"HTTP/1.1 500 \r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
            ResponseHead(500, CHUNKED, False, {b"transfer-encoding": b"chunked"}, []),
        ),
    ],
)
def test_response_heads(raw: bytes, head: ResponseHead) -> None:
    assert replace(read_response(raw), pairs=[]) == head


def test_all_fields_of_a_response_are_there_in_order() -> None:
    raw = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n"
    assert read_response(raw).pairs == [(b"X-A", b"1"), (b"x-a", b"2"), (b"Content-Length", b"0")]


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    "raw",
    [
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 600 Odd\r\n\r\n",
        b"HTTP/1.1 200 O\x00K\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    ],
)
def test_malformed_response_heads(raw: bytes) -> None:
    with pytest.raises(MalformedError):
        read_response(raw)
