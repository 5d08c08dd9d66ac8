"""Lists and formulas in cells of a table. Pure.

Spreadsheets take a cell for a formula that begins with one of a few signs, and run it. Such a cell
gets an apostrophe before it, and loses it when it is read again; one that had apostrophes before
gets one more, so that every text comes back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_FORMULA: Final = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_SEPARATOR: Final = re.compile(r"(?<!\\)((?:\\\\)*);")
_ESCAPED: Final = re.compile(r"\\(.)")


def harmless(text: str) -> str:
    """Return a cell that no spreadsheet interprets as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def meant(cell: str) -> str:
    """Return the text of a cell that `escape_formula` made."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def joined(values: Iterable[str]) -> str:
    """Join several values in one cell: `safety; payments`."""
    return "; ".join(each.replace("\\", "\\\\").replace(";", "\\;") for each in values)


def split(cell: str) -> list[str]:
    """Return the values of a cell."""
    parts = _SEPARATOR.sub("\\1\0", cell).split("\0")
    stripped = (_ESCAPED.sub(r"\1", part.strip()) for part in parts)
    return [part for part in stripped if part]
