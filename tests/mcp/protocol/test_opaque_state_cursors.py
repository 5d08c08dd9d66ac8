"""Cursors: what one list gave, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.mcp.protocol.opaque_state import decode_cursor, encode_cursor


@given(st.integers(min_value=0, max_value=999_999_999))
def test_a_cursor_says_where_a_page_begins(start: int) -> None:
    assert decode_cursor(encode_cursor(start)) == start


@pytest.mark.req("M-05")
@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "abcde",
        "ä",
        "A" * 65,
        "YWZ0ZXI6MDE",  # after:01
        "YWZ0ZXI6LTE",  # after:-1
        "YWZ0ZXI6MTA=",  # with padding
        "YWZ0ZXI6MTB",  # other bits behind the last digit
        "YmVmb3JlOjE",  # before:1
        "YWZ0ZXI6MTAwMDAwMDAwMDA",  # after:10000000000
    ],
)
def test_what_is_no_cursor_of_ours_is_none(cursor: str) -> None:
    assert decode_cursor(cursor) is None


@given(st.text())
def test_no_text_breaks_the_reading_of_cursors(cursor: str) -> None:
    start = decode_cursor(cursor)
    assert start is None or encode_cursor(start) == cursor
