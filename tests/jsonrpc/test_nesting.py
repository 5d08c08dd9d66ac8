"""The limit on nesting does not depend on the interpreter's stack."""

from __future__ import annotations

import msgspec
import pytest

from accord.jsonrpc.nesting import MAX_DEPTH, NestingError, check_nesting, decode_json

pytestmark = pytest.mark.req("Q-04")

BOUNDS = (MAX_DEPTH + 1, 1_000, 20_000)
"""Just over the limit, and where the interpreter's own one is: it is another one on each version."""


def nested(levels: int, opening: str = "[", closing: str = "]", inside: str = "") -> str:
    return opening * levels + inside + closing * levels


@pytest.mark.parametrize("levels", BOUNDS)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_json_that_is_nested_deeper_than_the_limit_is_refused(
    levels: int, opening: str, closing: str
) -> None:
    text = nested(levels, opening, closing, "1")
    for data in (text, text.encode()):
        with pytest.raises(NestingError, match=r"^nested deeper than 128 levels$"):
            decode_json(data)
        with pytest.raises(NestingError):
            check_nesting(data)


def test_json_at_the_limit_is_read() -> None:
    for text in (nested(MAX_DEPTH), nested(MAX_DEPTH, '{"a":', "}", "1")):
        assert msgspec.json.encode(decode_json(text)).decode() == text
    with pytest.raises(NestingError, match="deeper than 2 levels"):
        decode_json("[[[]]]", max_depth=2)
    assert decode_json("[[1]]", list[list[int]], max_depth=2) == [[1]]


def test_only_what_is_inside_each_other_counts() -> None:
    assert decode_json("[" + "[]," * 500 + "[]]") == [[]] * 501
    brackets = '\\"[' * 500
    assert decode_json(f'["{brackets}", "\\\\", [1]]') == ['"[' * 500, "\\", [1]]


def test_what_is_no_json_is_said_to_be_too_deep_before_it_is_said_to_be_none() -> None:
    with pytest.raises(NestingError):
        decode_json("[" * 200)
    with pytest.raises(msgspec.DecodeError, match="truncated"):
        decode_json("[" * 100)
    with pytest.raises(msgspec.DecodeError, match="malformed"):
        decode_json("x" * 200)
    with pytest.raises(UnicodeEncodeError):
        decode_json('"\ud800' + "[" * 200 + '"')
