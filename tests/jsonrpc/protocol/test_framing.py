"""Messages in a stream of bytes, and server-sent events."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from accord.jsonrpc.protocol.errors import FramingError, MessageTooLargeError, RpcError
from accord.jsonrpc.protocol.framing import (
    KEEP_ALIVE,
    MAX_HEADER_BYTES,
    ContentLengthFramer,
    Framer,
    NewlineFramer,
    Piece,
    SseDecoder,
    SseEvent,
    encode_event,
    encode_priming,
)
from tests.effort import growth

LIMIT = 16
Make = Callable[[], Framer]


def newline() -> Framer:
    return NewlineFramer(LIMIT)


def content_length() -> Framer:
    return ContentLengthFramer(LIMIT)


framings = pytest.mark.parametrize("make", [newline, content_length])


def plain(pieces: list[Piece]) -> list[object]:
    """Messages as they are, errors as what they say, so that both can be compared."""
    return [
        piece if isinstance(piece, bytes) else (type(piece), piece.message, piece.data)
        for piece in pieces
    ]


def too_large(size: int, limit: int = LIMIT) -> object:
    return (
        MessageTooLargeError,
        f"message of {size:,} bytes is over the limit of {limit:,}",
        {"reason": "message_too_large", "maxSize": limit, "unit": "bytes"},
    )


def broken(message: str) -> object:
    return (FramingError, message, None)


def check(make: Make, stream: bytes, expected: list[object]) -> None:
    """`stream` gives `expected` whole, byte by byte, cut in two anywhere, and with more behind."""
    assert plain(make().feed(stream)) == expected

    framer = make()
    pieces = [piece for byte in stream for piece in framer.feed(bytes([byte]))]
    assert plain(pieces) == expected

    for cut in range(len(stream) + 1):
        framer = make()
        assert plain(framer.feed(stream[:cut]) + framer.feed(stream[cut:])) == expected

    framer = make()
    behind = framer.frame([b"behind"])
    if any(isinstance(piece, tuple) and piece[0] is FramingError for piece in expected):
        assert plain(framer.feed(stream + behind)) == expected
        assert framer.feed(behind) == []
    else:
        assert plain(framer.feed(stream + behind)) == [*expected, b"behind"]
        assert not framer.pending


@pytest.mark.req("F-17")
@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"", []),
        (b"{}\n", [b"{}"]),
        (b"{}\n[]\n", [b"{}", b"[]"]),
        (b"{}\r\n[]\r\n", [b"{}", b"[]"]),
        (b"\n\r\n\n{}\n\n\r\n", [b"{}"]),
        (b" \n{}\n\t\n  \t \r\n\r \r\n[]\n \r\n", [b"{}", b"[]"]),
        (b" {} \n\x0b\n \x0c \n", [b" {} ", b"\x0b", b" \x0c "]),
        (b" " * 16 + b"\n", []),
        (b" " * 17 + b"\n{}\n", [too_large(17), b"{}"]),
        (b'{"a":\r1}\n', [b'{"a":\r1}']),
        (b"x" * 16 + b"\n", [b"x" * 16]),
        (b"x" * 16 + b"\r\n", [b"x" * 16]),
        (b"\xff\x00\n", [b"\xff\x00"]),
    ],
)
def test_lines_are_messages(stream: bytes, expected: list[object]) -> None:
    check(newline, stream, expected)


@pytest.mark.req("F-17")
def test_long_lines_are_messages() -> None:
    long, longer = b"x" * 600, b"y" * 700
    check(NewlineFramer, long + b"\n" + longer + b"\r\n\nz\n", [long, longer, b"z"])


@pytest.mark.req("F-17")
@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"", []),
        (b"Content-Length: 2\r\n\r\n{}", [b"{}"]),
        (b"Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n[]", [b"{}", b"[]"]),
        (b"CONTENT-length:2\r\n\r\n{}", [b"{}"]),
        (b"content-length : \t2 \r\n\r\n{}", [b"{}"]),
        (b"Content-Length: 2\n\n{}", [b"{}"]),
        (b"Content-Length: 002\r\n\r\n{}", [b"{}"]),
        (b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
        (
            b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
            b"Content-Length: 2\r\n\r\n{}",
            [b"{}"],
        ),
        (b"Content-Length: 0\r\n\r\n", [b""]),
        (b"Content-Length: 4\r\n\r\n\r\n\r\n", [b"\r\n\r\n"]),
        (b"Content-Length: 16\r\n\r\n" + b"x" * 16, [b"x" * 16]),
    ],
)
def test_header_blocks_give_the_length(stream: bytes, expected: list[object]) -> None:
    check(content_length, stream, expected)


@pytest.mark.req("F-17", "F-30")
@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"Content-Length: -2\r\n\r\n", "Content-Length is no length: b'-2'"),
        (b"Content-Length: +2\r\n\r\n", "Content-Length is no length: b'+2'"),
        (b"Content-Length: 2.0\r\n\r\n", "Content-Length is no length: b'2.0'"),
        (b"Content-Length: 0x2\r\n\r\n", "Content-Length is no length: b'0x2'"),
        (b"Content-Length: 2, 2\r\n\r\n", "Content-Length is no length: b'2, 2'"),
        (b"Content-Length: \xd9\xa2\r\n\r\n", "Content-Length is no length: b'\\xd9\\xa2'"),
        (b"Content-Length:\r\n\r\n", "Content-Length is no length: b''"),
        (
            b"Content-Length: 1000000000000000000\r\n\r\n",
            "Content-Length is no length: b'1000000000000000000'",
        ),
        (b"Content-Type: text/plain\r\n\r\n", "header block with no Content-Length values"),
        (
            b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
            "header block with 2 Content-Length values",
        ),
        (b"Content-Length 2\r\n\r\n", "header line without a colon: b'Content-Length 2'"),
        (b"\r\n\r\n", "header line without a colon: b''"),
    ],
)
def test_header_block_without_one_clear_length_breaks_the_stream(head: bytes, message: str) -> None:
    check(content_length, b"Content-Length: 2\r\n\r\n{}" + head, [b"{}", broken(message)])


@pytest.mark.req("F-17")
@pytest.mark.parametrize("stream", [b'{"jsonrpc":"2.0"}\n', b"[]\n"])
def test_message_without_a_header_is_noticed_at_its_first_byte(stream: bytes) -> None:
    check(content_length, stream, [broken("a message without a Content-Length header")])
    (error,) = ContentLengthFramer().feed(stream[:1])
    assert isinstance(error, FramingError)
    assert not error.recoverable
    assert "newline framing" in error.advice


@pytest.mark.req("F-24", "F-30")
def test_endless_header_block_breaks_the_stream_at_8_kib() -> None:
    head = b"X: " + b"x" * (MAX_HEADER_BYTES - 3)
    framer = ContentLengthFramer()
    assert framer.feed(head) == []
    assert plain(framer.feed(b"x")) == [broken("header block of more than 8,192 bytes")]
    assert plain(ContentLengthFramer().feed(head * 2)) == [
        broken("header block of more than 8,192 bytes")
    ]


@pytest.mark.req("F-17")
def test_header_block_of_8_kib_is_read() -> None:
    end = b"\r\nContent-Length: 2\r\n\r\n"
    head = b"X: " + b"x" * (MAX_HEADER_BYTES - 3 - len(end)) + end
    assert ContentLengthFramer().feed(head + b"{}") == [b"{}"]


@pytest.mark.req("F-29")
@pytest.mark.parametrize("size", [17, 18, 19, 100])
def test_oversized_line_is_refused_and_the_next_one_delivered(size: int) -> None:
    check(newline, b"a\n" + b"x" * size + b"\nb\n", [b"a", too_large(size), b"b"])
    check(newline, b"a\n" + b"x" * size + b"\r\nb\n", [b"a", too_large(size + 1), b"b"])


@pytest.mark.req("F-29")
@pytest.mark.parametrize("size", [17, 18, 100])
def test_oversized_body_is_refused_and_the_next_one_delivered(size: int) -> None:
    stream = ContentLengthFramer().frame([b"a", b"x" * size, b"b"])
    check(content_length, stream, [b"a", too_large(size), b"b"])


@pytest.mark.req("F-29")
def test_oversized_body_is_refused_as_soon_as_it_is_announced() -> None:
    framer = ContentLengthFramer(1024 * 1024)
    refusals = framer.feed(b"Content-Length: 1048577\r\n\r\n")
    assert plain(refusals) == [too_large(1_048_577, 1_048_576)]
    assert framer.pending


def held_bytes(framer: Framer) -> int:
    """How many bytes a framer keeps; there is no other way to see that it drops the excess."""
    slots: tuple[str, ...] = type(framer).__slots__  # type: ignore[attr-defined]
    values = [getattr(framer, name) for name in slots]
    return sum(len(value) for value in values if isinstance(value, bytes | bytearray))


@pytest.mark.req("F-24", "F-29")
@framings
def test_excess_is_not_buffered(make: Make) -> None:
    framer = make()
    framer.feed(framer.frame([b"x" * 100_000])[:50_000])
    assert framer.pending
    assert held_bytes(framer) == 0


@pytest.mark.req("F-17")
@framings
def test_half_a_message_is_pending_until_its_last_byte(make: Make) -> None:
    framer = make()
    stream = framer.frame([b'{"a":1}'])
    assert not framer.pending
    for byte in stream[:-1]:
        assert framer.feed(bytes([byte])) == []
        assert framer.pending
    assert framer.feed(stream[-1:]) == [b'{"a":1}']
    assert not framer.pending


@pytest.mark.req("F-17")
def test_output_keeps_boundaries() -> None:
    assert NewlineFramer().frame([b"{}", b"[]"]) == b"{}\n[]\n"
    assert (
        ContentLengthFramer().frame([b"{}", b'"\xc3\xa9"'])
        == b'Content-Length: 2\r\n\r\n{}Content-Length: 4\r\n\r\n"\xc3\xa9"'
    )


@pytest.mark.req("F-29")
@pytest.mark.parametrize("framer", [NewlineFramer(), ContentLengthFramer()])
def test_without_a_limit_any_size_passes(framer: Framer) -> None:
    message = b"x" * 3_000_000
    assert framer.feed(framer.frame([message])) == [message]


@pytest.mark.req("F-24")
@pytest.mark.parametrize("framer", [NewlineFramer(), ContentLengthFramer()])
def test_large_message_in_small_pieces_is_not_copied_at_each_of_them(framer: Framer) -> None:
    def read(size: int) -> Callable[[], object]:
        stream = framer.frame([b"x" * size])
        pieces = [stream[at : at + 1000] for at in range(0, len(stream), 1000)]

        def feed() -> None:
            assert [each for piece in pieces for each in framer.feed(piece)] == [b"x" * size]

        return feed

    # 16 times the bytes; copying what is there at each piece would take 256 times the work.
    assert growth(read(1_000_000), read(16_000_000)) < 100


lines = st.binary(min_size=1, max_size=LIMIT + 4).filter(
    lambda line: b"\n" not in line and b"\r" not in line and line.strip(b" \t")
)


def in_pieces(data: st.DataObject, stream: bytes, framer: Framer) -> list[Piece]:
    """Feed `stream` cut at random places."""
    cuts = data.draw(st.sets(st.integers(0, len(stream)), max_size=12))
    edges = [0, *sorted(cuts), len(stream)]
    return [piece for start, end in pairwise(edges) for piece in framer.feed(stream[start:end])]


@pytest.mark.req("F-17", "F-29")
@given(st.lists(lines), st.data())
@framings
def test_what_is_framed_comes_out_wherever_the_stream_is_cut(
    make: Make, messages: list[bytes], data: st.DataObject
) -> None:
    framer = make()
    expected = [
        message if len(message) <= LIMIT else too_large(len(message)) for message in messages
    ]
    assert plain(in_pieces(data, framer.frame(messages), framer)) == expected
    assert not framer.pending


@pytest.mark.req("F-30")
@given(st.binary(max_size=200), st.data())
@framings
def test_any_bytes_give_the_same_pieces_however_they_are_cut(
    make: Make, stream: bytes, data: st.DataObject
) -> None:
    whole = make().feed(stream)
    assert plain(in_pieces(data, stream, make())) == plain(whole)
    assert all(isinstance(piece, bytes | RpcError) for piece in whole)


@pytest.mark.req("F-17", "F-30")
def test_a_newline_inside_a_message_cannot_make_it_two() -> None:
    framer = NewlineFramer()
    assert framer.frame([b'{"a":\n1}', b"2"]) == b'{"a": 1}\n2\n'
    assert framer.frame([b"1", b"2"]) == b"1\n2\n"


@pytest.mark.req("F-40")
@framings
def test_a_message_that_is_skipped_is_dropped_to_its_end(make: Make) -> None:
    first, second, third = b'{"first":1}', b'{"second":2}', b'{"third":3}'
    framer = make()
    stream = framer.frame([first, second, third])
    half = stream.index(b"second")
    assert framer.feed(stream[:half]) == [first]
    assert framer.held > 0
    framer.skip()
    assert framer.pending
    assert framer.feed(stream[half : half + 2]) == []
    assert framer.held == held_bytes(framer) == 0
    assert framer.feed(stream[half + 2 :]) == [third]
    assert not framer.pending


@pytest.mark.req("F-40")
@framings
def test_skipping_where_nothing_is_half_there_drops_nothing(make: Make) -> None:
    framer = make()
    framer.skip()
    assert framer.feed(framer.frame([b'{"a":1}'])) == [b'{"a":1}']


def check_events(
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
    check_events(stream, expected)


def test_a_byte_order_mark_is_taken_from_the_beginning_and_nowhere_else() -> None:
    check_events(
        b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\ndata: 3\n\n",
        [SseEvent(b"1"), SseEvent(b"3")],
    )
    check_events(b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n", [])


def test_comments_and_unknown_fields_are_passed_over() -> None:
    check_events(
        b": hello\n:\n:data: no\ncolor: red\nDATA: no\n data: no\ndata: 1\n:\n\n", [SseEvent(b"1")]
    )
    check_events(KEEP_ALIVE + b"data: 1\n\n" + KEEP_ALIVE, [SseEvent(b"1")])


def test_an_id_lasts_until_the_next_one() -> None:
    check_events(
        b"id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\nid\ndata: d\n\n",
        [
            SseEvent(b"a", id="1"),
            SseEvent(b"b", id="1"),
            SseEvent(b"c", id="2"),
            SseEvent(b"d", id=""),
        ],
    )
    check_events(b"id: 7\n\n", [], last_id="7")


def test_an_id_counts_when_its_event_is_whole() -> None:
    check_events(b"id: 1\ndata: a\n\nid: 2\ndata: b\n", [SseEvent(b"a", id="1")], last_id="1")


def test_an_id_with_nul_is_ignored() -> None:
    check_events(b"id: 1\nid: 2\0\ndata: a\n\n", [SseEvent(b"a", id="1")], last_id="1")


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
    check_events(line + b"\n", [], retry=expected)


def test_what_no_blank_line_follows_is_dropped() -> None:
    check_events(b"data: 1\n\ndata: 2\n", [SseEvent(b"1")])
    check_events(b"data: 1\n\ndata: 2", [SseEvent(b"1")])


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
