"""What the linter says, and the rules by which it says it."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Severity: TypeAlias = Literal["error", "warning"]
Path: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead from the document to a place in it."""


class Rule(Struct, frozen=True):
    """What a rule asks for, and how bad it is not to follow it."""

    severity: Severity
    about: str


class Finding(Struct, frozen=True):
    """One thing that is wrong with a document."""

    rule: str
    severity: Severity
    path: str
    """Where, as a JSONPath: `$.methods[0].params[1].name`."""
    message: str
    """What is wrong, and what to do about it."""


RULES: Final = {
    "shape": Rule("error", "Members have the names and types that the meta-schema gives them."),
    "version": Rule("error", "`openrpc` is a version of the specification from 1.0 to 1.4."),
    "method-duplicate": Rule("error", "No two methods have the same name."),
    "method-reserved": Rule("error", "No method but `rpc.discover` has a name with `rpc.` before."),
    "method-without-result": Rule(
        "warning", "A method has a result, unless it is only ever notified."
    ),
    "param-duplicate": Rule("error", "No two params of a method have the same name."),
    "param-order": Rule("error", "Required params stand before optional ones."),
    "ref-unresolved": Rule("error", "A reference into the document leads somewhere."),
    "ref-kind": Rule("error", "A reference leads to the kind of thing that belongs in its place."),
    "ref-cycle": Rule("error", "References do not lead to each other for ever."),
    "ref-remote": Rule("warning", "A document does not need others to be read."),
    "ref-remote-discover": Rule("error", "The entry of `rpc.discover` needs no other document."),
    "component-key": Rule(
        "error", "Keys of components have only letters, digits and `.`, `-`, `_`."
    ),
    "component-unused": Rule("warning", "Every component is referred to."),
    "error-duplicate": Rule("error", "No two errors of a method have the same code."),
    "error-reserved": Rule(
        "error", "Codes from -32768 to -32000 are used only where their meaning is defined."
    ),
    "example-param-missing": Rule("error", "An example gives every required param."),
    "example-param-unknown": Rule("error", "An example gives only params that the method has."),
    "example-result": Rule("error", "An example has a result only if the method has one."),
    "link-method": Rule("error", "A link leads to a method of the document."),
    "link-param": Rule("error", "A link gives only params that its method has."),
    "tag-duplicate": Rule("warning", "A method has each tag once."),
    "tag-conflict": Rule("warning", "Tags of the same name say the same."),
    "server-url": Rule("error", "The URL of a server is absolute."),
    "server-variable": Rule("error", "The variables in a server's URL are the ones it declares."),
    "url": Rule("error", "Links to pages are absolute URLs, and an e-mail address has an @."),
    "schema-keyword": Rule("error", "Keywords of JSON Schema have values of the right type."),
    "schema-dialect": Rule("warning", "Schemas use the keywords of draft 07 only."),
    "schema-array": Rule(
        "warning", "An array says in one schema what its items are; many generators fail without."
    ),
    "schema-required": Rule("warning", "Required properties are among those that are allowed."),
}
"""Every rule by its id."""

# RFC 9535, section 2.5.1.1: what may follow a dot; other names stand in brackets.
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def finding(rule: str, path: Path, message: str) -> Finding:
    return Finding(rule, RULES[rule].severity, shown(path), message)


def shown(path: Path) -> str:
    """A path as JSONPath writes it."""
    return "$" + "".join(map(_step, path))


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _WORD.fullmatch(key) else f"[{key!r}]"
