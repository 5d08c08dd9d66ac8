"""The target of an audit record where no effects name one: what was read, or what a call named.

Targets are ids and names that the system gave out, never texts of a caller: an argument that is
not spelt like an id is left out, as it may be a secret in the wrong place. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MAX_TARGETS: Final = 20

_ARGUMENT: Final = re.compile(r"(?:.+_)?(?:id|run)|[ab]")
_ID: Final = re.compile(
    r"[A-Za-z]{2,10}-[0-9]{1,10}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_NAMES: Final = ("reference_id", "username", "id", "name")
"""Fields that name a thing, the one that people use first."""


def target_of(arguments: Mapping[str, Any], result: Any = None) -> str:
    """Return the ids that a call named and what its result is about, with commas between.

    An id that the call named is left out where the result has a better name for the same thing.
    """
    whole = _name(result)
    known = {value.casefold() for value in _all_names(result)}
    found = dict.fromkeys(each for each in _named(arguments) if each.casefold() not in known)
    if whole:
        found[whole] = None
    else:
        found |= dict.fromkeys(map(_name, _items(result)[:MAX_TARGETS]))
    found.pop("", None)
    return ", ".join(list(found)[:MAX_TARGETS])


def _named(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if isinstance(value, str) and _ARGUMENT.fullmatch(name) and _ID.fullmatch(value):
            yield value


def _items(result: Any) -> Sequence[Any]:
    items = getattr(result, "items", None)
    return items if isinstance(items, Sequence) else ()


def _name(thing: Any) -> str:
    return next(_all_names(thing), "")


def _all_names(thing: Any) -> Iterator[str]:
    for name in _NAMES:
        value = thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
        if isinstance(value, str) and value:
            yield value
