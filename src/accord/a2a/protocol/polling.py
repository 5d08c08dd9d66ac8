"""How long to wait between two questions about the same task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

FIRST_SECONDS: Final = 0.5
GROWTH: Final = 1.5
MAX_SECONDS: Final = 30.0


def intervals(
    first: float = FIRST_SECONDS, growth: float = GROWTH, most: float = MAX_SECONDS
) -> Iterator[float]:
    """Seconds to wait, growing up to `most`, without end."""
    while True:
        yield min(first, most)
        first = min(first * growth, most)
