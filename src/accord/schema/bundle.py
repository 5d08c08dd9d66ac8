"""Bundles of schemas with shared definitions, and conversions between dialects.

A bundle holds the definitions of its schemas in one place and renames definitions whose names
collide. It is in draft-07, which OpenRPC requires, or in 2020-12. Keywords that draft-07 lacks are
dropped or expressed by older keywords.

Schemas are also read from OpenAPI. OpenAPI 3.1 has 2020-12 with a few keywords of its own; OpenAPI
3.0 has an older dialect that differs in `nullable`, in exclusive limits and in the members allowed
beside a `$ref`. The document is not trusted: a value that is not a schema becomes a schema that
allows anything, and depth is limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from accord.schema.schema import (
    DEFINITIONS,
    MANY,
    NAMED,
    ONE,
    Json,
    Schema,
    change_references,
    component_key,
    reference,
    referred,
)

_DRAFT07 = """
$ref $comment title description default examples readOnly writeOnly type enum const multipleOf
minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern format
contentEncoding contentMediaType items minItems maxItems uniqueItems contains properties
patternProperties additionalProperties propertyNames required minProperties maxProperties
dependencies allOf anyOf oneOf not if then else definitions
"""
_WORDS = frozenset(_DRAFT07.split()) | {"deprecated"}
"""The keywords that a schema converted to draft-07 may have: those of draft-07, and `deprecated`,
which is newer but breaks no tool."""
_DRAFT07_FORMATS = """
date-time date time email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri
iri-reference uri-template json-pointer relative-json-pointer regex
"""
_FORMATS = frozenset((*_DRAFT07_FORMATS.split(), "uuid", "duration"))
"""The formats of draft-07, and two formats of the next draft that are in common use."""
_APPLICATORS = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"}
)
_CLOSING = frozenset({"additionalProperties", "unevaluatedProperties", "unevaluatedItems"})
_ABOUT_ARRAYS = frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"})


def to_draft07(value: Json) -> Json:
    """Convert a schema of 2020-12 to draft-07.

    References to `#/$defs/` become references to `#/definitions/`.
    """
    if not isinstance(value, dict):
        return {"not": {}} if value is False else {}
    schema = {word: _member(word, each) for word, each in value.items()}
    _rename_definitions(schema)
    _close(schema)
    _join_dependencies(schema)
    _flatten_array(schema)
    if schema.get("minContains") == 0:
        schema.pop("contains", None)
    if "format" in schema and schema["format"] not in _FORMATS:
        schema["x-format"] = schema.pop("format")
    return _set_reference_apart(
        {word: each for word, each in schema.items() if word in _WORDS or word.startswith("x-")}
    )


def _member(word: str, value: Any) -> Any:
    if word in MANY and isinstance(value, list):
        return [to_draft07(each) for each in value]
    if word in NAMED and isinstance(value, dict):
        return {name: to_draft07(each) for name, each in value.items()}
    if word in ONE and isinstance(value, dict | bool):
        closes = isinstance(value, bool) and (word in _CLOSING or word == "items")
        return value if closes else to_draft07(value)
    return value


def _rename_definitions(schema: dict[str, Any]) -> None:
    if "$defs" in schema:
        schema["definitions"] = schema.get("definitions", {}) | schema.pop("$defs")
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref.startswith(DEFINITIONS):
        schema["$ref"] = "#/definitions/" + ref.removeprefix(DEFINITIONS)


def _close(schema: dict[str, Any]) -> None:
    """Replace `unevaluatedProperties` and `unevaluatedItems` by older keywords.

    These are `additionalProperties` and `items`. Replace a keyword only if the schema has no
    keyword, such as `allOf`, that applies another schema to the same value.
    """
    if "unevaluatedProperties" in schema and not _APPLICATORS & schema.keys():
        schema.setdefault("additionalProperties", schema["unevaluatedProperties"])
    if "unevaluatedItems" in schema and not (_APPLICATORS | {"contains"}) & schema.keys():
        schema.setdefault("items", schema["unevaluatedItems"])


def _join_dependencies(schema: dict[str, Any]) -> None:
    required = schema.get("dependentRequired", {})
    schemas = schema.get("dependentSchemas", {})
    if required or schemas:
        both = {
            name: {"allOf": [{"required": names}, schemas[name]]}
            for name, names in required.items()
            if name in schemas
        }
        schema["dependencies"] = {**required, **schemas, **both}


def _flatten_array(schema: dict[str, Any]) -> None:
    """Describe all items of a tuple by one schema: a choice between the items' schemas."""
    if not _is_array(schema):
        return
    places = list(schema.get("prefixItems", ()))
    rest = schema.get("items", True)
    if rest is False:
        schema["maxItems"] = min(schema.get("maxItems", len(places)), len(places))
    elif schema.get("maxItems", len(places) + 1) > len(places):
        places.append(to_draft07(rest) if isinstance(rest, bool) else rest)
    schema["items"] = _choice(places)


def _is_array(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    if kind is None:
        return bool(_ABOUT_ARRAYS & schema.keys())
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _choice(places: list[Json]) -> Json:
    distinct: list[Json] = []
    for each in places:
        if each not in distinct:
            distinct.append(each)
    if not distinct or {} in distinct:
        return {}
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _set_reference_apart(schema: dict[str, Any]) -> dict[str, Any]:
    """Move a `$ref` with members beside it into `allOf`.

    Otherwise draft-07 (core, section 8.3) would ignore these members.
    """
    if "$ref" not in schema or len(schema) == 1:
        return schema
    apart = [{"$ref": schema.pop("$ref")}]
    return {**schema, "allOf": apart + schema.get("allOf", [])}


Dialect: TypeAlias = Literal["draft-07", "2020-12"]


class Bundle:
    """A collection of schemas with shared definitions.

    `refs` is the beginning of references to the definitions, such as `#/components/schemas/`. Put
    `definitions` into the document at the place to which such references lead.
    """

    def __init__(
        self,
        refs: str = "#/components/schemas/",
        dialect: Dialect = "draft-07",
        *,
        taken: Iterable[str] = (),
    ) -> None:
        """Create an empty bundle; its definitions do not use the keys in `taken`."""
        self.definitions: dict[str, Json] = {}
        """The definitions by key, in the dialect of the bundle and with references into the
        bundle."""
        self._refs = refs
        self._dialect = dialect
        self._taken = frozenset(taken)
        self._known: dict[str, Json] = {}
        """The definitions by key, with references into the bundle, but not yet in its dialect."""

    def add(self, schema: Schema) -> Json:
        """Add the definitions of `schema`, and return the schema with references to them.

        A reference without a target becomes a schema that allows anything.
        """
        keys = self._keys(schema)
        for name, value in schema.definitions.items():
            if keys[name] not in self._known:
                self._known[keys[name]] = own = self._rewrite(value, keys)
                self.definitions[keys[name]] = self._translate(own)
        return self._translate(self._rewrite(schema.value, keys))

    def _keys(self, schema: Schema) -> dict[str, str]:
        """Return the key in the bundle of each definition of `schema`.

        A definition that is equal to one in the bundle gets the key of that one.
        """
        candidates = {name: _candidates(name, schema) for name in schema.definitions}
        keys = {name: next(each) for name, each in candidates.items()}
        settled = False
        while not settled:
            settled = True
            # Equal up to their references is not enough: a definition that refers to one
            # which keeps apart keeps apart itself, so look again after each change.
            owners: dict[str, str] = {}
            for name, value in schema.definitions.items():
                key = keys[name]
                free = key not in self._taken and owners.setdefault(key, name) == name
                if not free or self._differs(key, self._rewrite(value, keys)):
                    keys[name] = next(candidates[name])
                    settled = False
        return keys

    def _differs(self, key: str, value: Json) -> bool:
        return key in self._known and self._known[key] != value

    def _rewrite(self, value: Json, keys: dict[str, str]) -> Json:
        def change(ref: str) -> Json:
            found = referred(ref)
            if found is None or found[0] not in keys:
                return {}
            return {"$ref": reference(keys[found[0]], self._refs) + found[1]}

        return change_references(value, change)

    def _translate(self, value: Json) -> Json:
        return to_draft07(value) if self._dialect == "draft-07" else value


def _candidates(name: str, schema: Schema) -> Iterator[str]:
    key = component_key(name)
    yield key
    if schema.role is not None:
        key += schema.role
        yield key
    number = 2
    while True:
        yield f"{key}_{number}"
        number += 1


MAX_DEPTH = 64
"""Maximum depth of nested schemas; a deeper schema is replaced by one that allows anything."""
MAX_PARTS = 100_000
"""Maximum number of schemas inside one schema object."""

_COMPONENTS = "#/components/schemas/"
_OWN_WORDS = frozenset({"discriminator", "externalDocs", "xml"})
"""Keywords of OpenAPI that neither constrain nor describe a JSON value; they are dropped."""
_UNSUPPORTED = frozenset({"$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$schema"})
"""Keywords, such as `$id`, that change what references refer to. They are dropped, because in the
converted schema references lead to components only."""

_COMPOSED = frozenset({"allOf", "anyOf", "oneOf"})


class SchemaTooLargeError(ValueError):
    """A schema object with more than `MAX_PARTS` parts."""


def from_openapi(value: Json, version: str) -> Json:
    """Convert an OpenAPI schema object to JSON Schema 2020-12.

    `version` is the OpenAPI version of the document. References to `#/components/schemas/` become
    `#/$defs/`; other references become schemas that allow anything. Raises `SchemaTooLargeError` if
    the schema object has more than `MAX_PARTS` parts.
    """
    return _Reader(old=version.startswith("3.0")).read(value, 0)


class _Reader:
    """A converter for one OpenAPI schema object."""

    def __init__(self, *, old: bool) -> None:
        self._old = old
        self._parts = 0

    def read(self, value: Json, depth: int) -> Json:
        if isinstance(value, bool) and not self._old:
            return value
        if not isinstance(value, dict) or depth > MAX_DEPTH:
            return {}
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise SchemaTooLargeError(f"a schema of more than {MAX_PARTS:,} parts")
        if self._old and "$ref" in value:
            # OpenAPI 3.0.3, reference object: what stands beside a `$ref` is ignored.
            return _reference(value["$ref"])
        schema = {
            keyword: self._member(keyword, each, depth)
            for keyword, each in value.items()
            if isinstance(keyword, str) and keyword not in _OWN_WORDS | _UNSUPPORTED
        }
        if "$ref" in schema:
            schema = {**_reference(schema.pop("$ref")), **schema}
        _gather_examples(schema)
        return _modern(schema) if self._old else schema

    def _member(self, keyword: str, value: Any, depth: int) -> Any:
        if keyword in MANY and isinstance(value, list):
            return [self.read(each, depth + 1) for each in value]
        if keyword in NAMED and isinstance(value, dict):
            return {str(name): self.read(each, depth + 1) for name, each in value.items()}
        if keyword in ONE:
            if isinstance(value, bool):
                return value
            return self.read(value, depth + 1)
        return value


def _reference(ref: Any) -> dict[str, Any]:
    found = referred(ref, _COMPONENTS)
    return {} if found is None else {"$ref": reference(found[0]) + found[1]}


def _gather_examples(schema: dict[str, Any]) -> None:
    """Replace OpenAPI's `example` by JSON Schema's `examples`."""
    if "example" in schema:
        example = schema.pop("example")
        schema.setdefault("examples", [example])


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Replace the keywords that OpenAPI 3.0 defines differently from JSON Schema 2020-12."""
    for word, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        exclusive = schema.get(word)
        if isinstance(exclusive, bool):
            del schema[word]
            if exclusive and limit in schema:
                schema[word] = schema.pop(limit)
    if schema.get("format") in ("byte", "base64") and schema.get("type") == "string":
        del schema["format"]
        schema["contentEncoding"] = "base64"
    return _nullable(schema) if schema.pop("nullable", False) is True else schema


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Allow null in a schema that has `nullable` (OpenAPI 3.0.3, 4.7.24).

    Beside a choice, a reference or an `enum`, `nullable` has no effect according to the
    specification. But existing documents use it there to allow null, and their servers send null.
    """
    if _COMPOSED & schema.keys():
        return {"anyOf": [schema, {"type": "null"}]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) else schema
