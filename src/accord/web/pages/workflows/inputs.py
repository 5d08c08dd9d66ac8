"""Forms for the input of runs, made from the input schema of a workflow.

The functions do no I/O. Strings, numbers, booleans and enumerations have a field each; any other
member is a field for JSON. The operation that starts the run validates the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from accord.jsonrpc.protocol.codec import NestingError, decode_json
from accord.operations.arguments import check_once
from accord.operations.errors import InvalidError
from accord.web.forms import Words

Kind: TypeAlias = Literal["text", "number", "choice", "json", "any"]

MAX_FIELDS: Final = 40
"""The most fields of a form; input with more members is one field for JSON."""
PREFIX: Final = "in."
WHOLE: Final = "json"
"""The name of the form field for the whole input as JSON."""


class InputField(Struct, frozen=True, kw_only=True):
    """A form field for one member of a workflow's input."""

    name: str
    kind: Kind
    hint: str = ""
    required: bool = False
    options: tuple[str, ...] = ()
    """The values to choose from, as JSON."""
    value: str = ""
    """The initial value: the default in the input schema."""

    @property
    def key(self) -> str:
        return f"{PREFIX}{self.name}"


def fields_of(schema: Any) -> tuple[InputField, ...]:
    """Return the fields for an input schema; none if one field takes the input as JSON."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return ()
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return ()
    names = [str(each) for each in dict.fromkeys((*properties, *required))]
    if len(names) > MAX_FIELDS:
        return ()
    return tuple(_field(name, properties.get(name), name in required) for name in names)


def value_of(schema: Any, form: Words) -> Any:
    """Return the input of a run from a form. Raises InvalidError for invalid JSON."""
    fields = fields_of(schema)
    if form[WHOLE].strip() or not fields:
        return _json(form[WHOLE], "input") if form[WHOLE].strip() else None
    filled_in = [each for each in fields if form[each.key].strip()]
    return {each.name: _value(each, form[each.key]) for each in filled_in}


def filled(fields: Sequence[InputField], form: Words) -> list[tuple[InputField, str]]:
    """Return the fields with the values that a form sent, or else their initial values."""
    return [(each, next(iter(form.every(each.key)), each.value)) for each in fields]


def _field(name: str, schema: Any, required: bool) -> InputField:
    about = schema if isinstance(schema, dict) else {}
    description = about.get("description") or about.get("title") or ""
    default = about.get("default")
    kind: Kind = _kind(about)
    options = tuple(msgspec.json.encode(each).decode() for each in _options(about))
    value = ""
    if default is not None:
        plain = isinstance(default, str) and kind in ("text", "any")
        value = default if plain else msgspec.json.encode(default).decode()
    hint = description if isinstance(description, str) else ""
    if not hint and kind == "json":
        hint = "As JSON."
    return InputField(
        name=name, kind=kind, hint=hint[:300], required=required, options=options, value=value
    )


def _kind(schema: dict[str, Any]) -> Kind:
    if _options(schema):
        return "choice"
    match schema.get("type"):
        case "string":
            return "text"
        case "integer" | "number":
            return "number"
        case None:
            return "any"
        case _:
            return "json"


def _options(schema: dict[str, Any]) -> list[Any]:
    if schema.get("type") == "boolean":
        return [True, False]
    found = schema.get("enum")
    return found if isinstance(found, list) else []


def _value(field: InputField, text: str) -> Any:
    if field.kind == "text":
        return text
    if field.kind == "any":  # no type in the schema: valid JSON is taken as JSON
        try:
            value = decode_json(text)
            check_once(text.encode(errors="replace"), field.name)
        except NestingError as error:
            raise InvalidError(field.name, f"is {error}") from None
        except msgspec.DecodeError:
            return text
        return value
    return _json(text, field.name)


def _json(text: str, name: str) -> Any:
    try:
        value = decode_json(text)
        check_once(text.encode(errors="replace"), name)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise InvalidError(name, f"is not JSON: {error}") from None
    return value
