"""What a client is written from: the types and the methods of an API, in no language yet.

Plain values. Names are those of the wire, and hints from which each language makes its own;
types refer to declarations by key, so that they may be recursive. Neither JSON Schema nor any
programming language is known here.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

Scalar: TypeAlias = str | int | float | bool | None


class Anything(Struct, frozen=True):
    """Any value."""


class Nothing(Struct, frozen=True):
    """No value at all."""


class Primitive(Struct, frozen=True):
    """A string, a number, a boolean or null."""

    kind: Literal["string", "integer", "number", "boolean", "null"]
    format: str = ""
    """What a string holds, as `date-time`, `uuid` or `base64`; nothing for other strings."""


class Constant(Struct, frozen=True):
    """One of these very values."""

    values: tuple[Scalar, ...]


class Array(Struct, frozen=True):
    """Values of one type, in a row."""

    item: Type


class Tuple(Struct, frozen=True):
    """Values whose types depend on their places."""

    items: tuple[Type, ...]
    least: int
    """How many of them there are at least."""
    rest: Type | None
    """What may follow after them; None where nothing may."""


class Map(Struct, frozen=True):
    """Values of one type by arbitrary names."""

    value: Type


class Union(Struct, frozen=True):
    """A value of one of these types: two or more, none of them a union itself."""

    members: tuple[Type, ...]


class Reference(Struct, frozen=True):
    """The type that is declared under this key."""

    key: str


Type: TypeAlias = (
    Anything | Nothing | Primitive | Constant | Array | Tuple | Map | Union | Reference
)

ANYTHING = Anything()
NOTHING = Nothing()
NULL = Primitive("null")


class Field(Struct, frozen=True):
    """One member of a record."""

    name: str
    type: Type
    required: bool
    doc: str = ""
    deprecated: bool = False


class Record(Struct, frozen=True):
    """An object whose members are known by name."""

    fields: tuple[Field, ...]
    open: bool
    """Whether it is said that other members may be there too."""


class Declaration(Struct, frozen=True):
    """A type with a name."""

    key: str
    hint: tuple[str, ...]
    """What to call it: a name, or names from the outside in, as `order`, `items`, `item`."""
    type: Record | Type
    doc: str = ""


class Parameter(Struct, frozen=True):
    """One parameter of a method."""

    name: str
    type: Type
    required: bool
    doc: str = ""
    deprecated: bool = False
    variadic: bool = False
    """Whether it stands for any number of further params, each of its type."""


class Error(Struct, frozen=True):
    """An error that a method is said to answer with."""

    code: int
    message: str


class Method(Struct, frozen=True, kw_only=True):
    """One method that can be called."""

    name: str
    parameters: tuple[Parameter, ...]
    """In the order of an array of params."""
    by_position: bool
    """Whether params must be an array; else they are an object."""
    result: Type | None
    """None for a method that gives no answer, which is called by notification."""
    summary: str = ""
    description: str = ""
    result_doc: str = ""
    errors: tuple[Error, ...] = ()
    deprecated: bool = False


class Api(Struct, frozen=True):
    """All that a client is written from."""

    title: str
    version: str
    description: str
    urls: tuple[str, ...]
    """Where it is served, by the document's own word."""
    declarations: Mapping[str, Declaration]
    methods: tuple[Method, ...]

    def url(self, schemes: Container[str]) -> str:
        """The first URL of one of these schemes; empty if there is none."""
        return next((url for url in self.urls if url.partition(":")[0] in schemes), "")


def union(*types: Type) -> Type:
    """A value of any of these types, written as simply as possible."""
    members: dict[Type, None] = {}
    values: dict[tuple[type, Scalar], Scalar] = {}
    for each in types:
        for member in each.members if isinstance(each, Union) else (each,):
            if isinstance(member, Anything):
                return ANYTHING
            if isinstance(member, Constant):
                values |= {(type(value), value): value for value in member.values}
                members[_CONSTANTS] = None
            elif not isinstance(member, Nothing):
                members[member] = None
    if NULL in members:
        values.pop((type(None), None), None)
    found = [
        Constant(tuple(values.values())) if member is _CONSTANTS else member for member in members
    ]
    found = [member for member in found if member != Constant(())]
    if len(found) < 2:
        return found[0] if found else NOTHING
    return Union(tuple(found))


_CONSTANTS = Constant(())
"""Stands for all constants of a union together, where the first of them stood."""
