"""Validation of values against JSON Schema 2020-12, without I/O.

The schemas come from servers that are not trusted: nothing is fetched, work and depth are bounded,
and `pattern` is ignored, as a hostile pattern can take forever. Unknown or malformed keywords,
`format` and the `unevaluated…` keywords constrain nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

MAX_STEPS: Final = 100_000
"""Maximum number of schemas applied in the check of one value."""
MAX_DEPTH: Final = 100
"""Maximum depth of schemas applied inside each other."""

Keyword: TypeAlias = Callable[["_Check", Any, Any, dict[str, Any], str], "str | None"]
"""A function that checks one keyword. Its parameters are the check in progress, the keyword's
value, the value to check, the surrounding schema, and the path of the value. It returns the
problem, or None."""


class TooComplexError(Exception):
    """A check that exceeds `MAX_STEPS` or `MAX_DEPTH`."""


class JsonSchema:
    """A schema whose references lead to parts of itself."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self._anchors: dict[str, Any] | None = None

    def problem(self, value: Any) -> str | None:
        """Return why `value` is invalid, in one sentence; None if it is valid.

        If there are several reasons, the first is returned.

        Raises TooComplexError if the check exceeds `MAX_STEPS` or `MAX_DEPTH`.
        """
        return _Check(self).apply(self.schema, value, "the value")

    def find(self, reference: Any) -> Any:
        """Return the target of a `$ref` within this schema.

        For a `$ref` without a target here return True, the schema that allows anything.
        """
        if not isinstance(reference, str) or not reference.startswith("#"):
            return True
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            return self._anchored().get(fragment, True)
        found = self.schema
        for part in fragment.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            elif isinstance(found, dict) and part in found:
                found = found[part]
            else:
                return True
        return found

    def _anchored(self) -> dict[str, Any]:
        if self._anchors is None:
            self._anchors = {}
            waiting, seen = [self.schema], 0
            while waiting and seen < MAX_STEPS:
                each = waiting.pop()
                seen += 1
                if isinstance(each, dict):
                    if isinstance(each.get("$anchor"), str):
                        self._anchors.setdefault(each["$anchor"], each)
                    waiting.extend(each.values())
                elif isinstance(each, list):
                    waiting.extend(each)
        return self._anchors


class _Check:
    """The check of one value."""

    __slots__ = ("_depth", "_steps", "_whole")

    def __init__(self, whole: JsonSchema) -> None:
        self._whole = whole
        self._steps = 0
        self._depth = 0

    def apply(self, schema: Any, value: Any, where: str) -> str | None:
        """Return the first problem of `value` under `schema`; None if it is valid."""
        if schema is False:
            return f"{where} must not be there"
        if not isinstance(schema, dict):
            return None
        self._steps += 1
        self._depth += 1
        if self._steps > MAX_STEPS or self._depth > MAX_DEPTH:
            raise TooComplexError
        try:
            for name, argument in schema.items():
                keyword = _KEYWORDS.get(name)
                if keyword is not None:
                    problem = keyword(self, argument, value, schema, where)
                    if problem is not None:
                        return problem
            return None
        finally:
            self._depth -= 1

    def fits(self, schema: Any, value: Any) -> bool:
        return self.apply(schema, value, "") is None

    def refer(self, reference: Any, value: Any, where: str) -> str | None:
        return self.apply(self._whole.find(reference), value, where)

    def count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise TooComplexError


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
}


def _same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _key(value: Any) -> Any:
    """Return a hashable key of a JSON value; equal values have equal keys."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", tuple(_key(each) for each in value))
        case dict():
            return ("object", frozenset((name, _key(each)) for name, each in value.items()))
        case _:
            return value


# Any value


def _type(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    names = argument if isinstance(argument, list) else [argument]
    tests = [_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES]
    if not tests or any(test(value) for test in tests):
        return None
    return f"{where} is not of type {' or '.join(map(str, names))}"


def _enum(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not isinstance(argument, list):
        return None
    check.count(len(argument))
    return None if any(_same(each, value) for each in argument) else f"{where} is no allowed value"


def _const(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    return None if _same(argument, value) else f"{where} is not the value it must be"


def _ref(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    return check.refer(argument, value, where)


def _all_of(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    for each in argument if isinstance(argument, list) else ():
        problem = check.apply(each, value, where)
        if problem is not None:
            return problem
    return None


def _any_of(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not isinstance(argument, list) or any(check.fits(each, value) for each in argument):
        return None
    return f"{where} fits none of the alternatives"


def _one_of(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not isinstance(argument, list):
        return None
    fitting = sum(check.fits(each, value) for each in argument)
    return None if fitting == 1 else f"{where} fits {fitting} of the alternatives, not one"


def _not(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    return f"{where} is what it must not be" if check.fits(argument, value) else None


def _if(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    branch = "then" if check.fits(argument, value) else "else"
    return check.apply(schema.get(branch, True), value, where)


# Numbers and strings


def _bound(within: Callable[[Any, Any], bool], words: str) -> Keyword:
    def keyword(check: Any, argument: Any, value: Any, schema: Any, where: str) -> str | None:
        if not _is_number(argument) or not _is_number(value) or within(value, argument):
            return None
        return f"{where} is not {words} {argument}"

    return keyword


def _multiple(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not _is_number(argument) or not _is_number(value) or argument <= 0:
        return None
    try:
        parts = value / argument
    except OverflowError:
        return None
    whole = isfinite(parts) and (value % argument == 0 or abs(parts - round(parts)) < 1e-9)
    return None if whole else f"{where} is no multiple of {argument}"


def _size(kind: type, least: bool, of: str) -> Keyword:
    def keyword(check: Any, argument: Any, value: Any, schema: Any, where: str) -> str | None:
        if not isinstance(value, kind) or not _is_number(argument):
            return None
        if len(value) >= argument if least else len(value) <= argument:  # type: ignore[arg-type]
            return None
        return f"{where} has {'less' if least else 'more'} than {argument} {of}"

    return keyword


# Arrays


def _items(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not isinstance(value, list):
        return None
    before = schema.get("prefixItems")
    start = len(before) if isinstance(before, list) else 0
    for index in range(start, len(value)):
        problem = check.apply(argument, value[index], f"{where}[{index}]")
        if problem is not None:
            return problem
    return None


def _prefix(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not isinstance(value, list) or not isinstance(argument, list):
        return None
    for index, (each, item) in enumerate(zip(argument, value, strict=False)):
        problem = check.apply(each, item, f"{where}[{index}]")
        if problem is not None:
            return problem
    return None


def _contains(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not isinstance(value, list):
        return None
    found = sum(check.fits(argument, item) for item in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains")
    if _is_number(least) and found < least:
        return f"{where} has too few of the items that it must contain"
    if most is not None and _is_number(most) and found > most:
        return f"{where} has too many of the items that it may contain"
    return None


def _unique(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if argument is not True or not isinstance(value, list):
        return None
    check.count(len(value))
    if len({_key(item) for item in value}) == len(value):
        return None
    return f"{where} has an item twice"


# Objects


def _properties(
    check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str
) -> Any:
    if not isinstance(value, dict) or not isinstance(argument, dict):
        return None
    for name, each in argument.items():
        if name in value:
            problem = check.apply(each, value[name], f"{where}.{name}")
            if problem is not None:
                return problem
    return None


def _additional(
    check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str
) -> Any:
    if not isinstance(value, dict) or schema.get("patternProperties"):
        return None  # which of them match is not known, as patterns are not looked at
    known = schema.get("properties")
    for name, each in value.items():
        if not isinstance(known, dict) or name not in known:
            problem = check.apply(argument, each, f"{where}.{name}")
            if problem is not None:
                return problem
    return None


def _required(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not isinstance(value, dict) or not isinstance(argument, list):
        return None
    missing = next((name for name in argument if name not in value), None)
    return None if missing is None else f"{where} lacks '{missing}'"


def _names(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    for name in value if isinstance(value, dict) else ():
        problem = check.apply(argument, name, f"the name '{name}' in {where}")
        if problem is not None:
            return problem
    return None


def _dependent_required(
    check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str
) -> Any:
    if not isinstance(value, dict) or not isinstance(argument, dict):
        return None
    for name, needed in argument.items():
        if name in value:
            problem = _required(check, needed, value, schema, where)
            if problem is not None:
                return problem
    return None


def _dependent(check: _Check, argument: Any, value: Any, schema: dict[str, Any], where: str) -> Any:
    if not isinstance(value, dict) or not isinstance(argument, dict):
        return None
    for name, each in argument.items():
        if name in value:
            problem = check.apply(each, value, where)
            if problem is not None:
                return problem
    return None


_KEYWORDS: Final[dict[str, Keyword]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "$ref": _ref,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "minimum": _bound(lambda value, bound: bool(value >= bound), "at least"),
    "maximum": _bound(lambda value, bound: bool(value <= bound), "at most"),
    "exclusiveMinimum": _bound(lambda value, bound: bool(value > bound), "above"),
    "exclusiveMaximum": _bound(lambda value, bound: bool(value < bound), "below"),
    "multipleOf": _multiple,
    "minLength": _size(str, True, "characters"),
    "maxLength": _size(str, False, "characters"),
    "minItems": _size(list, True, "items"),
    "maxItems": _size(list, False, "items"),
    "minProperties": _size(dict, True, "members"),
    "maxProperties": _size(dict, False, "members"),
    "items": _items,
    "prefixItems": _prefix,
    "contains": _contains,
    "uniqueItems": _unique,
    "properties": _properties,
    "additionalProperties": _additional,
    "required": _required,
    "propertyNames": _names,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent,
}
