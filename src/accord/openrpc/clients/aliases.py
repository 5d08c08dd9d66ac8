"""Declarations that lead back to themselves without anything in between, cut open.

`{"$ref": …}` to itself, or an `anyOf` with itself among its members, is no type in any language;
what leads back through an array, a map or a record is. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from accord.openrpc.clients.model import (
    ANYTHING,
    NOTHING,
    Declaration,
    Record,
    Reference,
    Type,
    Union,
    union,
)


def cut_circles(declarations: Mapping[str, Declaration]) -> dict[str, Declaration]:
    """The same declarations, none of which is directly itself."""
    found = dict(declarations)
    done: set[str] = set()
    for start in declarations:
        path: dict[str, list[str]] = {}
        stack = [start]
        while stack:
            key = stack[-1]
            if key in done:
                stack.pop()
            elif key not in path:
                back = [each for each in directly(found[key].type) if each in path or each == key]
                found[key] = _without(found[key], back)
                path[key] = directly(found[key].type)
                stack += path[key]
            else:
                done.add(key)
                del path[key]
                stack.pop()
    return found


def directly(type: Record | Type) -> list[str]:
    """The keys of the declarations that a type consists of, nothing in between."""
    members = type.members if isinstance(type, Union) else (type,)
    return [member.key for member in members if isinstance(member, Reference)]


def _without(declaration: Declaration, keys: list[str]) -> Declaration:
    type = declaration.type
    if not keys or isinstance(type, Record):
        return declaration
    members = type.members if isinstance(type, Union) else (type,)
    kept = union(*(each for each in members if each not in [Reference(key) for key in keys]))
    return replace(declaration, type=ANYTHING if kept == NOTHING else kept)
