"""The arguments of an operation, from what a caller sent: typed, complete, nothing unknown.

One type per operation is made once, so that every face decodes, refuses and describes the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Struct, defstruct, field

from accord.operations.errors import InvalidError
from accord.operations.operation import Operation

_AT: Final = re.compile(r"(?P<what>.*?) - at `\$(?:\.\.\.)?\.?(?P<where>[^`]*)`")
_NAMED: Final = re.compile(r"Object (?:missing required|contains unknown) field `(?P<name>[^`]*)`")


def decode(operation: Operation, body: bytes) -> dict[str, Any]:
    """The arguments in a JSON object. Raises InvalidError, which names the field."""
    try:
        return _values(_decoder(operation).decode(body))
    except msgspec.ValidationError as error:
        raise _refusal(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidError("", "the arguments are not a JSON object") from None


def convert(
    operation: Operation, values: Mapping[str, Any], *, from_text: bool = False
) -> dict[str, Any]:
    """The arguments from values that were decoded already, or with `from_text` from words, as in
    a query. Raises InvalidError, which names the field."""
    try:
        return _values(msgspec.convert(values, arguments_type(operation), strict=not from_text))
    except msgspec.ValidationError as error:
        raise _refusal(str(error)) from None


@lru_cache(maxsize=1024)
def arguments_type(operation: Operation) -> type[Struct]:
    """What the arguments of an operation are, as one type."""
    fields: list[Any] = [
        (each.name, each.annotation)
        if each.required
        else (each.name, each.annotation, field(default=each.default))
        for each in operation.parameters
    ]
    name = operation.name.title().replace("_", "")
    return defstruct(f"{name}Arguments", fields, kw_only=True, forbid_unknown_fields=True)


@lru_cache(maxsize=1024)
def _decoder(operation: Operation) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(arguments_type(operation))


def _values(arguments: Struct) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in arguments.__struct_fields__}


def _refusal(said: str) -> InvalidError:
    """What msgspec said, with the field that it is about."""
    place = _AT.fullmatch(said)
    what, where = (place["what"], place["where"]) if place else (said, "")
    steps = [step for step in re.split(r"[.\[\]]+", where) if step]
    named = _NAMED.fullmatch(what)
    if named is not None:
        steps.append(named["name"])
        what = "is required" if "missing" in what else "there is no such field"
    return InvalidError("/".join(steps), what[:1].lower() + what[1:])
