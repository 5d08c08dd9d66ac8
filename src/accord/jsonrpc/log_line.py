"""What came from outside, made fit for a line of a log. Pure."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 200


def log_line(text: object) -> str:
    """`text` cut to a length that fits, on one line: nobody outside can forge a line of ours."""
    shown = str(text)
    if len(shown) > LONGEST:
        shown = f"{shown[:LONGEST]}…"
    return shown if shown.isprintable() else shown.encode("unicode_escape").decode("ascii")
