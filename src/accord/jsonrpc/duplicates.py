"""Members of one name in one object. JSON leaves open which counts, so that two readers of the same
bytes may see two different requests. Pure.

msgspec keeps the last. Whether it dropped one is told by counting: every member has one colon, and
a value that is decoded and encoded again has as many colons as before, unless a member is gone.
That takes two passes in C, where `json.loads` with a hook builds a list for each object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Raw

from accord.jsonrpc.params_errors import MAX_DIAGNOSED_BYTES

_decode: Final = msgspec.json.Decoder().decode
_decode_out_of_range: Final = msgspec.json.Decoder(float_hook=len).decode
_encode: Final = msgspec.json.Encoder().encode
_MOST: Final = 32
"""Most values among which a member that comes twice is looked for: each takes a microsecond."""


class DuplicateMemberError(msgspec.ValidationError):
    """A member stands twice in one object; `path` leads to it, empty where that is not known."""

    def __init__(self, path: tuple[str | int, ...]) -> None:
        where = "" if not path else f" {str(path[-1])[:100]!r}"
        super().__init__(f"the member{where} is given twice")
        self.path = path


def check_members(data: bytes | Raw) -> None:
    """Raise `DuplicateMemberError` if an object in `data` has two members of one name.

    Raises what msgspec refuses, too.
    """
    data = bytes(data)
    try:
        value = _decode(data)
    except msgspec.ValidationError:
        value = _decode_out_of_range(data)
    again = _encode(value)
    if again == data:
        return  # the common case: whoever wrote this leaves out what JSON can do without
    colons = data.count(b":")
    if b"\\" in data:  # a colon may stand in a string in another spelling
        plain = data.replace(b"\\\\", b"")
        colons += plain.count(b"\\u003a") + plain.count(b"\\u003A")
    if again.count(b":") != colons:
        raise DuplicateMemberError(_place(data) if _is_small(data) else ())


def _is_small(data: bytes) -> bool:
    """Whether reading `data` again takes less than what a refusal may cost."""
    return len(data) <= MAX_DIAGNOSED_BYTES and sum(map(data.count, (b",", b"[", b"{"))) <= _MOST


class _Twice:
    """Stands in place of an object with a member that comes twice."""

    def __init__(self, name: str) -> None:
        self.name = name


def _place(data: bytes) -> tuple[str | int, ...]:
    """Where the first member stands that comes twice."""
    value = json.loads(data, object_pairs_hook=_object, parse_int=len, parse_float=len)
    path: list[str | int] = []
    _search(value, path)
    return tuple(path)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    names = [name for name, _ in pairs]
    return _Twice(next(name for name in names if names.count(name) > 1))


def _search(value: Any, path: list[str | int]) -> bool:
    """Lengthen `path` until it ends at a member that comes twice; whether there is one."""
    if isinstance(value, _Twice):
        path.append(value.name)
        return True
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for step, each in inner:
        path.append(step)
        if _search(each, path):
            return True
        path.pop()
    return False
