"""A stream of bytes becomes requests and refusals, however it is cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from accord.transports.http.admission import MAX_DRAINED_BYTES, Head, Rules
from accord.transports.http.replies import Reply
from accord.transports.http.requests import RequestReader, Wait
from tests.transports.http.service import chunked, post
from tests.transports.http.smuggling import MALFORMED_BODIES, MALFORMED_HEADS, MALFORMED_STARTS

MAX_BODY = 1000


def reader(*, max_head: int = 4096, max_body: int | None = MAX_BODY) -> RequestReader:
    rules = Rules(path="/rpc", max_body=max_body, origins=None, loopback=False, pages={})
    return RequestReader(rules, max_head=max_head, max_body=max_body)


def all_of(reading: RequestReader, *pieces: bytes) -> list[Any]:
    """What comes out: a body for each request, a status for each refusal."""
    found: list[Any] = []
    for piece in pieces:
        reading.feed(piece)
        while (item := reading.next()) is not None:
            assert not isinstance(item, Head), "these rules admit everybody"
            found.append(item.status if isinstance(item, Reply) else item[1])
    return found


def split(data: bytes, step: int) -> list[bytes]:
    return [data[start : start + step] for start in range(0, len(data), step)]


STREAM = (
    post(b"one")
    + chunked(b"tw", b"o")
    + post(b"unwanted", target=b"/other")
    + b"\r\n"
    + post(b"three")
    + post(b"", method=b"GET")
    + chunked(b"x" * MAX_BODY, b"y")
    + post(b"z" * (MAX_BODY + 1))
    + chunked(b"four", end=b"0\r\nX: y\r\n\r\n")
    + post(b"")
)
OUTCOME = [b"one", b"two", 404, b"three", 405, 413, 413, b"four", b""]


@pytest.mark.req("F-17")
@pytest.mark.parametrize("step", [1, 2, 3, 7, 64, 1000, 100_000])
def test_a_stream_in_pieces_of_one_size(step: int) -> None:
    reading = reader()
    assert all_of(reading, *split(STREAM, step)) == OUTCOME
    assert (reading.finished, reading.buffered, reading.wait) == (False, 0, Wait.NEXT_REQUEST)


@pytest.mark.req("F-17")
@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_a_stream_cut_anywhere(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(edges)]
    assert all_of(reader(), *pieces) == OUTCOME


@pytest.mark.req("F-30")
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_requests_refusals_or_unfinished(noise: bytes, headed: bool) -> None:
    reading = reader()
    found = all_of(reading, b"POST /rpc HTTP/1.1\r\nHost: x\r\n" + noise if headed else noise)
    assert all(isinstance(item, bytes) or 400 <= item < 600 for item in found)


@pytest.mark.req("F-30")
@given(st.binary(max_size=100), st.integers(0, len(post()) - 1))
def test_a_damaged_request_never_yields_more_than_was_sent(noise: bytes, at: int) -> None:
    whole = post()
    found = all_of(reader(), whole[:at] + noise + whole[at:])
    assert sum(len(item) for item in found if isinstance(item, bytes)) <= len(whole) + len(noise)


@pytest.mark.req("F-30")
@pytest.mark.parametrize("case", MALFORMED_HEADS)
@pytest.mark.parametrize("step", [1, 100_000])
def test_nothing_is_read_behind_a_malformed_head(case: str, step: int) -> None:
    status, raw = MALFORMED_HEADS[case]
    reading = reader()
    assert all_of(reading, *split(raw + post(b"smuggled"), step)) == [status]
    assert (reading.finished, reading.buffered) == (True, 0)


@pytest.mark.req("F-30")
@pytest.mark.parametrize("case", MALFORMED_STARTS)
@pytest.mark.parametrize("step", [1, 100_000])
def test_a_head_that_cannot_end_is_refused_at_once(case: str, step: int) -> None:
    # one more byte: a CR that came last may still become a CRLF
    assert all_of(reader(), *split(MALFORMED_STARTS[case] + b"x", step)) == [400]


@pytest.mark.req("F-30")
@pytest.mark.parametrize("step", [1, 100_000])
def test_a_body_does_not_lend_its_last_byte_to_the_next_head(step: int) -> None:
    assert all_of(reader(), *split(post(b"x\r") + b"\nPOST", step)) == [b"x\r", 400]


@pytest.mark.req("F-30")
@pytest.mark.parametrize("case", MALFORMED_BODIES)
@pytest.mark.parametrize("step", [1, 100_000])
def test_nothing_is_read_behind_a_malformed_body(case: str, step: int) -> None:
    raw = chunked(end=MALFORMED_BODIES[case]) + post(b"smuggled")
    assert all_of(reader(), *split(raw, step)) == [400]


@pytest.mark.req("F-30")
def test_a_malformed_body_of_a_refused_request_ends_the_connection_without_a_word() -> None:
    raw = chunked(end=b"x\r\n").replace(b"/rpc", b"/other")
    reading = reader()
    assert all_of(reading, raw, post()) == [404]
    assert reading.finished


@pytest.mark.req("F-24", "F-30")
@pytest.mark.parametrize("step", [1, 100_000])
def test_a_head_over_the_limit_is_refused(step: int) -> None:
    fits = post(b"x", b"X: " + b"y" * 100)
    limit = len(fits) - 1
    assert all_of(reader(max_head=limit), *split(fits, step)) == [b"x"]
    assert all_of(reader(max_head=limit - 1), *split(fits, step)) == [431]
    endless = b"POST /" + b"x" * 5000
    assert all_of(reader(max_head=4096), *split(endless, step)) == [431]


@pytest.mark.req("F-29")
def test_the_excess_of_a_chunked_body_is_not_kept() -> None:
    reading = reader()
    assert all_of(reading, chunked(b"x" * MAX_BODY, end=b"5\r\nab")) == [413]
    assert (reading.skipping, reading.buffered, reading.wait) == (True, 0, Wait.BODY)
    assert all_of(reading, b"cde\r\n0\r\n\r\n" + post(b"next")) == [b"next"]
    assert not reading.skipping


@pytest.mark.req("F-29")
def test_more_than_can_be_drained_ends_the_connection() -> None:
    reading = reader()
    assert all_of(reading, chunked(b"x" * (MAX_BODY + 1), end=b"")) == [413]
    size = MAX_DRAINED_BYTES
    assert all_of(reading, b"%x\r\n" % (2 * size) + b"x" * size) == []
    assert reading.finished
    assert all_of(reading, b"x" * size) == []


@pytest.mark.req("F-29")
def test_a_last_request_that_is_too_large_is_not_drained() -> None:
    raw = chunked(b"x" * (MAX_BODY + 1)).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
    reading = reader()
    assert all_of(reading, raw) == [413]
    assert reading.finished


def test_without_a_limit_a_body_of_any_size_is_taken() -> None:
    body = b"x" * 3_000_000
    reading = reader(max_body=None)
    assert all_of(reading, *split(chunked(body) + post(body), 65536)) == [body, body]
    refused = chunked(b"x" * (MAX_DRAINED_BYTES + 1)).replace(b"/rpc", b"/other")
    assert all_of(reading, refused) == [404]
    assert reading.finished


def test_nothing_is_read_behind_the_last_request() -> None:
    reading = reader()
    raw = post(b"last", b"Connection: close") + post(b"more")
    assert all_of(reading, raw, post(b"even more")) == [b"last"]
    assert reading.finished


def test_a_last_request_that_is_refused_is_not_drained() -> None:
    reading = reader()
    reading.feed(post(b"x" * 100, b"Connection: close", target=b"/other")[:-50])
    reply = reading.next()
    assert isinstance(reply, Reply)
    assert (reply.status, reading.finished) == (404, True)


def test_one_empty_line_before_a_request_is_ignored() -> None:
    reading = reader()
    assert all_of(reading, b"\r\n" + post(b"one") + b"\r\n" + post(b"two")) == [b"one", b"two"]


@pytest.mark.parametrize(
    ("sent", "wait"),
    [
        (b"", Wait.NEXT_REQUEST),
        (b"P", Wait.HEAD),
        (post()[:-6], Wait.HEAD),
        (post()[:-5], Wait.BODY),
        (post()[:-1], Wait.BODY),
        (post(), Wait.NEXT_REQUEST),
        (chunked(b"a", end=b""), Wait.BODY),
    ],
)
def test_what_is_waited_for(sent: bytes, wait: Wait) -> None:
    reading = reader()
    all_of(reading, sent)
    assert (reading.wait, reading.skipping) == (wait, False)


def test_a_client_that_waits_for_permission_is_noticed_once() -> None:
    raw = post(b"body", b"Expect: 100-continue")
    reading = reader()
    assert all_of(reading, raw[:-4]) == []
    assert reading.expected
    reading.expected = False
    assert all_of(reading, b"bo") == []
    assert not reading.expected
    assert all_of(reading, b"dy") == [b"body"]


def test_a_client_that_does_not_wait_for_permission_needs_none() -> None:
    reading = reader()
    assert all_of(reading, post(b"body", b"Expect: 100-continue")[:-2]) == []
    assert not reading.expected
