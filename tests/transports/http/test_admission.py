"""What an endpoint lets in, and what it says to the rest."""

from __future__ import annotations

import msgspec
import pytest

from accord.transports.http.admission import (
    MAX_DRAINED_BYTES,
    MAX_KNOWN_HEAD_BYTES,
    MAX_KNOWN_HEADS,
    Rules,
)
from accord.transports.http.replies import Reply, encode_reply

TEXT = b"content-type: text/plain; charset=utf-8\r\n"
JSON = b"content-type: application/json\r\n"
NOT_HERE = Reply(404, TEXT, b"Nothing is here: JSON-RPC is served at /rpc\n")
POST_ONLY = (
    b"This is a JSON-RPC 2.0 endpoint: send your call as a POST with "
    b"content-type: application/json\n"
)


def rules(
    *,
    path: str = "/rpc",
    max_body: int | None = 1000,
    origins: tuple[str, ...] | None = None,
    loopback: bool = False,
) -> Rules:
    return Rules(path=path, max_body=max_body, origins=origins, loopback=loopback, pages={})


def head(start: str = "POST /rpc HTTP/1.1", **fields: str) -> bytes:
    fields = {"host": "example.com", "content_type": "application/json", **fields}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"{start}\r\n{lines}\r\n".encode("latin-1")


def refusal(raw: bytes, by: Rules | None = None) -> Reply | None:
    return (by or rules()).judge(raw).reply


def message(reply: Reply | None) -> tuple[int, int, str]:
    assert reply is not None
    assert JSON in reply.headers
    failure = msgspec.json.decode(reply.body)
    assert failure["id"] is None
    return reply.status, failure["error"]["code"], failure["error"]["message"]


def test_a_request_that_is_let_in() -> None:
    found = rules().judge(head(content_length="12", x_trace="a", X_Trace="b"))
    assert (found.request.length, found.close, found.expects, found.extra, found.reply) == (
        12, False, False, b"", None,
    )  # fmt: skip
    assert dict(found.request.fields) == {
        "host": "example.com",
        "content-type": "application/json",
        "content-length": "12",
        "x-trace": "a, b",
    }
    assert found.request.fields["X-TRACE"] == "a, b"
    assert (len(found.request.fields), repr(found.request.fields)) == (
        4,
        f"Fields({dict(found.request.fields)!r})",
    )


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json-rpc",
        "application/jsonrequest",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"; q=1',
        "application/json ; charset = us-ascii",
        "application/json;",
    ],
)
def test_content_types_of_json(content_type: str) -> None:
    assert refusal(head(content_type=content_type)) is None


@pytest.mark.parametrize(
    ("content_type", "why"),
    [
        ("application/x-www-form-urlencoded", "the content type is application/x-www-form-urlenc"),
        ("text/plain", "the content type is text/plain; send your call with content-type: applic"),
        ("application/jsonp", "the content type is application/jsonp"),
        ("", "the content type is ;"),
        ("application/json; charset=utf-16", "JSON is UTF-8; send it without another charset"),
        ("application/json; charset=", "JSON is UTF-8; send it without another charset"),
    ],
)
def test_other_content_types_are_refused_with_advice(content_type: str, why: str) -> None:
    reply = refusal(head(content_type=content_type))
    status, code, said = message(reply)
    assert (status, code) == (415, -32600)
    assert said.startswith(f"Invalid Request: {why}")


def test_a_missing_content_type_is_refused() -> None:
    assert message(refusal(b"POST /rpc HTTP/1.1\r\nHost: x\r\n\r\n")) == (
        415,
        -32600,
        "Invalid Request: the content type is missing; "
        "send your call with content-type: application/json",
    )


def test_encoded_bodies_are_refused() -> None:
    reply = refusal(head(content_encoding="gzip"))
    assert message(reply)[:2] == (415, -32600)
    assert reply is not None
    assert reply.headers == b"accept-encoding: identity\r\n" + JSON
    assert refusal(head(content_encoding="Identity")) is None


@pytest.mark.parametrize("path", ["/", "/rpc/", "/rp", "/RPC", "//rpc", "/%72pc", "/x/../rpc"])
def test_other_paths_are_not_here(path: str) -> None:
    assert refusal(head(f"POST {path} HTTP/1.1")) == NOT_HERE


def test_a_query_does_not_change_the_path() -> None:
    assert refusal(head("POST /rpc?key=value HTTP/1.1")) is None


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "QUERY"])
def test_other_methods_are_not_allowed(method: str) -> None:
    reply = refusal(head(f"{method} /rpc HTTP/1.1"))
    assert reply == Reply(405, b"allow: POST\r\n" + TEXT, POST_ONLY)


def test_the_answer_to_head_has_the_length_of_a_body_that_is_not_sent() -> None:
    reply = refusal(head("HEAD /rpc HTTP/1.1"))
    assert reply is not None
    assert encode_reply(reply, "now") == (
        b"HTTP/1.1 405 Method Not Allowed\r\ndate: now\r\nallow: POST\r\n"
        + TEXT
        + b"content-length: %d\r\n\r\n" % len(POST_ONLY)
    )


@pytest.mark.req("F-29")
def test_a_body_that_is_announced_too_large_is_refused() -> None:
    assert refusal(head(content_length="1000")) is None
    reply = refusal(head(content_length="1001"))
    assert reply is not None
    assert (reply.status, msgspec.json.decode(reply.body)) == (
        413,
        {
            "jsonrpc": "2.0",
            "id": None,
            "error": {
                "code": -32012,
                "message": "the message is over the limit of 1,000 bytes",
                "data": {"reason": "message_too_large", "maxSize": 1000, "unit": "bytes"},
            },
        },
    )


@pytest.mark.req("F-29")
@pytest.mark.parametrize(
    ("length", "close"), [(1001, False), (MAX_DRAINED_BYTES, False), (MAX_DRAINED_BYTES + 1, True)]
)
def test_the_connection_survives_what_can_be_drained(length: int, close: bool) -> None:
    assert rules().judge(head(content_length=str(length))).close is close


def test_without_a_limit_any_length_is_let_in() -> None:
    assert refusal(head(content_length="999999999999"), rules(max_body=None)) is None


# Expectations and connections


def test_a_client_that_waits_for_permission() -> None:
    found = rules().judge(head(expect="100-Continue", content_length="5"))
    assert (found.expects, found.reply, found.close) == (True, None, False)


@pytest.mark.parametrize(
    ("start", "length"), [("POST /rpc HTTP/1.0", "5"), ("POST /rpc HTTP/1.1", "0")]
)
def test_an_expectation_without_use_is_ignored(start: str, length: str) -> None:
    found = rules().judge(head(start, expect="100-continue", content_length=length))
    assert (found.expects, found.reply) == (False, None)


def test_a_refused_client_that_waited_for_permission_may_send_its_body_or_not() -> None:
    found = rules().judge(head("POST /other HTTP/1.1", expect="100-continue", content_length="5"))
    assert (found.expects, found.close, found.reply) == (False, True, NOT_HERE)


def test_other_expectations_are_not_met() -> None:
    reply = refusal(head(expect="200-ok"))
    assert reply == Reply(417, TEXT, b"The only expectation met here is 100-continue\n")


@pytest.mark.parametrize(
    ("start", "connection", "extra"),
    [
        ("POST /rpc HTTP/1.1", "keep-alive", b""),
        ("POST /rpc HTTP/1.1", "close", b"connection: close\r\n"),
        ("POST /rpc HTTP/1.0", "keep-alive", b"connection: keep-alive\r\n"),
        ("POST /rpc HTTP/1.0", "x", b"connection: close\r\n"),
    ],
)
def test_what_is_said_about_the_connection(start: str, connection: str, extra: bytes) -> None:
    assert rules().judge(head(start, connection=connection)).extra == extra


def test_a_refused_http_1_0_client_hears_that_its_connection_lives_on() -> None:
    found = rules().judge(head("POST / HTTP/1.0", connection="keep-alive"))
    assert found.reply == Reply(404, TEXT + b"connection: keep-alive\r\n", NOT_HERE.body)


# Browsers


@pytest.mark.req("F-30")
def test_pages_of_other_origins_are_kept_out() -> None:
    assert refusal(head(origin="http://example.com")) is None
    assert refusal(head(origin="http://other.org")) == Reply(
        403, TEXT, b"Requests of this origin are not let in\n"
    )


@pytest.mark.req("F-30")
def test_a_name_pointed_at_loopback_is_kept_out() -> None:
    reply = refusal(head(origin="http://example.com"), rules(loopback=True))
    assert reply is not None
    assert reply.status == 403


def test_pages_of_listed_origins_may_read_the_answer() -> None:
    by = rules(origins=("https://app.example",))
    found = by.judge(head(origin="https://app.example", connection="close"))
    cors = b"access-control-allow-origin: https://app.example\r\nvary: origin\r\n"
    assert (found.reply, found.cors) == (None, cors)
    assert found.extra == cors + b"connection: close\r\n"
    refused = refusal(head(origin="https://app.example", content_type="text/plain"), by)
    assert refused is not None
    assert refused.headers == b"accept: application/json\r\n" + JSON + cors
    assert by.judge(head()).cors == b""


def preflight(**fields: str) -> bytes:
    fields = {
        "origin": "https://app.example",
        "access_control_request_method": "POST",
        **fields,
    }
    return head("OPTIONS /rpc HTTP/1.1", **fields)


def test_a_preflight_of_a_listed_origin_is_answered() -> None:
    by = rules(origins=("https://app.example",))
    asked = preflight(access_control_request_headers="content-type, authorization")
    assert refusal(asked, by) == Reply(
        204,
        b"access-control-allow-methods: POST\r\n"
        b"access-control-allow-headers: content-type, authorization\r\n"
        b"access-control-max-age: 600\r\n"
        b"access-control-allow-origin: https://app.example\r\nvary: origin\r\n",
    )


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (preflight(origin="https://other.example"), 403),
        (preflight(access_control_request_headers="a: b"), 405),
        (head("OPTIONS /rpc HTTP/1.1", origin="https://app.example"), 405),
        (head("OPTIONS /rpc HTTP/1.1"), 405),
        (head("OPTIONS * HTTP/1.1"), 404),
    ],
)
def test_other_options_requests_are_refused(raw: bytes, status: int) -> None:
    reply = refusal(raw, rules(origins=("https://app.example",)))
    assert reply is not None
    assert reply.status == status


# Heads seen before


def test_a_head_that_was_let_in_is_known_by_its_bytes() -> None:
    by = rules()
    raw = head(content_length="5")
    assert by.judge(raw) is by.known[raw]


@pytest.mark.parametrize(
    "raw", [head("GET /rpc HTTP/1.1"), head(content_length="9999"), head(origin="http://other")]
)
def test_a_refused_head_is_not_remembered(raw: bytes) -> None:
    by = rules()
    by.judge(raw)
    assert by.known == {}


@pytest.mark.req("F-24")
def test_known_heads_are_bounded() -> None:
    by = rules()
    by.judge(head(x="y" * MAX_KNOWN_HEAD_BYTES))
    assert by.known == {}
    for number in range(MAX_KNOWN_HEADS + 1):
        by.judge(head(x=str(number)))
    assert list(by.known) == [head(x=str(MAX_KNOWN_HEADS))]
