"""Names of a document made identifiers: words told apart, put together in a style, unique.

The same names in the same order give the same identifiers. What a language keeps for itself is
told by whoever asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from unicodedata import normalize

LONGEST: Final = 40
"""Longer identifiers are cut; numbers tell those apart that are the same then."""

_WORD_ENDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")


def words(text: str) -> list[str]:
    """The words in a name, however it is written: `userName`, `user-name`, `user.name`."""
    known = "".join(map(_kept, normalize("NFKC", text[: 4 * LONGEST])))
    return [word for part in known.split() for word in _WORD_ENDS.split(part) if word]


def snake(text: str, otherwise: str) -> str:
    """`user_name`; `otherwise` where nothing is left, and before a digit."""
    return _identifier("_".join(words(text)).lower(), f"{otherwise}_", otherwise)


def pascal(texts: Iterable[str], otherwise: str) -> str:
    """`UserName`, of all the words together. It begins with a capital, which a `snake` name has
    nowhere: `otherwise` stands before letters that have none."""
    found = [word for text in texts for word in words(text)]
    joined = "".join(word[:1].upper() + word[1:] for word in found)
    name = _identifier(joined, otherwise, otherwise)
    return name if name[:1].isupper() else otherwise + name


def camel(text: str, otherwise: str) -> str:
    """`userName`; a name that is an identifier already stays as it is."""
    if _IDENTIFIER.fullmatch(text) and len(text) <= LONGEST:
        return text
    first, *others = words(text) or [""]
    joined = first[:1].lower() + first[1:] + "".join(word[:1].upper() + word[1:] for word in others)
    return _identifier(joined, otherwise, otherwise)


class Scope:
    """The identifiers of one place, each of which is there once."""

    def __init__(self, reserved: Iterable[str] = (), *, between: str = "_") -> None:
        self._taken = set(reserved)
        self._between = between
        self._numbers: dict[str, int] = {}

    def claim(self, name: str) -> str:
        """`name`, with a number behind it if it is taken."""
        found = name
        while found in self._taken:
            self._numbers[name] = self._numbers.get(name, 1) + 1
            found = f"{name}{self._between}{self._numbers[name]}"
        self._taken.add(found)
        return found


_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _kept(character: str) -> str:
    return character if f"a{character}".isidentifier() and ord(character) <= 0xFFFF else " "


def _identifier(name: str, before_digit: str, otherwise: str) -> str:
    name = normalize("NFKC", name)[:LONGEST].rstrip("_")
    if name and not name.isidentifier():
        name = before_digit + name
    return name if name.isidentifier() else otherwise
