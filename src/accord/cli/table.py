"""Rows for people: columns, each as wide as it needs to be."""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.output import print_line, printable


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A line for each row, below a line with the names of the columns."""
    lines = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print_line("  ".join(cells).rstrip())
