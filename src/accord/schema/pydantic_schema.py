"""Schemas of the types that pydantic reads and writes. Imported only when one is met."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from accord.schema.schema import Json, Role, Schema


def describe_by_pydantic(annotation: Any, role: Role) -> Schema:
    """The schema of `annotation`. Raises what pydantic raises for what it does not know."""
    mode: Any = "validation" if role == "Input" else "serialization"
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    found, rest = TypeAdapter.json_schemas([("it", mode, adapter)], schema_generator=_Generator)
    return Schema(found["it", mode], rest.get("$defs", {}), role)


class _Generator(GenerateJsonSchema):
    """What pydantic takes in strict mode, from JSON."""

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Defaults that are not JSON are left out, which needs no mention."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        if self.mode == "serialization" and field["type"] != "typed-dict-field":
            return not field.get("serialization_exclude")
        return super().field_is_required(field, total)

    def set_schema(self, schema: Any) -> Json:
        return self._without_uniqueness(super().set_schema(schema))

    def frozenset_schema(self, schema: Any) -> Json:
        return self._without_uniqueness(super().frozenset_schema(schema))

    def _without_uniqueness(self, schema: Json) -> Json:
        if self.mode == "validation":
            schema.pop("uniqueItems", None)
            schema.pop("maxItems", None)
        return schema
