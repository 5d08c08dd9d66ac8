"""What is JSON and what is not, as RFC 8259 has it, seen through params that nobody decodes.

Set ACCORD_JSON_TEST_SUITE to a checkout of the public JSONTestSuite to run its files as well.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from accord.jsonrpc.protocol.codec import decode
from accord.jsonrpc.protocol.messages import Batch, Invalid, Message, Request

SUITE = os.environ.get("ACCORD_JSON_TEST_SUITE")

VALID = {
    # numbers
    "zero": "0",
    "minus zero": "-0",
    "one digit": "7",
    "many digits": "1234567890",
    "negative": "-42",
    "fraction": "0.5",
    "negative fraction": "-0.25",
    "fraction that ends in zeros": "1.500",
    "exponent": "1e3",
    "capital exponent": "1E3",
    "exponent with plus": "1e+3",
    "exponent with minus": "1e-3",
    "exponent with leading zeros": "1e007",
    "fraction and exponent": "-1.5E-2",
    "zero with exponent": "0e1",
    "minus zero point zero": "-0.0",
    "largest of 64 bits": "18446744073709551615",
    "integer beyond 64 bits": "123456789012345678901234567890",
    "small beyond a double": "1e-400",
    # strings
    "empty string": '""',
    "ascii": '"hello"',
    "each short escape": r'"\"\\\/\b\f\n\r\t"',
    "escaped quote at the end": r'"a\""',
    "escaped backslash at the end": r'"a\\"',
    "lower case hex escape": r'"\u00e9"',
    "upper case hex escape": r'"\u00E9"',
    "escaped null": r'"\u0000"',
    "escaped control": r'"\u001f"',
    "surrogate pair": r'"\ud83d\ude00"',
    "last code point, escaped": r'"\udbff\udfff"',
    "two pairs in a row": r'"\ud83d\ude00\ud83d\ude01"',
    "noncharacter": r'"\uffff"',
    "escape that spells a bracket": r'"\u005d"',
    "two bytes of UTF-8": '"é"',
    "three bytes of UTF-8": '"€"',
    "four bytes of UTF-8": '"😀"',
    "delete": '"\x7f"',
    "line separator": '"\u2028"',
    "byte order mark inside": '"\ufeff"',
    "brackets inside": '"[{]}"',
    "comma and colon inside": '",:"',
    "slash": '"a/b"',
    "words of JSON inside": '"true false null"',
    "comment inside": '"/* no */ // no"',
    # literals
    "true": "true",
    "false": "false",
    "null": "null",
    # arrays
    "empty array": "[]",
    "empty array with space": "[ ]",
    "array of one": "[1]",
    "array of many kinds": '[null, true, 1, "a", {}, []]',
    "arrays in arrays": "[[[[]]]]",
    "array over lines": "[\n1\r\n,\t2 ]",
    # objects
    "empty object": "{}",
    "empty object with space": "{\t}",
    "object of one": '{"a":1}',
    "object of many": '{"a":1,"b":[],"c":{}}',
    "empty name": '{"":0}',
    "escaped name": r'{"\u0061":0}',
    "name beyond ascii": '{"é€😀":0}',
    "name with null": r'{"a\u0000b":0}',
    "name twice": '{"a":1,"a":2}',
    "space around everything": ' { "a" : [ 1 , 2 ] } ',
    "object in array in object": '{"a":[{"b":[{}]}]}',
}

INVALID = {
    # numbers
    "plus": b"+1",
    "minus alone": b"-",
    "two minus": b"--1",
    "minus and space": b"- 1",
    "leading zero": b"01",
    "negative with leading zero": b"-01",
    "fraction without digits before": b".5",
    "negative without digits before": b"-.5",
    "fraction without digits after": b"1.",
    "fraction without digits, then exponent": b"1.e3",
    "two fractions": b"1.2.3",
    "exponent without digits": b"1e",
    "exponent with sign, without digits": b"1e+",
    "exponent with fraction": b"1e2.5",
    "two exponents": b"1e2e3",
    "space inside": b"1 000",
    "underscore inside": b"1_000",
    "hexadecimal": b"0x1F",
    "octal": b"0o7",
    "letters behind": b"1a",
    "wide digit": "１".encode(),
    "not a number": b"NaN",
    "infinity": b"Infinity",
    "negative infinity": b"-Infinity",
    "short infinity": b"inf",
    # strings
    "string not closed": b'"abc',
    "string not opened": b'abc"',
    "single quotes": b"'a'",
    "no quotes": b"a",
    "backticks": b"`a`",
    "escape at the end": b'"\\"',
    "unknown escape": rb'"\a"',
    "hex escape of two digits": rb'"\x41"',
    "escaped newline": b'"\\\n"',
    "escape beyond ascii": '"\\é"'.encode(),
    "short hex escape": rb'"\u00e"',
    "hex escape of other letters": rb'"\u00eg"',
    "capital hex escape": rb'"\U00e9"',
    "first surrogate alone": rb'"\ud83d"',
    "second surrogate alone": rb'"\ude00"',
    "surrogates in the wrong order": rb'"\ude00\ud83d"',
    "first surrogate before a letter": rb'"\ud83d\u0041"',
    "raw newline": b'"a\nb"',
    "raw tab": b'"a\tb"',
    "raw null": b'"a\x00b"',
    "raw control": b'"\x1f"',
    "latin-1": b'"\xe9"',
    "continuation byte alone": b'"\x80"',
    "UTF-8 cut short": b'"\xe2\x82"',
    "overlong UTF-8": b'"\xc0\xaf"',
    "surrogate as UTF-8": b'"\xed\xa0\x80"',
    "beyond the last code point": b'"\xf4\x90\x80\x80"',
    # literals
    "nothing": b"",
    "space only": b" ",
    "capital literal": b"True",
    "literal cut short": b"tru",
    "literal with letters behind": b"nullx",
    "undefined": b"undefined",
    # arrays
    "array not closed": b"[1",
    "array not opened": b"1]",
    "array closed twice": b"[1]]",
    "array closed by a brace": b"[1}",
    "comma at the end of an array": b"[1,]",
    "comma at the start of an array": b"[,1]",
    "two commas": b"[1,,2]",
    "comma alone": b"[,]",
    "no comma between": b"[1 2]",
    "colon between": b"[1:2]",
    "two values": b"[][]",
    # objects
    "object not closed": b'{"a":1',
    "object closed twice": b"{}}",
    "object closed by a bracket": b'{"a":1]',
    "comma at the end of an object": b'{"a":1,}',
    "comma at the start of an object": b'{,"a":1}',
    "two commas between members": b'{"a":1,,"b":2}',
    "no comma between members": b'{"a":1 "b":2}',
    "no colon": b'{"a" 1}',
    "two colons": b'{"a"::1}',
    "equals sign": b'{"a"=1}',
    "no value": b'{"a":}',
    "no name": b"{:1}",
    "name only": b'{"a"}',
    "name without quotes": b"{a:1}",
    "name in single quotes": b"{'a':1}",
    "number for a name": b"{1:1}",
    "null for a name": b"{null:1}",
    "lone surrogate in a name": rb'{"\ud800":1}',
    # between values
    "line comment": b"1 // one",
    "block comment": b"/* one */ 1",
    "hash comment": b"1 # one",
    "vertical tab": b"\x0b1",
    "form feed": b"\x0c1",
    "no-break space": b"\xc2\xa01",
    "byte order mark": b"\xef\xbb\xbf1",
    "null byte behind": b"1\x00",
    "UTF-16": '["é"]'.encode("utf-16"),
}


def in_params(text: bytes) -> Message | Batch:
    return decode(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":%b}}' % text)


def is_parse_error(message: Message | Batch) -> bool:
    """Whether it is answered by -32700 with a null id."""
    return (
        isinstance(message, Invalid)
        and (message.error.code, message.id) == (-32700, None)
        and not message.response
    )


@pytest.mark.req("F-01", "F-30")
@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_json_is_accepted_and_kept_to_the_last_byte(text: str) -> None:
    message = in_params(text.encode())
    assert message == Request(1, "m", b'{"x":%b}' % text.encode())
    assert isinstance(message, Request)
    assert msgspec.json.decode(message.params) == {"x": json.loads(text)}


@pytest.mark.req("F-04")
@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_a_whole_message_of_other_json_is_no_parse_error(text: str) -> None:
    assert not is_parse_error(decode(text.encode()))


@pytest.mark.req("F-04", "F-30")
@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
def test_what_is_not_json_is_a_parse_error_in_params_and_by_itself(text: bytes) -> None:
    assert is_parse_error(in_params(text))
    assert is_parse_error(decode(text))


def suite(kind: str) -> list[Path]:
    """The suite's files that must be accepted (`y`), rejected (`n`), or are left open (`i`)."""
    return [] if SUITE is None else sorted(Path(SUITE, "test_parsing").glob(f"{kind}_*.json"))


@pytest.mark.skipif(SUITE is None, reason="only on machines where ACCORD_JSON_TEST_SUITE is set")
@pytest.mark.req("F-04", "F-30")
def test_the_json_test_suite_agrees() -> None:
    accepted = {
        file.name: isinstance(in_params(file.read_bytes()), Request)
        and not is_parse_error(decode(file.read_bytes()))
        for file in suite("y")
    }
    rejected = {
        file.name: is_parse_error(in_params(file.read_bytes()))
        and is_parse_error(decode(file.read_bytes()))
        for file in suite("n")
    }
    left_open = {file.name: decode(file.read_bytes()) for file in suite("i")}
    assert (len(accepted), len(rejected), len(left_open)) == (95, 188, 35)
    assert [name for name, fine in (accepted | rejected).items() if not fine] == []
