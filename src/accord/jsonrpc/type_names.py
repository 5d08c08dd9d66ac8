"""What a type is called when a caller is told what was expected.

The names are those of msgspec's own messages: `int`, `str`, `array`, `object`, `null`.
Used only once something is wrong, so nothing here is fast.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import EllipsisType
from typing import Any, TypeAlias

import msgspec.inspect as m

Step: TypeAlias = str | int | EllipsisType
"""A field, an index, or `...` for some key of a dictionary: msgspec does not say which."""

_NAMES: dict[type[m.Type], str] = {
    m.AnyType: "any value",
    m.RawType: "any value",
    m.NoneType: "null",
    m.BoolType: "bool",
    m.IntType: "int",
    m.FloatType: "float",
    m.StrType: "str",
    m.BytesType: "bytes",
    m.ByteArrayType: "bytes",
    m.MemoryViewType: "bytes",
    m.DateTimeType: "datetime",
    m.TimeType: "time",
    m.DateType: "date",
    m.TimeDeltaType: "duration",
    m.UUIDType: "uuid",
    m.DecimalType: "decimal",
    m.TupleType: "array",
    m.NamedTupleType: "array",
    m.DictType: "object",
    m.TypedDictType: "object",
    m.DataclassType: "object",
}
_UNKNOWN = "a value"
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|(?P<key>\[\.\.\.\])")


def expected(annotation: Any, path: str = "") -> str:
    """What a value of this type, or the part of it at `path` (`.items[2].name`), must be."""
    try:
        found: m.Type | None = _described(annotation)
    except TypeError:  # an annotation that has no hash
        found = _described.__wrapped__(annotation)
    if found is None:
        return _UNKNOWN
    for step in steps(path):
        found = _part(found, step)
    return _name(found)


@lru_cache(maxsize=1024)
def _described(annotation: Any) -> m.Type | None:
    try:
        return m.type_info(annotation)
    except Exception:  # whatever msgspec cannot describe; pydantic decodes it
        return None


def steps(path: str) -> list[Step]:
    """A path of msgspec's, without its `$`, taken apart."""
    return [_step(found) for found in _STEP.finditer(path)]


def _step(found: re.Match[str]) -> Step:
    if found["field"] is not None:
        return found["field"]
    return ... if found["index"] is None else int(found["index"])


def _name(found: m.Type | None) -> str:
    match found:
        case None:
            return _UNKNOWN
        case m.Metadata(type=inner):
            return _name(inner)
        case m.UnionType(types=types):
            return " | ".join(dict.fromkeys(_name(each) for each in types))
        case m.EnumType(cls=cls):
            return _choice([member.value for member in cls])
        case m.LiteralType(values=values):
            return _choice(list(values))
        case m.StructType(array_like=array_like):
            return "array" if array_like else "object"
        case m.CollectionType():
            return "array"
        case m.CustomType(cls=cls):
            return "object" if hasattr(cls, "model_fields") else cls.__name__
        case _:
            return _NAMES.get(type(found), _UNKNOWN)


def _choice(values: list[Any]) -> str:
    return "one of " + ", ".join("null" if value is None else repr(value) for value in values)


def _part(found: m.Type | None, step: Step) -> m.Type | None:
    """The type of a field, item or value of `found`; None when it cannot be told."""
    match found, step:
        case m.Metadata(type=inner), _:
            return _part(inner, step)
        case m.UnionType(types=types), _:
            return _tags(types, step) or _first(_part(each, step) for each in types)
        case (
            (
                m.StructType(fields=fields)
                | m.DataclassType(fields=fields)
                | m.TypedDictType(fields=fields)
            ),
            str(),
        ):
            return _first(field.type for field in fields if field.encode_name == step)
        case ((m.StructType(fields=fields) | m.NamedTupleType(fields=fields)), int()):
            return _first(field.type for field in fields[step : step + 1])
        case m.CollectionType(item_type=item), int():
            return item
        case m.TupleType(item_types=items), int():
            return _first(items[step : step + 1])
        case m.DictType(value_type=value), EllipsisType():
            return value
    return None


def _first(found: Any) -> m.Type | None:
    return next((each for each in found if each is not None), None)


def _tags(types: tuple[m.Type, ...], step: Step) -> m.Type | None:
    """The tags to choose from, where `step` is the field that tells a union's structs apart."""
    structs = [each for each in types if isinstance(each, m.StructType)]
    tags = [each.tag for each in structs if each.tag is not None and each.tag_field == step]
    return m.LiteralType(tuple(tags)) if tags else None
