"""A JSON Schema that stands alone: the schema itself, and the definitions that it refers to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Json: TypeAlias = Any
"""A schema as JSON has it: an object, `True` for anything or `False` for nothing."""

Role: TypeAlias = Literal["Input", "Output"]
"""Which way the values go: into a method or out of it."""

DEFINITIONS = "#/$defs/"
"""How references inside a `Schema` begin; the name of a definition follows."""


class Schema(Struct, frozen=True):
    """One schema in JSON Schema 2020-12. To read only: parts are shared."""

    value: Json
    definitions: Mapping[str, Json] = {}
    """What `$ref`s in `value`, and in the definitions themselves, may refer to, by name."""
    role: Role | None = None
    """Tells two definitions of one class apart where both are wanted: it takes and gives
    different values when fields have defaults."""


ANYTHING = Schema({})
