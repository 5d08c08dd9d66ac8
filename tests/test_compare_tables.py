"""Pages show the figures that are stored; those of docs/compare no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.report import Row, Run, stored
from tools.compare_tables import COMPARISONS, FIGURES, NothingFoundError, filled, pages

TYPED_IN = re.compile(r"\b\d[\d,.]*\s?(?:x|times|µs|ms|MB|KB|/s)(?![\w-])")
RUN = Run(
    date="2026-01-01",
    python="3.11",
    command="make bench",
    proves=[],
    rows=[
        Row(group="a", what="one", ours=2.0, unit="µs", against="b tuned", theirs=4.0, ratio=2.0),
        Row(group="a", what="two", ours=2.0, unit="µs", against="c", theirs=8.0),
        Row(group="a", what="three", ours=2.0, unit="µs"),
        Row(group="z", what="one", ours=2.0, unit="µs", against="b", theirs=4.0),
    ],
    again={"a": "2026-02-02"},
)


def page(marker: str) -> str:
    return f"Before\n\n<!-- figures: {marker} -->\nold\n<!-- end of figures -->\n\nAfter\n"


@pytest.mark.parametrize("path", pages(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_page_has_the_figures_of_the_stored_run(path: Path) -> None:
    assert path.read_text() == filled(path.read_text(), stored()), "python -m tools.compare_tables"


@pytest.mark.parametrize("path", sorted(COMPARISONS.glob("*.md")), ids=lambda path: path.name)
def test_a_page_has_no_figure_of_its_own(path: Path) -> None:
    assert TYPED_IN.findall(FIGURES.sub("", path.read_text())) == []


def test_a_marker_is_filled_with_all_that_was_compared_in_its_group() -> None:
    assert filled(page("a | |"), RUN) == (
        "Before\n\n<!-- figures: a | | -->\n\n"
        "|  | Accord | compared with | theirs | ratio |\n|---|---|---|---|---|\n"
        "| one | 2 µs | b tuned | 4 µs | 2.00x |\n"
        "| two | 2 µs | c | 8 µs |  |\n"
        "\nMeasured on 2026-02-02; how, and which versions: [benchmarks.md](../benchmarks.md).\n"
        "\n<!-- end of figures -->\n\nAfter\n"
    )


@pytest.mark.parametrize(
    ("marker", "count"), [("a | one | ", 1), ("a | | b, c", 2), ("a | | c", 1)]
)
def test_a_marker_may_name_a_row_and_whom_it_is_compared_with(marker: str, count: int) -> None:
    assert filled(page(marker), RUN).count(" µs |") == 2 * count


def test_a_group_alone_is_shown_with_all_that_it_has() -> None:
    assert filled(page("a"), RUN) == (
        "Before\n\n<!-- figures: a -->\n\n"
        "|  | ours | against | theirs | ratio | must reach |  |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| one | 2 µs | b tuned | 4 µs | 2.00x |  |  |\n"
        "| two | 2 µs | c | 8 µs |  |  |  |\n"
        "| three | 2 µs |  |  |  |  |  |\n"
        "\nMeasured on 2026-02-02; how, and which versions: [benchmarks.md](../benchmarks.md).\n"
        "\n<!-- end of figures -->\n\nAfter\n"
    )


@pytest.mark.parametrize(
    ("marker", "why"), [("a | four | ", "no row of a is four"), ("b", "no row of b")]
)
def test_a_marker_that_finds_nothing_is_an_error(marker: str, why: str) -> None:
    with pytest.raises(NothingFoundError, match=why):
        filled(page(marker), RUN)
