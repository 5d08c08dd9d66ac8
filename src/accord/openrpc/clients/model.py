"""The model of an API that clients are written from, in no language yet.

Types refer to declarations. `order` sorts declarations so that each follows those it needs;
`break_alias_cycles` breaks cycles of aliases without a record in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Scalar: TypeAlias = str | int | float | bool | None


class AnyType(Struct, frozen=True):
    """Any value."""


class NeverType(Struct, frozen=True):
    """No value at all."""


class Primitive(Struct, frozen=True):
    """A string, a number, a boolean or null."""

    kind: Literal["string", "integer", "number", "boolean", "null"]
    format: str = ""
    """The format of a string, such as `date-time`, `uuid` or `base64`; empty for others."""


class ConstantType(Struct, frozen=True):
    """One of these very values."""

    values: tuple[Scalar, ...]


class Array(Struct, frozen=True):
    """Values of one type, in a row."""

    item: Type


class Tuple(Struct, frozen=True):
    """Values whose types depend on their positions."""

    items: tuple[Type, ...]
    least: int
    """Minimum number of values."""
    rest: Type | None
    """The type of further values; None if there may be none."""


class Map(Struct, frozen=True):
    """Values of one type by arbitrary names."""

    value: Type


class Union(Struct, frozen=True):
    """A value of one of these types: two or more, none of them a union itself."""

    members: tuple[Type, ...]


class TypeReference(Struct, frozen=True):
    """The type that is declared under this key."""

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
    """An object whose members are known by name."""

    fields: tuple[RecordField, ...]
    open: bool
    """True if the schema explicitly allows other members."""


class Declaration(Struct, frozen=True):
    """A type with a name."""

    key: str
    hint: tuple[str, ...]
    """The preferred name: one name, or names from the outside in, as `order`, `items`, `item`."""
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
    """True for any number of further params of its type."""


class ApiError(Struct, frozen=True):
    """A documented error of a method."""

    code: int
    message: str


class ApiMethod(Struct, frozen=True, kw_only=True):
    """One method that can be called."""

    name: str
    parameters: tuple[ApiParameter, ...]
    """In the order of an array of params."""
    by_position: bool
    """True if params must be an array; otherwise they are an object."""
    result: Type | None
    """None for a method without an answer, which is called by notification."""
    summary: str = ""
    description: str = ""
    result_doc: str = ""
    errors: tuple[ApiError, ...] = ()
    deprecated: bool = False


class ApiModel(Struct, frozen=True):
    """All that a client is written from."""

    title: str
    version: str
    description: str
    urls: tuple[str, ...]
    """The URLs of the service according to the document."""
    declarations: Mapping[str, Declaration]
    methods: tuple[ApiMethod, ...]

    def url(self, schemes: Container[str]) -> str:
        """Return the first URL of one of these schemes; empty if there is none."""
        return next((url for url in self.urls if url.partition(":")[0] in schemes), "")


def union(*types: Type) -> Type:
    """Return the type of a value of any of these types, written as simply as possible."""
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
"""A marker for all constants of a union together, at the position of the first."""


def references(type: Type) -> Iterator[str]:
    """Return the keys of all declarations that a type refers to."""
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
    """Return the keys of `types` in two parts, in the order of their definition.

    The first part refers to itself, so it must be known before it is defined. In the second part
    each key comes after those that it refers to.
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
        """Append the keys whose references are all known."""
        while self._ready:
            key = self._ready.popleft()
            self.ordered.append(key)
            self.assume(key)

    def assume(self, key: str) -> None:
        """Add a key to the known ones."""
        self.known.add(key)
        for each in self._needed_by[key]:
            self._needs[each].pop(key, None)
            if not self._needs[each] and each not in self.known:
                self._ready.append(each)

    def circle(self, key: str) -> str:
        """Return a key that refers to itself, found from a key that cannot be sorted."""
        seen: set[str] = set()
        while key not in seen:
            seen.add(key)
            key = next(each for each in self._needs[key] if each not in self.known)
        return key


def break_alias_cycles(declarations: Mapping[str, Declaration]) -> dict[str, Declaration]:
    """Return the same declarations, without those that consist directly of themselves."""
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
    """Return the keys of the declarations that a type consists of directly."""
    members = type.members if isinstance(type, Union) else (type,)
    return [member.key for member in members if isinstance(member, TypeReference)]


def _without(declaration: Declaration, keys: list[str]) -> Declaration:
    type = declaration.type
    if not keys or isinstance(type, RecordType):
        return declaration
    members = type.members if isinstance(type, Union) else (type,)
    kept = union(*(each for each in members if each not in [TypeReference(key) for key in keys]))
    return replace(declaration, type=ANYTHING if kept == NOTHING else kept)
