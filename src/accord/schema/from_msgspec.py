"""Schemas of the types that msgspec reads and writes."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import Any, TypeAlias, get_type_hints

import msgspec
import msgspec.inspect as m
from msgspec import NODEFAULT, Struct, UnsetType

from accord.jsonrpc.protocol.messages import encode
from accord.schema import schema as strings
from accord.schema.bundle import Bundle
from accord.schema.schema import (
    DEFINITIONS,
    Json,
    Role,
    Schema,
    component_key,
    makes_members,
    reference,
    to_ecma,
)


def title(cls: Any) -> str:
    """Return the name of a class for use in schemas: `User`, `Page[int]`."""
    arguments = getattr(cls, "__args__", ())
    if not arguments:
        return _own_title(cls)
    if isinstance(cls, UnionType):
        return " | ".join(map(title, arguments))
    return f"{_own_title(cls.__origin__)}[{', '.join(title(each) for each in arguments)}]"


def _own_title(cls: Any) -> str:
    """Return the class's `__schema_name__`, or else its Python name.

    With `__schema_name__` a renamed class keeps the name that generated clients know. Subclasses do
    not inherit `__schema_name__`.
    """
    pinned = getattr(cls, "__dict__", {}).get("__schema_name__")
    return str(getattr(cls, "__name__", cls) if pinned is None else pinned)


def name_classes(classes: Iterable[Any]) -> dict[Any, str]:
    """Return a unique name for each class.

    Classes with the same name get their modules added, or else numbers.
    """
    by_name: dict[str, list[Any]] = {}
    for cls in classes:
        by_name.setdefault(component_key(title(cls)), []).append(cls)
    names: dict[Any, str] = {}
    for name, same in by_name.items():
        if len(same) == 1 or len({component_key(_full(cls)) for cls in same}) < len(same):
            numbered = [name, *(f"{name}_{number}" for number in range(2, len(same) + 1))]
            names.update(zip(same, numbered, strict=True))
        else:
            names.update((cls, component_key(_full(cls))) for cls in same)
    return names


def _full(cls: Any) -> str:
    origin = getattr(cls, "__origin__", cls)
    arguments = getattr(cls, "__args__", ())
    inner = f"[{', '.join(_full(each) for each in arguments)}]" if arguments else ""
    return f"{getattr(origin, '__module__', '')}.{getattr(origin, '__qualname__', origin)}{inner}"


ClassType: TypeAlias = (
    m.StructType | m.DataclassType | m.TypedDictType | m.NamedTupleType | m.EnumType
)
Foreign: TypeAlias = Callable[[type], Schema]
"""A function that describes foreign classes: it returns the schema of a class that msgspec does not
support."""

_SCALARS: Json = {"type": ["null", "boolean", "number", "string"]}
_NOTHING: Json = {"not": {}}


def describe(annotation: Any, role: Role, foreign: Foreign) -> Schema:
    """Return the schema of `annotation`, as input or output according to `role`.

    `foreign` describes classes that msgspec does not support. Raises `TypeError` for types that
    msgspec cannot read.
    """
    described = m.type_info(annotation)
    writer = _Writer(_classes_in(described), role, foreign)
    value = writer.schema(described)
    return Schema(value, writer.definitions(), role)


def _classes_in(described: m.Type) -> dict[Any, ClassType]:
    """Return every class that gets a definition, in the order of first occurrence."""
    found: dict[Any, ClassType] = {}
    seen: dict[int, Any] = {}
    waiting: list[Any] = [described]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(reversed(part))
        elif isinstance(part, m.Type | m.Field) and id(part) not in seen:
            seen[id(part)] = part
            if isinstance(part, ClassType):
                found.setdefault(part.cls, part)
            waiting.extend(getattr(part, name) for name in reversed(part.__struct_fields__))
    return found


class _Writer:
    """A writer of the schemas of types; classes become references to definitions."""

    def __init__(self, classes: Mapping[Any, ClassType], role: Role, foreign: Foreign) -> None:
        self._classes = classes
        self._names = name_classes(classes)
        self._output = role == "Output"
        self._foreign = foreign
        self._others = Bundle(DEFINITIONS, "2020-12", taken=self._names.values())
        """The definitions of classes that msgspec does not support."""

    def definitions(self) -> dict[str, Json]:
        own = {self._names[cls]: self._definition(it) for cls, it in self._classes.items()}
        return own | self._others.definitions

    def schema(self, it: m.Type) -> Json:
        match it:
            case m.Metadata():
                return self.schema(it.type) | (it.extra_json_schema or {})
            case m.CollectionType():
                return self._collection(it)
            case m.TupleType():
                return _places([self.schema(each) for each in it.item_types])
            case m.DictType():
                return self._dict(it)
            case m.UnionType():
                return self._union(it)
            case m.CustomType():
                return self._custom(it.cls)
            case _ if isinstance(it, ClassType):
                return {"$ref": reference(self._names[it.cls])}
            case _:
                return self._scalar(it)

    def _scalar(self, it: m.Type) -> Json:
        match it:
            case m.AnyType() | m.RawType():
                return {}
            case m.NoneType():
                return {"type": "null"}
            case m.BoolType():
                return {"type": "boolean"}
            case m.IntType():
                return {"type": "integer"} | _limits(it)
            case m.FloatType():
                return {"type": "number"} | _limits(it)
            case m.LiteralType():
                return {"enum": list(it.values)}
            case _:
                return self._string(it)

    def _string(self, it: m.Type) -> Json:
        match it:
            case m.StrType():
                pattern = None if it.pattern is None else to_ecma(it.pattern)
                return {
                    "type": "string",
                    **_given(minLength=it.min_length, maxLength=it.max_length, pattern=pattern),
                }
            case m.BytesType() | m.ByteArrayType() | m.MemoryViewType():
                lengths = _given(minLength=it.min_length, maxLength=it.max_length)
                encoded = {word: 4 * ((length + 2) // 3) for word, length in lengths.items()}
                return strings.BASE64 | encoded
            case m.DateTimeType():
                return strings.datetime(it.tz)
            case m.TimeType():
                return strings.time(it.tz)
            case m.DateType():
                return strings.DATE
            case m.TimeDeltaType():
                return strings.DURATION
            case m.UUIDType():
                return strings.UUID
            case m.DecimalType() if self._output:
                return strings.DECIMAL
            case m.DecimalType():
                return {"type": ["number", "string"]}
            case _:
                return {}

    def _collection(self, it: m.CollectionType) -> Json:
        if not isinstance(it, m.SetType | m.FrozenSetType):
            return self._items(it, self.schema(it.item_type))
        if self._output:
            return self._items(it, self.schema(it.item_type)) | {"uniqueItems": True}
        # What comes twice is in the set once, and counts once.
        schema = self._items(it, self._hashable(it.item_type))
        schema.pop("maxItems", None)
        return schema

    def _items(self, it: m.CollectionType, items: Json) -> Json:
        lengths = _given(minItems=it.min_length, maxItems=it.max_length)
        return {"type": "array", "items": items, **lengths}

    def _hashable(self, it: m.Type) -> Json:
        """Return the schema of the type `it`, restricted to values that a set can hold."""
        match it:
            case m.Metadata():
                return self._hashable(it.type) | (it.extra_json_schema or {})
            case m.AnyType():
                return _SCALARS
            case m.RawType():
                return _NOTHING
            case m.UnionType():
                return self._union(it, self._hashable)
            case m.VarTupleType():
                return self._items(it, self._hashable(it.item_type))
            case m.TupleType():
                return _places([self._hashable(each) for each in it.item_types])
            case m.ListType() | m.SetType() | m.DictType() | m.TypedDictType():
                return _NOTHING
            case m.StructType() | m.DataclassType() if not _is_hashable(it.cls):
                return _NOTHING
            case _:
                return self.schema(it)

    def _dict(self, it: m.DictType) -> Json:
        names = self._key(it.key_type)
        lengths = _given(minProperties=it.min_length, maxProperties=it.max_length)
        if not self._output and not _is_text(it.key_type):
            # Keys such as "1" and "1.0" may be the same number, and count once.
            lengths.pop("maxProperties", None)
        return {
            "type": "object",
            "additionalProperties": self.schema(it.value_type),
            **({"propertyNames": names} if names else {}),
            **lengths,
        }

    def _key(self, it: m.Type) -> Json:
        """Return the schema for the keys of a JSON object, for keys of the type `it`.

        In JSON, all keys are strings.
        """
        match it:
            case m.Metadata():
                return self._key(it.type)
            case m.AnyType() | m.CustomType() | m.DecimalType():
                return {}
            case m.IntType():
                return strings.INTEGER_KEY
            case m.FloatType():
                return strings.NUMBER_KEY
            case m.EnumType():
                return _enumeration([member.value for member in it.cls], it.cls, str)
            case m.LiteralType():
                return {"enum": [str(each) for each in it.values if each is not None]}
            case m.UnionType():
                choices = [self._key(each) for each in it.types]
                return {} if {} in choices else {"anyOf": choices}
            case m.StrType() | m.BytesType() | m.DateTimeType() | m.TimeType() | m.DateType():
                schema = self._string(it)
            case m.TimeDeltaType() | m.UUIDType():
                schema = self._string(it)
            case _:
                return _NOTHING
        return {word: each for word, each in schema.items() if word not in ("type", "examples")}

    def _union(self, it: m.UnionType, schema: Callable[[m.Type], Json] | None = None) -> Json:
        types = it.types
        if not self._output:
            types = tuple(each for each in types if not isinstance(_bare(each), m.RawType))
            # msgspec reads nothing as raw where something else is possible.
        write = self._tagged(types, schema or self.schema)
        return {"anyOf": [write(each) for each in types]}

    def _tagged(
        self, types: tuple[m.Type, ...], schema: Callable[[m.Type], Json]
    ) -> Callable[[m.Type], Json]:
        """Return the function that writes the schemas of a union's members.

        In a union with several structs the tag is required, because it selects the struct. A struct
        that is the only one may be read without a tag.
        """
        if sum(isinstance(_bare(each), m.StructType) for each in types) < 2:
            return schema

        def write(each: m.Type) -> Json:
            inner = _bare(each)
            if isinstance(inner, m.StructType) and not inner.array_like:
                return schema(each) | {"required": [inner.tag_field]}
            return schema(each)

        return write

    def _custom(self, cls: type) -> Json:
        if cls is object:
            return {}
        return self._others.add(self._foreign(cls))

    # Definitions

    def _definition(self, it: ClassType) -> Json:
        heading = {"title": title(it.cls)}
        if about := _doc(it.cls):
            heading["description"] = about
        match it:
            case m.EnumType():
                return heading | _enumeration([each.value for each in it.cls], it.cls, None)
            case m.NamedTupleType():
                return heading | self._array(it.fields, [], closed=True)
            case m.StructType(array_like=True):
                tag = [] if it.tag_field is None else [{"const": it.tag}]
                return heading | self._array(it.fields, tag, closed=it.forbid_unknown_fields)
            case m.StructType():
                return heading | self._tagged_object(it)
            case _:
                return heading | self._object(it)

    def _array(self, fields: Iterable[m.Field], tag: list[Json], *, closed: bool) -> Json:
        fields = tuple(fields)
        places = tag + [self._field(each) for each in fields]
        needed = len(places)
        if not self._output:
            needed = len(tag) + max(
                (index + 1 for index, each in enumerate(fields) if each.required), default=0
            )
        if closed or self._output:
            return _places(places) | {"minItems": needed}
        prefix = {"prefixItems": places} if places else {}
        return {"type": "array", **prefix, "minItems": needed}

    def _tagged_object(self, it: m.StructType) -> Json:
        schema = self._object(it)
        if it.tag_field is not None:
            schema["properties"] = {it.tag_field: {"const": it.tag}, **schema["properties"]}
            if self._output:
                schema["required"] = [it.tag_field, *schema.get("required", [])]
        if it.forbid_unknown_fields:
            schema["additionalProperties"] = False
        return schema

    def _object(self, it: m.StructType | m.DataclassType | m.TypedDictType) -> Json:
        is_there = _always_written(it) if self._output else _is_required
        return {
            "type": "object",
            "properties": {each.encode_name: self._field(each) for each in it.fields},
            **_required([each.encode_name for each in it.fields if is_there(each)]),
        }

    def _field(self, field: m.Field) -> Json:
        schema = self.schema(field.type)
        default = _default(field)
        return schema if default is NODEFAULT else {**schema, "default": default}


def _bare(it: m.Type) -> m.Type:
    while isinstance(it, m.Metadata):
        it = it.type
    return it


def _limits(it: m.IntType | m.FloatType) -> Json:
    return _given(
        minimum=it.ge,
        exclusiveMinimum=it.gt,
        maximum=it.le,
        exclusiveMaximum=it.lt,
        multipleOf=it.multiple_of,
    )


def _given(**members: Any) -> dict[str, Any]:
    return {word: value for word, value in members.items() if value is not None}


def _required(names: list[Any]) -> Json:
    return {"required": names} if names else {}


def _places(places: list[Json]) -> Json:
    length = len(places)
    prefix = {"prefixItems": places} if places else {}
    return {"type": "array", **prefix, "items": False, "minItems": length, "maxItems": length}


def _enumeration(values: list[Any], cls: type[enum.Enum], key: Callable[[Any], Any] | None) -> Json:
    """Return the schema of an enum class: the list of its `values`.

    If the class also accepts other values, the schema is only the type of the values. `key` is for
    the keys of objects: it converts a value to the text of a key.
    """
    if makes_members(cls):
        if key is None:
            return {"type": "string" if isinstance(values[0], str) else "integer"}
        return {} if isinstance(values[0], str) else strings.INTEGER_KEY
    return {"enum": values if key is None else [key(each) for each in values]}


def _is_text(it: m.Type) -> bool:
    it = _bare(it)
    if isinstance(it, m.UnionType):
        return all(_is_text(each) for each in it.types)
    return isinstance(it, m.AnyType | m.StrType | m.LiteralType | m.EnumType | m.CustomType)


def _is_hashable(cls: Any) -> bool:
    cls = getattr(cls, "__origin__", cls)
    if issubclass(cls, Struct):  # which has a __hash__ that refuses
        config = cls.__struct_config__
        return config.frozen or not config.eq or "__hash__" in cls.__dict__
    return cls.__hash__ is not None


def _is_required(field: m.Field) -> bool:
    return field.required


def _always_written(it: m.StructType | m.DataclassType | m.TypedDictType) -> Callable[..., bool]:
    """Return a function that decides whether a field is in every encoded value."""
    if isinstance(it, m.TypedDictType):
        return _is_required
    cls: Any = getattr(it.cls, "__origin__", it.cls)
    unset = _unset_fields(cls)
    if isinstance(it, m.StructType):
        omits = cls.__struct_config__.omit_defaults
    else:
        # What msgspec has read leaves a default in the class, where it does not look to write.
        omits = "__slots__" not in cls.__dict__

    def is_there(field: m.Field) -> bool:
        made = field.default_factory is not NODEFAULT and isinstance(it, m.DataclassType)
        return field.name not in unset and (field.required or made or not omits)

    return is_there


def _unset_fields(cls: Any) -> set[str]:
    hints = get_type_hints(cls)
    return {name for name, hint in hints.items() if UnsetType in getattr(hint, "__args__", ())}


def _default(field: m.Field) -> Any:
    """Return a field's default as JSON; NODEFAULT if it has none, or JSON cannot express it."""
    default = field.default
    if field.default_factory in (list, dict, set, frozenset, tuple, bytearray):
        default = field.default_factory()
    if default is NODEFAULT:
        return NODEFAULT
    try:
        return msgspec.json.decode(encode(default))
    except (TypeError, ValueError, RecursionError, OverflowError):
        return NODEFAULT


def _doc(cls: Any) -> str:
    """Return the docstring of a class, unless Python generated it."""
    cls = getattr(cls, "__origin__", cls)
    doc = cls.__dict__.get("__doc__") or ""
    signature = doc.startswith(f"{cls.__name__}(") and doc.endswith(")")
    if signature or doc == "An enumeration.":
        return ""
    return inspect.cleandoc(doc)
