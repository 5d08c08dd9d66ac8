"""What docs/operate/observing.md says there is, read from its tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "operate" / "observing.md"
_CODE: Final = re.compile(r"`([^`]+)`")


class Metric(Struct, frozen=True):
    """A metric, as a table tells of it."""

    kind: str
    labels: frozenset[str]


def tables(first: str) -> list[list[str]]:
    """The cells of all rows of tables whose first column is called so."""
    rows: list[list[str]] = []
    inside = False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == first:
            inside = True
        elif inside and set(cells[0]) != {"-"}:
            rows.append(cells)
    return rows


def codes(cell: str) -> list[str]:
    """What stands in a cell as code."""
    return _CODE.findall(cell)


def metrics() -> dict[str, Metric]:
    found = {}
    for name, kind, labels, *_ in tables("metric"):
        [each] = codes(name)
        assert each not in found, f"{each} is there twice"
        found[each] = Metric(kind, frozenset(codes(labels)))
    return found


def names(first: str) -> set[str]:
    """All that the first columns of such tables name."""
    return {name for row in tables(first) for name in codes(row[0])}
