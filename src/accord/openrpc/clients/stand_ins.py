"""Classes that stand in for types which msgspec cannot decode by itself.

msgspec decodes a union only where the first byte of a value, or a tag in it, tells which member
it is; and of an object it keeps the members it knows. A stand-in does more: `either` tries the
members of a union in turn, `open_record` keeps what it does not know. Generated clients show
type checkers the plain types instead. Also the way for a type to be recursive without a class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct


def either(name: str, members: Callable[[], tuple[Any, ...]]) -> Any:
    """A type for values of any of `members`, which are asked for when first needed.

    The member that fits decides; of several records the one that knows most members of the
    object, and of those the first.
    """
    return _Either(name, (), {"members": staticmethod(lru_cache(1)(members))})


def open_record(
    name: str, fields: Callable[[], Mapping[str, Any]], *, required: Iterable[str]
) -> Any:
    """A type for dictionaries that have members of known types, and may have others."""
    members = {"fields": staticmethod(lru_cache(1)(fields)), "required": frozenset(required)}
    return _OpenRecord(name, (), members)


def decoder(type: Any) -> msgspec.json.Decoder[Any]:
    """A decoder for a type in which there may be stand-ins."""
    return _decoder(type)


@lru_cache(maxsize=1024)
def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type, dec_hook=_decode)


def _decode(type: Any, value: Any) -> Any:
    if not isinstance(type, _StandIn):
        raise NotImplementedError(f"{type!r} cannot be decoded")
    return type.decode(value)


def _convert(value: Any, type: Any) -> Any:
    return msgspec.convert(value, type, dec_hook=_decode)


class _StandIn(type):
    """A class that msgspec leaves to `_decode`, and of which other values are instances."""

    def decode(cls, value: Any) -> Any:
        raise NotImplementedError


class _Either(_StandIn):
    members: Callable[[], tuple[Any, ...]]

    def decode(cls, value: Any) -> Any:
        best, most = None, -2
        for member in cls.members():
            try:
                found = _convert(value, member)
            except msgspec.ValidationError:
                continue
            known = _known(value, member)
            if known > most:
                best, most = found, known
            if not isinstance(value, dict):
                break
        if most == -2:
            raise ValueError(f"Expected a value of {cls.__name__}, and no variant of it fits")
        return best

    def __instancecheck__(cls, value: Any) -> bool:
        return any(_is(value, member) for member in cls.members())


class _OpenRecord(_StandIn):
    fields: Callable[[], Mapping[str, Any]]
    required: frozenset[str]

    def decode(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"Expected an object for {cls.__name__}")
        missing = cls.required - value.keys()
        if missing:
            raise ValueError(f"Object missing required field `{min(missing)}`")
        known = {
            name: _convert(value[name], type)
            for name, type in cls.fields().items()
            if name in value
        }
        return {**value, **known}

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, dict)


def _known(value: Any, member: Any) -> int:
    """How many members of an object a type knows by name; -1 if it takes whatever there is."""
    if not isinstance(value, dict):
        return 0
    if isinstance(member, _OpenRecord):
        return len(member.fields().keys() & value.keys())
    if isinstance(member, type) and issubclass(member, Struct):
        return len(value.keys() & {*member.__struct_encode_fields__})
    return -1


def _is(value: Any, type_: Any) -> bool:
    origin = get_origin(type_)
    if type_ is Any:
        return True
    if type_ is None or type_ is NoneType:
        return value is None
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(type_))
    if origin is Union or origin is UnionType:
        return any(_is(value, member) for member in get_args(type_))
    return isinstance(value, type_ if origin is None else origin)
