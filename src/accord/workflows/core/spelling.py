"""Definitions as they are written and kept: `type: mail` for a step of a plugin, as for any other,
where the struct for all steps of plugins has a tag of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import ValidationError, convert, json

from accord.workflows.core.definition import Definition, PluginStep
from accord.workflows.core.shape import TYPES

_TAG: Final = PluginStep.__struct_config__.tag
_TAGGED: Final = f'"type":"{_TAG}"'.encode()
_LISTS: Final = ("steps", "then", "else", "default", "body", "on_error")
_NAMED_LISTS: Final = ("branches", "cases")

_DECODER: json.Decoder[Definition] = json.Decoder(Definition)


def encode_definition(definition: Definition) -> str:
    """A definition as JSON."""
    text = json.encode(definition)
    if _TAGGED not in text:
        return text.decode()
    value = json.decode(text)
    for step in _steps(value):
        if step["type"] == _TAG:
            step["type"] = step.pop("plugin")
    return json.encode(value).decode()


def decode_definition(text: str) -> Definition:
    """A definition from JSON that was checked before, by the rules of then."""
    try:
        return _DECODER.decode(text)
    except ValidationError:  # a type that is none of ours
        value = json.decode(text)
    for step in _steps(value):
        if step["type"] not in TYPES:
            step["plugin"], step["type"] = step["type"], _TAG
    return convert(value, Definition)


def definition_of(value: dict[str, Any]) -> Definition:
    """The same from a value."""
    return decode_definition(json.encode(value).decode())


def _steps(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All steps in a definition or a step."""
    lists = [value.get(name) for name in _LISTS]
    for name in _NAMED_LISTS:
        lists += (value.get(name) or {}).values()
    for steps in lists:
        for step in steps if isinstance(steps, list) else ():
            yield step
            yield from _steps(step)
