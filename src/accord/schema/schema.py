"""JSON Schemas with their definitions, and tools for references and subschemas.

There are schemas of strings for dates, durations, numbers as text, patterns and open enums. Regular
expressions of Python are translated to ECMAScript, the dialect of JSON Schema.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, unquote

from msgspec import Struct

Json: TypeAlias = Any
"""A schema as a JSON value: an object, `True` to allow anything, or `False` to allow nothing."""

Role: TypeAlias = Literal["Input", "Output"]
"""The direction of the values: input of a method, or output."""

DEFINITIONS = "#/$defs/"
"""The beginning of references inside a `Schema`; the name of a definition follows."""


class Schema(Struct, frozen=True):
    """A schema in JSON Schema 2020-12, with its definitions.

    Do not change a schema: its parts are shared with other schemas.
    """

    value: Json
    definitions: Mapping[str, Json] = {}
    """The targets of all `$ref`s in `value` and in the definitions, by name."""
    role: Role | None = None
    """The direction of the values. It distinguishes the input and output definitions of one class,
    which differ when fields have defaults."""


ANYTHING = Schema({})


ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""The keywords of JSON Schema whose value is one schema. `items` is in `MANY` as well: in older
drafts its value may be a list."""
MANY = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
"""The keywords of JSON Schema whose value is a list of schemas."""
NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""The keywords of JSON Schema whose value is an object with schemas as members."""


def change_parts(schema: dict[str, Any], change: Callable[[Json], Json]) -> dict[str, Any]:
    """Return a copy of `schema` with each schema directly inside it replaced by `change`."""
    return {keyword: _changed(keyword, value, change) for keyword, value in schema.items()}


def _changed(keyword: str, value: Any, change: Callable[[Json], Json]) -> Any:
    if keyword in MANY and isinstance(value, list):
        return [change(each) for each in value]
    if keyword in NAMED and isinstance(value, dict):
        return {name: change(each) for name, each in value.items()}
    if keyword in ONE and isinstance(value, dict | bool):
        return change(value)
    return value


_UNFIT = re.compile(r"[^a-zA-Z0-9.\-_]+")


def reference(name: str, under: str = DEFINITIONS) -> str:
    """Return the `$ref` to the definition `name`."""
    return under + quote(name.replace("~", "~0").replace("/", "~1"), safe="~!$&'()*+,;=:@")


def referred(ref: Any, under: str = DEFINITIONS) -> tuple[str, str] | None:
    """Split a reference into the name of a definition and the path inside it.

    Return None if `ref` does not lead to a definition.
    """
    if not isinstance(ref, str) or not ref.startswith(under):
        return None
    name, slash, rest = ref.removeprefix(under).partition("/")
    return unquote(name).replace("~1", "/").replace("~0", "~"), slash + rest


def component_key(name: str) -> str:
    """Return `name` as a key that OpenRPC and OpenAPI allow: letters, digits, `.`, `-` and `_`."""
    return _UNFIT.sub("_", name).strip("_") or "_"


def change_references(schema: Json, change: Callable[[str], Json]) -> Json:
    """Return a copy of `schema` with every `$ref`, at any depth, replaced.

    `change` gets the text of the `$ref`, and returns the members that replace it.
    """
    if not isinstance(schema, dict):
        return schema
    changed = change_parts(schema, lambda part: change_references(part, change))
    if isinstance(schema.get("$ref"), str):
        del changed["$ref"]
        changed = {**change(schema["$ref"]), **changed}
    return changed


def makes_members(cls: type[enum.Enum]) -> bool:
    """Return whether an enum class may create members for unlisted values.

    It may if it is a class of flags, which can be combined, or has its own `_missing_`.
    """
    return issubclass(cls, enum.Flag) or is_asked(cls)


def is_asked(cls: type[enum.Enum]) -> bool:
    """Return whether an enum class overrides `_missing_`, which gets unlisted values."""
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
"""The schema of a written decimal. A decimal that is read may be a number, or any string that
Python's Decimal accepts."""

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
    """Return the schema of a date with a time.

    An offset from UTC is required if `tz` is True, refused if False, and optional if None.
    """
    return _at(f"{_DATE}[Tt ]{_TIME}", tz, "2026-01-31T12:00:00")


def time(tz: bool | None) -> Json:
    """Return the schema of a time.

    An offset from UTC is required if `tz` is True, refused if False, and optional if None.
    """
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
    """Translate a Python regular expression to ECMAScript; None if that is impossible.

    Groups lose their names, because Python and ECMAScript write names differently, and validators
    of both languages read schemas.
    """
    tokens = list(_tokens(_TOKEN, pattern))
    if "".join(found[0] for found in tokens) != pattern:
        return None
    groups = [found["name"] for found in tokens if found.lastgroup in ("named", "group")]
    written = [_write(found, groups) for found in tokens]
    return None if None in written else "".join(each or "" for each in written)


def _tokens(of: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the tokens of `text`, up to the first character that begins no token."""
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
