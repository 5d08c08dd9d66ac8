"""References inside a document: JSON pointers, followed."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from msgspec import UNSET, UnsetType

_INDEX = re.compile(r"0|[1-9][0-9]*")


def is_local(ref: str) -> bool:
    """Whether a reference leads into its own document."""
    return ref.startswith("#")


def follow(document: Any, ref: str) -> Any | UnsetType:
    """What a local reference leads to; UNSET where there is nothing."""
    pointer = unquote(ref[1:])
    if pointer and not pointer.startswith("/"):
        return UNSET  # an anchor, which no tool for OpenRPC knows
    found = document
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and _INDEX.fullmatch(key) and int(key) < len(found):
            found = found[int(key)]
        else:
            return UNSET
    return found


def resolve(document: Any, value: Any) -> Any | UnsetType:
    """`value`, or what it refers to in the end; UNSET where that is nothing, or elsewhere."""
    seen: set[str] = set()
    while isinstance(value, dict) and isinstance(ref := value.get("$ref"), str):
        if ref in seen or not is_local(ref):
            return UNSET
        seen.add(ref)
        value = follow(document, ref)
    return value


def is_endless(document: Any, value: Any) -> bool:
    """Whether references lead from `value` to each other only."""
    seen: set[str] = set()
    while isinstance(value, dict) and isinstance(ref := value.get("$ref"), str) and is_local(ref):
        if ref in seen:
            return True
        seen.add(ref)
        value = follow(document, ref)
    return False
