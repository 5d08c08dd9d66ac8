"""How values that JSON has no type for are written as strings, and what says so in a schema.

A pattern tells the form, and an example makes it plain. No `format` does: each is either
narrower than what is read and written here (`date-time` demands an offset, `duration` knows
no fractions) or unknown to some validators, which then stop.
"""

from __future__ import annotations

from accord.schema.schema import Json

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
