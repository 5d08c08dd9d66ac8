"""Pieces of Python source, laid out as `ruff format` does: strings, docstrings, brackets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from accord.openrpc.clients.model import Scalar
from accord.openrpc.clients.prose import lines

WIDTH: Final = 88
STEP: Final = "    "


def literal(value: Scalar) -> str:
    """What may stand in `Literal`."""
    return string(value) if isinstance(value, str) else repr(value)


def string(text: str) -> str:
    """A string literal that gives exactly this text, in printable characters."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(_escaped(each, quote) for each in text) + quote


def docstring(paragraphs: Iterable[Sequence[str]], indent: str) -> list[str]:
    """A docstring of paragraphs, each of them lines; none where there is nothing to say."""
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
    """A text of the document as lines of a docstring."""
    return lines(text, WIDTH - len(indent) - 3)


def bracketed(
    indent: str, before: str, items: Sequence[str], after: str, *, lonely_comma: bool = False
) -> list[str]:
    """`before`, items, `after` on one line, or each item on its own.

    `lonely_comma` is for tuples, where one item alone has a comma.
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
