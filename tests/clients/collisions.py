"""A document whose methods, parameters, fields and places are called as the generated source, the
languages and their libraries call things."""

from __future__ import annotations

import builtins
import keyword
from typing import Any

from accord.openrpc.clients.python import IMPORTED, MODULES

_SOURCE = (
    *("params", "self", "cls", "method", "timeout", "args", "kwargs", "peer", "batch", "close"),
    *("connect", "using", "result", "returns", "call", "notify", "caller", "_caller", "client"),
    *("Client", "accord", "stub", "annotations", "T", "typing", "options", "router", "target"),
    *("idempotent", "_open", "_url", "_errors", "re", "json", "__init__", "__class__", "mro"),
)
_TYPESCRIPT = (
    *("then", "constructor", "prototype", "arguments", "eval", "enum", "export", "extends"),
    *("function", "implements", "interface", "let", "new", "package", "private", "protected"),
    *("public", "static", "switch", "this", "throw", "typeof", "var", "void", "const", "delete"),
    *("default", "case", "catch", "debugger", "do", "instanceof", "null", "undefined", "NaN"),
    *("Promise", "Array", "Record", "Map", "Error", "JSON", "Object", "String", "Number"),
    *("toString", "hasOwnProperty", "valueOf", "__proto__", "signal", "fetch", "headers", "url"),
)
NAMES = sorted(
    {
        *dir(builtins),
        *keyword.kwlist,
        *keyword.softkwlist,
        *IMPORTED,
        *MODULES,
        *_SOURCE,
        *_TYPESCRIPT,
    }
)


def collisions(structure: str) -> dict[str, Any]:
    """The document, whose params go by name or by position."""
    text: Any = {"type": "string"}
    texts: Any = {"type": "array", "items": text}
    counts: Any = {"type": "object", "additionalProperties": {"type": "integer"}}

    def method(name: str, params: list[dict[str, Any]], result: Any) -> dict[str, Any]:
        return {
            "name": name,
            "params": params,
            "paramStructure": structure,
            "result": {"name": "result", "schema": result},
        }

    every = [{"name": name, "schema": text} for name in NAMES]
    methods = [method("every_one_of_them", every, texts)]
    for name in NAMES:
        long = [
            {"name": name, "required": True, "schema": texts},
            {"name": "other_with_a_long_name_to_break_the_line", "schema": counts},
            {"name": "second_with_a_long_name_to_break_it", "schema": text},
        ]
        methods.append(method(f"members.{name}", long, texts))
        methods.append(method(f"places.{name}.get", [], counts))
        methods.append(method(name, [{"name": "x", "schema": text}], texts))
    for required in (NAMES, []):
        record = {
            "type": "object",
            "properties": dict.fromkeys(NAMES, texts),
            "required": required,
            "additionalProperties": False,
        }
        methods.append(method(f"record_{len(required)}", [], record))
    info = {"title": "Collisions", "version": "1"}
    return {"openrpc": "1.3.2", "info": info, "methods": methods}
