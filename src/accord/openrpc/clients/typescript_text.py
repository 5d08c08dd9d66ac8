"""Pieces of TypeScript source: literals, comments, members, brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from accord.openrpc.clients.model import Scalar
from accord.openrpc.clients.prose import lines

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
