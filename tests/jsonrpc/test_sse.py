"""Server-sent events: every case whole, byte by byte, cut anywhere, and with more behind."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.jsonrpc.errors import MessageTooLargeError
from accord.jsonrpc.sse import (
    KEEP_ALIVE,
    SseDecoder,
    SseEvent,
    encode_event,
    encode_priming,
)


def check(
    stream: bytes, expected: list[SseEvent], *, last_id: str = "", retry: int | None = None
) -> None:
    whole = SseDecoder()
    assert (whole.feed(stream), whole.last_id, whole.retry_ms) == (expected, last_id, retry)

    slow = SseDecoder()
    assert (feed_slowly(slow, stream), slow.last_id, slow.retry_ms) == (expected, last_id, retry)

    for cut in range(len(stream) + 1):
        halves = SseDecoder()
        assert halves.feed(stream[:cut]) + halves.feed(stream[cut:]) == expected

    behind = SseDecoder()
    assert behind.feed(stream + b"\n\nevent: z\ndata: behind\n\n")[-1] == SseEvent(
        b"behind", "z", behind.last_id
    )


def feed_slowly(decoder: SseDecoder, stream: bytes) -> list[SseEvent]:
    return [it for byte in stream for it in decoder.feed(bytes([byte])) + decoder.feed(b"")]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"", []),
        (b"data: {}\n\n", [SseEvent(b"{}")]),
        (b"data: {}\r\n\r\n", [SseEvent(b"{}")]),
        (b"data: {}\r\r", [SseEvent(b"{}")]),
        (b"data: {}\r\n\n", [SseEvent(b"{}")]),
        (b"data: {}\n\r", [SseEvent(b"{}")]),
        (b"data: 1\r\r\ndata: 2\n\n", [SseEvent(b"1"), SseEvent(b"2")]),
        (b"data:{}\n\n", [SseEvent(b"{}")]),
        (b"data:  {}\n\n", [SseEvent(b" {}")]),
        (b"data: a: b\n\n", [SseEvent(b"a: b")]),
        (b"data: 1\n\ndata: 2\n\n", [SseEvent(b"1"), SseEvent(b"2")]),
        (b"data: [1,\ndata: 2]\n\n", [SseEvent(b"[1,\n2]")]),
        (b"data: 1\ndata: 2\ndata: 3\n\n", [SseEvent(b"1\n2\n3")]),
        (b"data\n\n", [SseEvent(b"")]),
        (b"data:\n\n", [SseEvent(b"")]),
        (b"data\ndata\n\n", [SseEvent(b"\n")]),
        (
            b"event: endpoint\ndata: /x\n\ndata: y\n\n",
            [SseEvent(b"/x", "endpoint"), SseEvent(b"y")],
        ),
        (b"event: endpoint\nevent:\ndata: y\n\n", [SseEvent(b"y")]),
        (b"event: lost\n\ndata: y\n\n", [SseEvent(b"y")]),
        (b"data: \xe4\xb8\x96\xff\nevent: \xff\n\n", [SseEvent(b"\xe4\xb8\x96\xff", "\ufffd")]),
    ],
)
def test_blank_lines_end_events(stream: bytes, expected: list[SseEvent]) -> None:
    check(stream, expected)


def test_a_byte_order_mark_is_taken_from_the_beginning_and_nowhere_else() -> None:
    check(
        b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\ndata: 3\n\n",
        [SseEvent(b"1"), SseEvent(b"3")],
    )
    check(b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n", [])


def test_comments_and_unknown_fields_are_passed_over() -> None:
    check(
        b": hello\n:\n:data: no\ncolor: red\nDATA: no\n data: no\ndata: 1\n:\n\n", [SseEvent(b"1")]
    )
    check(KEEP_ALIVE + b"data: 1\n\n" + KEEP_ALIVE, [SseEvent(b"1")])


def test_an_id_lasts_until_the_next_one() -> None:
    check(
        b"id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\nid\ndata: d\n\n",
        [
            SseEvent(b"a", id="1"),
            SseEvent(b"b", id="1"),
            SseEvent(b"c", id="2"),
            SseEvent(b"d", id=""),
        ],
    )
    check(b"id: 7\n\n", [], last_id="7")


def test_an_id_counts_when_its_event_is_whole() -> None:
    check(b"id: 1\ndata: a\n\nid: 2\ndata: b\n", [SseEvent(b"a", id="1")], last_id="1")


def test_an_id_with_nul_is_ignored() -> None:
    check(b"id: 1\nid: 2\0\ndata: a\n\n", [SseEvent(b"a", id="1")], last_id="1")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"retry: 1500", 1500),
        (b"retry:0", 0),
        (b"retry: 007", 7),
        (b"retry: 15s", None),
        (b"retry: -1", None),
        (b"retry: 1.5", None),
        (b"retry:  1", None),
        (b"retry:", None),
        (b"retry", None),
        (b"retry: \xd9\xa1", None),
        (b"retry: 9999999999", None),
    ],
)
def test_retry_is_digits_only(line: bytes, expected: int | None) -> None:
    check(line + b"\n", [], retry=expected)


def test_what_no_blank_line_follows_is_dropped() -> None:
    check(b"data: 1\n\ndata: 2\n", [SseEvent(b"1")])
    check(b"data: 1\n\ndata: 2", [SseEvent(b"1")])


@pytest.mark.parametrize(
    "stream", [b"data: 0123456", b"data: 012\ndata: 4567\n", b":0123456789012\n"]
)
def test_an_event_over_the_limit_is_refused_however_it_arrives(stream: bytes) -> None:
    expected = {"reason": "message_too_large", "maxSize": 12, "unit": "bytes"}
    with pytest.raises(MessageTooLargeError) as whole:
        SseDecoder(12).feed(stream)
    assert (whole.value.message, whole.value.data) == (
        "event of more than 12 bytes, which is the limit",
        expected,
    )
    decoder = SseDecoder(12)
    with pytest.raises(MessageTooLargeError):
        feed_slowly(decoder, stream)


def test_the_limit_is_for_each_event_and_not_for_the_stream() -> None:
    decoder = SseDecoder(12)
    assert decoder.feed(b"data: 012345\n\n" * 100) == [SseEvent(b"012345")] * 100


def test_events_are_encoded_line_by_line() -> None:
    assert encode_event(b"{}") == b"data: {}\n\n"
    assert encode_event(b"1\n2\r3\r\n", id="a/1", event="message", retry=5) == (
        b"id: a/1\nevent: message\nretry: 5\ndata: 1\ndata: 2\ndata: 3\ndata: \n\n"
    )
    assert encode_priming("s-0", retry=3000) == b"id: s-0\nretry: 3000\ndata: \n\n"


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0b"])
def test_what_would_break_a_line_is_not_encoded(text: str) -> None:
    with pytest.raises(ValueError, match="the id of an event cannot hold a line break or NUL"):
        encode_event(b"", id=text)
    with pytest.raises(ValueError, match="the event of an event cannot hold a line break or NUL"):
        encode_event(b"", event=text)


text = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))


@given(st.binary().filter(lambda it: b"\r" not in it), text, text)
def test_what_is_encoded_is_decoded(data: bytes, id: str, event: str) -> None:
    events = SseDecoder().feed(encode_event(data, id=id, event=event))
    assert events == [SseEvent(data, event or "message", id)]


@given(st.lists(st.binary(), max_size=8))
def test_no_bytes_break_the_decoder_and_pieces_do_not_matter(pieces: list[bytes]) -> None:
    decoder = SseDecoder()
    assert [it for piece in pieces for it in decoder.feed(piece)] == SseDecoder().feed(
        b"".join(pieces)
    )
