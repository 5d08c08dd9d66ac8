"""Which characters texts may have. What they say is data, and kept as it is."""

from __future__ import annotations

import re
from typing import Final

_REFUSED: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")
_REFUSED_IN_LINE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def fault_of_text(text: str) -> str | None:
    """Return the problem of a text of several lines, or None."""
    return _fault(_REFUSED, text)


def fault_of_line(text: str) -> str | None:
    """Return the problem of a text of one line, such as a title, or None."""
    return _fault(_REFUSED_IN_LINE, text) or (None if text.strip() else "is blank")


def _fault(refused: re.Pattern[str], text: str) -> str | None:
    found = refused.search(text)
    if found is None:
        return None
    return f"has the character U+{ord(found[0]):04X} at {found.start() + 1:,}, which is not allowed"
