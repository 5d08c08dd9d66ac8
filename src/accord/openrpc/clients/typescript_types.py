"""Types as TypeScript source: literals, comments, members and declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from accord.openrpc.clients.model import (
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
)
from accord.openrpc.clients.names import IdentifierScope, lines, pascal

WIDTH: Final = 88
STEP: Final = "  "

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_EXACT: Final = 2**53


def literal(value: Scalar) -> str:
    """A literal type, or the type of a number that JavaScript cannot hold exactly."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return string(value)
        case _:
            return "number" if abs(value) > _EXACT else repr(value)


def string(text: str) -> str:
    """A string literal that gives exactly this text, in printable characters."""
    return '"' + "".join(map(_escaped, text)) + '"'


def member(name: str) -> str:
    """The name of a member of a type."""
    return name if _IDENTIFIER.fullmatch(name) else string(name)


def access(value: str, name: str) -> str:
    """The member of a value; `value?` for one that may be undefined."""
    if _IDENTIFIER.fullmatch(name):
        return f"{value}.{name}"
    return f"{value}{'.' if value.endswith('?') else ''}[{string(name)}]"


def comment(paragraphs: Iterable[Sequence[str]], indent: str) -> list[str]:
    """A documentation comment of paragraphs, each of them lines; none where there is nothing."""
    found = [line for each in paragraphs if each for line in ("", *each)][1:]
    text = [line.replace("*/", "*\\/").replace("/*", "/\\*") for line in found]
    if not text:
        return []
    if len(text) == 1 and len(indent) + len(text[0]) + 7 <= WIDTH:
        return [f"{indent}/** {text[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in text), f"{indent} */"]


def paragraph(text: str, indent: str) -> list[str]:
    """A text of the document as lines of a comment."""
    return lines(text, WIDTH - len(indent) - 3)


def bracketed(indent: str, before: str, items: Sequence[str], after: str) -> list[str]:
    """`before`, items, `after` on one line, or each item on its own."""
    one = f"{indent}{before}{', '.join(items)}{after}"
    if len(one) <= WIDTH or not items:
        return [one]
    return [f"{indent}{before}", *(f"{indent}{STEP}{item}," for item in items), f"{indent}{after}"]


def _escaped(character: str) -> str:
    if character in ('"', "\\"):
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\u{{{code:x}}}"


LONGEST: Final = 60
"""The longest type that stands in the place where it is used."""

Hint = tuple[str, ...]

_PRIMITIVES: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


class TypescriptAlias(Struct, frozen=True):
    """A name for a type that is no interface."""

    name: str
    members: tuple[str, ...]
    """The members of a union, or the one type that it is."""
    doc: str = ""


class TypescriptTypes:
    """The types of one module."""

    def __init__(self, declarations: Iterable[Declaration], scope: IdentifierScope) -> None:
        self._scope = scope
        self._declared = {each.key: each for each in declarations}
        self._names = {
            key: scope.claim(pascal(each.hint, "Type")) for key, each in self._declared.items()
        }
        self._in_place: dict[tuple[Type, Hint], str] = {}
        self._written: dict[tuple[Type, Hint], list[str]] = {}
        self.aliases: list[TypescriptAlias] = []
        for key, each in self._declared.items():
            if not isinstance(each.type, RecordType):
                members = tuple(self._members(each.type, each.hint))
                self.aliases.append(TypescriptAlias(self._names[key], members, each.doc))

    def records(self) -> Iterator[tuple[str, Declaration, RecordType]]:
        """Those that are declared, each with its name."""
        for key, declaration in self._declared.items():
            if isinstance(declaration.type, RecordType):
                yield self._names[key], declaration, declaration.type

    def expression(self, type: Type, hint: Hint) -> str:
        """The type, for the place where it is used."""
        text = " | ".join(self._members(type, hint))
        return text if len(text) <= LONGEST else self._alias(type, hint)

    def _alias(self, type: Type, hint: Hint) -> str:
        if isinstance(type, TypeReference):
            return self._names[type.key]
        if (type, hint) not in self._in_place:
            self._in_place[type, hint] = name = self._scope.claim(pascal(hint, "Type"))
            self.aliases.append(TypescriptAlias(name, tuple(self._members(type, hint))))
        return self._in_place[type, hint]

    def _members(self, type: Type, hint: Hint) -> list[str]:
        """What a union consists of, each member written out; the type alone if it is none."""
        found = self._written.get((type, hint))
        if found is None:
            found = self._written[type, hint] = [*dict.fromkeys(self._write(type, hint))]
        return found

    def _write(self, type: Type, hint: Hint) -> list[str]:
        match type:
            case Union(members):
                return [text for member in members for text in self._members(member, hint)]
            case ConstantType(values):
                return [literal(value) for value in values] or ["never"]
            case _:
                return [self._one(type, hint)]

    def _one(self, type: Type, hint: Hint) -> str:
        match type:
            case NeverType():
                return "never"
            case Primitive(kind):
                return _PRIMITIVES[kind]
            case Array(item):
                return f"{self._bracketed(item, (*hint, 'item'))}[]"
            case Map(value):
                return f"{{ [key: string]: {self.expression(value, (*hint, 'value'))} }}"
            case Tuple(items, least, rest):
                return f"[{', '.join(self._places(items, least, rest, (*hint, 'item')))}]"
            case TypeReference(key):
                return self._names[key]
            case AnyType() | ConstantType() | Union():
                return "unknown"

    def _places(
        self, items: tuple[Type, ...], least: int, rest: Type | None, hint: Hint
    ) -> Iterator[str]:
        for index, item in enumerate(items):
            text = self._bracketed(item, (*hint, str(index + 1)))
            yield text if index < least else f"{text}?"
        if rest is not None:
            yield f"...{self._bracketed(rest, hint)}[]"

    def _bracketed(self, type: Type, hint: Hint) -> str:
        text, members = self.expression(type, hint), self._members(type, hint)
        return f"({text})" if len(members) > 1 and text == " | ".join(members) else text
