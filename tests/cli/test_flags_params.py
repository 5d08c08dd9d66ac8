"""Params on a command line, and batches in a file."""

from __future__ import annotations

import pytest
from msgspec import UNSET, Raw

from accord.cli.call import BatchItem, read_batch
from accord.cli.exits import UsageError
from accord.cli.flags import read_params


def params(*words: str, stdin: bytes = b"") -> str | None:
    """What these words say, as JSON text."""
    read = read_params(words, lambda: stdin)
    return None if read is UNSET else bytes(read).decode()


@pytest.mark.parametrize(
    ("words", "json"),
    [
        ((), None),
        (("[1, 2]",), "[1,2]"),
        ((' {"a":\n1.10}',), '{"a":1.10}'),
        (("1", "2.50", "-3"), "[1,2.50,-3]"),
        (("hello",), '["hello"]'),
        (("hello world", "true", "null"), '["hello world",true,null]'),
        (('"quoted"', "1_000"), '["quoted","1_000"]'),
        (("NaN", "Infinity", "01"), '["NaN","Infinity","01"]'),
        (("[1]", "[2]"), "[[1],[2]]"),
        (("a=1", "b=two"), '{"a":1,"b":"two"}'),
        (("a=x=y",), '{"a":"x=y"}'),
        (("a=",), '{"a":""}'),
        (('value={"x": [1e400]}',), '{"value":{"x":[1e400]}}'),
        (("http://x/?a=b",), '["http://x/?a=b"]'),
        (('"a=b"', "1"), '["a=b",1]'),
        (("123456789012345678901234567890",), "[123456789012345678901234567890]"),
        (("größer",), '["größer"]'),
    ],
)
def test_arguments_become_params(words: tuple[str, ...], json: str | None) -> None:
    assert params(*words) == json


def test_a_dash_stands_for_stdin() -> None:
    assert params("-", stdin=b'{"a": 1}\n') == '{"a":1}'


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("[1, 2",), "the params are not JSON: Input data was truncated"),
        (("{a: 1}",), "the params are not JSON: JSON is malformed: expected '\"' (byte 1)"),
        (
            ("1", "b=2"),
            "either all params are name=value or none, and 'b=2' is not alone "
            "(a string with = in it can be written as JSON: '\"b=2\"')",
        ),
        (("a=1", "a=2"), "the param 'a' is given twice"),
        (("\udcff",), "'\\\\udcff' is not UTF-8"),
    ],
)
def test_arguments_that_are_no_params_are_wrong_usage(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError) as caught:
        params(*words)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("stdin", "why"),
    [
        (b"1", "the params on stdin must be an array or an object"),
        (b"", "the params on stdin are not JSON: Input data was truncated"),
        (
            b'["\xff"]',
            "the params on stdin are not JSON: 'utf-8' codec can't decode byte 0xff in position 2: invalid start byte",
        ),
    ],
)
def test_stdin_must_hold_an_array_or_an_object(stdin: bytes, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        params("-", stdin=stdin)
    assert str(caught.value) == why


def test_a_batch_can_be_an_array_of_messages() -> None:
    data = b"""[
        {"jsonrpc": "2.0", "id": "x", "method": "add", "params": [1, 2]},
        {"method": "log", "params": {"text": "hi"}},
        {"method": "stats", "id": 1.50}
    ]"""
    assert read_batch(data) == [
        BatchItem("add", Raw(b"[1,2]"), Raw(b'"x"')),
        BatchItem("log", Raw(b'{"text":"hi"}')),
        BatchItem("stats", UNSET, Raw(b"1.50")),
    ]


def test_a_batch_can_be_lines_of_method_and_params() -> None:
    data = b"""\
# a comment
add 1 2
echo {"value": "a b"}

  greet name='Ada Lovelace'
stats
"""
    assert read_batch(data) == [
        BatchItem("add", Raw(b"[1,2]"), Raw(b"1")),
        BatchItem("echo", Raw(b'{"value":"a b"}'), Raw(b"2")),
        BatchItem("greet", Raw(b'{"name":"Ada Lovelace"}'), Raw(b"3")),
        BatchItem("stats", UNSET, Raw(b"4")),
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b" \n# nothing\n", "the batch is empty"),
        (b"[]", "the batch is empty"),
        (b"[1]", "the batch is no array of messages: Expected `object`, got `int` - at `$[0]`"),
        (b'[{"id": 1}]', "the batch is no array of messages: Object missing required field `method` - at `$[0]`"),
        (b'[{"method": "x", "id": [1]}]', "the batch is no array of messages: Expected `int | float | str | null`, got `array`"),
        (b'[{"method": "x", "jsonrpc": "1.0"}]', "the batch is no array of messages: Invalid enum value '1.0' - at `$[0].jsonrpc`"),
        (b'[{"method": "x", "params": 1}]', "the params of message 0 must be an array or an object"),
        (b"add 1 2\nadd [1", "line 2 of the batch: the params are not JSON: Input data was truncated"),
        (b"add 'x", "line 1 of the batch: No closing quotation"),
        (b"add -", "line 1 of the batch: params of a batch cannot come from stdin"),
        (b"add \xff", "the batch is not UTF-8 at byte 4"),
    ],
)  # fmt: skip
def test_a_broken_batch_is_wrong_usage(data: bytes, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_batch(data)
    assert str(caught.value) == why
