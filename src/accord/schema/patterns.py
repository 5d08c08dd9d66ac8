"""Regular expressions of Python in the dialect of JSON Schema, which is ECMAScript's."""

from __future__ import annotations

import re
from typing import Final

_TOKEN = re.compile(
    r"""\\[AZ]                                  # anchors that ECMAScript has not
      | \(\?P<(?P<group>[A-Za-z_]\w*)>          # a named group
      | \(\?P=(?P<back>[A-Za-z_]\w*)\)          # a reference to one
      | (?P<foreign>
            \(\?(?:[aiLmsux-]|\(|\#|>)          # flags, conditions, comments, atomic groups
          | \\N\{|\\[aU]|\\0                    # characters by name or by octal number
          | [*+?}]\+                            # quantifiers that never give back
        )
      | \\.                                     # any other escape
      | \[\^?\]?(?:\\.|[^\]\\])*\]              # a set of characters
    """,
    re.VERBOSE | re.DOTALL,
)
_ANCHORS: Final = {r"\A": "^", r"\Z": "$"}


def to_ecma(pattern: str) -> str | None:
    """`pattern` as ECMAScript writes it; None when it cannot say the same."""
    parts: list[str] = []
    end = 0
    for found in _TOKEN.finditer(pattern):
        if found["foreign"] is not None:
            return None
        parts += (pattern[end : found.start()], _translate(found))
        end = found.end()
    return "".join([*parts, pattern[end:]])


def _translate(found: re.Match[str]) -> str:
    if found["group"] is not None:
        return f"(?<{found['group']}>"
    if found["back"] is not None:
        return rf"\k<{found['back']}>"
    return _ANCHORS.get(found[0], found[0])
