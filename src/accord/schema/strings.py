"""Schemas of strings: dates, durations and numbers as text, patterns, open enums.

Regular expressions of Python are translated to the dialect of JSON Schema, which is ECMAScript's.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from typing import Any

from accord.schema.schema import Json


def makes_members(cls: type[enum.Enum]) -> bool:
    """Whether values that it does not list have a member too: flags add up, others are asked."""
    return issubclass(cls, enum.Flag) or is_asked(cls)


def is_asked(cls: type[enum.Enum]) -> bool:
    """Whether the class itself decides about values that it does not list."""
    own: Any = cls._missing_
    return all(
        own.__func__ is not each.__dict__["_missing_"].__func__ for each in (enum.Enum, enum.Flag)
    )


_DATE = (
    "(?!0000)[0-9]{4}-("
    "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|[12][0-9]))"
)
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?"
_OFFSET = "([Zz]|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])"
_AMOUNT = r"[0-9]+(\.[0-9]+)?"
_HOURS = (
    f"({_AMOUNT}[Hh]({_AMOUNT}[Mm])?({_AMOUNT}[Ss])?|{_AMOUNT}[Mm]({_AMOUNT}[Ss])?|{_AMOUNT}[Ss])"
)


def _written(pattern: str, example: str) -> Json:
    return {"type": "string", "pattern": f"^{pattern}$", "examples": [example]}


UUID = _written(
    "([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})",
    "6b8f7c5e-3d0a-4f6b-9a51-2f1f0c7f9d3e",
)
DATE = _written(_DATE, "2026-01-31")
DURATION = _written(f"[+-]?[Pp]({_AMOUNT}[Dd]([Tt]{_HOURS})?|[Tt]{_HOURS})", "PT90S")
DECIMAL = _written(r"-?([0-9]+(\.[0-9]+)?(E[+-][0-9]+)?|Infinity|s?NaN[0-9]*)", "12.50")
"""As it is written. What is read may be a number, or any string that Python makes one of."""

BASE64: Json = {
    "type": "string",
    "contentEncoding": "base64",
    "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
}
INTEGER_KEY: Json = {"pattern": "^-?(0|[1-9][0-9]*)$"}
NUMBER_KEY: Json = {
    "pattern": r"^-?((0|[1-9][0-9]*)(\.[0-9]+)?([Ee][+-]?[0-9]+)?"
    "|[Nn][Aa][Nn]|[Ii][Nn][Ff]([Ii][Nn][Ii][Tt][Yy])?)$"
}


def datetime(tz: bool | None) -> Json:
    """With an offset from UTC, without one, or either."""
    return _at(f"{_DATE}[Tt ]{_TIME}", tz, "2026-01-31T12:00:00")


def time(tz: bool | None) -> Json:
    """With an offset from UTC, without one, or either."""
    return _at(_TIME, tz, "12:00:00")


def _at(pattern: str, tz: bool | None, example: str) -> Json:
    if tz is False:
        return _written(pattern, example)
    return _written(pattern + _OFFSET + ("" if tz else "?"), example + "Z")


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
