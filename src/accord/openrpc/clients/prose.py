"""Texts of a document made lines that may stand in a comment.

What would end a line or turn the direction of writing is taken out; how a comment ends in a
language is for its writer to look after.
"""

from __future__ import annotations

import re
from textwrap import wrap
from typing import Final

_LINE_ENDS: Final = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def line(text: str) -> str:
    """The text on one line."""
    return " ".join(_printable(text).split())


def lines(text: str, width: int) -> list[str]:
    """The text as lines of that width, where its words allow; blank ones between paragraphs."""
    found: list[str] = []
    for each in _LINE_ENDS.split(text.strip()):
        shown = _printable(each).rstrip()
        if shown or (found and found[-1]):
            indent = shown[: len(shown) - len(shown.lstrip())]
            found += wrap(
                shown,
                max(width, 20),
                subsequent_indent=indent[:8],
                break_long_words=False,
                break_on_hyphens=False,
            ) or [""]
    while found and not found[-1]:
        found.pop()
    return found


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
