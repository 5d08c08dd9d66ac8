"""The schema objects of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12.

OpenAPI 3.1 is 2020-12 with a few words of its own; 3.0 is an older dialect that differs in
`nullable`, in exclusive limits and in what may stand beside a `$ref`. The document may come
from anywhere: what is not a schema becomes one that takes anything, and depth is limited.
"""

from __future__ import annotations

from typing import Any

from accord.schema.schema import MANY, NAMED, ONE, Json, reference, referred

MAX_DEPTH = 64
"""Schemas nested deeper than this in one another are taken for anything."""
MAX_PARTS = 100_000
"""How many schemas there may be inside one."""

_COMPONENTS = "#/components/schemas/"
_OWN_WORDS = frozenset({"discriminator", "externalDocs", "xml"})
"""Words of OpenAPI that neither constrain nor describe a JSON value."""
_UNSUPPORTED = frozenset({"$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$schema"})
"""They change what references mean, which lead to components and nowhere else here."""

_COMPOSED = frozenset({"allOf", "anyOf", "oneOf"})


class SchemaTooLargeError(ValueError):
    """A schema object has more parts than anyone can use."""


def from_openapi(value: Json, version: str) -> Json:
    """The schema object `value` of an OpenAPI document of `version`, as JSON Schema 2020-12.

    References to `#/components/schemas/` lead to `#/$defs/`; those to anywhere else become
    schemas that take anything. Raises `SchemaTooLargeError`.
    """
    return _Reader(old=version.startswith("3.0")).read(value, 0)


class _Reader:
    """Reads one schema object."""

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
    """`example` is OpenAPI's word for one of JSON Schema's `examples`."""
    if "example" in schema:
        example = schema.pop("example")
        schema.setdefault("examples", [example])


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """What OpenAPI 3.0 says otherwise than JSON Schema does since."""
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
    """OpenAPI 3.0.3, 4.7.24: `nullable` adds null to the `type` beside it.

    Where a choice or a reference is beside it, or values are listed, it has no effect by the
    letter. All who write it there mean null to be allowed, and send it.
    """
    if _COMPOSED & schema.keys():
        return {"anyOf": [schema, {"type": "null"}]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) else schema
