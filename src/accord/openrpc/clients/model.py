"""The model of an API that clients are generated from, in any language.

Types refer to declarations by key. `order` sorts declarations so that each follows those that it
refers to; `break_alias_cycles` breaks cycles of aliases.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Scalar: TypeAlias = str | int | float | bool | None


class AnyType(Struct, frozen=True):
    """The type of any value."""


class NeverType(Struct, frozen=True):
    """The type that has no values."""


class Primitive(Struct, frozen=True):
    """A primitive type: a string, a number, a boolean or null."""

    kind: Literal["string", "integer", "number", "boolean", "null"]
    format: str = ""
    """The format of a string, such as `date-time`, `uuid` or `base64`; empty for other types."""


class ConstantType(Struct, frozen=True):
    """The type of values that equal one of `values`."""

    values: tuple[Scalar, ...]


class Array(Struct, frozen=True):
    """An array of any length with items of one type."""

    item: Type


class Tuple(Struct, frozen=True):
    """An array in which the type of an item depends on its position."""

    items: tuple[Type, ...]
    least: int
    """Minimum number of items."""
    rest: Type | None
    """The type of the items after `items`; None if there may be no more."""


class Map(Struct, frozen=True):
    """An object with arbitrary keys, and values of one type."""

    value: Type


class Union(Struct, frozen=True):
    """A union of two or more types, none of which is a union itself."""

    members: tuple[Type, ...]


class TypeReference(Struct, frozen=True):
    """A reference to the declared type whose key is `key`."""

    key: str


Type: TypeAlias = (
    AnyType | NeverType | Primitive | ConstantType | Array | Tuple | Map | Union | TypeReference
)

ANYTHING = AnyType()
NOTHING = NeverType()
NULL = Primitive("null")


class RecordField(Struct, frozen=True):
    """One member of a record."""

    name: str
    type: Type
    required: bool
    doc: str = ""
    deprecated: bool = False


class RecordType(Struct, frozen=True):
    """An object with named members."""

    fields: tuple[RecordField, ...]
    open: bool
    """True if the schema explicitly allows members other than `fields`."""


class Declaration(Struct, frozen=True):
    """A type with a name."""

    key: str
    hint: tuple[str, ...]
    """The preferred name of the type: one name, or the names on the way to its schema, outermost
    first, such as `order`, `items`, `item`."""
    type: RecordType | Type
    doc: str = ""


class ApiParameter(Struct, frozen=True):
    """One parameter of a method."""

    name: str
    type: Type
    required: bool
    doc: str = ""
    deprecated: bool = False
    variadic: bool = False
    """True if the method accepts any number of further params of this type."""


class ApiError(Struct, frozen=True):
    """A documented error of a method."""

    code: int
    message: str


class ApiMethod(Struct, frozen=True, kw_only=True):
    """One method that can be called."""

    name: str
    parameters: tuple[ApiParameter, ...]
    """The parameters, in their order in an array of params."""
    by_position: bool
    """True if params must be an array; otherwise they are an object."""
    result: Type | None
    """The type of the result; None for a method without a response, which is called by
    notification."""
    summary: str = ""
    description: str = ""
    result_doc: str = ""
    errors: tuple[ApiError, ...] = ()
    deprecated: bool = False


class ApiModel(Struct, frozen=True):
    """The description of an API: everything that a client is generated from."""

    title: str
    version: str
    description: str
    urls: tuple[str, ...]
    """The URLs of the service according to the document."""
    declarations: Mapping[str, Declaration]
    methods: tuple[ApiMethod, ...]

    def url(self, schemes: Container[str]) -> str:
        """Return the first URL of the service with one of these schemes; empty if none has."""
        return next((url for url in self.urls if url.partition(":")[0] in schemes), "")


def union(*types: Type) -> Type:
    """Return the union of these types, simplified as far as possible."""
    members: dict[Type, None] = {}
    values: dict[tuple[type, Scalar], Scalar] = {}
    for each in types:
        for member in each.members if isinstance(each, Union) else (each,):
            if isinstance(member, AnyType):
                return ANYTHING
            if isinstance(member, ConstantType):
                values |= {(type(value), value): value for value in member.values}
                members[_CONSTANTS] = None
            elif not isinstance(member, NeverType):
                members[member] = None
    if NULL in members:
        values.pop((type(None), None), None)
    found = [
        ConstantType(tuple(values.values())) if member is _CONSTANTS else member
        for member in members
    ]
    found = [member for member in found if member != ConstantType(())]
    if len(found) < 2:
        return found[0] if found else NOTHING
    return Union(tuple(found))


_CONSTANTS = ConstantType(())
"""A placeholder in the function `union`: the position at which it puts all constants, merged."""


def references(type: Type) -> Iterator[str]:
    """Yield the keys of all declarations that a type refers to."""
    match type:
        case TypeReference(key):
            yield key
        case Array(item):
            yield from references(item)
        case Map(value):
            yield from references(value)
        case Tuple(items, _, rest):
            for item in (*items, *([] if rest is None else [rest])):
                yield from references(item)
        case Union(members):
            for member in members:
                yield from references(member)


def order(types: Mapping[str, Type]) -> tuple[list[str], list[str]]:
    """Return the keys of `types` in two lists, in the order to define them.

    The first list has recursive types, which must be usable before they are defined. In the second
    list each key comes after the keys that it refers to, except those of the first list.
    """
    sorter = _Sorter(types)
    recursive: list[str] = []
    for key in types:
        sorter.sort()
        if key not in sorter.known:
            recursive.append(sorter.circle(key))
            sorter.assume(recursive[-1])
    sorter.sort()
    return recursive, sorter.ordered


class _Sorter:
    def __init__(self, types: Mapping[str, Type]) -> None:
        self.known: set[str] = set()
        self.ordered: list[str] = []
        self._needs: dict[str, dict[str, None]] = {
            key: dict.fromkeys(each for each in references(type) if each in types)
            for key, type in types.items()
        }
        self._needed_by: dict[str, list[str]] = {key: [] for key in types}
        for key, needed in self._needs.items():
            for each in needed:
                self._needed_by[each].append(key)
        self._ready = deque(key for key, needed in self._needs.items() if not needed)

    def sort(self) -> None:
        """Append to `ordered` every key that refers to known keys only."""
        while self._ready:
            key = self._ready.popleft()
            self.ordered.append(key)
            self.assume(key)

    def assume(self, key: str) -> None:
        """Treat a key as already defined, so that keys that refer to it can be sorted."""
        self.known.add(key)
        for each in self._needed_by[key]:
            self._needs[each].pop(key, None)
            if not self._needs[each] and each not in self.known:
                self._ready.append(each)

    def circle(self, key: str) -> str:
        """Return a key on a cycle of references, found by following those of `key`."""
        seen: set[str] = set()
        while key not in seen:
            seen.add(key)
            key = next(each for each in self._needs[key] if each not in self.known)
        return key


def break_alias_cycles(declarations: Mapping[str, Declaration]) -> dict[str, Declaration]:
    """Return the declarations without cycles of aliases.

    A reference is removed if it leads from an alias back to the same alias, directly or through
    other aliases and unions. An alias without remaining members allows any value.
    """
    found = dict(declarations)
    done: set[str] = set()
    for start in declarations:
        path: dict[str, list[str]] = {}
        stack = [start]
        while stack:
            key = stack[-1]
            if key in done:
                stack.pop()
            elif key not in path:
                back = [each for each in directly(found[key].type) if each in path or each == key]
                found[key] = _without(found[key], back)
                path[key] = directly(found[key].type)
                stack += path[key]
            else:
                done.add(key)
                del path[key]
                stack.pop()
    return found


def directly(type: RecordType | Type) -> list[str]:
    """Return the keys that a type refers to directly: itself a reference, or a union.

    References inside arrays, maps and records do not count.
    """
    members = type.members if isinstance(type, Union) else (type,)
    return [member.key for member in members if isinstance(member, TypeReference)]


def _without(declaration: Declaration, keys: list[str]) -> Declaration:
    type = declaration.type
    if not keys or isinstance(type, RecordType):
        return declaration
    members = type.members if isinstance(type, Union) else (type,)
    kept = union(*(each for each in members if each not in [TypeReference(key) for key in keys]))
    return replace(declaration, type=ANYTHING if kept == NOTHING else kept)
