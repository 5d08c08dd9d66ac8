"""Python source of types that msgspec can decode, formatted as by `ruff format`."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from accord.openrpc.clients.model import (
    NULL,
    AnyType,
    Array,
    ConstantType,
    Declaration,
    Map,
    NeverType,
    Primitive,
    RecordType,
    Scalar,
    Tuple,
    Type,
    TypeReference,
    Union,
    order,
    union,
)
from accord.openrpc.clients.names import IdentifierScope, lines, pascal

WIDTH: Final = 88
STEP: Final = "    "


def literal(value: Scalar) -> str:
    """Return the source of a value inside `Literal[…]`."""
    return string(value) if isinstance(value, str) else repr(value)


def string(text: str) -> str:
    """Return the source of a string literal; unprintable characters are escaped."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(_escaped(each, quote) for each in text) + quote


def docstring(paragraphs: Iterable[Sequence[str]], indent: str) -> list[str]:
    """Return the lines of a docstring's source; none if there is no text.

    Each paragraph is a sequence of lines.
    """
    found = [line for each in paragraphs if each for line in ("", *each)][1:]
    if not found:
        return []
    text = [line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for line in found]
    if text[0].startswith('"'):
        text[0] = f" {text[0]}"
    if len(text) == 1 and len(indent) + len(text[0]) + 6 <= WIDTH:
        space = " " if text[0].endswith('"') else ""
        return [f'{indent}"""{text[0]}{space}"""']
    rest = [f"{indent}{line}" if line else "" for line in text[1:]]
    return [f'{indent}"""{text[0]}', *rest, f'{indent}"""']


def paragraph(text: str, indent: str) -> list[str]:
    """Return a text of the document, wrapped to lines of a docstring."""
    return lines(text, WIDTH - len(indent) - 3)


def bracketed(
    indent: str, before: str, items: Sequence[str], after: str, *, lonely_comma: bool = False
) -> list[str]:
    """Return the items between `before` and `after`, on one line or on one line each.

    With `lonely_comma` a single item is followed by a comma, as tuples require.
    """
    comma = "," if lonely_comma and len(items) == 1 else ""
    one = f"{indent}{before}{', '.join(items)}{comma}{after}"
    if len(one) <= WIDTH or not items:
        return [one]
    return [f"{indent}{before}", *(f"{indent}{STEP}{item}," for item in items), f"{indent}{after}"]


def _escaped(character: str, quote: str) -> str:
    if character in ("\\", quote):
        return f"\\{character}"
    if character.isprintable():
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


BUILTINS: Final = frozenset({"bool", "bytes", "dict", "float", "int", "list", "str", "tuple"})
"""Builtin names that types are made of; a member of a class may hide them."""
MAX_INLINE_TYPE: Final = 60
"""Maximum length in characters of a type that is written inline; a longer type gets an alias."""

_STRINGS: Final[dict[str, tuple[str, Any]]] = {
    "": ("str", str),
    "base64": ("bytes", bytes),
    "date": ("dt.date", dt.date),
    "date-time": ("dt.datetime", dt.datetime),
    "decimal": ("Decimal", Decimal),
    "duration": ("dt.timedelta", dt.timedelta),
    "time": ("dt.time", dt.time),
    "uuid": ("UUID", UUID),
}
_OTHERS: Final[dict[str, tuple[str, Any]]] = {
    "boolean": ("bool", bool),
    "integer": ("int", int),
    "number": ("float", float),
    "null": ("None", None),
}
_INT64: Final = range(-(2**63), 2**63)

Hint = tuple[str, ...]


class Piece(Struct, frozen=True):
    """A type expression: a name with optional arguments in brackets."""

    head: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.head}[{', '.join(self.arguments)}]" if self.arguments else self.head


class PythonAlias(Struct, frozen=True):
    """An alias for a type that is not a class."""

    name: str
    members: tuple[Piece, ...]
    """The members of a union, or a single type that is not a union."""
    deferred: bool
    recursive: bool = False
    doc: str = ""


class PythonTypes:
    """The types of one generated module."""

    def __init__(self, declarations: Iterable[Declaration], scope: IdentifierScope) -> None:
        self._scope = scope
        self._declared = {each.key: each for each in declarations}
        self._names = {
            key: scope.claim(pascal(each.hint, "Type")) for key, each in self._declared.items()
        }
        self._kinds: dict[str, Any] = {}
        """For the key of each declared type, a Python type that msgspec decodes in the same way."""
        self._in_place: dict[tuple[Type, Hint], str] = {}
        self._written: dict[tuple[Type, Hint, frozenset[str]], list[Piece]] = {}
        self.aliases: list[PythonAlias] = []
        """The aliases in the order of their definition."""
        self._declare()

    def records(self) -> Iterator[tuple[str, Declaration, RecordType]]:
        """Yield the class name, the declaration and the type of each declared record."""
        for key, declaration in self._declared.items():
            if isinstance(declaration.type, RecordType):
                yield self._names[key], declaration, declaration.type

    def expression(self, type: Type, hint: Hint, hidden: frozenset[str] = frozenset()) -> str:
        """Return the source of a type.

        `hidden` are names of `BUILTINS` that the surrounding class hides. A type that is too long,
        or that msgspec cannot decode, gets an alias; `hint` is the alias's preferred name.
        """
        pieces = self._pieces(type, hint, hidden)
        text = " | ".join(map(str, pieces))
        if len(text) > MAX_INLINE_TYPE or not self._is_native(type):
            return self.alias(type, hint)
        return text

    def alias(self, type: Type, hint: Hint) -> str:
        """Return a name for `type`: its own, or that of a new alias named after `hint`."""
        if isinstance(type, TypeReference):
            return self._names[type.key]
        if (type, hint) not in self._in_place:
            name = self._scope.claim(pascal(hint, "Type"))
            self._in_place[type, hint] = name
            pieces = tuple(self._pieces(type, hint, frozenset()))
            self.aliases.append(PythonAlias(name, pieces, not self._is_native(type)))
        return self._in_place[type, hint]

    def _declare(self) -> None:
        aliases: dict[str, Type] = {}
        for key, declaration in self._declared.items():
            if not isinstance(declaration.type, RecordType):
                aliases[key] = declaration.type
            elif is_dictionary(declaration.type):
                self._kinds[key] = _unknown()
            else:
                self._kinds[key] = type("Record", (Struct,), {})
        recursive, ordered = order(aliases)
        self._kinds |= {key: _unknown() for key in recursive}
        for key in ordered:
            native = self._is_native(aliases[key])
            self._kinds[key] = self._kind(aliases[key]) if native else _unknown()
            self.aliases.append(self._declared_alias(key, aliases[key], recursive=False))
        # These stand before all others, which may be made of them; what they are made of
        # themselves is looked up later.
        self.aliases[:0] = [
            self._declared_alias(key, aliases[key], recursive=True) for key in recursive
        ]

    def _declared_alias(self, key: str, type: Type, *, recursive: bool) -> PythonAlias:
        declared = self._declared[key]
        pieces = tuple(self._pieces(type, declared.hint, frozenset()))
        deferred = recursive or not self._is_native(type)
        return PythonAlias(self._names[key], pieces, deferred, recursive, declared.doc)

    # What is written

    def _pieces(self, type: Type, hint: Hint, hidden: frozenset[str]) -> list[Piece]:
        found = self._written.get((type, hint, hidden))
        if found is None:
            found = self._written[type, hint, hidden] = self._write(type, hint, hidden)
        return found

    def _write(self, type: Type, hint: Hint, hidden: frozenset[str]) -> list[Piece]:
        members = _members(type)
        if len(members) == 1:
            return [self._piece(members[0], hint, hidden)]
        found = [self._piece(member, hint, hidden) for member in members]
        for index, piece in enumerate(found):
            if len(str(piece)) > MAX_INLINE_TYPE:
                found[index] = Piece(self.alias(members[index], (*hint, "variant", str(index + 1))))
        return [*dict.fromkeys(found)]

    def _piece(self, type: Type, hint: Hint, hidden: frozenset[str]) -> Piece:
        match type:
            case AnyType() | NeverType() | Union():
                return Piece("Any")
            case Primitive():
                return Piece(_plain(_primitive(type)[0], hidden))
            case ConstantType(values):
                return Piece("Literal", tuple(map(literal, values)))
            case Array(item):
                return Piece(_plain("list", hidden), (self._item(item, hint, hidden),))
            case Map(value):
                inner = self.expression(value, (*hint, "value"), hidden)
                return Piece(_plain("dict", hidden), (_plain("str", hidden), inner))
            case Tuple(items, least, None) if least == len(items):
                inner_hints = [(*hint, "item", str(number)) for number, _ in enumerate(items, 1)]
                inners = [
                    self.expression(item, inner_hint, hidden)
                    for item, inner_hint in zip(items, inner_hints, strict=True)
                ]
                return Piece(_plain("tuple", hidden), tuple(inners) or ("()",))
            case Tuple(items, _, rest):
                item = union(*items, *([] if rest is None else [rest]))
                return Piece(_plain("list", hidden), (self._item(item, hint, hidden),))
            case TypeReference(key):
                return Piece(self._names[key])

    def _item(self, type: Type, hint: Hint, hidden: frozenset[str]) -> str:
        return self.expression(type, (*hint, "item"), hidden)

    # What msgspec says to it

    def _is_native(self, type: Type) -> bool:
        """Return whether msgspec can decode the type without a stand-in.

        The items of arrays and the values of maps are not considered.
        """
        if not isinstance(type, Union | ConstantType):
            return True
        try:
            msgspec.json.Decoder(self._kind(type))
        except (TypeError, NotImplementedError):
            return False
        return True

    def _kind(self, type: Type) -> Any:
        """Return a Python type that msgspec decodes in the same way as `type`.

        Raises TypeError if `type` is a union whose members cannot form a union in Python.
        """
        return reduce(or_, map(self._member_kind, _members(type)))

    def _member_kind(self, type: Type) -> Any:
        match type:
            case Primitive():
                return _primitive(type)[1]
            case ConstantType(values):
                return Literal.__getitem__(values)
            case Array() | Tuple():
                return list[_unknown()]  # type: ignore[misc]  # equal to no other
            case Map():
                return dict[str, _unknown()]  # type: ignore[misc]
            case TypeReference(key):
                return self._kinds[key]
            case _:
                return Any


def is_dictionary(record: RecordType) -> bool:
    """Return whether a record must be a dictionary, and cannot be a class.

    This is the case if it stores unknown members, or if msgspec does not accept the name of a
    member as that of a field.
    """
    return record.open or any(_UNFIT.search(field.name) for field in record.fields)


_UNFIT: Final = re.compile(r'[\\"\x00-\x1f]')


def _unknown() -> type:
    """Return a new class that msgspec does not support, as a placeholder.

    It represents a stand-in when msgspec is asked whether it supports a type.
    """
    return type("StandIn", (), {})


def _members(type: Type) -> list[Type]:
    """Return the members of a union as Python has them, `None` last.

    Its literals are strings, 64-bit integers and booleans only. A type that is not a union is its
    only member.
    """
    found: dict[Type, None] = {}
    for member in type.members if isinstance(type, Union) else (type,):
        if isinstance(member, ConstantType):
            found |= dict.fromkeys(_split(member))
        else:
            found[member] = None
    plain = {each.kind for each in found if isinstance(each, Primitive) and not each.format}
    kept = [_without(member, plain) for member in found]
    kept.sort(key=lambda member: member == NULL)
    return [member for member in kept if member != ConstantType(())] or [type]


def _split(constant: ConstantType) -> list[Type]:
    """Return the types that Python has for a constant type.

    They are a constant type of the values that a `Literal` can hold, and `int` or `float` for each
    other value: a float, or an integer beyond 64 bits.
    """
    literal = [value for value in constant.values if _may_be_literal(value)]
    found: list[Type] = [ConstantType(tuple(literal))] if literal else []
    others = [value for value in constant.values if not _may_be_literal(value)]
    return found + [Primitive("number" if type(each) is float else "integer") for each in others]


def _may_be_literal(value: Scalar) -> bool:
    return not isinstance(value, float) and (not isinstance(value, int) or value in _INT64)


def _without(member: Type, plain: Container[str]) -> Type:
    """Return `member`, if it is a constant type, without the values of `plain` types.

    `plain` has the kinds of the plain types in the same union; these allow such values already.
    """
    if not isinstance(member, ConstantType):
        return member
    return ConstantType(tuple(value for value in member.values if _KINDS[type(value)] not in plain))


_KINDS: Final = {str: "string", int: "integer", bool: "boolean", type(None): "null"}


def _primitive(type: Primitive) -> tuple[str, Any]:
    return _STRINGS[type.format] if type.kind == "string" else _OTHERS[type.kind]


def _plain(name: str, hidden: frozenset[str]) -> str:
    return f"builtins.{name}" if name in hidden else name


def alias_lines(alias: PythonAlias) -> list[str]:
    """Return the statements that define an alias."""
    doc = docstring([paragraph(alias.doc, "")], "")
    if not alias.deferred:
        return [*_shown(alias, ""), *doc]
    return ["if TYPE_CHECKING:", *_shown(alias, STEP), "else:", *_stand_in(alias), *doc]


def _stand_in(alias: PythonAlias) -> list[str]:
    """Return the source that defines an alias as a stand-in, at run time.

    The stand-in looks up the types in the alias when it is first used.
    """
    members = [str(piece) for piece in alias.members]
    inside = ", ".join(members) + ("," if len(members) == 1 else "")
    one = f'{STEP}{alias.name} = either("{alias.name}", lambda: ({inside}))'
    if len(one) <= WIDTH:
        return [one]
    return [
        f"{STEP}{alias.name} = either(",
        f'{STEP * 2}"{alias.name}",',
        *bracketed(STEP * 2, "lambda: (", members, "),", lonely_comma=True),
        f"{STEP})",
    ]


def _shown(alias: PythonAlias, indent: str) -> list[str]:
    """Return the source that defines an alias as a `TypeAlias`, for type checkers."""
    before = f"{indent}{alias.name}: TypeAlias = "
    members = [str(piece) for piece in alias.members]
    text = " | ".join(members)
    if alias.recursive:
        return _quoted(before, members, indent)
    if len(before) + len(text) <= WIDTH:
        return [before + text]
    if len(members) == 1:
        piece = alias.members[0]
        many = len(piece.arguments) > 1
        arguments = [f"{indent}{STEP}{each}{',' if many else ''}" for each in piece.arguments]
        return [f"{before}{piece.head}[", *arguments, f"{indent}]"]
    if len(indent) + len(STEP) + len(text) <= WIDTH:
        return [f"{before}(", f"{indent}{STEP}{text}", f"{indent})"]
    first, *others = members
    rows = [f"{indent}{STEP}{first}", *(f"{indent}{STEP}| {each}" for each in others)]
    return [f"{before}(", *rows, f"{indent})"]


def _quoted(before: str, members: list[str], indent: str) -> list[str]:
    """Return the source of an alias with its type in quotes.

    Quotes are necessary if the alias refers to itself, or to later types.
    """
    one = before + string(" | ".join(members))
    if len(one) <= WIDTH:
        return [one]
    joined = [*(f"{each} | " for each in members[:-1]), members[-1]]
    return [f"{before}(", *(f"{indent}{STEP}{string(each)}" for each in joined), f"{indent})"]
