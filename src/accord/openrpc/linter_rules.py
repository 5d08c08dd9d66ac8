"""The rules and findings of the linter, and a walk over the objects of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

Severity: TypeAlias = Literal["error", "warning"]
Path: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead from the document to a place in it."""


class LintRule(Struct, frozen=True):
    """A rule, and the severity of breaking it."""

    severity: Severity
    about: str


class DocumentFinding(Struct, frozen=True):
    """A fault of a document."""

    rule: str
    severity: Severity
    path: str
    """The place as a JSONPath: `$.methods[0].params[1].name`."""
    message: str
    """The fault, and how to fix it."""


RULES: Final = {
    "shape": LintRule("error", "Members have the names and types that the meta-schema gives them."),
    "version": LintRule("error", "`openrpc` is a version of the specification from 1.0 to 1.4."),
    "method-duplicate": LintRule("error", "No two methods have the same name."),
    "method-reserved": LintRule(
        "error", "No method but `rpc.discover` has a name with `rpc.` before."
    ),
    "method-without-result": LintRule(
        "warning", "A method has a result, unless it is only ever notified."
    ),
    "param-duplicate": LintRule("error", "No two params of a method have the same name."),
    "param-order": LintRule("error", "Required params stand before optional ones."),
    "ref-unresolved": LintRule("error", "A reference into the document leads somewhere."),
    "ref-kind": LintRule(
        "error", "A reference leads to the kind of thing that belongs in its place."
    ),
    "ref-cycle": LintRule("error", "References do not lead to each other for ever."),
    "ref-remote": LintRule("warning", "A document does not need others to be read."),
    "ref-remote-discover": LintRule(
        "error", "The entry of `rpc.discover` needs no other document."
    ),
    "component-key": LintRule(
        "error", "Keys of components have only letters, digits and `.`, `-`, `_`."
    ),
    "component-unused": LintRule("warning", "Every component is referred to."),
    "error-duplicate": LintRule("error", "No two errors of a method have the same code."),
    "error-reserved": LintRule(
        "error", "Codes from -32768 to -32000 are used only where their meaning is defined."
    ),
    "example-param-missing": LintRule("error", "An example gives every required param."),
    "example-param-unknown": LintRule("error", "An example gives only params that the method has."),
    "example-result": LintRule("error", "An example has a result only if the method has one."),
    "link-method": LintRule("error", "A link leads to a method of the document."),
    "link-param": LintRule("error", "A link gives only params that its method has."),
    "tag-duplicate": LintRule("warning", "A method has each tag once."),
    "tag-conflict": LintRule("warning", "Tags of the same name say the same."),
    "server-url": LintRule("error", "The URL of a server is absolute."),
    "server-variable": LintRule(
        "error", "The variables in a server's URL are the ones it declares."
    ),
    "url": LintRule("error", "Links to pages are absolute URLs, and an e-mail address has an @."),
    "schema-keyword": LintRule("error", "Keywords of JSON Schema have values of the right type."),
    "schema-dialect": LintRule("warning", "Schemas use the keywords of draft 07 only."),
    "schema-array": LintRule(
        "warning", "An array says in one schema what its items are; many generators fail without."
    ),
    "schema-required": LintRule("warning", "Required properties are among those that are allowed."),
}
"""Every rule by its id."""

# RFC 9535, section 2.5.1.1: what may follow a dot; other names stand in brackets.
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def finding(rule: str, path: Path, message: str) -> DocumentFinding:
    return DocumentFinding(rule, RULES[rule].severity, shown(path), message)


def shown(path: Path) -> str:
    """Return a path in the document as a JSONPath expression."""
    return "$" + "".join(map(_step, path))


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _WORD.fullmatch(key) else f"[{key!r}]"


_SHAPES: Final[dict[str, dict[str, str]]] = {
    "document": {
        "openrpc": "text!",
        "info": "info!",
        "externalDocs": "docs",
        "servers": "[server]",
        "methods": "[method&]!",
        "components": "components",
        "$schema": "text",
    },
    "info": {
        "title": "text!",
        "version": "text!",
        "description": "text",
        "termsOfService": "text",
        "contact": "contact",
        "license": "license",
    },
    "contact": {"name": "text", "email": "text", "url": "text"},
    "license": {"name": "text", "url": "text"},
    "docs": {"url": "text!", "description": "text"},
    "server": {
        "url": "text!",
        "name": "text",
        "description": "text",
        "summary": "text",
        "variables": "{variable}",
    },
    "variable": {"default": "text!", "description": "text", "enum": "[text]"},
    "method": {
        "name": "name!",
        "description": "text",
        "summary": "text",
        "servers": "[server]",
        "tags": "[tag&]",
        "paramStructure": "structure",
        "params": "[descriptor&]!",
        "result": "descriptor&",
        "errors": "[error&]",
        "links": "[link&]",
        "examples": "[pairing&]",
        "deprecated": "flag",
        "externalDocs": "docs",
    },
    "descriptor": {
        "name": "name!",
        "description": "text",
        "summary": "text",
        "schema": "schema!",
        "required": "flag",
        "deprecated": "flag",
    },
    "error": {"code": "integer!", "message": "text!", "data": "any"},
    "tag": {"name": "name!", "description": "text", "externalDocs": "docs"},
    "link": {
        "name": "name",
        "summary": "text",
        "method": "text",
        "description": "text",
        "params": "any",
        "server": "server",
    },
    "pairing": {
        "name": "name!",
        "description": "text",
        "summary": "text",
        "params": "[example&]!",
        "result": "example&",
    },
    "example": {
        "name": "name!",
        "summary": "text",
        "description": "text",
        "value": "any!",
        "externalValue": "text",
    },
    "reference": {"$ref": "text!"},
    "components": {
        "schemas": "{schema}",
        "links": "{link}",
        "errors": "{error}",
        "examples": "{example}",
        "examplePairings": "{pairing}",
        "contentDescriptors": "{descriptor}",
        "tags": "{tag}",
    },
}
"""The members of each kind of object, with their types. `!` marks a required member, `&` a member
that may be a reference, `[]` an array, `{}` a map."""

_OPEN: Final = frozenset({"components", "pairing", "example", "variable"})
"""Kinds of objects in which the meta-schemas allow any other member."""

_CLOSED: Final = frozenset({"error", "reference"})
"""Kinds of objects in which the meta-schemas allow no extensions."""

_TERM: Final = re.compile(r"([\[{]?)(\w+)(&?)[\]}]?(!?)")


class _Member(Struct, frozen=True):
    """The type that a member of an object must have."""

    form: str
    """`[` for an array, `{` for a map, empty for one value."""
    kind: str
    referable: bool
    required: bool


_MEMBERS: Final = {
    kind: {
        name: _Member(form, it, bool(referable), bool(required))
        for name, term in members.items()
        for form, it, referable, required in _TERM.findall(term)
    }
    for kind, members in _SHAPES.items()
}


class ObjectVisit(Struct, frozen=True):
    """One object of the document, and the kind of object that belongs in its place."""

    kind: str
    path: Path
    value: Any
    wanted: str = ""
    """For a reference: the kind of object that it must lead to."""


def walk(document: Any) -> Iterator[ObjectVisit | DocumentFinding]:
    """Yield every object, outermost first, and a finding for each wrong shape."""
    yield from _one("document", (), document)


def has_shape(kind: str, value: Any) -> bool:
    """Return whether the members of `value` allow it to be an object of this kind."""
    if kind == "schema":
        return isinstance(value, dict | bool)
    members = _MEMBERS[kind]
    known = isinstance(value, dict) and (kind in _OPEN or all(map(_is_known(kind), value)))
    return known and all(name in value for name, it in members.items() if it.required)


def _one(kind: str, path: Path, value: Any) -> Iterator[ObjectVisit | DocumentFinding]:
    if kind not in _MEMBERS:
        yield from _plain(kind, path, value)
        return
    if not isinstance(value, dict):
        yield _wrong(path, value, "an object")
        return
    yield ObjectVisit(kind, path, value)
    for name, member in _MEMBERS[kind].items():
        if name in value:
            yield from _content(member, (*path, name), value[name])
        elif member.required:
            yield finding("shape", path, f"the {kind} has no '{name}', which it must have")
    if kind not in _OPEN:
        advice = "take it away" if kind in _CLOSED else "extensions begin with 'x-'"
        for name in value:
            if not _is_known(kind)(name):
                message = f"the {kind} cannot have a member '{name}'; {advice}"
                yield finding("shape", (*path, name), message)


def _content(member: _Member, path: Path, value: Any) -> Iterator[ObjectVisit | DocumentFinding]:
    if not member.form:
        yield from _item(member, path, value)
    elif member.form == "[" and isinstance(value, list):
        for index, each in enumerate(value):
            yield from _item(member, (*path, index), each)
    elif member.form == "{" and isinstance(value, dict):
        for key, each in value.items():
            yield from _item(member, (*path, key), each)
    else:
        yield _wrong(path, value, "an array" if member.form == "[" else "an object")


def _item(member: _Member, path: Path, value: Any) -> Iterator[ObjectVisit | DocumentFinding]:
    if member.referable and isinstance(value, dict) and "$ref" in value:
        for found in _one("reference", path, value):
            if isinstance(found, ObjectVisit):
                found = ObjectVisit(found.kind, found.path, found.value, member.kind)
            yield found
    else:
        yield from _one(member.kind, path, value)


_PLAIN: Final[dict[str, tuple[str, Any]]] = {
    "text": ("a string", lambda it: isinstance(it, str)),
    "name": ("a string that is not empty", lambda it: isinstance(it, str) and it != ""),
    "flag": ("true or false", lambda it: isinstance(it, bool)),
    "integer": (
        "an integer",
        lambda it: not isinstance(it, bool) and isinstance(it, int | float) and it == it // 1,
    ),
    "structure": (
        "'by-name', 'by-position' or 'either'",
        lambda it: it in ("by-name", "by-position", "either"),
    ),
    "schema": ("a schema, an object or true or false", lambda it: isinstance(it, dict | bool)),
    "any": ("", lambda _: True),
}


def _plain(kind: str, path: Path, value: Any) -> Iterator[ObjectVisit | DocumentFinding]:
    what, fits = _PLAIN[kind]
    if not fits(value):
        yield _wrong(path, value, what)
    elif kind == "schema":
        yield ObjectVisit(kind, path, value)


def _wrong(path: Path, value: Any, expected: str) -> DocumentFinding:
    return finding("shape", path, f"must be {expected}, not {json_type(value)}")


def _is_known(kind: str) -> Any:
    members = _MEMBERS[kind]
    if kind in _CLOSED:
        return members.__contains__
    return lambda name: name in members or name.startswith("x-")


def json_type(value: Any) -> str:
    """Return the name of a value's type in JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "an array"
        case _:
            return "an object"
