"""How deep JSON nests."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from

from accord.jsonrpc.depth import is_bracketed, is_deeper

PIECES = [*"[]{}", '"', '"x"', '"["', '"]"', '""', '"\\""', '"\\\\"', '"[\\"["', ",", "1", " "]


def depth_by_hand(text: str) -> int:
    """The depth, read character by character; -1 where more is closed than was opened, or
    something is escaped outside of a string."""
    steps = [0]
    quoted = escaped = False
    for character in text:
        if quoted:
            quoted = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == "\\":
            return -1
        elif character == '"':
            quoted = True
        else:
            steps.append((character in "[{") - (character in "]}"))
    depths = list(accumulate(steps))
    return -1 if min(depths) < 0 else max(depths)


@pytest.mark.req("F-30")
@given(
    pieces=lists(sampled_from(PIECES)),
    times=sampled_from([1, 40]),
    max_depth=integers(0, 12),
)
def test_depth_is_that_of_a_reader_who_goes_by_single_characters(
    pieces: list[str], times: int, max_depth: int
) -> None:
    text = "".join(pieces) * times
    depth = depth_by_hand(text)
    if depth >= 0:  # the other is no JSON, however deep
        assert is_deeper(text.encode(), max_depth) == (depth > max_depth)


@pytest.mark.parametrize("shape", ["[]", "[[]]", "[[[[]]]]", '{"a":[{}]},', '"[",[]', '"]",{}'])
@pytest.mark.parametrize("below", [0, 1, 60, 124])
def test_wide_and_deep_together_are_measured(shape: str, below: int) -> None:
    inside = depth_by_hand(shape)
    text = ("[" * below + shape * 3_000 + "]" * below).encode()
    assert is_bracketed(text, below + inside - 1)
    assert is_deeper(text, below + inside - 1)
    assert not is_deeper(text, below + inside)


def test_depth_is_found_where_it_ends_a_long_message() -> None:
    flat = b"[" + b"[]," * 10_000
    assert is_deeper(flat + b"[" * 128 + b"]" * 129, 128)
    assert not is_deeper(flat + b"[" * 127 + b"]" * 128, 128)
    assert is_deeper(flat + b"[" * 128, 128)
    assert not is_deeper(flat + b"[" * 127, 128)
