"""Identifiers, comment lines and namespaces for generated clients.

They are made from the names and texts of an OpenRPC document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from textwrap import wrap
from typing import Final
from unicodedata import normalize

from msgspec import Struct

from accord.openrpc.clients.model import ApiMethod

MAX_IDENTIFIER: Final = 40
"""Maximum length of an identifier; longer ones are cut, and numbered where that makes them
equal."""

_WORD_ENDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")


def words(text: str) -> list[str]:
    """Return the words of a name in any style: `userName`, `user-name`, `user.name`."""
    known = "".join(map(_kept, normalize("NFKC", text[: 4 * MAX_IDENTIFIER])))
    return [word for part in known.split() for word in _WORD_ENDS.split(part) if word]


def snake(text: str, otherwise: str) -> str:
    """Return `text` in snake case, such as `user_name`.

    `otherwise` replaces an empty name, and precedes a name that begins with a digit.
    """
    return _identifier("_".join(words(text)).lower(), f"{otherwise}_", otherwise)


def pascal(texts: Iterable[str], otherwise: str) -> str:
    """Return the words of all `texts` in Pascal case, such as `UserName`.

    The result begins with a capital letter, so that it differs from every result of `snake`.
    `otherwise` replaces an empty name, and precedes a name that begins with a digit, or with a
    letter that has no capital form.
    """
    found = [word for text in texts for word in words(text)]
    joined = "".join(word[:1].upper() + word[1:] for word in found)
    name = _identifier(joined, otherwise, otherwise)
    return name if name[:1].isupper() else otherwise + name


def camel(text: str, otherwise: str) -> str:
    """Return `text` in camel case, such as `userName`.

    A `text` that is already an identifier, of up to `MAX_IDENTIFIER` characters, is returned
    unchanged. `otherwise` replaces
    an empty name, and precedes a name that begins with a digit.
    """
    if _IDENTIFIER.fullmatch(text) and len(text) <= MAX_IDENTIFIER:
        return text
    first, *others = words(text) or [""]
    joined = first[:1].lower() + first[1:] + "".join(word[:1].upper() + word[1:] for word in others)
    return _identifier(joined, otherwise, otherwise)


class IdentifierScope:
    """A set of unique identifiers for one scope."""

    def __init__(self, reserved: Iterable[str] = (), *, between: str = "_") -> None:
        self._taken = set(reserved)
        self._between = between
        self._numbers: dict[str, int] = {}

    def claim(self, name: str) -> str:
        """Return `name`, numbered if it is taken, and mark the result as taken."""
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
    name = normalize("NFKC", name)[:MAX_IDENTIFIER].rstrip("_")
    if name and not name.isidentifier():
        name = before_digit + name
    return name if name.isidentifier() else otherwise


_LINE_ENDS: Final = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def line(text: str) -> str:
    """Return the text on one line; unprintable characters become spaces."""
    return " ".join(_printable(text).split())


def lines(text: str, width: int) -> list[str]:
    """Return the text wrapped to `width` characters, without breaking words.

    One blank line remains between paragraphs.
    """
    found: list[str] = []
    for each in _LINE_ENDS.split(text.strip()):
        shown = _printable(each).rstrip()
        if shown or (found and found[-1]):
            indent = shown[: len(shown) - len(shown.lstrip())]
            found += wrap(
                shown,
                max(width, 20),
                subsequent_indent=indent[:8],
                break_long_words=False,
                break_on_hyphens=False,
            ) or [""]
    while found and not found[-1]:
        found.pop()
    return found


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


MAX_NAMESPACES: Final = 8
"""Maximum number of nested namespaces made from a dotted name; the rest is one name."""


class ClientNamespace(Struct, frozen=True):
    """A namespace of a client: methods and inner namespaces, by identifier."""

    path: tuple[str, ...]
    """The parts of a method name that lead to this namespace, as spelled in the document."""
    places: dict[str, ClientNamespace]
    methods: dict[str, ApiMethod]


class _NamespaceBuilder:
    def __init__(self) -> None:
        self.places: dict[str, _NamespaceBuilder] = {}
        self.methods: dict[str, ApiMethod] = {}


def build_namespaces(
    methods: Iterable[ApiMethod],
    *,
    flat: bool,
    identifier: Callable[[str], str],
    taken: Iterable[str],
) -> ClientNamespace:
    """Return the root namespace, which contains all methods.

    `identifier` turns a name into an identifier. In the root, an underscore is appended to
    identifiers in `taken`. With `flat`, the root contains all methods directly.
    """
    root = _NamespaceBuilder()
    for method in methods:
        *path, last = [method.name] if flat else _parts(method.name)
        at = root
        for part in path:
            at = at.places.setdefault(part, _NamespaceBuilder())
        at.methods[last if last not in at.methods else method.name] = method
    return _place(root, (), identifier, frozenset(taken))


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split(".", MAX_NAMESPACES) if part]
    return parts or [name]


def _place(
    growing: _NamespaceBuilder,
    path: tuple[str, ...],
    identifier: Callable[[str], str],
    taken: frozenset[str],
) -> ClientNamespace:
    """Return the finished namespace for a builder, `growing`.

    Inner namespaces get their identifiers before methods do, because all methods of a namespace
    share its name.
    """
    scope = IdentifierScope(taken)

    def claim(name: str) -> str:
        found = identifier(name)
        return scope.claim(f"{found}_" if found in taken else found)

    places = {
        claim(name): _place(below, (*path, name), identifier, frozenset())
        for name, below in growing.places.items()
    }
    methods = {claim(name): method for name, method in growing.methods.items()}
    return ClientNamespace(path, places, methods)
