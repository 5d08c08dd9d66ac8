"""How values that JSON has no type for are written as strings, and what says so in a schema.

A `format` is given only where it fits all that is meant; else a pattern tells the form.
"""

from __future__ import annotations

from accord.schema.schema import Json

_DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
_OFFSET = r"([Zz]|[+-]([01]\d|2[0-3]):?[0-5]\d)"
_DECIMALS = r"\d+(\.\d+)?"

UUID: Json = {"type": "string", "format": "uuid"}
DATE: Json = {"type": "string", "format": "date"}
DURATION: Json = {
    "type": "string",
    "pattern": f"^[+-]?[Pp](?=.)({_DECIMALS}[Dd])?([Tt](?=.)({_DECIMALS}[Hh])?"
    f"({_DECIMALS}[Mm])?({_DECIMALS}[Ss])?)?$",
    "examples": ["PT90S"],
}
DECIMAL: Json = {
    "type": "string",
    "pattern": r"^-?(\d+(\.\d+)?(E[+-]\d+)?|Infinity|s?NaN\d*)$",
    "examples": ["12.50"],
}
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
    if tz:
        return {"type": "string", "format": "date-time"}
    return _string(f"{_DATE}[Tt ]{_TIME}", tz, "2026-01-31T12:00:00")


def time(tz: bool | None) -> Json:
    if tz:
        return {"type": "string", "format": "time"}
    return _string(_TIME, tz, "12:00:00")


def _string(pattern: str, tz: bool | None, example: str) -> Json:
    offset = f"{_OFFSET}?" if tz is None else ""
    zone = "Z" if tz is None else ""
    return {"type": "string", "pattern": f"^{pattern}{offset}$", "examples": [example + zone]}
