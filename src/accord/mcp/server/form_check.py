"""Checks what came back for a form against its schema, without the type it was made from.

Any process can do so: the schema is part of the question that was asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_MATCHED: Final = 10_000
"""The limit of a text that is matched against a pattern; longer texts do not match."""


def problem_with(content: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the problem with `content`; empty if it is valid.

    Unknown fields are allowed.
    """
    for name in schema.get("required", ()):
        if name not in content:
            return f"field '{name}' is missing"
    for name, field in schema["properties"].items():
        if name in content:
            expected = _expected(content[name], field)
            if expected:
                return f"field '{name}' must be {expected}"
    return ""


def _expected(value: Any, field: Mapping[str, Any]) -> str:
    """Return a description of a valid value; empty if `value` is valid."""
    noun, fits = _KINDS[field["type"]]
    if not fits(value):
        return noun
    if field["type"] == "array":
        return _expected_choices(value, field)
    choices = _choices(field)
    if choices is not None:
        return "" if value in choices else "one of the choices"
    if isinstance(value, str):
        return _expected_text(value, field)
    return _expected_number(value, field) if not isinstance(value, bool) else ""


def _expected_choices(values: list[Any], field: Mapping[str, Any]) -> str:
    choices = _choices(field["items"])
    if choices is not None and any(value not in choices for value in values):
        return "a list of the choices"
    if len(values) < field.get("minItems", 0):
        return f"{field['minItems']} or more of the choices"
    if len(values) > field.get("maxItems", len(values)):
        return f"at most {field['maxItems']} of the choices"
    return ""


def _expected_text(value: str, field: Mapping[str, Any]) -> str:
    if len(value) < field.get("minLength", 0):
        return f"{field['minLength']} or more characters long"
    if len(value) > field.get("maxLength", len(value)):
        return f"at most {field['maxLength']} characters long"
    pattern = field.get("pattern")
    if pattern is not None and (len(value) > MAX_MATCHED or not re.search(pattern, value)):
        return "in the form that was asked for"
    return ""


def _expected_number(value: float, field: Mapping[str, Any]) -> str:
    if value < field.get("minimum", value):
        return f"{field['minimum']} or more"
    if value > field.get("maximum", value):
        return f"{field['maximum']} or less"
    return ""


def _choices(field: Mapping[str, Any]) -> list[Any] | None:
    if "enum" in field:
        return list(field["enum"])
    options = field.get("oneOf", field.get("anyOf"))
    return None if options is None else [option["const"] for option in options]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and float(value).is_integer()


_KINDS: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "string": ("a string", lambda value: isinstance(value, str)),
    "number": ("a number", _is_number),
    "integer": ("an integer", _is_integer),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "array": ("a list", lambda value: isinstance(value, list)),
}
