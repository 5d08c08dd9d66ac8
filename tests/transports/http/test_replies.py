"""Responses as bytes."""

from __future__ import annotations

import pytest

from accord.transports.http.replies import (
    CLOSE,
    MAX_KNOWN_LENGTHS,
    Reply,
    Starts,
    always_lines,
    encode_reply,
    text_reply,
)


def test_a_reply_in_text() -> None:
    reply = text_reply(404, "naïve", b"x: y\r\n").adding(CLOSE)
    assert encode_reply(reply, "now") == (
        b"HTTP/1.1 404 Not Found\r\ndate: now\r\nx: y\r\n"
        b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
        b"content-length: 7\r\n\r\nna\xc3\xafve\n"
    )


def test_no_content_has_no_length() -> None:
    raw = encode_reply(Reply(204, b"x: y\r\n"), "now")
    assert raw == b"HTTP/1.1 204 No Content\r\ndate: now\r\nx: y\r\n\r\n"


@pytest.mark.req("F-24")
def test_the_heads_of_answers_are_remembered_by_length_up_to_a_limit() -> None:
    starts = Starts("now")
    head = (
        b"HTTP/1.1 200 OK\r\ndate: now\r\ncontent-type: application/json\r\n"
        b"content-length: 7\r\n\r\n"
    )
    assert (starts.known(7), starts.of_length(7), starts.known(7)) == (None, head, head)
    for length in range(100, 100 + MAX_KNOWN_LENGTHS):
        assert starts.of_length(length).endswith(b"content-length: %d\r\n\r\n" % length)
    assert starts.known(99 + MAX_KNOWN_LENGTHS) is None


def test_what_every_response_has_is_said_once() -> None:
    always = always_lines({"X-Content-Type-Options": "nosniff", "x-more": "yes"})
    raw = encode_reply(Reply(404, b"x-more: no\r\n"), "now", always)
    assert raw == (
        b"HTTP/1.1 404 Not Found\r\ndate: now\r\nx-more: no\r\n"
        b"x-content-type-options: nosniff\r\ncontent-length: 0\r\n\r\n"
    )
    starts = Starts("now", always)
    for start in (starts.answer, starts.refused, starts.nothing, starts.of_length(2)):
        assert start.count(b"x-content-type-options: nosniff\r\nx-more: yes\r\n") == 1


@pytest.mark.parametrize("field", [{"date": "x"}, {"a b": "x"}, {"x": "a\r\nb: c"}])
def test_what_cannot_be_sent_is_refused_before_anything_is_served(field: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="header"):
        always_lines(field)
