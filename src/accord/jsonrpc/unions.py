"""Unions that msgspec accepts and then corrupts its memory over.

Seen in 0.22.0: a pattern beside a collection, and any constraint beside a tuple of fixed length.
A caller could crash the process through such a parameter, so it is refused.
"""

from __future__ import annotations

import collections.abc
from typing import Annotated, Any, NewType, get_args, get_origin

from msgspec import Meta

from accord.jsonrpc.errors import RegistrationError

_COLLECTIONS = frozenset(
    {
        dict,
        frozenset,
        list,
        set,
        tuple,
        collections.abc.Collection,
        collections.abc.Mapping,
        collections.abc.MutableMapping,
        collections.abc.MutableSequence,
        collections.abc.MutableSet,
        collections.abc.Sequence,
        collections.abc.Set,
    }
)


def check_union(members: tuple[Any, ...]) -> None:
    """Raises `RegistrationError` for a union of these that cannot be served safely."""
    metas: list[Meta] = []
    types = [_peel(member, metas) for member in members]
    limited = [meta for meta in metas if constrains(meta)]
    if any(map(_is_fixed_tuple, types)) and limited:
        raise RegistrationError(
            f"a union cannot hold a tuple of fixed length beside the constraint {limited[0]!r}: "
            "msgspec breaks over it; take a list, a NamedTuple or a struct instead of the tuple"
        )
    patterns = [meta for meta in limited if meta.pattern is not None]
    if patterns and any(_kind(each) in _COLLECTIONS for each in types):
        raise RegistrationError(
            f"a union cannot hold a collection beside the constraint {patterns[0]!r}: "
            "msgspec breaks over it; check the pattern in the function, or use a struct"
        )


def constrains(meta: Meta) -> bool:
    """Whether there are values that `meta` refuses; else it only describes."""
    limits = (meta.gt, meta.ge, meta.lt, meta.le, meta.multiple_of, meta.pattern)
    sizes = (meta.min_length, meta.max_length, meta.tz)
    return any(limit is not None for limit in limits + sizes)


def _peel(member: Any, metas: list[Meta]) -> Any:
    """The type itself, without its other names and its metadata, which is added to `metas`."""
    while True:
        if get_origin(member) is Annotated:
            metas.extend(each for each in member.__metadata__ if isinstance(each, Meta))
            member = member.__origin__
        elif isinstance(member, NewType):
            member = member.__supertype__
        elif hasattr(member, "__value__"):  # Python 3.12's `type X = …`
            member = member.__value__
        else:
            return member


def _kind(member: Any) -> Any:
    return get_origin(member) or member


def _is_fixed_tuple(member: Any) -> bool:
    return get_origin(member) is tuple and ... not in get_args(member)
