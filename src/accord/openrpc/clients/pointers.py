"""References inside a document (RFC 6901), and the error for what a document gets wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote


class DocumentError(ValueError):
    """A document from which no client can be written. The message says where and why."""


class Document:
    """A document, and what references in it refer to."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def follow(self, value: Any, where: str) -> Any:
        """`value`, or what it refers to if it is a reference."""
        seen: set[str] = set()
        while isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            if reference in seen:
                raise DocumentError(f"{where}: the reference {shown(reference)} leads to itself")
            seen.add(reference)
            value = self.find(reference, where)
        return value

    def find(self, reference: str, where: str) -> Any:
        """What a local reference refers to. Raises `DocumentError`."""
        value = self.content
        for part in parts(reference, where):
            value = _step(value, part)
            if value is _MISSING:
                raise DocumentError(f"{where}: nothing is at {shown(reference)}")
        return value


def is_local(reference: str) -> bool:
    return reference.startswith("#")


def parts(reference: str, where: str) -> list[str]:
    """The names that lead to what a local reference refers to. Raises `DocumentError`."""
    if not is_local(reference):
        raise DocumentError(f"{where}: {shown(reference)} is not in the document")
    pointer = unquote(reference[1:], errors="replace")
    if pointer and not pointer.startswith("/"):
        raise DocumentError(f"{where}: {shown(reference)} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def below(where: str, *names: object) -> str:
    """The place of what is called so inside of `where`."""
    return "/".join((where, *(_escaped(str(name)) for name in names)))


def shown(text: str) -> str:
    """A text from the document as messages show it: short, and on one line."""
    return repr(text if len(text) <= 100 else f"{text[:100]}…")


def expect(value: Any, kind: type | tuple[type, ...], where: str, what: str) -> Any:
    """`value`, if it is of that kind. Raises `DocumentError` that calls it `what`."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise DocumentError(f"{where}: {what}, and not {_described(value)}")
    return value


def _described(value: Any) -> str:
    names: Iterable[tuple[type, str]] = (
        (type(None), "null"),
        (bool, "a boolean"),
        (str, "a string"),
        (list, "an array"),
        (dict, "an object"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "a number")


_MISSING = object()


def _step(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part, _MISSING)
    if isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
        return value[int(part)]
    return _MISSING


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1").replace("%", "%25")
