"""How far long work is: on terminals, elsewhere, and not at all."""

from __future__ import annotations

import io

import pytest

from accord.cli.output import Progress, progress_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def shown(stream: io.StringIO, *steps: tuple[float, int, int | None], quiet: bool = False) -> str:
    """What is written while so much is done of so much at these times."""
    clock = Clock()
    with Progress("importing", "rows", stream=stream, quiet=quiet, now=clock) as progress:
        for time, done, total in steps:
            clock.time = time
            progress(done, total)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def xterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_has_a_bar_which_is_gone_in_the_end() -> None:
    assert shown(Terminal(), (2.0, 500, 2000)) == (
        "\r\x1b[Kimporting [======                  ] 500 of 2,000 rows, 250/s, 6 s left\r\x1b[K"
    )


def test_a_terminal_is_not_drawn_to_more_often_than_anybody_sees() -> None:
    assert shown(Terminal(), (0.05, 1, 9), (0.2, 2, 9), (0.25, 3, 9)).count("importing") == 1


def test_a_narrow_terminal_has_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.cli.output._columns", lambda stream: 30)
    drawn = shown(Terminal(), (2.0, 500, 2000))
    assert drawn == "\r\x1b[Kimporting 500 of 2,000 rows, \r\x1b[K"


def test_where_there_is_no_terminal_a_line_is_written_now_and_then() -> None:
    steps = ((1.0, 100, 2000), (5.0, 500, 2000), (6.0, 600, 2000), (10.0, 1000, 2000))
    assert shown(io.StringIO(), *steps) == (
        "importing: 500 of 2,000 rows, 100/s, 15 s left\n"
        "importing: 1,000 of 2,000 rows, 100/s, 10 s left\n"
    )


def test_a_dumb_terminal_has_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown(Terminal(), (5.0, 500, None)) == "importing: 500 rows, 100/s\n"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_who_wants_none_has_none(stream: io.StringIO) -> None:
    assert shown(stream, (60.0, 500, 2000), quiet=True) == ""


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (0, 10, 5.0, "0 of 10 rows"),
        (1, 61, 120.0, "1 of 61 rows, 0/min, 2 h 0 min left"),
        (30, 90, 60.0, "30 of 90 rows, 30/min, 2 min 0 s left"),
        (12, 10, 1.0, "12 of 10 rows, 12/s, 0 s left"),
    ],
)
def test_the_time_that_is_left_is_told(done: int, total: int, seconds: float, text: str) -> None:
    assert progress_text("rows", done, total, seconds) == text
