"""Arguments that arrive as text, as those of prompts and of URI templates do.

A parameter that takes strings gets the text itself; any other gets what the text says as
JSON, so that `int`, `bool` and lists work too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from accord.jsonrpc.codec import encode
from accord.jsonrpc.nesting import decode_json
from accord.jsonrpc.parameters import Parameter
from accord.schema.schema import DEFINITIONS, Schema
from accord.schema.types import accepts


class TextArguments:
    """A converter of texts into a JSON object of arguments."""

    def __init__(self, parameters: tuple[Parameter, ...]) -> None:
        self._as_json = frozenset(
            each.name
            for each in parameters
            if each.kind != "var_keyword" and not _takes_text(accepts(each.annotation))
        )

    def encode(self, texts: Mapping[str, Any]) -> bytes:
        """Return the JSON object for `Handler.bind`."""
        if self._as_json.isdisjoint(texts):
            return encode(texts)
        return encode({name: self._value(name, text) for name, text in texts.items()})

    def _value(self, name: str, text: Any) -> Any:
        if name not in self._as_json or not isinstance(text, str):
            return text
        try:
            return decode_json(text)
        except msgspec.DecodeError:
            return text  # and let it be refused as the string that it is


def _takes_text(schema: Schema) -> bool:
    return _allows(schema.value, schema.definitions, 0)


def _allows(value: Any, definitions: Mapping[str, Any], depth: int) -> bool:
    if not isinstance(value, dict) or depth > 16:
        return True
    if "$ref" in value:
        target = definitions.get(value["$ref"].removeprefix(DEFINITIONS), True)
        return _allows(target, definitions, depth + 1)
    for choice in ("anyOf", "oneOf"):
        if choice in value:
            return any(_allows(each, definitions, depth + 1) for each in value[choice])
    if "enum" in value:
        return any(isinstance(each, str) for each in value["enum"])
    kinds = value.get("type", "string")
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)
