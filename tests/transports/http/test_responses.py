"""Responses of servers, and the answers in them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from accord.jsonrpc.protocol.errors import TransportError
from accord.transports.http.heads import MalformedError
from accord.transports.http.responses import (
    MAX_HEAD_BYTES,
    Response,
    ResponseReader,
    TooLargeError,
    answer_in,
    calls_in,
)

JSON = b"Content-Type: application/json\r\n"
OK = Response(200, b"{}")
WHOLE = {
    "a known length": (b"HTTP/1.1 200 OK\r\n" + JSON + b"Content-Length: 2\r\n\r\n{}", OK),
    "chunks": (
        b"HTTP/1.1 200 OK\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\n"
        b"1\r\n{\r\n1;x\r\n}\r\n0\r\nX: y\r\n\r\n",
        OK,
    ),
    "announcements": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 200 OK\r\n" + JSON + b"Content-Length: 2\r\n\r\n{}",
        OK,
    ),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", Response(204, b"")),
    "a last response": (
        b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
        Response(404, b"x", False),
    ),
    "a redirect": (
        b"HTTP/1.1 308 Moved\r\nLocation: https://x/\r\nContent-Length: 0\r\n\r\n",
        Response(308, b"", True, "https://x/"),
    ),
}


def reader(max_body: int | None = 1000) -> ResponseReader:
    return ResponseReader(max_body=max_body)


@pytest.mark.req("F-17")
@pytest.mark.parametrize(("raw", "response"), WHOLE.values(), ids=WHOLE)
def test_a_response_whole_and_byte_by_byte(raw: bytes, response: Response) -> None:
    reading = reader()
    assert reading.feed(raw) == response
    pieces = [reading.feed(raw[at : at + 1]) for at in range(len(raw))]
    assert pieces == [*[None] * (len(raw) - 1), response]


@pytest.mark.req("F-17")
@given(st.lists(st.integers(0, 200), max_size=5))
def test_a_response_cut_anywhere(cuts: list[int]) -> None:
    raw, response = WHOLE["announcements"]
    edges = [0, *sorted(cuts), len(raw)]
    reading = reader()
    pieces = [reading.feed(raw[a:b]) for a, b in pairwise(edges)]
    assert [piece for piece in pieces if piece is not None] == [response]


def test_a_body_that_ends_with_the_connection() -> None:
    reading = reader()
    assert reading.feed(b"HTTP/1.0 200 OK\r\n\r\n{") is None
    assert reading.feed(b"}") is None
    assert reading.end() == Response(200, b"{}", False)


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\n", WHOLE["chunks"][0][:-1]])
def test_a_response_that_is_cut_short_is_none(sent: bytes) -> None:
    reading = reader()
    reading.feed(sent)
    assert reading.end() is None


@pytest.mark.req("F-30")
def test_bytes_behind_a_response_spoil_the_connection() -> None:
    response = reader().feed(WHOLE["a known length"][0] + b"HTTP/1.1 200")
    assert response is not None
    assert (response.body, response.keep_alive) == (b"{}", False)


@pytest.mark.req("F-29")
@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890",
        b"HTTP/1.1 200 OK\r\n\r\n01234567890",
    ],
)
def test_a_body_over_the_limit_is_not_taken(head: bytes) -> None:
    with pytest.raises(TooLargeError):
        reader(10).feed(head)
    assert reader(None).feed(head) is None


@pytest.mark.req("F-24", "F-30")
@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * MAX_HEAD_BYTES,
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * MAX_HEAD_BYTES + b"\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    ],
)
def test_what_is_no_response(sent: bytes) -> None:
    with pytest.raises(MalformedError):
        reader().feed(sent)


@pytest.mark.req("F-30")
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_response_or_not(noise: bytes, headed: bool) -> None:
    reading = reader()
    try:
        response = reading.feed(b"HTTP/1.1 200 OK\r\n" + noise if headed else noise)
    except (MalformedError, TooLargeError):
        return
    assert response is None or len(response.body) <= len(noise)


CALL = b'{"jsonrpc":"2.0","id":1,"method":"add"}'
NOTIFICATION = b'{"jsonrpc":"2.0","method":"tell"}'
SUCCESS = b'{"jsonrpc":"2.0","id":1,"result":null}'
FAILURE = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'


@pytest.mark.parametrize("status", [200, 202, 400, 413, 500])
@pytest.mark.parametrize("body", [SUCCESS, FAILURE, b"[%b,%b]" % (SUCCESS, FAILURE)])
def test_json_rpc_counts_whatever_the_status_is(status: int, body: bytes) -> None:
    assert answer_in(Response(status, body), CALL) == body


@pytest.mark.parametrize("status", [200, 202, 204])
@pytest.mark.parametrize("sent", [NOTIFICATION, b"[%b]" % NOTIFICATION, SUCCESS])
def test_where_nothing_was_asked_nothing_need_be_said(status: int, sent: bytes) -> None:
    assert answer_in(Response(status, b""), sent) is None


@pytest.mark.req("F-27", "F-30")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b"[]",
        b"[[]]",
        b"null",
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"1.0","id":1,"result":1}',
        b'{"id":1,"result":1}',
        SUCCESS[:-1],
        CALL,
        b"[%b,%b]" % (SUCCESS, CALL),
        b'{"jsonrpc":"2.0","id":1,"result":"\xff"}',
    ],
)
def test_no_json_rpc_is_no_answer_to_a_call(body: bytes) -> None:
    with pytest.raises(TransportError) as caught:
        answer_in(Response(200, body), CALL)
    assert (caught.value.message, caught.value.recoverable, caught.value.data) == (
        "the server answered HTTP 200 and no JSON-RPC",
        False,
        {"status": 200, "body": body[:500].decode(errors="replace")},
    )


@pytest.mark.req("Q-04")
@pytest.mark.parametrize("levels", [129, 2_000, 100_000])
def test_an_answer_that_is_nested_too_deep_is_refused_by_the_limit_of_the_connection(
    levels: int,
) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"result":%b%b}' % (b"[" * levels, b"]" * levels)
    assert answer_in(Response(200, body), CALL) == body


@pytest.mark.req("F-27")
@pytest.mark.parametrize(
    ("status", "recoverable", "advice"),
    [
        (401, False, "Check the credentials in options.headers."),
        (404, False, "Check the path of the URL."),
        (405, False, "Check that the URL is that of a JSON-RPC endpoint."),
        (429, True, "Try again later; repeat only calls that are safe to repeat."),
        (503, True, "Try again later; repeat only calls that are safe to repeat."),
    ],
)
def test_a_failure_says_what_to_do(status: int, recoverable: bool, advice: str) -> None:
    with pytest.raises(TransportError) as caught:
        answer_in(Response(status, b"sorry"), NOTIFICATION)
    assert (caught.value.recoverable, caught.value.advice) == (recoverable, advice)


@pytest.mark.req("F-27")
def test_a_redirect_is_not_followed() -> None:
    with pytest.raises(TransportError) as caught:
        answer_in(Response(307, b"", location="https://other.example/rpc"), CALL)
    assert caught.value.message == "the server redirects to https://other.example/rpc (HTTP 307)"
    assert caught.value.recoverable is False
    assert caught.value.data == {
        "status": 307,
        "body": "",
        "location": "https://other.example/rpc",
    }


def test_the_calls_in_a_message() -> None:
    other = b'{"jsonrpc":"2.0","id":"two","method":"add"}'
    assert calls_in(CALL) == [1]
    assert calls_in(b"[%b,%b,%b]" % (NOTIFICATION, other, CALL)) == ["two", 1]
    assert calls_in(NOTIFICATION) == calls_in(SUCCESS) == []
