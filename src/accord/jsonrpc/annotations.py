"""What stands inside an annotation: the parts that only msgspec or only pydantic enforces.

Each of the two ignores the other's constraints without a word, so they are found here
before a backend is chosen. Imports neither pydantic nor annotated_types: what is theirs is
told by its module and its attributes.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from msgspec import Meta, Raw, Struct

from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.unions import check_union, constrains

_FOREIGN_MODULES = frozenset({"annotated_types", "pydantic", "pydantic_core"})
_NEVER_JSON = (type, collections.abc.Callable)
_LAZY = (collections.abc.Iterable, collections.abc.Iterator, collections.abc.Generator)


class Survey(Struct):
    """The findings in an annotation, as text for error messages."""

    foreign: list[str] = []
    """Constraints that only pydantic enforces."""
    native: list[str] = []
    """Constraints that only msgspec enforces."""
    lazy: bool = False
    """True if it contains an iterable, which pydantic would check only while it is read."""


def survey(annotation: Any) -> Survey:
    """Search `annotation` and the fields of every class in it.

    Raises `RegistrationError` for types that no JSON value can have, and for fields whose
    annotations cannot be resolved.
    """
    found = Survey()
    seen: dict[int, Any] = {}
    waiting = [annotation]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part  # keeps it alive: an id must not be reused meanwhile
        waiting.extend(_look_at(part, found))
    return found


def is_pydantic_field(default: Any) -> bool:
    """Return True if a default is pydantic's `Field(…)`: constraints instead of a value."""
    return type(default).__module__ == "pydantic.fields"


def _look_at(part: Any, found: Survey) -> Iterator[Any]:
    """Note constraints of `part`, and yield the types inside it."""
    origin = get_origin(part)
    if origin is Annotated:
        _note_metadata(part.__metadata__, found)
        yield part.__origin__
    elif origin is not None and origin is not Literal:
        if origin in (Union, UnionType):
            check_union(get_args(part))
        yield origin
        yield from get_args(part)
    elif isinstance(part, NewType):
        yield part.__supertype__
    elif isinstance(part, TypeVar):
        yield part.__bound__
    elif isinstance(part, type):
        yield from _look_at_class(part, found)
    elif hasattr(part, "__value__"):  # Python 3.12's `type X = …`
        yield part.__value__


def _look_at_class(cls: type, found: Survey) -> Iterator[Any]:
    if cls in _NEVER_JSON:
        raise RegistrationError(f"no JSON value can be a {cls.__name__}")
    found.lazy = found.lazy or cls in _LAZY
    if hasattr(cls, "__pydantic_validator__"):
        found.foreign.append(f"the pydantic model {cls.__qualname__}")
        for field in _pydantic_fields(cls).values():
            _note_metadata(field.metadata, found)
            yield field.annotation
    elif hasattr(cls, "__get_pydantic_core_schema__"):
        found.foreign.append(f"the pydantic type {cls.__qualname__}")
    elif issubclass(cls, Struct):
        found.native.append(f"the msgspec struct {cls.__qualname__}")
        yield from _fields(cls)
    elif cls is Raw:
        found.native.append("msgspec.Raw")
    elif is_dataclass(cls):
        defaults = [field.default for field in fields(cls)]
        found.foreign.extend(f"the constraint {it!r}" for it in defaults if is_pydantic_field(it))
        yield from _fields(cls)
    elif is_typeddict(cls) or hasattr(cls, "_field_defaults"):
        yield from _fields(cls)


def _pydantic_fields(cls: Any) -> dict[str, Any]:
    found: dict[str, Any] = cls.__pydantic_fields__
    return found


def _fields(cls: type) -> Iterator[Any]:
    try:
        yield from get_type_hints(cls, include_extras=True).values()
    except NameError as error:
        raise RegistrationError(
            f"an annotation of {cls.__qualname__} cannot be resolved: {error}"
        ) from error


def _note_metadata(metadata: Any, found: Survey) -> None:
    for thing in metadata:
        if isinstance(thing, Meta):
            if constrains(thing):
                found.native.append(f"the constraint {thing!r}")
        elif _is_foreign(thing):
            found.foreign.append(f"the constraint {thing!r}")


def _is_foreign(metadata: Any) -> bool:
    module = type(metadata).__module__.partition(".")[0]
    return module in _FOREIGN_MODULES or hasattr(metadata, "__get_pydantic_core_schema__")
