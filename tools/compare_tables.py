"""Writes what was measured into pages of the documentation, between their markers.

A page says what it wants to show, and nobody types a figure:

    <!-- figures: GROUP | WHAT | AGAINST, AGAINST -->
    <!-- end of figures -->

GROUP is one of docs/benchmarks.json; WHAT is what a row is called, or nothing for all of the group;
AGAINST is how the names of those begin who are compared with, or nothing for everybody. A GROUP
alone is shown as in docs/benchmarks.md, with all that it must reach.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from benchmarks.report import Row, Run, amount, plain_table, stored, times

DOCS: Final = Path(__file__).parent.parent / "docs"
COMPARISONS: Final = DOCS / "compare"
END: Final = "<!-- end of figures -->"
FIGURES: Final = re.compile(
    r"(?P<marker><!-- figures: (?P<wanted>[^\n]+) -->\n).*?" + re.escape(END), re.DOTALL
)

SOURCE: Final = "how, and which versions: [benchmarks.md](../benchmarks.md)"
HEAD: Final = "|  | Accord | compared with | theirs | ratio |\n|---|---|---|---|---|\n"


class NothingFoundError(Exception):
    """A marker asks for rows that no run has."""


class Wanted(Struct, frozen=True):
    """What a marker asks for."""

    group: str
    what: str
    against: tuple[str, ...]

    def takes(self, row: Row) -> bool:
        return (
            row.group == self.group
            and row.theirs is not None
            and self.what in ("", row.what)
            and row.against.startswith(self.against or ("",))
        )


def read_marker(text: str) -> Wanted:
    """What stands behind `figures:`. Raises ValueError where it has not three parts."""
    group, what, against = (part.strip() for part in text.split("|"))
    names = tuple(name.strip() for name in against.split(", ") if name.strip())
    return Wanted(group, what, names)


def filled(page: str, run: Run) -> str:
    """`page` with the figures of `run` between its markers. Raises NothingFoundError."""

    def fill(found: re.Match[str]) -> str:
        wanted = found["wanted"]
        table = _table(read_marker(wanted), run) if "|" in wanted else _whole(wanted, run)
        return f"{found['marker']}\n{table}\n{END}"

    return FIGURES.sub(fill, page)


def pages() -> list[Path]:
    return [
        *sorted(COMPARISONS.glob("*.md")),
        DOCS / "hub" / "speed.md",
        DOCS / "workflows" / "speed.md",
    ]


def _whole(group: str, run: Run) -> str:
    rows = [row for row in run.rows if row.group == group]
    if not rows:
        raise NothingFoundError(f"no row of {group}")
    return f"{plain_table(rows)}\n{_measured(group, run)}"


def _table(wanted: Wanted, run: Run) -> str:
    rows = [row for row in run.rows if wanted.takes(row)]
    if not rows:
        raise NothingFoundError(f"no row of {wanted.group} is {wanted.what or 'compared'}")
    return f"{HEAD}{''.join(map(_line, rows))}\n{_measured(wanted.group, run)}"


def _measured(group: str, run: Run) -> str:
    return f"Measured on {run.again.get(group, run.date)}; {SOURCE}.\n"


def _line(row: Row) -> str:
    assert row.theirs is not None
    ratio = "" if row.ratio is None else times(row.ratio)
    cells = (row.what, amount(row.ours, row.unit), row.against, amount(row.theirs, row.unit), ratio)
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    for path in pages():
        path.write_text(filled(path.read_text(encoding="utf-8"), stored()), encoding="utf-8")
