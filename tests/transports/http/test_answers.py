"""What a response means."""

from __future__ import annotations

import pytest

from accord.jsonrpc.protocol.errors import TransportError
from accord.transports.http.answers import answer_in, calls_in
from accord.transports.http.responses import Response

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
