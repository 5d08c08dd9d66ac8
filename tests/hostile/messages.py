"""Messages that are refused, each beside a valid one of the same size and filling.

What they cost is compared by `tests/jsonrpc/protocol/test_diagnosis.py` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

KIB: Final = 1024
SIZES: Final = (KIB, 16 * KIB, 256 * KIB, 1024 * KIB)

Made = Callable[[int], bytes]


class Case(Struct, frozen=True):
    """One way to be refused."""

    name: str
    hostile: Made
    valid: Made


def filled(size: int, unit: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """`unit` as often as it fits into `size` bytes, with commas between."""
    times = max(1, (size - len(before) - len(after) + 1) // (len(unit) + 1))
    return before + b",".join([unit] * times) + after


CALL: Final = b'{"jsonrpc":"2.0","id":1,"method":"sink","params":'


def call(params: bytes) -> bytes:
    """A call of a method that takes any params."""
    return CALL + params + b"}"


def valid_with(unit: bytes) -> Made:
    """A valid call whose params are full of `unit`."""
    return lambda size: filled(size, unit, CALL + b"[", b"]}")


def text(size: int, letters: bytes) -> bytes:
    return letters * ((size - len(CALL) - 8) // len(letters))


def _names(size: int) -> bytes:
    return b",".join(b'"%08d":1' % index for index in range(size // 13))


def _deep(size: int, start: bytes) -> bytes:
    return start * (size // len(start))


_ONES: Final = valid_with(b"1")


def _text(size: int) -> bytes:
    return call(b'["' + text(size, b"x") + b'"]')


def _escapes(size: int) -> bytes:
    return call(b'["' + text(size, b"\\u0041") + b'"]')


_PAIRS: Final = valid_with(b"[]")


def _digits(size: int) -> bytes:
    return call(b"[1." + b"1" * (size - len(CALL) - 5) + b"]")


_MESSAGE: Final = b'{"jsonrpc":"2.0","method":"sink","params":[1]}'


def _items(size: int) -> bytes:
    """A batch that is within the limit, or a call of that size."""
    return _batch(size, _MESSAGE) if size < 40_000 else filled(size, _MESSAGE, CALL + b"[", b"]}")


def _batch(size: int, unit: bytes) -> bytes:
    return filled(size, unit, b"[", b"]")


CASES: Final = (
    # Batches
    Case("a batch of numbers", lambda n: _batch(n, b"1"), _ONES),
    Case("a batch of large numbers", lambda n: _batch(n, b"1e999"), valid_with(b"1e9")),
    Case("a batch of batches", lambda n: _batch(n, b"[]"), _PAIRS),
    Case("a batch of arrays", lambda n: _batch(n, b"[1]"), valid_with(b"[1]")),
    Case("a batch of empty objects", lambda n: _batch(n, b"{}"), valid_with(b"{}")),
    Case("too many calls", lambda n: _batch(n, _MESSAGE), _items),
    Case(
        "too many calls with names in escapes",
        lambda n: _batch(n, _MESSAGE.replace(b'"j', b'"\\u006a')),
        _items,
    ),
    Case(
        "an array of arrays, 120 deep",
        lambda n: filled(n, b"1", b"[" * 120, b"]" * 120),
        lambda n: filled(n, b"1", CALL + b"[" * 119, b"]" * 119 + b"}"),
    ),
    Case("a batch of one array", lambda n: filled(n, b"1", b"[[", b"]]"), _ONES),
    Case(
        "a batch whose last item is no message",
        lambda n: filled(n, b"1", b"[" + CALL + b"[", b"]},1]"),
        _ONES,
    ),
    # Nesting
    Case("too deep, closed", lambda n: _deep(n // 2, b"[") + _deep(n // 2, b"]"), _PAIRS),
    Case("too deep, never closed", lambda n: _deep(n, b"["), _PAIRS),
    Case("objects too deep", lambda n: _deep(n, b'{"a":'), _PAIRS),
    Case(
        "too deep at the end of flat arrays",
        lambda n: filled(n - 300, b"[]", CALL + b"[", b",") + b"[" * 130 + b"]" * 131 + b"}",
        _PAIRS,
    ),
    Case(
        "too deep at the end of arrays that are deep themselves",
        lambda n: filled(n - 300, b"[[[[]]]]", CALL + b"[" * 120, b",") + b"[" * 10,
        lambda n: filled(n, b"[[[[]]]]", CALL + b"[" * 120, b"]" * 120 + b"}"),
    ),
    Case(
        "too deep at the end of strings with brackets",
        lambda n: filled(n - 300, b'"["', CALL + b"[", b",") + b"[" * 130 + b"]" * 131 + b"}",
        valid_with(b'"["'),
    ),
    # No JSON
    Case("cut off", lambda n: _ONES(n)[:-1], _ONES),
    Case("a string that does not end", lambda n: _text(n)[:-3], _text),
    Case("rubbish behind", lambda n: _ONES(n) + b"x", _ONES),
    Case("rubbish", lambda n: b"x" * n, _text),
    Case("not UTF-8 at the end", lambda n: _text(n)[:-3] + b'\xff"]}', _text),
    Case("half a surrogate pair at the end", lambda n: _escapes(n)[:-3] + b'\\ud800"]}', _escapes),
    Case("blanks", lambda n: b" " * n, lambda n: call(b"[" + b" " * (n - 60) + b"]")),
    # No message
    Case("a string", lambda n: b'"' + b"x" * n + b'"', _text),
    Case("a number", lambda n: b"1" * n, _digits),
    Case("another version", lambda n: _ONES(n).replace(b"2.0", b"1.0"), _ONES),
    Case(
        "another version at the end",
        lambda n: filled(n, b"1", b'{"id":1,"method":"sink","params":[', b'],"jsonrpc":"1.0"}'),
        _ONES,
    ),
    Case(
        "a long version",
        # msgspec quotes it in its error, which costs as much as reading numbers does.
        lambda n: CALL.replace(b"2.0", b"2" * n) + b"[]}",
        _ONES,
    ),
    Case("no version", lambda n: _ONES(n).replace(b'"jsonrpc":"2.0",', b""), _ONES),
    Case("a method that is a number", lambda n: _ONES(n).replace(b'"sink"', b"1"), _ONES),
    Case(
        "a method that is an array",
        lambda n: filled(n, b"1", b'{"jsonrpc":"2.0","id":1,"method":[', b"]}"),
        _ONES,
    ),
    Case("an empty method", lambda n: _ONES(n).replace(b"sink", b""), _ONES),
    Case("an unknown method", lambda n: _ONES(n).replace(b"sink", b"nope"), _ONES),
    Case("a huge method name", lambda n: CALL.replace(b"sink", b"m" * n) + b"[]}", _text),
    Case(
        "a method name of escapes",
        lambda n: CALL.replace(b"sink", b"\\u0041" * (n // 6)) + b"[]}",
        _escapes,
    ),
    Case(
        "an id that is an array",
        lambda n: filled(n, b"1", b'{"jsonrpc":"2.0","method":"sink","id":[', b"]}"),
        _ONES,
    ),
    Case(
        "a huge number as the id",
        lambda n: b'{"jsonrpc":"2.0","method":"sink","id":' + b"1" * n + b"}",
        _digits,
    ),
    Case(
        "a huge id of an unknown method",
        lambda n: b'{"jsonrpc":"2.0","method":"nope","id":"' + b"1" * n + b'"}',
        lambda n: b'{"jsonrpc":"2.0","method":"nothing","id":"' + b"1" * n + b'"}',
    ),
    Case("params that are a string", lambda n: call(b'"' + text(n, b"x") + b'"'), _text),
    Case("params that are a number", lambda n: call(b"1" * (n - 60)), _digits),
    Case(
        "members that come again and again",
        lambda n: filled(n, b'"id":{}', b'{"jsonrpc":"2.0",', b',"method":"sink"}'),
        lambda n: filled(n, b'"params":{}', b'{"jsonrpc":"2.0",', b',"id":1,"method":"sink"}'),
    ),
    Case(
        "members that nobody knows",
        lambda n: b'{"jsonrpc":"2.0",' + _names(n) + b',"method":1}',
        lambda n: b'{"jsonrpc":"2.0",' + _names(n) + b',"method":"sink"}',
    ),
    # Params that do not fit
    Case(
        "a wrong item at the end",
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"numbers") + b"[[", b',"x"]]}'),
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"numbers") + b"[[", b"]]}"),
    ),
    Case(
        "a wrong item at the end, deep inside",
        lambda n: filled(
            n, b'{"a":[1]}', CALL.replace(b"sink", b"records") + b"[[", b',{"a":["x"]}]]}'
        ),
        lambda n: filled(n, b'{"a":[1]}', CALL.replace(b"sink", b"records") + b"[[", b"]]}"),
    ),
    Case(
        "a value out of range, by name",
        lambda n: filled(
            n, b"1", CALL.replace(b"sink", b"limited") + b'{"data":[', b'],"size":-1}}'
        ),
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"limited") + b'{"data":[', b"]}}"),
    ),
    Case(
        "a list that is too long",
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"short") + b'{"data":[', b"]}}"),
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"limited") + b'{"data":[', b"]}}"),
    ),
    Case(
        "unknown params",
        lambda n: CALL.replace(b"sink", b"limited") + b"{" + _names(n) + b"}}",
        lambda n: CALL.replace(b"sink", b"anything") + b'{"data":{' + _names(n) + b"}}}",
    ),
    Case(
        "too many params",
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"limited") + b"[", b"]}"),
        _ONES,
    ),
    Case(
        "a wrong value among many",
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"sum") + b"[", b',"x"]}'),
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"sum") + b"[", b"]}"),
    ),
    Case(
        "a number that is too large",
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"numbers") + b"[[", b",1e999]]}"),
        lambda n: filled(n, b"1", CALL.replace(b"sink", b"numbers") + b"[[", b"]]}"),
    ),
    Case("huge digits", lambda n: _digits(n).replace(b"sink", b"limited"), _digits),
    # Responses
    Case(
        "too many responses",
        lambda n: _batch(n, b'{"jsonrpc":"2.0","id":7,"result":[1,2,3,4,5]}'),
        lambda n: (
            _batch(n, b'{"jsonrpc":"2.0","id":7,"result":[1,2,3,4,5]}') if n < 40_000 else _items(n)
        ),
    ),
    Case(
        "an error that is an array",
        lambda n: filled(n, b"1", b'{"jsonrpc":"2.0","id":7,"error":[', b"]}"),
        lambda n: filled(n, b"1", b'{"jsonrpc":"2.0","id":7,"result":[', b"]}"),
    ),
    Case(
        "an error without a code",
        lambda n: filled(n, b"1", b'{"jsonrpc":"2.0","id":7,"error":{"data":[', b"]}}"),
        lambda n: filled(n, b"1", b'{"jsonrpc":"2.0","id":7,"result":{"data":[', b"]}}"),
    ),
    Case(
        "an error full of members",
        lambda n: b'{"jsonrpc":"2.0","id":7,"error":{' + _names(n) + b"}}",
        lambda n: b'{"jsonrpc":"2.0","id":7,"result":{' + _names(n) + b"}}",
    ),
    Case(
        "both result and error",
        lambda n: filled(
            n, b"1", b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""},"result":[', b"]}"
        ),
        lambda n: filled(n, b"1", b'{"jsonrpc":"2.0","id":7,"result":[', b"]}"),
    ),
    Case(
        "a long error without an id",
        lambda n: b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"' + b"x" * n + b'"}}',
        lambda n: b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"' + b"x" * n + b'"}}',
    ),
)
