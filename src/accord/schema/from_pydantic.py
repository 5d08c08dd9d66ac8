"""Schemas of the types that pydantic reads and writes.

This module is imported only for types that require pydantic.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from accord.schema.schema import Json, Role, Schema, is_asked, makes_members, to_ecma

Path: TypeAlias = list[str | int]


def places(name: str, alias: Any, *, by_alias: bool, by_name: bool) -> list[Path]:
    """Return the paths at which pydantic looks for the value of a field, in order."""
    found: list[Path] = []
    if alias is not None and by_alias:
        several = not isinstance(alias, str) and isinstance(alias[0], list)
        found = [
            [each] if isinstance(each, str) else each for each in (alias if several else [alias])
        ]
    return [*found, [name]] if by_name or not found else found


def with_places(schema: Json, described: Mapping[str, list[Path]]) -> Json:
    """Return the object schema `schema`, changed to allow fields at other paths.

    Aliases in pydantic can be paths. `described` has the allowed paths of each field, by the
    field's name in `schema`.
    """
    properties = dict(schema["properties"])
    required = list(schema.get("required", ()))
    choices = []
    for name, paths in described.items():
        if paths == [[name]] or name not in properties:
            continue
        value = properties.pop(name)
        choices.append({"anyOf": [_at(path, value) for path in paths]})
        properties |= {str(path[0]): properties.get(str(path[0]), {}) for path in paths}
        if len(paths[0]) == 1:
            properties[str(paths[0][0])] = value
        if name in required:
            required.remove(name)
        else:
            choices[-1]["anyOf"].append({"properties": {str(path[0]): False for path in paths}})
    changed = {**schema, "properties": properties, "required": required, "allOf": choices}
    return {
        word: each for word, each in changed.items() if each or word not in ("required", "allOf")
    }


def _at(path: Path, value: Json) -> Json:
    name = str(path[0])
    here = {"properties": {name: value}} if len(path) == 1 else {}
    return {**here, "required": [name]}


_SCALARS: Json = {"type": ["null", "boolean", "number", "string"]}
_ANY: Any = {"type": "any"}
_UNHASHABLE = frozenset({"dict", "list", "set", "typed-dict"})


def describe_by_pydantic(annotation: Any, role: Role) -> Schema:
    """Return the schema that pydantic generates for `annotation`.

    Raises the exceptions of pydantic for types that it does not support.
    """
    mode: Any = "validation" if role == "Input" else "serialization"
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    found, rest = TypeAdapter.json_schemas([("it", mode, adapter)], schema_generator=_Generator)
    return Schema(found["it", mode], rest.get("$defs", {}), role)


class _Generator(GenerateJsonSchema):
    """A generator of schemas for values that pydantic reads in strict mode, or writes."""

    @property
    def _reads(self) -> bool:
        return self.mode == "validation"

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Ignore warnings: a default that JSON cannot express is left out silently."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Json:
        return {}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        if self._reads or field["type"] == "typed-dict-field":
            return super().field_is_required(field, total)
        return not field.get("serialization_exclude") and not field.get("serialization_exclude_if")

    # Numbers

    def float_schema(self, schema: Any) -> Json:
        described = super().float_schema(schema)
        if self._reads:
            # It takes 0.3 for a multiple of 0.1, which by exact arithmetic it is not.
            described.pop("multipleOf", None)
        return described

    def decimal_schema(self, schema: Any) -> Json:
        described = super().decimal_schema(schema)
        for each in described.get("anyOf", ()):
            each.pop("pattern", None)
        return described

    def complex_schema(self, schema: Any) -> Json:
        return {"type": ["number", "string"] if self._reads else "string"}

    # Strings

    def str_schema(self, schema: Any) -> Json:
        described = super().str_schema(schema)
        strips = schema.get("strip_whitespace", self._config.str_strip_whitespace)
        if strips and self._reads:
            # White space is taken away before the string is measured and matched.
            described.pop("maxLength", None)
            described.pop("pattern", None)
        return _with_ecma_pattern(described)

    def bytes_schema(self, schema: Any) -> Json:
        described = super().bytes_schema(schema)
        # What is measured is bytes, and each character has one to four.
        described.pop("minLength", None)
        if self._config.val_json_bytes != "utf8":
            described.pop("maxLength", None)
        return described

    def enum_schema(self, schema: Any) -> Json:
        described = super().enum_schema(schema)
        if issubclass(schema["cls"], enum.Flag):
            del described["enum"]
            described["type"] = ["integer", "boolean"] if self._reads else "integer"
        elif self._reads and is_asked(schema["cls"]):
            del described["enum"]
            described.pop("type", None)
        return described

    # Arrays

    def set_schema(self, schema: Any) -> Json:
        return self._with_duplicates(super().set_schema(schema), schema)

    def frozenset_schema(self, schema: Any) -> Json:
        return self._with_duplicates(super().frozenset_schema(schema), schema)

    def _with_duplicates(self, described: Json, schema: Any) -> Json:
        if self._reads:
            described.pop("uniqueItems", None)
            described.pop("maxItems", None)
            kind = schema.get("items_schema", {}).get("type", "any")
            if kind == "any":
                described["items"] = _SCALARS
            elif kind in _UNHASHABLE:
                described["items"] = {"not": {}}
        return described

    def tuple_schema(self, schema: Any) -> Json:
        described = super().tuple_schema(schema)
        if "prefixItems" in described and "items" not in described:
            described["items"] = False
        return described

    def named_tuple_schema(self, schema: Any) -> Json:
        array = super().named_tuple_schema(schema) | {"items": False}
        if not self._reads:
            return array
        names = [each["name"] for each in schema["fields"]]
        by_name = {
            "type": "object",
            "properties": dict(zip(names, array.get("prefixItems", ()), strict=True)),
            "required": names[: array.get("minItems", 0)],
            "additionalProperties": False,
        }
        return {"anyOf": [array, by_name]}

    # Objects

    def dict_schema(self, schema: Any) -> Json:
        values = self.generate_inner(schema.get("values_schema", _ANY))
        keys = schema.get("keys_schema", _ANY)
        described: Json = {"type": "object", "additionalProperties": values}
        textual = keys["type"] in ("any", "str")
        if names := self._key(keys):
            described["propertyNames"] = names
        if "min_length" in schema:
            described["minProperties"] = schema["min_length"]
        if "max_length" in schema and (textual or not self._reads):
            # Other keys may be written in several ways, and count once.
            described["maxProperties"] = schema["max_length"]
        return described

    def _key(self, schema: Any) -> Json:
        """Return the schema for the keys of a dictionary.

        It is an empty schema for keys that are not strings, because numbers and other keys can be
        written in several ways.
        """
        if schema["type"] == "str":
            described = self.generate_inner(schema)
            return {word: described[word] for word in described if word != "type"}
        if schema["type"] == "enum" and not makes_members(schema["cls"]):
            values = [member.value for member in schema["members"]]
            return {"enum": values} if all(isinstance(each, str) for each in values) else {}
        return {}

    def model_fields_schema(self, schema: Any) -> Json:
        return self._with_aliases(super().model_fields_schema(schema), schema["fields"])

    def dataclass_args_schema(self, schema: Any) -> Json:
        fields = {each["name"]: each for each in schema["fields"]}
        return self._with_aliases(super().dataclass_args_schema(schema), fields)

    def typed_dict_schema(self, schema: Any) -> Json:
        return self._with_aliases(super().typed_dict_schema(schema), schema["fields"])

    def _with_aliases(self, described: Json, fields: Any) -> Json:
        if not self._reads:
            return described
        config = self._config.config_dict
        by_alias = config.get("validate_by_alias", True)
        by_name = config.get("validate_by_name") or config.get("populate_by_name") or False
        found = {
            self._get_alias_name(field, name): places(
                name, field.get("validation_alias"), by_alias=by_alias, by_name=by_name
            )
            for name, field in fields.items()
        }
        return with_places(described, found)

    # Choices

    def tagged_union_schema(self, schema: Any) -> Json:
        described = super().tagged_union_schema(schema)
        return {"anyOf": described["oneOf"]}


def _with_ecma_pattern(described: Json) -> Json:
    if "pattern" in described:
        pattern = to_ecma(described.pop("pattern"))
        if pattern is not None:
            described["pattern"] = pattern
    return described
