"""What came from outside, made fit for a line of a log. Pure."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 200
LOGGED_AT_FIRST: Final = 10
LOGGED_THEN: Final = 1_000


def is_worth_logging(count: int) -> bool:
    """Whether to log the `count`th fault of one kind on one connection: the first ten, then every
    thousandth. A hostile message can hold a thousand of them, and logging costs more than reading.
    """
    return count <= LOGGED_AT_FIRST or count % LOGGED_THEN == 0


def log_line(text: object) -> str:
    """`text` cut to a length that fits, on one line: nobody outside can forge a line of ours."""
    shown = str(text)
    if len(shown) > LONGEST:
        shown = f"{shown[:LONGEST]}…"
    return shown if shown.isprintable() else shown.encode("unicode_escape").decode("ascii")
