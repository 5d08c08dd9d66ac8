"""Regular expressions of Python in the dialect of JSON Schema, which is ECMAScript's.

A pattern that ECMAScript cannot read stops many validators, so every escape is written as it
is read in its strictest mode, and what it has no word for is given up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<named>\(\?P?<(?P<name>[A-Za-z_]\w*)>)
      | (?P<group>\((?!\?))
      | (?P<back>\(\?P=(?P<of>[A-Za-z_]\w*)\))
      | (?P<other>\(\?(?:[:=!]|<[=!]))
      | (?P<start>\\A)
      | (?P<end>\\[Zz])
      | (?P<known>\\(?:[dDwWsSbBnrtfv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[1-9]\d?|[pP]\{\w+\}))
      | (?P<escape>\\[^A-Za-z0-9])
      | (?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
      | (?P<most>\{,\d+\})(?!\+)
      | (?P<times>[*+?]|\{\d+(?:,\d*)?\})(?!\+)
      | (?P<bracket>[\]{}])(?!\+)
      | (?P<plain>[^\\(\[\]{}*+?])
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_SET = re.compile(
    r"""(?P<known>\\(?:[dDwWsSbnrtfv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[pP]\{\w+\}))
      | (?P<escape>\\[^A-Za-z0-9])
      | (?P<bracket>\[(?!:))
      | (?P<plain>[^\\\[&~]|[&~](?![&~]))
    """,
    re.VERBOSE | re.DOTALL,
)
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")


def to_ecma(pattern: str) -> str | None:
    """`pattern` as ECMAScript writes it; None when it cannot say the same.

    Groups lose their names: Python and ECMAScript write them differently, and validators of
    both read schemas.
    """
    tokens = list(_tokens(_TOKEN, pattern))
    if "".join(found[0] for found in tokens) != pattern:
        return None
    groups = [found["name"] for found in tokens if found.lastgroup in ("named", "group")]
    written = [_write(found, groups) for found in tokens]
    return None if None in written else "".join(each or "" for each in written)


def _tokens(of: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The tokens that `text` begins with, up to one that is unknown."""
    at = 0
    while found := of.match(text, at):
        yield found
        at = found.end()


def _write(found: re.Match[str], groups: list[str | None]) -> str | None:
    match found.lastgroup, found[0]:
        case "named", _:
            return "("
        case "back", _:
            return rf"(?:\{groups.index(found['of']) + 1})"
        case "start", _:
            return "^"
        case "end", _:
            return "$"
        case "escape", text:
            return text if text[1] in _SYNTAX else text[1]
        case "bracket", text:
            return "\\" + text
        case "most", text:
            return "{0" + text[1:]
        case "set", text:
            return _write_set(text)
        case _, text:
            return text


def _write_set(text: str) -> str | None:
    start = "[^" if text.startswith("[^") else "["
    inner = text.removeprefix(start)[:-1]
    if inner.startswith("]"):  # in ECMAScript it would end the set
        start, inner = start + "\\]", inner[1:]
    tokens = list(_tokens(_IN_SET, inner))
    if "".join(found[0] for found in tokens) != inner:
        return None
    return start + "".join(_write_in_set(found) for found in tokens) + "]"


def _write_in_set(found: re.Match[str]) -> str:
    text = found[0]
    if found.lastgroup == "bracket":
        return "\\" + text
    if found.lastgroup == "escape" and text[1] not in _SYNTAX | {"-"}:
        return text[1]
    return text
