"""The target of an audit record where no effects name one: what was read, or what a call named.

Targets are ids and names that the system gave out, never texts of a caller: an argument that is
not spelt like an id is left out, as it may be a secret in the wrong place. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from msgspec import Struct

MAX_TARGETS: Final = 20

_ARGUMENT: Final = re.compile(r"(?:.+_)?(?:id|run)|[ab]")
_ID: Final = re.compile(
    r"[A-Za-z]{2,10}-[0-9]{1,10}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_NAMES: Final = ("reference_id", "username", "id", "name")
"""Fields that name a thing, the one that people use first."""


def target_of(arguments: Mapping[str, Any], result: Any = None) -> str:
    """Return the ids named by a call and the subject of its result, with commas.

    An id named by the call is left out if the result has a better name for the same thing.
    """
    found = dict.fromkeys(_named(arguments))
    names = list(_names(result))
    if names:
        known = {name.casefold() for name in names}
        found = {each: None for each in found if each.casefold() not in known}
        found[names[0]] = None
    else:
        items = _items(result)[:MAX_TARGETS]
        found |= {name: None for item in items for name in islice(_names(item), 1)}
    return ", ".join(list(found)[:MAX_TARGETS])


def _named(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if isinstance(value, str) and _ID.fullmatch(value) and _ARGUMENT.fullmatch(name):
            yield value


def _items(result: Any) -> Sequence[Any]:
    items = getattr(result, "items", None)
    return items if isinstance(items, Sequence) else ()


def _names(thing: Any) -> Iterator[str]:
    # Nearly all results are structs, and checking for a Mapping is expensive.
    is_mapping = not isinstance(thing, Struct) and isinstance(thing, Mapping)
    for name in _NAMES:
        value = thing.get(name) if is_mapping else getattr(thing, name, None)
        if isinstance(value, str) and value:
            yield value
