"""Types as TypeScript writes them. Every declaration gets a name; what is too long for its place
becomes an alias of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from accord.openrpc.clients.model import (
    Anything,
    Array,
    Constant,
    Declaration,
    Map,
    Nothing,
    Primitive,
    Record,
    Reference,
    Tuple,
    Type,
    Union,
)
from accord.openrpc.clients.names import Scope, pascal
from accord.openrpc.clients.typescript_text import literal

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


class Alias(Struct, frozen=True):
    """A name for a type that is no interface."""

    name: str
    members: tuple[str, ...]
    """The members of a union, or the one type that it is."""
    doc: str = ""


class TypescriptTypes:
    """The types of one module."""

    def __init__(self, declarations: Iterable[Declaration], scope: Scope) -> None:
        self._scope = scope
        self._declared = {each.key: each for each in declarations}
        self._names = {
            key: scope.claim(pascal(each.hint, "Type")) for key, each in self._declared.items()
        }
        self._in_place: dict[tuple[Type, Hint], str] = {}
        self._written: dict[tuple[Type, Hint], list[str]] = {}
        self.aliases: list[Alias] = []
        for key, each in self._declared.items():
            if not isinstance(each.type, Record):
                members = tuple(self._members(each.type, each.hint))
                self.aliases.append(Alias(self._names[key], members, each.doc))

    def records(self) -> Iterator[tuple[str, Declaration, Record]]:
        """Those that are declared, each with its name."""
        for key, declaration in self._declared.items():
            if isinstance(declaration.type, Record):
                yield self._names[key], declaration, declaration.type

    def expression(self, type: Type, hint: Hint) -> str:
        """The type, for the place where it is used."""
        text = " | ".join(self._members(type, hint))
        return text if len(text) <= LONGEST else self._alias(type, hint)

    def _alias(self, type: Type, hint: Hint) -> str:
        if isinstance(type, Reference):
            return self._names[type.key]
        if (type, hint) not in self._in_place:
            self._in_place[type, hint] = name = self._scope.claim(pascal(hint, "Type"))
            self.aliases.append(Alias(name, tuple(self._members(type, hint))))
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
            case Constant(values):
                return [literal(value) for value in values] or ["never"]
            case _:
                return [self._one(type, hint)]

    def _one(self, type: Type, hint: Hint) -> str:
        match type:
            case Nothing():
                return "never"
            case Primitive(kind):
                return _PRIMITIVES[kind]
            case Array(item):
                return f"{self._bracketed(item, (*hint, 'item'))}[]"
            case Map(value):
                return f"{{ [key: string]: {self.expression(value, (*hint, 'value'))} }}"
            case Tuple(items, least, rest):
                return f"[{', '.join(self._places(items, least, rest, (*hint, 'item')))}]"
            case Reference(key):
                return self._names[key]
            case Anything() | Constant() | Union():
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
