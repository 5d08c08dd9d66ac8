"""Requests whose members have the names of the proto file: ProtoJSON readers take both.

{"history_length": 1}  ──▶  {"historyLength": 1}
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec.structs import fields

from accord.a2a.protocol import objects10

_SNAKE: Final = re.compile(rb'"[a-z]+(?:_[a-z]+)+"\s*:')
_FREE: Final = frozenset(("metadata", "data"))
"""Members whose content is not the protocol's."""
_NAMES: Final = {
    field.name: field.encode_name
    for kind in vars(objects10).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct
    for field in fields(kind)
}


def camel(raw: bytes) -> bytes:
    """`raw` with the names that JSON has for members."""
    if _SNAKE.search(raw) is None:
        return raw
    return msgspec.json.encode(_renamed(msgspec.json.decode(raw)))


def _renamed(value: Any) -> Any:
    match value:
        case dict():
            return {
                _NAMES.get(name, name): each if name in _FREE else _renamed(each)
                for name, each in value.items()
            }
        case list():
            return [_renamed(each) for each in value]
        case _:
            return value
