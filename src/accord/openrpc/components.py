"""What the methods of a document share: schemas, errors and tags, each written down once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from accord.exposure.openapi import SecurityScheme
from accord.jsonrpc.about import ErrorAbout, ExternalDocs, Tag
from accord.jsonrpc.catalogue import CATALOGUE
from accord.jsonrpc.codec import encode
from accord.schema.bundle import Bundle
from accord.schema.schema import Json, Schema

_BREAK = re.compile(r"[^a-z0-9]+")
_LONGEST_KEY = 60


class Components:
    """Collects them while a document is made. What is equal is shared."""

    def __init__(self, tags: Iterable[Tag] = ()) -> None:
        self._bundle = Bundle(refs="#/components/schemas/", dialect="draft-07")
        self._errors = _Shared("errors")
        self._tags = _Shared("tags")
        self._security_schemes = _Shared("securitySchemes")
        self._described = {tag.name: tag for tag in reversed(list(tags)) if _says_more(tag)}

    def schema(self, schema: Schema) -> Json:
        """The schema with its definitions put here."""
        return self._bundle.add(schema)

    def error(self, error: ErrorAbout) -> Json:
        """A reference to the error."""
        value: dict[str, Any] = {"code": error.code, "message": error.message}
        if error.data is not UNSET:
            value["data"] = plain(error.data)
        entry = CATALOGUE.get(error.code)
        known = entry is not None and entry.message == error.message
        key = entry.name if entry and known else _key(error.message) or f"error_{error.code}"
        return self._errors.put(key, value)

    def security_scheme(self, scheme: SecurityScheme) -> str:
        """The name of the scheme in the document: applications may have several of one name."""
        return self._security_schemes.name(scheme.name, plain(scheme.said))

    @property
    def security_schemes(self) -> dict[str, Any]:
        """Those that methods ask for. OpenRPC has no place for them."""
        return dict(sorted(self._security_schemes.values.items()))

    def tag(self, tag: str | Tag) -> Json:
        """The tag, or a reference where there is more to it than its name."""
        name = tag if isinstance(tag, str) else tag.name
        described = self._described.get(name)
        if described is None:
            return {"name": name}
        return self._tags.put(_key(name) or "tag", _tag_object(described))

    def to_json(self) -> dict[str, Any]:
        """The member `components` of the document."""
        groups = {
            "schemas": self._bundle.definitions,
            "errors": self._errors.values,
            "tags": self._tags.values,
        }
        return {name: dict(sorted(values.items())) for name, values in groups.items() if values}


class _Shared:
    """Values under keys of their own; an equal one is put there once."""

    def __init__(self, group: str) -> None:
        self.values: dict[str, Any] = {}
        self._group = group
        self._keys: dict[bytes, str] = {}

    def put(self, key: str, value: Json) -> Json:
        return {"$ref": f"#/components/{self._group}/{self.name(key, value)}"}

    def name(self, key: str, value: Json) -> str:
        form = msgspec.json.encode(value)
        if form not in self._keys:
            self._keys[form] = free = _free(key, self.values)
            self.values[free] = value
        return self._keys[form]


def plain(value: Any) -> Json:
    """A Python value as JSON has it. Raises TypeError or ValueError if it cannot be said so."""
    return msgspec.json.decode(encode(value))


def external_docs(docs: ExternalDocs) -> Json:
    return {"url": docs.url, **({"description": docs.description} if docs.description else {})}


def _tag_object(tag: Tag) -> Json:
    # The meta-schema has no summary for tags, though the text of OpenRPC 1.3.2 has.
    said = "\n\n".join(part for part in (tag.summary, tag.description) if part)
    value: dict[str, Any] = {"name": tag.name}
    if said:
        value["description"] = said
    if tag.external_docs is not None:
        value["externalDocs"] = external_docs(tag.external_docs)
    return value


def _says_more(tag: Tag) -> bool:
    return bool(tag.summary or tag.description or tag.external_docs)


def _key(text: str) -> str:
    return _BREAK.sub("_", text.lower())[:_LONGEST_KEY].strip("_")


def _free(key: str, taken: dict[str, Any]) -> str:
    number, free = 1, key
    while free in taken:
        number += 1
        free = f"{key}_{number}"
    return free
