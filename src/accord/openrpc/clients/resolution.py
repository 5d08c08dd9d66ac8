"""References in a document (JSON Pointer, RFC 6901), and merged `allOf` schemas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec import Struct


class DocumentError(ValueError):
    """A document that no client can be generated from; the message says where and why."""


class SourceDocument:
    """A document in which references can be resolved."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def follow(self, value: Any, where: str) -> Any:
        """Return `value`, or its target if it is a reference.

        Raises `DocumentError` if the reference leads to itself, or has no target in the document.
        """
        seen: set[str] = set()
        while isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            if reference in seen:
                raise DocumentError(f"{where}: the reference {shown(reference)} leads to itself")
            seen.add(reference)
            value = self.find(reference, where)
        return value

    def find(self, reference: str, where: str) -> Any:
        """Return the target of a local reference.

        Raises `DocumentError` if the reference has no target in the document.
        """
        value = self.content
        for part in parts(reference, where):
            value = _step(value, part)
            if value is _MISSING:
                raise DocumentError(f"{where}: nothing is at {shown(reference)}")
        return value


def is_local(reference: str) -> bool:
    return reference.startswith("#")


def parts(reference: str, where: str) -> list[str]:
    """Return the keys that lead to the target of a local reference.

    Raises `DocumentError` if the reference is not local, or not a JSON Pointer.
    """
    if not is_local(reference):
        raise DocumentError(f"{where}: {shown(reference)} is not in the document")
    pointer = unquote(reference[1:], errors="replace")
    if pointer and not pointer.startswith("/"):
        raise DocumentError(f"{where}: {shown(reference)} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def below(where: str, *names: object) -> str:
    """Return the path of a key inside the value at the path `where`."""
    return "/".join((where, *(_escaped(str(name)) for name in names)))


def shown(text: str) -> str:
    """Return a text from the document, quoted and shortened for an error message."""
    return repr(text if len(text) <= 100 else f"{text[:100]}…")


def expect(value: Any, kind: type | tuple[type, ...], where: str, what: str) -> Any:
    """Return `value` if it is an instance of `kind`.

    Raises `DocumentError` otherwise. `what` is the requirement in its message, such as "a method
    has a name, a string".
    """
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise DocumentError(f"{where}: {what}, and not {_described(value)}")
    return value


def _described(value: Any) -> str:
    names: Iterable[tuple[type, str]] = (
        (type(None), "null"),
        (bool, "a boolean"),
        (str, "a string"),
        (list, "an array"),
        (dict, "an object"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "a number")


_MISSING = object()


def _step(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part, _MISSING)
    if isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
        return value[int(part)]
    return _MISSING


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1").replace("%", "%25")


Json: TypeAlias = dict[str, Any]

KEYWORDS: Final = {
    "object": ("properties", "required", "additionalProperties", "patternProperties"),
    "array": ("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "integer": (),
    "boolean": (),
    "null": (),
}
"""For each type of JSON Schema, the keywords that imply the type if `type` is absent."""

STRUCTURE: Final = frozenset(
    {"type", "enum", "const", *(word for words in KEYWORDS.values() for word in words)}
)
"""The keywords that determine a type, except references and combinators."""


class SchemaPart(Struct, frozen=True):
    """A schema without references and combinators."""

    schema: Json
    where: str
    merged: bool = False
    """True if the schema was merged from several. It is nowhere in the document itself; `where` is
    the place of the first."""
    extends: str = ""
    """The reference among the merged parts, if there is exactly one; otherwise empty."""


def merge(parts: Sequence[SchemaPart], extends: str = "") -> SchemaPart | None:
    """Return a schema for the values that are valid for all `parts`.

    Return None if there are no such values, because no type or no enum value is left.
    """
    if len(parts) == 1:
        return parts[0]
    merged: Json = {}
    for part in parts:
        merged = _both(merged, part.schema, part.where)
        if merged.get("type") == [] or merged.get("enum") == []:
            return None
    return SchemaPart(merged, parts[0].where if parts else "#", merged=True, extends=extends)


def kinds_of(schema: Json, where: str) -> list[str]:
    """Return the types that a schema allows; empty if it allows any.

    Without `type`, the other keywords of the schema imply its type.
    """
    if "type" not in schema:
        return [kind for kind, words in KEYWORDS.items() if schema.keys() & {*words}][:1]
    kinds = schema["type"]
    kinds = [kinds] if isinstance(kinds, str) else kinds
    expect(kinds, list, below(where, "type"), "a type is a string or an array")
    return [kind for kind in dict.fromkeys(map(str, kinds)) if kind in KEYWORDS]


def list_in(schema: Json, word: str, where: str) -> list[Any]:
    """Return the array under a keyword, or an empty array if the keyword is absent.

    Raises `DocumentError` if the value is not an array.
    """
    found: list[Any] = expect(schema.get(word, []), list, below(where, word), "this is an array")
    return found


def dict_in(schema: Json, word: str, where: str) -> Json:
    """Return the object under a keyword, or an empty object if the keyword is absent.

    Raises `DocumentError` if the value is not an object.
    """
    found: Json = expect(schema.get(word, {}), dict, below(where, word), "this is an object")
    return found


def _both(left: Json, right: Json, where: str) -> Json:
    both = {**left}
    for word, value in right.items():
        if word not in STRUCTURE:
            continue  # it speaks of the part only
        if word in ("const", "enum"):
            values = [value] if word == "const" else list_in(right, word, where)
            both["enum"] = _common_values(both.get("enum"), values)
        elif word == "type":
            both["type"] = _common_kinds(left, right, where)
        elif word in ("properties", "patternProperties"):
            both[word] = _common_members(dict_in(left, word, where), dict_in(right, word, where))
        elif word == "required":
            names = [*list_in(left, word, where), *list_in(right, word, where)]
            both[word] = [*dict.fromkeys(name for name in names if isinstance(name, str))]
        elif word in _SCHEMAS and isinstance(left.get(word), dict) and isinstance(value, dict):
            both[word] = _all_of(left[word], value)
        else:
            both.setdefault(word, value)
    return both


_SCHEMAS: Final = frozenset({"items", "additionalProperties", "additionalItems"})


def _common_values(left: list[Any] | None, right: list[Any]) -> list[Any]:
    if left is None:
        return right
    common = {msgspec.json.encode(value, order="deterministic") for value in right}
    return [each for each in left if msgspec.json.encode(each, order="deterministic") in common]


def _common_kinds(left: Json, right: Json, where: str) -> list[str]:
    if "type" not in left:
        return kinds_of(right, where)
    mine, yours = kinds_of(left, where), kinds_of(right, where)
    common = [kind for kind in mine if kind in yours]
    if "integer" not in common and {"integer", "number"} <= {*mine, *yours}:
        common.append("integer")
    return common


def _common_members(left: Json, right: Json) -> Json:
    shared = {name: _all_of(left[name], right[name]) for name in left if name in right}
    return {**left, **right, **shared}


def _all_of(left: Any, right: Any) -> Any:
    """Return a schema for values that are valid for the schemas `left` and `right`.

    Equal schemas become one.
    """
    members: list[Any] = []
    for each in (left, right):
        within = each["allOf"] if isinstance(each, dict) and each.keys() == {"allOf"} else [each]
        members += [member for member in within if member not in members]
    return members[0] if len(members) == 1 else {"allOf": members}
