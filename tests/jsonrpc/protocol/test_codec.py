"""Bytes to messages and back, and the limit of nesting."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, strategies as st
from hypothesis.strategies import integers, lists, sampled_from
from msgspec import UNSET, Raw

from accord.jsonrpc.protocol.codec import (
    MAX_DEPTH,
    NestingError,
    check_nesting,
    decode,
    decode_json,
    is_bracketed,
    is_deeper,
)
from accord.jsonrpc.protocol.errors import RpcError
from accord.jsonrpc.protocol.messages import (
    ErrorObject,
    Failure,
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    Success,
    encode,
    encode_failure,
    id_key,
)


def invalid(data: bytes, **options: Any) -> tuple[int, str, Id, bool]:
    message = decode(data, **options)
    assert isinstance(message, Invalid)
    return message.error.code, message.error.message, message.id, message.response


@pytest.mark.req("F-01", "RPC-4a", "RPC-4b", "RPC-4c", "RPC-4d", "RPC-4.1a")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"m"}', Request(1, "m")),
        ('{"jsonrpc":"2.0","id":1,"method":"m","params":null}', Request(1, "m")),
        ('{"jsonrpc":"2.0","id":1,"method":"m","params":[]}', Request(1, "m", b"[]")),
        ('{"jsonrpc":"2.0","id":1,"method":"m","params": {"a":1} }', Request(1, "m", b'{"a":1}')),
        ('{"jsonrpc":"2.0","id":null,"method":"m"}', Request(None, "m")),
        ('{"jsonrpc":"2.0","id":"","method":"m"}', Request("", "m")),
        ('{"method":"m","id":-7,"jsonrpc":"2.0"}', Request(-7, "m")),
        ('{"jsonrpc":"2.0","id":1,"method":"m","extra":{"x":[1]}}', Request(1, "m")),
        ('{"jsonrpc":"\\u0032.0","id":1,"method":"m"}', Request(1, "m")),
        (' \r\n\t{"jsonrpc":"2.0","id":1,"method":"é"}\n', Request(1, "é")),
        ('{"jsonrpc":"2.0","method":"m"}', Notification("m")),
        ('{"jsonrpc":"2.0","method":"m","params":null}', Notification("m")),
        ('{"jsonrpc":"2.0","method":"m","params":[1]}', Notification("m", b"[1]")),
    ],
)
def test_requests_and_notifications_are_told_apart_by_the_presence_of_an_id(
    text: str, expected: object
) -> None:
    assert decode(text.encode()) == expected


@pytest.mark.req("F-01", "F-02")
@pytest.mark.parametrize(
    "id",
    [
        "1",
        "0",
        "-1",
        "1.0",
        "1.5",
        "null",
        '"1"',
        '"é"',
        '""',
        str(2**53 + 1),
        str(2**64),
        str(10**300),
    ],
)
def test_an_id_is_mirrored_with_its_type_and_value(id: str) -> None:
    message = decode(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % id.encode())
    assert isinstance(message, Request)
    assert encode(Success(message.id, 0)) == b'{"jsonrpc":"2.0","id":%b,"result":0}' % id.encode()


def test_ids_of_different_types_are_different_keys() -> None:
    assert len({id_key(1), id_key(1.0), id_key("1"), id_key(None)}) == 4


@pytest.mark.req("F-02", "RPC-5b", "RPC-5c", "RPC-5.1a", "RPC-5.1b", "RPC-5.1c")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":null}', Success(1, Raw(b"null"))),
        ('{"jsonrpc":"2.0","id":"a","result":[1, 2]}', Success("a", Raw(b"[1, 2]"))),
        (
            '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}',
            Failure(1, ErrorObject(-1, "no")),
        ),
        (
            '{"jsonrpc":"2.0","id":null,"error":{"code":7,"message":"","data":[1]}}',
            Failure(None, ErrorObject(7, "", Raw(b"[1]"))),
        ),
    ],
)
def test_responses_are_success_or_failure(text: str, expected: object) -> None:
    assert decode(text.encode()) == expected


@pytest.mark.req("F-04", "F-30", "RPC-5.1d")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the message is empty"),
        (b" \r\n\t ", "the message is empty"),
        (b"{", "Input data was truncated"),
        (b'{"jsonrpc":"2.0","method":"m","params":[1,}', "malformed"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m"}x', "trailing characters"),
        (b'{"jsonrpc": "1.0", "method": broken', "malformed"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":[NaN]}', "malformed"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":["\xff"]}', "not UTF-8 at byte 48"),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', "not UTF-8 at byte 34"),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800 lone high"}', "malformed"),
        (b'{"jsonrpc":"2.0","id":"\\udc00 lone low","method":"m"}', "malformed"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":["\\ud800 lone high"]}', "malformed"),
        (b'"\\ud800"', "a \\u escape is half of a surrogate pair"),
        (b'["\\\\\\ud800"]', "a \\u escape is half of a surrogate pair"),
        (b'["\\\\ud800', "Input data was truncated"),
        (b'"\\ud83d\\ude00', "Input data was truncated"),
        (b"\xef\xbb\xbf{}", "malformed"),
        (b"\x00", "malformed"),
    ],
)
def test_what_is_not_json_is_a_parse_error(data: bytes, why: str) -> None:
    code, message, id, response = invalid(data)
    assert (code, id, response) == (-32700, None, False)
    assert message.startswith("Parse error: ")
    assert why in message


@pytest.mark.req("F-05", "F-30", "RPC-4a", "RPC-4b", "RPC-5d", "RPC-5.1d")
@pytest.mark.parametrize(
    ("text", "why", "id"),
    [
        ("1", "a message must be an object, got a number", None),
        (' "x"', "a message must be an object, got a string", None),
        ("null", "a message must be an object, got null", None),
        ("true", "a message must be an object, got true", None),
        ("false", "a message must be an object, got false", None),
        ("[]", "the batch is empty", None),
        ("{}", "'jsonrpc' is missing, must be \"2.0\"", None),
        ('{"id":7,"method":"m"}', "'jsonrpc' is missing, must be \"2.0\"", 7),
        ('{"jsonrpc":2.0,"id":7,"method":"m"}', "'jsonrpc' must be \"2.0\", got 2.0", 7),
        ('{"jsonrpc":"1.0","id":7,"method":"m"}', '\'jsonrpc\' must be "2.0", got "1.0"', 7),
        (
            '{"jsonrpc":"' + "9" * 99 + '","id":7,"method":"m"}',
            '\'jsonrpc\' must be "2.0", got "' + "9" * 39 + "…",
            7,
        ),
        ('{"jsonrpc":"2.0","id":7}', "'method' is missing", 7),
        ('{"jsonrpc":"2.0"}', "'method' is missing", None),
        ('{"jsonrpc":"2.0","id":"a","method":1}', "'method' must be a string, got a number", "a"),
        (
            '{"jsonrpc":"2.0","method":1,"params":"bar"}',
            "'method' must be a string, got a number",
            None,
        ),
        ('{"jsonrpc":"2.0","id":7,"method":null}', "'method' must be a string, got null", 7),
        ('{"jsonrpc":"2.0","id":7,"method":""}', "'method' must not be empty", 7),
        (
            '{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}',
            "'params' must be an array or an object, got a string",
            7,
        ),
        (
            '{"jsonrpc":"2.0","method":"m","params":-1}',
            "'params' must be an array or an object, got a number",
            None,
        ),
        (
            '{"jsonrpc":"2.0","id":true,"method":"m"}',
            "'id' must be a string, a number or null, got true",
            None,
        ),
        (
            '{"jsonrpc":"2.0","id":{},"method":"m"}',
            "'id' must be a string, a number or null, got an object",
            None,
        ),
        (
            '{"jsonrpc":"2.0","id":[1],"method":"m"}',
            "'id' must be a string, a number or null, got an array",
            None,
        ),
        ('{"jsonrpc":"2.0","id":1e999,"method":"m"}', "'id' is a number out of range", None),
        (
            '{"jsonrpc":"2.0","id":' + "9" * 5000 + ',"method":"m"}',
            "'id' is a number out of range",
            None,
        ),
        (
            '{"jsonrpc":"2.0","id":[],"method":"m","params":3}',
            "'id' must be a string, a number or null, got an array",
            None,
        ),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request_that_names_the_field(
    text: str, why: str, id: Id
) -> None:
    assert invalid(text.encode()) == (-32600, f"Invalid Request: {why}", id, False)


@pytest.mark.req("F-05")
@pytest.mark.parametrize(
    ("text", "why", "id"),
    [
        ('{"jsonrpc":"2.0","result":1}', "a response needs an 'id'", None),
        (
            '{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"x"}}',
            "a response has either 'result' or 'error', not both",
            1,
        ),
        (
            '{"jsonrpc":"2.0","id":1,"result":1,"error":null}',
            "'error' is no error object: Expected `object`, got `null`",
            1,
        ),
        (
            '{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"x"}}',
            "'error' is no error object: Expected `int`, got `str` - at `$.code`",
            1,
        ),
        ('{"jsonrpc":"1.0","id":1,"result":1}', '\'jsonrpc\' must be "2.0", got "1.0"', 1),
        ('{"id":1,"result":1}', "'jsonrpc' is missing, must be \"2.0\"", 1),
        (
            '{"jsonrpc":"2.0","id":{},"result":1}',
            "'id' must be a string, a number or null, got an object",
            None,
        ),
    ],
)
def test_a_broken_response_is_marked_so_that_it_is_never_answered(
    text: str, why: str, id: Id
) -> None:
    assert invalid(text.encode()) == (-32600, f"Invalid response: {why}", id, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"jsonrpc":"2.0","id":7,"method":"m","result":1}', Request(7, "m")),
        ('{"jsonrpc":"2.0","id":7,"method":"m","error":5}', Request(7, "m")),
        ('{"jsonrpc":"2.0","id":[],"id":7,"method":"m","params":[1]}', Request(7, "m", b"[1]")),
        ('{"jsonrpc":"2.0","id":[],"id":7,"method":"","method":"m"}', Request(7, "m")),
        ('{"jsonrpc":1,"jsonrpc":"2.0","method":"m"}', Notification("m")),
        ('{"jsonrpc":1,"jsonrpc":"2.0","id":7,"result":5}', Success(7, Raw(b"5"))),
        (
            '{"jsonrpc":"2.0","id":7,"error":5,"error":{"code":1,"message":"x"}}',
            Failure(7, ErrorObject(1, "x")),
        ),
        (
            '{"jsonrpc":"2.0","id":7,"error":{"code":"1","message":5,"message":"x","code":1}}',
            Failure(7, ErrorObject(1, "x")),
        ),
    ],
)
def test_members_beyond_those_of_a_message_are_ignored_and_the_last_of_two_counts(
    text: str, expected: object
) -> None:
    assert decode(text.encode()) == expected


@pytest.mark.req("F-08", "RPC-6a", "RPC-6d")
def test_a_batch_is_a_list_and_one_bad_element_spoils_no_other() -> None:
    good = '{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert decode(f"[{good},{good}]".encode()) == [Request(1, "m"), Request(1, "m")]
    batch = decode(f"[1, {good}, [{good}], {{}}, [[]]]".encode())
    assert isinstance(batch, list)
    assert batch[1] == Request(1, "m")
    assert [
        item.error.message.removeprefix("Invalid Request: ")
        for item in batch
        if isinstance(item, Invalid)
    ] == [
        "a message must be an object, got a number",
        "a message must be an object, got an array",
        "'jsonrpc' is missing, must be \"2.0\"",
        "a message must be an object, got an array",
    ]


def nested(levels: int) -> bytes:
    """A request whose deepest value is `levels` deep, the message itself included."""
    inside = b"[" * (levels - 1) + b"]" * (levels - 1)
    return b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}' % inside


@pytest.mark.req("F-30")
def test_nesting_is_accepted_up_to_the_limit_and_refused_beyond() -> None:
    assert isinstance(decode(nested(128)), Request)
    assert invalid(nested(129))[:2] == (-32700, "Parse error: nested deeper than 128 levels")
    assert invalid(nested(100_000))[0] == -32700
    assert isinstance(decode(nested(200), max_depth=200), Request)
    assert invalid(b"[" + nested(200) + b",1]", max_depth=200)[0] == -32700


def test_objects_nest_as_deep_as_arrays_do() -> None:
    def objects(levels: int) -> bytes:
        inside = b'{"":' * (levels - 1) + b"0" + b"}" * (levels - 1)
        return b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}' % inside

    assert isinstance(decode(objects(128)), Request)
    assert invalid(objects(129))[:2] == (-32700, "Parse error: nested deeper than 128 levels")


def test_nesting_beyond_what_the_parser_can_recurse_is_a_parse_error_whatever_the_limit() -> None:
    assert invalid(nested(100_000), max_depth=10**9)[:2] == (-32700, "Parse error: nested too deep")


def test_brackets_inside_strings_are_no_nesting() -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": ['\\"[{' * 500]})
    assert isinstance(decode(text.encode()), Request)


def test_many_brackets_side_by_side_are_no_nesting() -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": [[]] * 500})
    assert isinstance(decode(text.encode()), Request)


def test_a_batch_deeper_than_the_default_is_diagnosed_with_its_own_limit() -> None:
    batch = decode(b"[" + nested(150) + b",1]", max_depth=200)
    assert isinstance(batch, list)
    assert isinstance(batch[0], Request)


def test_params_do_not_keep_the_buffer_they_came_in_alive() -> None:
    message = decode(b'{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}')
    assert isinstance(message, Request)
    assert type(message.params) is bytes


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)
texts = st.text(st.characters(exclude_categories=["Cs"]))
ids = st.integers() | texts | st.floats(allow_nan=False, allow_infinity=False) | st.none()


@pytest.mark.req("F-01", "F-30")
@given(st.binary())
def test_no_bytes_make_decode_raise(data: bytes) -> None:
    """And whatever they are, a message comes of them, or at least one in a batch."""
    read = decode(data)
    assert all(
        isinstance(each, get_args(Message)) for each in (read if isinstance(read, list) else [read])
    )
    assert read != []


@given(json_values)
def test_no_json_makes_decode_raise_or_say_parse_error(value: Any) -> None:
    try:
        data = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # lone surrogates
        return
    message = decode(data)
    for item in message if isinstance(message, list) else [message]:
        assert isinstance(item, Invalid)
        assert item.error.code == -32600


@given(
    ids, st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.lists(texts) | st.none()
)
def test_requests_survive_the_way_there_and_back(id: Id, method: str, params: Any) -> None:
    message = decode(encode(Request(id, method, UNSET if params is None else params)))
    assert isinstance(message, Request)
    assert (type(message.id), message.id, message.method) == (type(id), id, method)
    assert (None if message.params is UNSET else json.loads(message.params)) == params


@dataclass
class Point:
    x: int
    y: int


@pytest.mark.req("F-02", "RPC-5a", "RPC-5b")
def test_messages_are_encoded_with_the_version_first_and_absent_members_left_out() -> None:
    assert encode(Request(1, "m")) == b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert (
        encode(Request(None, "m", [1])) == b'{"jsonrpc":"2.0","id":null,"method":"m","params":[1]}'
    )
    assert encode(Notification("m", {"a": Point(1, 2)})) == (
        b'{"jsonrpc":"2.0","method":"m","params":{"a":{"x":1,"y":2}}}'
    )
    assert encode(Success(1, None)) == b'{"jsonrpc":"2.0","id":1,"result":null}'


@pytest.mark.req("F-09", "RPC-5c", "RPC-5.1c")
def test_failures_carry_code_message_and_data_only_when_there_is_some() -> None:
    assert encode_failure(1, RpcError("no", code=5)) == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"no"}}'
    )
    assert encode_failure(None, RpcError("no", code=5, data=0)) == (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":5,"message":"no","data":0}}'
    )


def test_a_failure_whose_data_or_message_cannot_be_encoded_is_sent_without() -> None:
    assert encode_failure(1, RpcError("no", data=object())) == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'
    )
    assert encode_failure(1, RpcError("\ud800")) == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"?"}}'
    )


def test_what_has_no_json_form_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="a value of type object cannot be encoded as JSON"):
        encode(Success(1, object()))


def test_pydantic_models_are_encoded_by_alias() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", size=(int, pydantic.Field(alias="theSize")))
    assert encode(model(theSize=3)) == b'{"theSize":3}'


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


pytestmark = pytest.mark.req("Q-04")

BOUNDS = (MAX_DEPTH + 1, 1_000, 20_000)
"""Just over the limit, and where the interpreter's own one is: it is another one on each version."""


def brackets(levels: int, opening: str = "[", closing: str = "]", inside: str = "") -> str:
    return opening * levels + inside + closing * levels


@pytest.mark.parametrize("levels", BOUNDS)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_json_that_is_nested_deeper_than_the_limit_is_refused(
    levels: int, opening: str, closing: str
) -> None:
    text = brackets(levels, opening, closing, "1")
    for data in (text, text.encode()):
        with pytest.raises(NestingError, match=r"^nested deeper than 128 levels$"):
            decode_json(data)
        with pytest.raises(NestingError):
            check_nesting(data)


def test_json_at_the_limit_is_read() -> None:
    for text in (brackets(MAX_DEPTH), brackets(MAX_DEPTH, '{"a":', "}", "1")):
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
