"""Chunked bodies: whole, byte by byte, with bytes behind them, and malformed."""

from __future__ import annotations

import pytest

from accord.transports.http.body import MAX_SMALL_CHUNKS, MAX_TRAILERS, ChunkedBody
from accord.transports.http.heads import MalformedError
from tests.transports.http.smuggling import MALFORMED_BODIES

BODIES = {
    b"0\r\n\r\n": b"",
    b"3\r\nabc\r\n0\r\n\r\n": b"abc",
    b"0003\r\nabc\r\n00\r\n\r\n": b"abc",
    b"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n": b"0123456789" * 2,
    b"1\r\n\r\r\n1\r\n\n\r\n0\r\n\r\n": b"\r\n",
    b'3;name="a b";x\r\nabc\r\n0;last\r\n\r\n': b"abc",
    b"3\r\nabc\r\n0\r\nExpires: never\r\nX:\r\n\r\n": b"abc",
}


@pytest.mark.req("F-17")
@pytest.mark.parametrize(("raw", "data"), BODIES.items())
@pytest.mark.parametrize("behind", [b"", b"\r\n", b"POST / HTTP/1.1\r\n"])
def test_a_body_in_one_piece(raw: bytes, data: bytes, behind: bytes) -> None:
    body = ChunkedBody(keep=True)
    assert body.feed(b"before" + raw + behind, 6) == 6 + len(raw)
    assert (bytes(body.data), body.size, body.complete) == (data, len(data), True)


@pytest.mark.req("F-17")
@pytest.mark.parametrize(("raw", "data"), BODIES.items())
def test_a_body_byte_by_byte(raw: bytes, data: bytes) -> None:
    body = ChunkedBody(keep=True)
    unread = b""
    for index in range(len(raw)):
        assert not body.complete
        unread += raw[index : index + 1]
        unread = unread[body.feed(unread, 0) :]
    assert (bytes(body.data), body.complete, unread) == (data, True, b"")


def test_an_unwanted_body_is_counted_and_dropped() -> None:
    body = ChunkedBody(keep=False)
    body.feed(b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n", 0)
    assert (bytes(body.data), body.size, body.complete) == (b"", 7, True)


@pytest.mark.req("F-30")
@pytest.mark.parametrize("case", MALFORMED_BODIES)
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_malformed_bodies(case: str, step: int) -> None:
    raw = MALFORMED_BODIES[case]
    body, unread = ChunkedBody(keep=True), b""
    with pytest.raises(MalformedError) as caught:  # noqa: PT012
        for start in range(0, len(raw), step):
            unread += raw[start : start + step]
            unread = unread[body.feed(unread, 0) :]
    assert caught.value.status == 400


@pytest.mark.req("F-24")
def test_trailers_are_limited() -> None:
    body = ChunkedBody(keep=True)
    trailers = b"X: y\r\n" * (MAX_TRAILERS // 4 + 1)
    with pytest.raises(MalformedError) as caught:
        body.feed(b"0\r\n" + trailers, 0)
    assert (caught.value.status, caught.value.reason) == (
        431,
        "trailers are over the limit of 4096 bytes",
    )


@pytest.mark.req("F-24")
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("unit", [b"1\r\nx\r\n", b"0001\r\nx\r\n", b"2\r\nxx\r\n"])
@pytest.mark.parametrize("step", [5, 64, 100_000])
def test_small_chunks_are_limited_but_for_streams(unit: bytes, step: int, *, keep: bool) -> None:
    raw = unit * 10_000

    def feed(body: ChunkedBody) -> None:
        unread = b""
        for start in range(0, len(raw), step):
            unread += raw[start : start + step]
            unread = unread[body.feed(unread, 0) :]

    body = ChunkedBody(keep=keep)
    with pytest.raises(MalformedError) as caught:
        feed(body)
    assert MAX_SMALL_CHUNKS < body.size < 2.5 * MAX_SMALL_CHUNKS
    assert caught.value.reason.endswith(f"chunks for {body.size:,} bytes are too many")
    stream = ChunkedBody(keep=keep, endless=True)
    feed(stream)
    assert stream.size == 10_000 * unit.count(b"x")


def test_chunks_of_a_usual_size_are_not_limited() -> None:
    body = ChunkedBody(keep=False)
    body.feed(b"%x\r\n%b\r\n" % (40, b"x" * 40) * 50_000, 0)
    assert body.size == 2_000_000
