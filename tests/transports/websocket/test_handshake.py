"""The opening handshake, both sides of it, as bytes in and bytes out."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from accord.transports.http.heads import Fields
from accord.transports.websocket.handshake import (
    HeadBuffer,
    RefusedError,
    Response,
    accept,
    accept_key,
    check_response,
    read_response,
    upgrade_request,
)

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
GOOD = {
    "Host": "server.example.com",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": KEY,
    "Sec-WebSocket-Version": "13",
}


def head(
    line: str = "GET /chat HTTP/1.1", *, without: str = "", **changes: str | list[str]
) -> bytes:
    """The good request with other header values; a list makes several headers."""
    headers: dict[str, str | list[str]] = {
        **GOOD,
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    headers.pop(without, None)
    lines = [
        f"{name}: {value}"
        for name, values in headers.items()
        for value in (values if isinstance(values, list) else [values])
    ]
    return "\r\n".join([line, *lines, "", ""]).encode()


def answer(
    request: bytes, *, origins: tuple[str, ...] | None = None, loopback: bool = False
) -> bytes:
    return accept(request, path="/chat", origins=origins, loopback=loopback)[1]


def refusal(request: bytes, *, loopback: bool = False) -> tuple[int, str, dict[str, str]]:
    with pytest.raises(RefusedError) as caught:
        answer(request, loopback=loopback)
    error = caught.value
    return error.status, error.text, dict(error.headers)


# The server's side


@pytest.mark.req("F-19")
def test_the_example_of_the_standard_is_answered_as_it_says() -> None:
    assert answer(head()) == (
        b"HTTP/1.1 101 Switching Protocols\r\n"
        b"Upgrade: websocket\r\n"
        b"Connection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    )


def test_what_was_asked_for_is_kept() -> None:
    request, _ = accept(
        head("GET /chat?room=1 HTTP/1.1", Authorization="Bearer secret"),
        path="/chat",
        origins=None,
        loopback=False,
    )
    assert request.target == "/chat?room=1"
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["Host"] == "server.example.com"


@pytest.mark.parametrize(
    "request_head",
    [
        head(Upgrade="WebSocket", Connection="keep-alive, Upgrade"),
        head(Upgrade=["h2c", "websocket"], Connection=["keep-alive", "upgrade"]),
        head("GET http://server.example.com/chat HTTP/1.1"),
        head(Sec_WebSocket_Protocol="graphql, jsonrpc"),
        head(Sec_WebSocket_Extensions="permessage-deflate; client_max_window_bits"),
        head(Origin="https://server.example.com"),
        head(Content_Length="0"),
    ],
)
def test_what_real_clients_send_is_accepted(request_head: bytes) -> None:
    assert answer(request_head) == answer(head())


UPGRADE = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
NO_KEY = "One Sec-WebSocket-Key of 16 bytes in base64 is needed."
NO_UPGRADE = "This is a WebSocket: connect with ws:// or wss://."
OLD = "Only version 13 of the WebSocket protocol is spoken here."


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("request_head", "status", "text", "headers"),
    [
        (head("GET /other HTTP/1.1"), 404, "There is nothing at this path.", {}),
        (head("GET /chat/ HTTP/1.1"), 404, "There is nothing at this path.", {}),
        (head("POST /chat HTTP/1.1"), 405, "A WebSocket is opened by GET.", {"Allow": "GET"}),
        (head(without="Upgrade"), 426, NO_UPGRADE, UPGRADE),
        (head(Upgrade="h2c"), 426, NO_UPGRADE, UPGRADE),
        (head(without="Connection"), 426, NO_UPGRADE, UPGRADE),
        (head(Connection="keep-alive"), 426, NO_UPGRADE, UPGRADE),
        (head(without="Sec-WebSocket-Version"), 426, OLD, UPGRADE),
        (head(Sec_WebSocket_Version="8"), 426, OLD, UPGRADE),
        (head(Sec_WebSocket_Version=["13", "13"]), 426, OLD, UPGRADE),
        (head("GET /chat HTTP/1.0"), 400, "A WebSocket is opened with HTTP/1.1.", {}),
        (head(Content_Length="5"), 400, "A request for a WebSocket has no body.", {}),
        (head(Transfer_Encoding="chunked"), 400, "A request for a WebSocket has no body.", {}),
        (head(without="Sec-WebSocket-Key"), 400, NO_KEY, {}),
        (head(Sec_WebSocket_Key="c2hvcnQ="), 400, NO_KEY, {}),
        (head(Sec_WebSocket_Key="not base64"), 400, NO_KEY, {}),
        (head(Sec_WebSocket_Key="ÿ" * 24), 400, NO_KEY, {}),
        (head(Sec_WebSocket_Key=[KEY, KEY]), 400, NO_KEY, {}),
    ],
)
def test_requests_that_open_no_websocket_are_refused(
    request_head: bytes, status: int, text: str, headers: dict[str, str]
) -> None:
    assert refusal(request_head) == (status, text, headers)


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (head(without="Host"), 400),
        (head(Host=["a", "b"]), 400),
        (head(Host="a b"), 400),
        (head("GET /chat HTTP/2.0"), 505),
        (head("GET /chat"), 400),
        (head(X="a\r\n b"), 400),
        (head().replace(b"\r\n", b"\n") + b"\r\n\r\n", 400),
    ],
)
def test_what_is_not_proper_http_is_refused(request_head: bytes, status: int) -> None:
    assert refusal(request_head)[0] == status


@pytest.mark.req("F-30")
def test_foreign_pages_are_refused_and_listed_ones_are_not() -> None:
    foreign = head(Origin="https://evil.example")
    text = "The server's `origins` do not let this page connect."
    assert refusal(foreign) == (403, text, {})
    assert answer(foreign, origins=("https://evil.example",)) == answer(head())


@pytest.mark.req("F-30")
def test_a_page_that_rebound_its_name_to_loopback_is_refused() -> None:
    rebound = head(Origin="http://server.example.com")
    assert answer(rebound) == answer(head())
    assert refusal(rebound, loopback=True)[0] == 403


def test_a_refusal_is_a_readable_response() -> None:
    error = RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "No.", {"Allow": "GET"})
    assert error.response() == (
        b"HTTP/1.1 405 Method Not Allowed\r\n"
        b"Allow: GET\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: 4\r\n"
        b"Connection: close\r\n\r\nNo.\n"
    )


# Heads


@pytest.mark.req("F-17")
def test_a_head_is_found_however_it_is_cut() -> None:
    data = head() + b"\x81\x00\r\n\r\n"
    whole = (head(), b"\x81\x00\r\n\r\n")
    assert HeadBuffer(1_000).receive(data) == whole
    for cut in range(1, len(head())):
        buffer = HeadBuffer(1_000)
        assert buffer.receive(data[:cut]) is None
        assert buffer.receive(data[cut:]) == whole


@pytest.mark.req("F-28")
def test_a_head_may_be_as_large_as_the_limit_and_no_larger() -> None:
    data = head()
    assert HeadBuffer(len(data)).receive(data + b"x" * 100) == (data, b"x" * 100)
    with pytest.raises(RefusedError) as caught:
        HeadBuffer(len(data) - 1).receive(data)
    assert caught.value.status == 431


@pytest.mark.req("F-28")
def test_a_head_that_does_not_end_is_refused_when_it_passes_the_limit() -> None:
    buffer = HeadBuffer(100)
    assert buffer.receive(b"G" * 100) is None
    with pytest.raises(RefusedError) as caught:
        buffer.receive(b"G")
    assert str(caught.value) == "The headers are over the limit of 100 bytes."


@pytest.mark.req("F-30")
@pytest.mark.parametrize("first", [b"\x16\x03\x01", b"\r\n", b" GET", b"{}"])
def test_what_cannot_be_http_is_refused_at_once(first: bytes) -> None:
    with pytest.raises(RefusedError) as caught:
        HeadBuffer(1_000).receive(first)
    assert caught.value.status == 400


# The client's side


def request_lines(headers: dict[str, str]) -> list[str]:
    data = upgrade_request(target="/chat?x=1", host="example.com", key=KEY, headers=headers)
    return data.decode().split("\r\n")


def test_a_client_asks_as_the_standard_says() -> None:
    assert request_lines({"Authorization": "Bearer secret"}) == [
        "GET /chat?x=1 HTTP/1.1",
        "Host: example.com",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {KEY}",
        "Sec-WebSocket-Version: 13",
        "Authorization: Bearer secret",
        "",
        "",
    ]


def test_a_caller_may_name_another_host() -> None:
    lines = request_lines({"host": "virtual.example"})
    assert [line for line in lines if line.lower().startswith("host:")] == ["host: virtual.example"]


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("X-A", "a\r\nX-B: b", "the value of the header X-A has characters that no header has"),
        ("X-A", "a\nb", "the value of the header X-A has characters that no header has"),
        ("X-A", "a\0", "the value of the header X-A has characters that no header has"),
        ("X-A", "ok ☃", "the value of the header X-A has characters that no header has"),
        ("X A", "a", "'X A' is not the name of a header"),
        ("X-A\r\nX-B", "a", "'X-A\\r\\nX-B' is not the name of a header"),
        ("", "a", "'' is not the name of a header"),
        ("upgrade", "h2c", "the header upgrade belongs to the protocol"),
        ("Content-Length", "5", "the header Content-Length belongs to the protocol"),
    ],
)
def test_headers_that_would_change_the_request_are_refused(
    name: str, value: str, message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        request_lines({name: value})
    assert str(caught.value) == message


def response(status: int = 101, **headers: str) -> Response:
    good = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Accept": accept_key(KEY),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"HTTP/1.1 {status} Any", *(f"{name}: {value}" for name, value in good.items())]
    return read_response("\r\n".join([*lines, "", ""]).encode())


def test_a_response_is_read() -> None:
    read = read_response(b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 9\r\n\r\n")
    assert (read.status, dict(read.headers)) == (503, {"retry-after": "1", "content-length": "9"})


def test_a_good_response_will_do() -> None:
    check_response(response(), key=KEY)
    check_response(response(Upgrade="WebSocket", Connection="upgrade"), key=KEY)
    check_response(response(Sec_WebSocket_Protocol="b"), key=KEY, offered="a, b")


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (response(200), "the server answered with status 200"),
        (response(Upgrade="h2c"), "the server switched to something that is not a WebSocket"),
        (response(Connection="x"), "the server switched to something that is not a WebSocket"),
        (
            response(Sec_WebSocket_Accept=accept_key("other")),
            "the server's Sec-WebSocket-Accept does not belong to our key",
        ),
        (
            response(Sec_WebSocket_Extensions="permessage-deflate"),
            "the server uses an extension that was not offered",
        ),
        (
            response(Sec_WebSocket_Protocol="c"),
            "the server uses a subprotocol that was not offered",
        ),
    ],
)
def test_a_bad_response_will_not_do(bad: Response, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_response(bad, key=KEY, offered="a, b")
    assert str(caught.value) == message


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    "raw",
    [b"HTTP/9.9 101 Odd\r\n\r\n", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 101 OK\r\n:\r\n\r\n"],
)
def test_what_is_not_an_http_response_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"^the server's answer is not HTTP: "):
        read_response(raw)


def test_fields_are_found_in_any_letter_case() -> None:
    assert Response(200, Fields([(b"X-A", b"1")])).headers["x-a"] == "1"
