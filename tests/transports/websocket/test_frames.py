"""WebSocket frames and their masks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from accord.transports.websocket.frames import (
    Close,
    Event,
    FrameReader,
    Message,
    Opcode,
    Ping,
    Pong,
    TooLarge,
    Violation,
    close_payload,
    frame,
    frame_header,
    mask,
    rotate,
)

KEY = b"\x37\xfa\x21\x3d"
LIMIT = 1_000_000


def reader(limit: int | None = LIMIT, *, masked: bool = True) -> FrameReader:
    return FrameReader(masked=masked, max_message_bytes=limit)


def fragment(opcode: int, payload: bytes, *, final: bool = False, first: int = 0) -> bytes:
    """A masked frame, with any bits in its first byte."""
    whole = frame(opcode, payload, KEY)
    bits = (0x80 if final else 0) | first | opcode
    return bytes([bits]) + whole[1:]


def events_of(data: bytes, limit: int | None = LIMIT, *, masked: bool = True) -> list[Event]:
    """The events of `data`, which must not depend on how it was cut."""
    whole = reader(limit, masked=masked).receive(data)
    slow = reader(limit, masked=masked)
    by_bytes = [event for i in range(len(data)) for event in slow.receive(data[i : i + 1])]
    assert by_bytes == whole
    with_more = reader(limit, masked=masked)
    assert with_more.receive(memoryview(bytearray(data + b"\x89"))) == whole
    return whole


# What the standard shows


@pytest.mark.req("F-17")
@pytest.mark.parametrize(
    ("data", "masked", "events"),
    [
        ("810548656c6c6f", False, [Message(b"Hello", True)]),
        ("818537fa213d7f9f4d5158", True, [Message(b"Hello", True)]),
        ("010348656c 80026c6f", False, [Message(b"Hello", True)]),
        ("890548656c6c6f", False, [Ping(b"Hello")]),
        ("8a8537fa213d7f9f4d5158", True, [Pong(b"Hello")]),
    ],
)
def test_examples_of_section_5_7(data: str, masked: bool, events: list[Event]) -> None:
    assert events_of(bytes.fromhex(data), masked=masked) == events


@pytest.mark.req("F-17")
@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
@pytest.mark.parametrize("masked", [True, False])
def test_a_message_of_any_size_comes_back_out_of_its_frame(size: int, masked: bool) -> None:
    payload = bytes(i % 128 for i in range(size))
    data = frame(Opcode.TEXT, payload, KEY if masked else None)
    assert reader(masked=masked).receive(data) == [Message(payload, True)]


@pytest.mark.parametrize(
    ("size", "header"),
    [
        (0, "8100"),
        (125, "817d"),
        (126, "817e007e"),
        (65_535, "817effff"),
        (65_536, "817f0000000000010000"),
    ],
)
def test_lengths_are_written_in_the_fewest_bytes(size: int, header: str) -> None:
    assert frame_header(Opcode.TEXT, size).hex() == header


# Messages


@pytest.mark.req("F-17")
def test_several_frames_in_one_read_are_all_delivered() -> None:
    data = b"".join(frame(Opcode.TEXT, b"%d" % i, KEY) for i in range(5))
    assert events_of(data) == [Message(b"%d" % i, True) for i in range(5)]


@pytest.mark.req("F-17")
def test_fragments_make_one_message_with_control_frames_between_them() -> None:
    data = (
        fragment(Opcode.TEXT, b"[1,")
        + frame(Opcode.PING, b"there?", KEY)
        + fragment(Opcode.CONTINUATION, b"")
        + frame(Opcode.PONG, b"", KEY)
        + fragment(Opcode.CONTINUATION, b"2]", final=True)
        + frame(Opcode.BINARY, b"\xff", KEY)
    )
    assert events_of(data) == [
        Ping(b"there?"),
        Pong(b""),
        Message(b"[1,2]", True),
        Message(b"\xff", False),
    ]


def test_a_message_is_unfinished_from_its_header_to_its_end() -> None:
    frames = reader()
    data = fragment(Opcode.TEXT, b"ab") + fragment(Opcode.CONTINUATION, b"c", final=True)
    seen = []
    for i in range(len(data)):
        frames.receive(data[i : i + 1])
        seen.append(frames.unfinished)
    assert [message is not None for message in seen] == [False] * 5 + [True] * 9 + [False]
    assert len(set(seen[5:-1])) == 1


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([Opcode.TEXT, Opcode.BINARY]), st.text(max_size=300)),
        max_size=5,
    ),
    st.binary(min_size=4, max_size=4),
    st.data(),
)
def test_messages_survive_any_fragmentation_and_any_cut(
    messages: list[tuple[int, str]], key: bytes, data: st.DataObject
) -> None:
    wire = b""
    for opcode, text in messages:
        payload = text.encode()
        cuts = sorted(data.draw(st.lists(st.integers(0, len(payload)), max_size=3)))
        pieces = [payload[a:b] for a, b in zip([0, *cuts], [*cuts, len(payload)], strict=True)]
        for i, piece in enumerate(pieces):
            part = frame(opcode if i == 0 else Opcode.CONTINUATION, piece, key)
            last = i == len(pieces) - 1
            wire += part if last else bytes([part[0] & 0x7F]) + part[1:]
    frames = reader()
    events: list[Event] = []
    position = 0
    while position < len(wire):
        size = data.draw(st.integers(1, len(wire) - position))
        events += frames.receive(memoryview(wire)[position : position + size])
        position += size
    assert events == [Message(text.encode(), opcode == Opcode.TEXT) for opcode, text in messages]


@pytest.mark.req("F-30")
@settings(deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=8), st.booleans())
def test_no_bytes_upset_the_reader(reads: list[bytes], masked: bool) -> None:
    frames = reader(100, masked=masked)
    events = [event for data in reads for event in frames.receive(data)]
    ends = [i for i, event in enumerate(events) if isinstance(event, Close | Violation)]
    assert ends in ([], [len(events) - 1])


# Too large


@pytest.mark.req("F-29")
def test_a_message_over_the_limit_is_skipped_and_reading_goes_on() -> None:
    data = frame(Opcode.TEXT, b"x" * 11, KEY) + frame(Opcode.TEXT, b"y" * 10, KEY)
    assert events_of(data, 10) == [TooLarge(11), Message(b"y" * 10, True)]


@pytest.mark.req("F-29")
def test_a_message_is_refused_by_its_header_before_its_payload_comes() -> None:
    frames = reader(10)
    header = frame_header(Opcode.BINARY, 1 << 62, masked=True) + KEY
    assert frames.receive(header) == [TooLarge(1 << 62)]
    assert frames.receive(b"x" * 100_000) == []


@pytest.mark.req("F-29")
def test_fragments_are_counted_together_and_the_rest_of_the_message_is_skipped() -> None:
    data = (
        fragment(Opcode.TEXT, b"x" * 6)
        + fragment(Opcode.CONTINUATION, b"\xff" * 6)
        + frame(Opcode.PING, b"", KEY)
        + fragment(Opcode.CONTINUATION, b"x" * 6, final=True)
        + frame(Opcode.TEXT, b"y", KEY)
    )
    assert events_of(data, 10) == [TooLarge(12), Ping(b""), Message(b"y", True)]


def test_without_a_limit_nothing_is_too_large() -> None:
    payload = b"x" * 2_000_000
    assert reader(None).receive(frame(Opcode.TEXT, payload, KEY)) == [Message(payload, True)]


# Violations

BROKEN = {
    "reserved bits are set": [
        fragment(Opcode.TEXT, b"", final=True, first=0x40),
        fragment(Opcode.TEXT, b"", final=True, first=0x20),
        fragment(Opcode.PING, b"", final=True, first=0x10),
    ],
    "opcode 0x3 is reserved": [fragment(3, b"", final=True)],
    "opcode 0x7 is reserved": [fragment(7, b"", final=False)],
    "opcode 0xb is reserved": [fragment(0xB, b"", final=True)],
    "opcode 0xf is reserved": [fragment(0xF, b"", final=True)],
    "frame is not masked": [frame(Opcode.TEXT, b"x"), frame(Opcode.PING, b"x")],
    "control frame is fragmented": [
        fragment(Opcode.PING, b""),
        fragment(Opcode.CLOSE, b""),
    ],
    "control frame is over 125 bytes": [
        frame(Opcode.PING, b"x" * 126, KEY),
        frame(Opcode.CLOSE, b"x" * 65_536, KEY),
    ],
    "continuation of no message": [
        fragment(Opcode.CONTINUATION, b"x"),
        fragment(Opcode.CONTINUATION, b"x", final=True),
    ],
    "length is badly encoded": [
        b"\x81\xfe\x00\x7d" + KEY,
        b"\x82\xff\x00\x00\x00\x00\x00\x00\xff\xff" + KEY,
        b"\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00" + KEY,
    ],
    "close frame without a valid code": [
        frame(Opcode.CLOSE, b"\x03", KEY),
        *(
            frame(Opcode.CLOSE, code.to_bytes(2, "big"), KEY)
            for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535)
        ),
    ],
}


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("reason", "data"), [(reason, data) for reason, cases in BROKEN.items() for data in cases]
)
def test_broken_frames_are_violations_and_end_the_reading(reason: str, data: bytes) -> None:
    good = frame(Opcode.TEXT, b"good", KEY)
    assert events_of(good + data + good) == [Message(b"good", True), Violation(1002, reason)]


@pytest.mark.req("F-30")
@pytest.mark.parametrize("opcode", [Opcode.TEXT, Opcode.BINARY])
def test_a_message_must_not_begin_within_another(opcode: int) -> None:
    data = fragment(Opcode.TEXT, b"x") + frame(opcode, b"y", KEY)
    assert events_of(data) == [Violation(1002, "message begins within another one")]


@pytest.mark.req("F-30")
def test_a_server_must_not_mask() -> None:
    data = frame(Opcode.TEXT, b"x", KEY)
    assert events_of(data, masked=False) == [Violation(1002, "frame is masked")]


# UTF-8

BAD_TEXTS = [
    b"\x80",
    b"\xc0\xaf",
    b"\xff",
    b"abc\xed\xa0\x80def",
    b"\xf4\x90\x80\x80",
    "κόσμε".encode() + b"\xe1",
]


@pytest.mark.req("F-30")
@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_text_that_is_not_utf8_is_a_violation(text: bytes) -> None:
    violation = [Violation(1007, "text is not UTF-8")]
    assert events_of(frame(Opcode.TEXT, text, KEY)) == violation
    assert (
        events_of(fragment(Opcode.TEXT, text) + fragment(Opcode.CONTINUATION, b"", final=True))
        == violation
    )
    assert events_of(frame(Opcode.BINARY, text, KEY)) == [Message(text, False)]


def test_a_character_may_be_cut_in_two_by_fragments() -> None:
    text = "aκόσμε𝄞z".encode()
    for cut in range(len(text)):
        data = fragment(Opcode.TEXT, text[:cut]) + fragment(
            Opcode.CONTINUATION, text[cut:], final=True
        )
        assert events_of(data) == [Message(text, True)]


@pytest.mark.parametrize(("text", "fails_at"), [(b"ab\xff..", 2), (b"\xf4\x90\x80\x80", 1)])
def test_a_text_fails_at_its_first_bad_byte(text: bytes, fails_at: int) -> None:
    frames = reader()
    header = frame_header(Opcode.TEXT, 1000, masked=True) + bytes(4)
    assert frames.receive(header + text[:fails_at]) == []
    assert frames.receive(text[fails_at : fails_at + 1]) == [Violation(1007, "text is not UTF-8")]


# Closing


@pytest.mark.parametrize(
    ("payload", "close"),
    [
        (b"", Close(1005, "")),
        (b"\x03\xe8", Close(1000, "")),
        (b"\x03\xe9going", Close(1001, "going")),
        (b"\x0f\xa0" + "schön".encode(), Close(4000, "schön")),
    ],
)
def test_a_close_frame_ends_the_reading(payload: bytes, close: Close) -> None:
    more = frame(Opcode.TEXT, b"unread", KEY)
    assert events_of(frame(Opcode.CLOSE, payload, KEY) + more) == [close]


def test_a_close_frame_within_a_message_drops_the_message() -> None:
    frames = reader()
    data = fragment(Opcode.TEXT, b"begun") + frame(Opcode.CLOSE, b"", KEY)
    assert frames.receive(data) == [Close(1005, "")]
    assert frames.unfinished is None


@pytest.mark.req("F-30")
def test_the_reason_of_a_close_frame_must_be_utf8() -> None:
    data = frame(Opcode.CLOSE, b"\x03\xe8\xff", KEY)
    assert events_of(data) == [Violation(1007, "reason of a close frame is not UTF-8")]


@settings(deadline=None)
@given(st.text(max_size=200))
def test_a_reason_is_cut_to_fit_a_control_frame(reason: str) -> None:
    payload = close_payload(1000, reason)
    (close,) = reader().receive(frame(Opcode.CLOSE, payload, KEY))
    assert isinstance(close, Close)
    assert reason.startswith(close.reason)
    assert len(reason.encode()) > 123 or close.reason == reason


def test_no_code_makes_an_empty_close_frame() -> None:
    assert close_payload(1005) == b""


@pytest.mark.req("F-24")
@pytest.mark.parametrize("payload", [b"", b"x"])
@pytest.mark.parametrize("limit", [1_000, LIMIT])
def test_small_fragments_of_a_message_are_limited(payload: bytes, limit: int) -> None:
    data = fragment(Opcode.TEXT, payload) + fragment(Opcode.CONTINUATION, payload) * 10_000
    violation = reader(limit).receive(data)[-1]
    assert isinstance(violation, Violation)
    assert violation.code == 1008
    assert violation.reason.endswith("bytes are too many")


def test_fragments_of_a_usual_size_are_not_limited() -> None:
    piece = b"x" * 40
    data = fragment(Opcode.TEXT, piece) + fragment(Opcode.CONTINUATION, piece) * 20_000
    data += fragment(Opcode.CONTINUATION, b"", final=True)
    assert reader().receive(data) == [Message(piece * 20_001, True)]


KEYS = st.binary(min_size=4, max_size=4)


def slow_mask(payload: bytes, key: bytes) -> bytes:
    # RFC 6455, section 5.3, to the letter
    return bytes(octet ^ key[i % 4] for i, octet in enumerate(payload))


@settings(deadline=None)
@given(payload=st.binary(max_size=1000), key=KEYS)
def test_masking_follows_the_formula(payload: bytes, key: bytes) -> None:
    assert mask(payload, key) == slow_mask(payload, key)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 399, 400, 401, 402, 403, 404, 65_537])
def test_both_ways_of_masking_follow_the_formula(size: int) -> None:
    payload = bytes(i * 7 % 256 for i in range(size))
    assert mask(memoryview(payload), memoryview(b"\x00\xff\x81\x7e")) == slow_mask(
        payload, b"\x00\xff\x81\x7e"
    )


@settings(deadline=None)
@given(payload=st.binary(max_size=600), key=KEYS, data=st.data())
def test_a_payload_can_be_masked_in_pieces(payload: bytes, key: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(payload)))
    pieces = mask(payload[:cut], key) + mask(payload[cut:], rotate(key, cut))
    assert pieces == mask(payload, key)
