"""Arguments with a fixed set of values, such as a status, and tolerant matching of them.

msgspec compares exactly. A value that msgspec refused is looked up again, ignoring letter case,
spaces, underscores and hyphens. If no valid value matches, the error lists the valid values and
names the closest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import fields

from accord.operations.errors import InvalidError
from accord.operations.logs import masked

T = TypeVar("T")

MAX_NAMED: Final = 30
"""Maximum number of valid values listed in an error."""
MAX_REPEATED: Final = 80
"""Maximum number of characters of a wrong value that are compared and repeated in an error."""
MAX_VISITED: Final = 1_000
"""Maximum number of values of one call that are looked up again, which bounds the work."""

_SEPARATORS: Final = re.compile(r"(?<=.)[\s_-]+")


class Choices(Struct, frozen=True):
    """The valid values of a type with fixed choices, also of the types nested in it."""

    values: tuple[Any, ...] = ()
    """The valid values, in the order of their declaration; empty if any value is valid."""
    takes_others: bool = False
    """True if other values are valid too, such as other numbers."""
    takes_null: bool = False
    items: Choices | None = None
    """The choices of each item of an array."""
    members: dict[str, Choices] = {}
    """The choices of the fields of an object."""
    others: Choices | None = None
    """The choices of each value of an object without declared fields."""
    is_object: bool = False

    def __bool__(self) -> bool:
        return bool(self.values or self.items or self.members or self.others)


def choices_of(names: Iterable[tuple[str, Any]]) -> Choices:
    """Return the choices in an object with these field names and annotations."""
    known: dict[type, Choices] = {}
    found = ((name, _of(annotation, known)) for name, annotation in names)
    return Choices(members={name: each for name, each in found if each}, is_object=True)


def choices_of_struct(struct: type[Struct]) -> Choices:
    """Return the choices in an object of this type."""
    return choices_of((each.encode_name, each.type) for each in fields(struct))


def equivalent(value: str, valid: Iterable[T]) -> T | None:
    """Return the valid value that differs from `value` in case and separators only.

    Returns None if there is no such value, or more than one.
    """
    texts = [each for each in valid if isinstance(each, str)]
    for reduced in (_lower, _letters):
        meant = reduced(value)
        found = [each for each in texts if reduced(each) == meant]
        if len(found) == 1:
            return found[0]
    return None


def corrected(value: Any, choices: Choices, where: str, *, from_text: bool = False) -> Any:
    """Return `value` with its choices spelled as declared.

    If no spelling changes, `value` itself is returned. Raises InvalidError for a value that is no
    choice. With `from_text` the values are texts, and the text `null` may stand for None.
    """
    return _Correction(from_text=from_text).of(value, choices, where)


class _Correction:
    def __init__(self, *, from_text: bool) -> None:
        self._from_text = from_text
        self._left = MAX_VISITED

    def of(self, value: Any, choices: Choices, where: str) -> Any:
        self._left -= 1
        if self._left < 0 or value is UNSET or isinstance(value, Struct):
            return value
        if isinstance(value, list | tuple) and choices.items is not None:
            return self._of_items(value, choices.items, where)
        if isinstance(value, Mapping) and choices.is_object:
            return self._of_members(value, choices, where)
        if choices.values:
            return self._of_choice(value, choices, where)
        return value

    def _of_items(self, values: Sequence[Any], choices: Choices, where: str) -> Sequence[Any]:
        found = None
        for index, each in enumerate(values[: self._left + 1]):
            changed = self.of(each, choices, f"{where}/{index}")
            if changed is not each:
                found = found or list(values)
                found[index] = changed
        return values if found is None else found

    def _of_members(self, values: Mapping[str, Any], choices: Choices, where: str) -> Any:
        found = None
        for name, each in values.items():
            if self._left <= 0:
                break
            below = choices.members.get(name, choices.others)
            if below is None:
                continue
            step = _step(str(name))
            changed = self.of(each, below, f"{where}/{step}" if where else step)
            if changed is not each:
                found = found or dict(values)
                found[name] = changed
        return values if found is None else found

    def _of_choice(self, value: Any, choices: Choices, where: str) -> Any:
        if isinstance(value, Enum) or value in choices.values:
            return value
        if value is None and choices.takes_null:
            return value
        if isinstance(value, str):
            if self._from_text and choices.takes_null and value.lower() == "null":
                return value
            meant = equivalent(value, choices.values) if len(value) <= MAX_REPEATED else None
            if meant is not None:
                return meant
        if choices.takes_others:
            return value
        raise _no_choice(where, value, choices.values)


def _no_choice(where: str, value: Any, valid: Sequence[Any]) -> InvalidError:
    names = [str(each) for each in valid]
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    near = ""
    if isinstance(value, str):
        by_letters = {_letters(name): name for name in names}
        close = get_close_matches(_letters(value[:MAX_REPEATED]), by_letters, n=1)
        near = f", did you mean {by_letters[close[0]]}?" if close else ""
    only = "one of " if len(names) > 1 else ""
    detail = f"must be {only}{', '.join(names[:MAX_NAMED])}{more}; got {_quoted(value)}{near}"
    return InvalidError(where, detail, valid=list(valid[:MAX_NAMED]))


def _quoted(value: Any) -> str:
    match value:
        case str():
            text = masked(value[: 4 * MAX_REPEATED])
            return repr(text if len(text) <= MAX_REPEATED else f"{text[:MAX_REPEATED]}…")
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)[:MAX_REPEATED] if abs(value) < 2**64 else "a large number"
        case list() | tuple():
            return "an array"
    return "an object"


def _lower(text: str) -> str:
    return text.strip().casefold()


def _letters(text: str) -> str:
    """Return a value without its separators; a leading sign stays, as in `-title`."""
    return _SEPARATORS.sub("", _lower(text))


def _step(name: str) -> str:
    return name[:MAX_REPEATED].replace("~", "~0").replace("/", "~1")


def _of(annotation: Any, known: dict[type, Choices]) -> Choices:
    """Return the choices in a type, also in the types nested in it.

    `known` contains the choices of structs that were visited before.
    """
    annotation = getattr(annotation, "__value__", annotation)  # the value of a `type X = …` alias
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _of(arguments[0], known)
    if origin in (Union, UnionType):
        return _of_any([each for each in arguments if each is not UnsetType], known)
    if origin is Literal:
        return Choices(
            values=tuple(each for each in arguments if each is not None),
            takes_null=None in arguments,
        )
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return Choices(values=tuple(each.value for each in annotation))
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return _of_struct(annotation, known)
    if not isinstance(origin, type) or not arguments:
        return Choices()
    if issubclass(origin, Mapping):
        others = _of(arguments[-1], known)
        return Choices(others=others or None, is_object=bool(others))
    if issubclass(origin, Iterable):
        return Choices(items=_of(arguments[0], known) or None)
    return Choices()


def _of_struct(struct: type[Struct], known: dict[type, Choices]) -> Choices:
    if struct not in known:
        known[struct] = Choices(is_object=True)  # recursive structs are not descended into
        found = ((each.encode_name, _of(each.type, known)) for each in fields(struct))
        members = {name: below for name, below in found if below}
        known[struct] = Choices(members=members, is_object=True)
    return known[struct]


def _of_any(kinds: Sequence[Any], known: dict[type, Choices]) -> Choices:
    """Return the choices of a union.

    Choices in objects are included only if a single type of the union is an object.
    """
    parts = [_of(each, known) for each in kinds if each is not NoneType]
    objects = [each for each in parts if each.is_object]
    alone = objects[0] if len(objects) == 1 else Choices()
    return Choices(
        values=tuple(value for each in parts for value in each.values),
        takes_others=any(each.takes_others or not (each or each.is_object) for each in parts),
        takes_null=NoneType in kinds or any(each.takes_null for each in parts),
        items=next((each.items for each in parts if each.items), None),
        members=alone.members,
        others=alone.others,
        is_object=alone.is_object,
    )
