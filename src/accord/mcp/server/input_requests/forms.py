"""Forms of elicitations: a schema that clients can show, and the check of its answers.

2025-11-25, elicitation: a form is a flat object of simple fields. A form is made from a type, which
is also used to decode the answer, or from a hand-written schema. Clients of each protocol version
get only the schema members that the version defines.

Answers are checked against the schema alone, so any process can check them: the schema is part of
the request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Enum
from functools import lru_cache
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

from accord.jsonrpc.methods.binding import ParameterType, choose_type
from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.versions import V2025_11_25
from accord.schema.schema import DEFINITIONS
from accord.schema.types import accepts

VALUE: Final = "value"
"""The name of the only field in a form for one simple value."""

_KEPT: Final = {
    "string": ("title", "description", "minLength", "maxLength", "format", "default"),
    "integer": ("title", "description", "minimum", "maximum", "default"),
    "number": ("title", "description", "minimum", "maximum", "default"),
    "boolean": ("title", "description", "default"),
    "array": ("title", "description", "minItems", "maxItems", "default"),
}
_FORMATS: Final = frozenset(("email", "uri", "date", "date-time"))

MAX_MATCHED: Final = 10_000
"""The maximum length of a text that is matched against a pattern; longer texts are refused."""


class Form:
    """The form of an elicitation: its schema, and the decoding of its answers.

    Raises `RegistrationError` for a type or schema that is not a flat object of simple fields.
    """

    def __init__(self, asked: Any) -> None:
        self._type: ParameterType | None = None
        self._is_single = False
        if asked is None or asked is NoneType:
            self.schema: dict[str, Any] = {"type": "object", "properties": {}}
        elif isinstance(asked, Mapping):
            self.schema = _written(asked)
        else:
            self._type = choose_type(Parameter(VALUE, asked, "keyword_only", True))
            self.schema, self._is_single = _made(asked)
        self.is_empty = not self.schema["properties"]

    def schema_in(self, version: str) -> dict[str, Any]:
        """Return the form's schema for clients of a protocol version."""
        if version >= V2025_11_25:
            return self.schema
        fields = {name: _older(field) for name, field in self.schema["properties"].items()}
        return {**self.schema, "properties": fields}

    @property
    def since(self) -> str:
        """The first version in which clients can show the form; empty for any version."""
        kinds = (field["type"] for field in self.schema["properties"].values())
        return V2025_11_25 if "array" in kinds else ""

    def read(self, content: dict[str, Any]) -> Any:
        """Return the answer as an instance of the form's type.

        The content must have been checked against the schema. Raises `ValueRefusedError` for values
        that fit the schema and not the type.
        """
        if self._type is None:
            return None if self.is_empty else content
        value = content.get(VALUE) if self._is_single else content
        path = f"content.{VALUE}" if self._is_single else "content"
        return self._type.decode(encode(value), "content", path)


@lru_cache(1_024)
def _form(asked: Any) -> Form:
    return Form(asked)


def form_of(asked: Any) -> Form:
    """Return the form for a type or a schema; forms for types are cached."""
    return Form(asked) if isinstance(asked, Mapping) else _form(asked)


def _made(asked: Any) -> tuple[dict[str, Any], bool]:
    """Return the schema of a type, and whether the type is one simple value."""
    schema = accepts(asked)
    whole = _resolved(schema.value, schema.definitions)
    titles = _titles(asked)
    if whole.get("type") == "object" and not whole.get("properties"):
        raise RegistrationError("the fields of a form are those of a class")
    if whole.get("type") != "object":
        field = _field(VALUE, whole, schema.definitions, titles)
        return {"type": "object", "properties": {VALUE: field}, "required": [VALUE]}, True
    fields = {
        name: _field(name, value, schema.definitions, titles)
        for name, value in whole.get("properties", {}).items()
    }
    made: dict[str, Any] = {"type": "object", "properties": fields}
    if whole.get("required"):
        made["required"] = list(whole["required"])
    return made, False


def _field(
    name: str,
    value: Any,
    definitions: Mapping[str, Any],
    titles: Mapping[tuple[str, ...], list[str]],
) -> dict[str, Any]:
    value = _resolved(value, definitions)
    choices = _choices(value)
    if choices is not None:
        return _selection(name, "string", value, choices, titles)
    kind = value.get("type")
    if kind == "array":
        choices = _choices(_resolved(value.get("items"), definitions))
        if choices is not None:
            return _selection(name, "array", value, choices, titles)
    if kind not in _KEPT or kind == "array":
        raise RegistrationError(
            f"field '{name}' of a form must be a string, a number, a bool, or a choice of "
            "strings, or of several of them"
        )
    return _kept(kind, _with_format(value))


def _selection(
    name: str,
    kind: str,
    value: dict[str, Any],
    choices: list[Any],
    titles: Mapping[tuple[str, ...], list[str]],
) -> dict[str, Any]:
    if not all(isinstance(choice, str) for choice in choices):
        raise RegistrationError(f"the choices of field '{name}' of a form must be strings")
    labels = titles.get(tuple(choices))
    options: dict[str, Any] = {"enum": choices}
    if labels is not None:
        pairs = [{"const": it, "title": title} for it, title in zip(choices, labels, strict=True)]
        options = {"oneOf" if kind == "string" else "anyOf": pairs}
    if kind == "array":
        options = {"items": options if "anyOf" in options else {"type": "string", **options}}
    return {**_kept(kind, value), **options}


def _kept(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    members = {
        name: value[name] for name in _KEPT[kind] if name in value and value[name] is not None
    }
    return {"type": kind, **members}


def _with_format(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a form's field, with a `format` for a date.

    Fields of forms have no `pattern`, by which the schemas of `accord.schema` describe dates. A
    format that forms do not allow is removed.
    """
    found = _patterns().get(value.get("pattern", ""), value.get("format"))
    return {**value, "format": found if found in _FORMATS else None}


@lru_cache(1)
def _patterns() -> dict[str, str]:
    kinds = {"date": accepts(date).value, "date-time": accepts(datetime).value}
    return {value["pattern"]: name for name, value in kinds.items() if "pattern" in value}


def _resolved(value: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without a reference or an optional null at its top level."""
    found: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
    for _ in range(16):
        target: Any = None
        if "$ref" in found:
            target = definitions.get(found.pop("$ref").removeprefix(DEFINITIONS))
        elif "anyOf" in found:
            target = _not_null(found.pop("anyOf"))
        if not isinstance(target, dict):
            return found
        target = dict(target)
        target.pop("title", None)  # the name of a class is no title of a field
        found = {**target, **found}
    return found


def _not_null(choices: list[Any]) -> Any:
    others = [choice for choice in choices if choice != {"type": "null"}]
    return others[0] if len(others) == 1 else None


def _choices(value: dict[str, Any]) -> list[Any] | None:
    if "const" in value:
        return [value["const"]]
    choices = value.get("enum")
    return [it for it in choices if it is not None] if isinstance(choices, list) else None


def _titles(asked: Any) -> dict[tuple[str, ...], list[str]]:
    """Return titles for the members of enums that have values other than their names."""
    found: dict[tuple[str, ...], list[str]] = {}
    try:
        hints = list(get_type_hints(asked).values()) if isinstance(asked, type) else []
    except (TypeError, NameError):
        hints = []
    waiting = [asked, *hints]
    while waiting:
        each = waiting.pop()
        waiting.extend(get_args(each))
        if isinstance(each, type) and issubclass(each, Enum):
            values = tuple(member.value for member in each)
            if any(member.name.lower() != str(member.value).lower() for member in each):
                found[values] = [_title(member.name) for member in each]
    return found


def _title(name: str) -> str:
    return name.replace("_", " ").strip().capitalize()


# Schemas that are written by hand


def _written(schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(fields, Mapping):
        raise RegistrationError("the schema of a form is an object with properties")
    for name, field in fields.items():
        _check_written(name, field)
    return dict(schema)


def _check_written(name: str, field: Any) -> None:
    kind = field.get("type") if isinstance(field, Mapping) else None
    if kind == "array":
        items = field.get("items")
        if isinstance(items, Mapping) and ("enum" in items or "anyOf" in items):
            return
    elif kind in _KEPT:
        return
    raise RegistrationError(
        f"field '{name}' of a form must be a string, a number, a boolean or a choice"
    )


def _older(field: dict[str, Any]) -> dict[str, Any]:
    """Convert the schema of a field to 2025-06-18.

    In that version, titles of choices are in `enumNames`, and only booleans have defaults.
    """
    older = {name: value for name, value in field.items() if name != "oneOf"}
    if field["type"] != "boolean":
        older.pop("default", None)
    options = field.get("oneOf")
    if options is not None:
        older["enum"] = [option["const"] for option in options]
        older["enumNames"] = [option["title"] for option in options]
    return older


# Answers


def problem_with(content: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the problem with the content of an answer; empty if it is valid.

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
        return _expected_choices_in(value, field)
    choices = _choices_in(field)
    if choices is not None:
        return "" if value in choices else "one of the choices"
    if isinstance(value, str):
        return _expected_text(value, field)
    return _expected_number(value, field) if not isinstance(value, bool) else ""


def _expected_choices_in(values: list[Any], field: Mapping[str, Any]) -> str:
    choices = _choices_in(field["items"])
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


def _choices_in(field: Mapping[str, Any]) -> list[Any] | None:
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
