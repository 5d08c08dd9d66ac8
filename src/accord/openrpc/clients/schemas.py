"""The conversion of JSON Schema to types, as far as types can express a schema.

It reads draft-07 as in OpenRPC, and common keywords of other dialects: `prefixItems`, `nullable`.
Limits on values (lengths, ranges, patterns) are not types and are left out. The work is bounded: a
schema that exceeds a limit is refused, or becomes a type that allows anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from accord.openrpc.clients.model import (
    ANYTHING,
    NOTHING,
    NULL,
    Array,
    ConstantType,
    Declaration,
    Map,
    Primitive,
    RecordField,
    RecordType,
    Tuple,
    Type,
    TypeReference,
    union,
)
from accord.openrpc.clients.resolution import (
    STRUCTURE,
    DocumentError,
    Json,
    SchemaPart,
    SourceDocument,
    below,
    dict_in,
    expect,
    is_local,
    kinds_of,
    list_in,
    merge,
    parts,
)
from accord.schema import schema

MAX_STEPS: Final = 1_000_000
"""Maximum number of steps to read the schemas of one document."""
MAX_ALTERNATIVES: Final = 256
"""Maximum number of combined alternatives of `allOf`, `anyOf` and `oneOf`; a schema with more
becomes a type that allows anything."""
MAX_DEPTH: Final = 64
"""Maximum depth of schemas nested in each other without a reference in between."""

Hint: TypeAlias = tuple[str, ...]

_FORMATS: Final = frozenset({"date-time", "date", "time", "duration", "uuid", "decimal"})
_BASE64: Final = frozenset({"byte", "base64"})
_PATTERNS: Final = {
    **{schema.datetime(zoned)["pattern"]: "date-time" for zoned in (None, False, True)},
    **{schema.time(zoned)["pattern"]: "time" for zoned in (None, False, True)},
    schema.DATE["pattern"]: "date",
    schema.DECIMAL["pattern"]: "decimal",
    schema.DURATION["pattern"]: "duration",
    schema.UUID["pattern"]: "uuid",
}
"""The regular expressions that Accord's own documents have for formats, each with its format."""
_UNSAID: Final = frozenset({"components", "schemas", "definitions", "$defs", "properties"})
"""Keys in a schema's path that do not become part of the name of its type."""


P = TypeVar("P")


class _Ref(Struct, frozen=True):
    """A part of a schema that is a reference."""

    to: str
    where: str


_Alternative: TypeAlias = tuple[SchemaPart | _Ref, ...]
"""One alternative of a schema: parts that all apply together."""


class _TooManyError(Exception):
    """The combined alternatives of a schema exceed `MAX_ALTERNATIVES`."""


class Schemas:
    """A reader of the schemas of one document, which collects their declarations."""

    def __init__(self, document: SourceDocument) -> None:
        self.declarations: dict[str, Declaration] = {}
        self._document = document
        self._queue: deque[str] = deque()
        self._begun: set[str] = set()
        self._depth = 0
        self._steps = 0

    def declare(self, reference: str, where: str) -> TypeReference:
        """Return a reference to the type of a schema, which `finish` reads later."""
        self._document.find(reference, where)
        key = below("#", *parts(reference, where))
        if key not in self._begun:
            self._begun.add(key)
            self._queue.append(key)
        return TypeReference(key)

    def finish(self) -> None:
        """Read all schemas that were referred to and are not read yet."""
        while self._queue:
            key = self._queue.popleft()
            schema = self._document.find(key, key)
            hint = tuple(part for part in parts(key, key) if part not in _UNSAID) or ("value",)
            found = self._type(schema, key, hint, declared=True)
            if key not in self.declarations:
                self.declarations[key] = Declaration(key, hint, found, description(schema))

    def read(self, schema: Any, where: str, hint: Hint) -> Type:
        """Return the type of the schema at `where`.

        `hint` is the preferred name for a type whose schema has no name.
        """
        return self._type(schema, where, hint, declared=False)

    def _type(self, schema: Any, where: str, hint: Hint, *, declared: bool) -> Type:
        with self._deeper(where):
            try:
                found = self._alternatives(schema, where)
            except _TooManyError:
                return ANYTHING
            values = [each for each in found if each != _NULL_PART]
            if len(values) != 1:
                hints = [(*hint, *_label(each, index)) for index, each in enumerate(found)]
                return union(*map(self._one, found, hints))
            said = _said(schema) if values[0] is not schema else {}
            key = where if declared and len(found) == 1 else None
            return union(*(self._one(each, hint, key, said) for each in found))

    # From a schema to alternatives, each of which is one schema without combinators

    def _alternatives(self, schema: Any, where: str) -> list[SchemaPart | _Ref]:
        found: list[SchemaPart | _Ref] = []
        for alternative in self._split(schema, where):
            if len(alternative) == 1:
                found.append(alternative[0])
            else:
                extended = {part.to for part in alternative if isinstance(part, _Ref)}
                extends = extended.pop() if len(extended) == 1 else ""
                for parts in self._expand(alternative, where, frozenset()):
                    merged = merge(parts, extends)
                    found += [] if merged is None else [merged]
        return found

    def _split(self, schema: Any, where: str) -> list[_Alternative]:
        if isinstance(schema, bool):
            return [()] if schema else []
        expect(schema, dict, where, "a schema is an object or a boolean")
        if isinstance(reference := schema.get("$ref"), str):
            # What stands elsewhere is not fetched: it may be anything.
            return [(_Ref(reference, where),)] if is_local(reference) else [()]
        with self._deeper(where):
            found: list[_Alternative] = [()]
            if schema.keys() & STRUCTURE:
                found = [(SchemaPart(schema, where),)]
            for index, member in enumerate(list_in(schema, "allOf", where)):
                found = self._product(found, self._split(member, below(where, "allOf", index)))
            for word in ("anyOf", "oneOf"):
                members = list_in(schema, word, where)
                if members and not all(map(_only_requires, members)):
                    either = [
                        alternative
                        for index, member in enumerate(members)
                        for alternative in self._split(member, below(where, word, index))
                    ]
                    found = self._product(found, either)
            if schema.get("nullable") is True:
                found.append((_NULL_PART,))
            return found

    def _expand(
        self, parts: _Alternative, where: str, seen: frozenset[str]
    ) -> list[tuple[SchemaPart, ...]]:
        """Return the alternatives that result when the references in `parts` are resolved."""
        found: list[tuple[SchemaPart, ...]] = [()]
        for part in parts:
            if isinstance(part, SchemaPart):
                found = self._product(found, [(part,)])
            elif part.to not in seen:
                with self._deeper(where):
                    there = self._document.find(part.to, where)
                    expanded = [
                        each
                        for alternative in self._split(there, part.to)
                        for each in self._expand(alternative, part.to, seen | {part.to})
                    ]
                    found = self._product(found, expanded)
        return found

    def _product(
        self, left: Sequence[tuple[P, ...]], right: Sequence[tuple[P, ...]]
    ) -> list[tuple[P, ...]]:
        if len(left) * len(right) > MAX_ALTERNATIVES:
            raise _TooManyError
        both = [(*first, *second) for first in left for second in right]
        self._work(sum(map(len, both)))
        return both

    # From one schema without combinators to a type

    def _one(
        self,
        part: SchemaPart | _Ref,
        hint: Hint,
        key: str | None = None,
        said: Json | None = None,
    ) -> Type:
        """Return the type of one alternative of a schema, such as a member of `oneOf`.

        If a declaration consists of this alternative only, `key` is the key of the declaration.
        `said` has the title and description of the schema that contains the alternative.
        """
        if isinstance(part, _Ref):
            return self.declare(part.to, part.where)
        schema, where = part.schema, part.where
        kinds = kinds_of(schema, where)
        if "const" in schema or "enum" in schema:
            values = [schema["const"]] if "const" in schema else list_in(schema, "enum", where)
            return _constants(values, kinds)
        if not kinds:
            return ANYTHING
        place = _Place(part, hint, key if kinds == ["object"] else None, said or _said(schema))
        return union(*(self._kind(kind, place) for kind in kinds))

    def _kind(self, kind: str, place: _Place) -> Type:
        match kind:
            case "object":
                return self._object(place)
            case "array":
                return self._array(place)
            case "string":
                return Primitive("string", _format(place.part.schema))
            case "integer" | "number" | "boolean" | "null":
                return Primitive(kind)
            case _:
                raise AssertionError(kind)

    def _object(self, place: _Place) -> Type:
        schema, where = place.part.schema, place.part.where
        properties: Json = {**dict_in(schema, "properties", where)}
        listed = list_in(schema, "required", where)
        required = dict.fromkeys(name for name in listed if isinstance(name, str))
        for name in required:
            properties.setdefault(name, True)
        if not properties:
            return Map(self._map_values(place))
        key = place.identity() if place.key is None else place.key
        if key in self._begun and key != place.key:
            return TypeReference(key)
        self._begun.add(key)
        fields = [
            RecordField(
                name,
                self.read(value, below(where, "properties", name), (*place.hint, name)),
                name in required,
                description(value),
                is_deprecated(value),
            )
            for name, value in properties.items()
        ]
        extra = schema.get("additionalProperties")
        record = RecordType(tuple(fields), extra is True or isinstance(extra, dict))
        self.declarations[key] = Declaration(key, place.name(), record, description(place.said))
        return TypeReference(key)

    def _map_values(self, place: _Place) -> Type:
        schema, where, hint = place.part.schema, place.part.where, (*place.hint, "value")
        found = [
            self.read(value, below(where, "patternProperties", pattern), hint)
            for pattern, value in dict_in(schema, "patternProperties", where).items()
        ]
        others = schema.get("additionalProperties", not found)
        return union(*found, self.read(others, below(where, "additionalProperties"), hint))

    def _array(self, place: _Place) -> Type:
        schema, where, hint = place.part.schema, place.part.where, (*place.hint, "item")
        items, others = schema.get("items", True), "additionalItems"
        if isinstance(first := schema.get("prefixItems"), list):
            items, others = first, "items"
        if not isinstance(items, list):
            return Array(self.read(items, below(where, "items"), hint))
        types = tuple(
            self.read(item, below(where, "items", index), (*hint, str(index + 1)))
            for index, item in enumerate(items)
        )
        least, most = schema.get("minItems"), schema.get("maxItems")
        rest: Type = NOTHING
        if others in schema and most != len(types):
            rest = self.read(schema[others], below(where, others), hint)
        return Tuple(
            types,
            max(0, min(least, len(types))) if isinstance(least, int) else len(types),
            None if rest == NOTHING else rest,
        )

    # Limits

    @contextmanager
    def _deeper(self, where: str) -> Iterator[None]:
        if self._depth >= MAX_DEPTH:
            raise DocumentError(f"{where}: schemas are nested more than {MAX_DEPTH} deep")
        self._work(1)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _work(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise DocumentError(f"the schemas take more than {MAX_STEPS:,} steps to read")


class _Place(Struct, frozen=True):
    """A schema of one type, with the title, description and name from its surroundings."""

    part: SchemaPart
    hint: Hint
    key: str | None
    said: Json

    def name(self) -> Hint:
        title = self.said.get("title")
        if self.key is None and isinstance(title, str) and title.strip():
            return (title,)
        return self.hint

    def identity(self) -> str:
        """Return the key of a record that is not a declared schema.

        Titled records with equal schemas share a key, and so do merged records with equal content.
        The key of any other record is its place in the document.
        """
        if self.part.merged or "title" in self.said:
            look = {**self.part.schema, "title": self.said.get("title")}
            return msgspec.json.encode(look, order="deterministic").decode()
        return below(self.part.where, "object")


def _label(part: SchemaPart | _Ref, index: int) -> Hint:
    """Return a name for one of several alternatives.

    It is the name of the schema that the alternative extends, or else a number.
    """
    if isinstance(part, SchemaPart) and part.extends:
        return tuple(parts(part.extends, part.where)[-1:])
    return ("variant", str(index + 1))


_NULL_PART: Final = SchemaPart({"type": "null"}, "#")


def description(schema: Any) -> str:
    """Return the description of a schema; empty if there is none."""
    found = schema.get("description") if isinstance(schema, dict) else None
    return found if isinstance(found, str) else ""


def is_deprecated(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("deprecated") is True


def _said(schema: Any) -> Json:
    if not isinstance(schema, dict):
        return {}
    return {word: schema[word] for word in ("title", "description") if word in schema}


def _only_requires(schema: Any) -> bool:
    """Return whether a schema consists of `required` and `not` only.

    Types cannot express these; a title and a description may accompany them.
    """
    return isinstance(schema, dict) and schema.keys() <= {"required", "not", "title", "description"}


def _format(schema: Json) -> str:
    if schema.get("contentEncoding") == "base64" or schema.get("format") in _BASE64:
        return "base64"
    found, pattern = schema.get("format"), schema.get("pattern")
    if isinstance(pattern, str) and pattern in _PATTERNS:
        return _PATTERNS[pattern]
    return found if isinstance(found, str) and found in _FORMATS else ""


def _constants(values: list[Any], kinds: list[str]) -> Type:
    """Return the type of those `values` that have one of the types `kinds`.

    An empty `kinds` includes all values. An array becomes an array of anything, an object an object
    of anything.
    """
    found: list[Type] = []
    for value in values:
        kind, type_ = _constant(value)
        if not kinds or kind in kinds or (kind == "integer" and "number" in kinds):
            found.append(type_)
    return union(*found)


def _constant(value: Any) -> tuple[str, Type]:
    match value:
        case None:
            return "null", NULL
        case bool():
            return "boolean", ConstantType((value,))
        case int():
            return "integer", ConstantType((value,))
        case float():
            return "number", ConstantType((value,))
        case str():
            return "string", ConstantType((value,))
        case list():
            return "array", Array(ANYTHING)
        case _:
            return "object", Map(ANYTHING)
