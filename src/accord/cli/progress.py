"""How far long work is, on stderr: a bar on a terminal, elsewhere a line every few seconds.

Whoever works calls it with what is done and, where that is known, how much there is. It knows
nothing of the work; with --json or --quiet it says nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, TextIO

from accord.cli.output import printable
from accord.cli.parser import Parser

REDRAWN_AFTER: Final = 0.1
"""Seconds between two drawings of a bar."""
TOLD_AFTER: Final = 5.0
"""Seconds between two lines where there is no terminal, and before the first."""
BAR: Final = 24
NARROW: Final = 72
"""A terminal with fewer columns has no bar."""
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """Told by `progress(done, total)`; what it drew is gone when its block ends."""

    def __init__(
        self,
        doing: str,
        unit: str,
        *,
        stream: TextIO,
        quiet: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._doing = doing
        self._unit = unit
        self._stream = stream
        self._quiet = quiet
        self._now = now
        self._is_drawn = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._began = self._shown = now()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_drawn and not self._quiet:
            self._write(_CLEAR)

    def __call__(self, done: int, total: int | None = None) -> None:
        now = self._now()
        if self._quiet or now - self._shown < (REDRAWN_AFTER if self._is_drawn else TOLD_AFTER):
            return
        self._shown = now
        told = progress_text(self._unit, done, total, now - self._began)
        if not self._is_drawn:
            self._write(f"{self._doing}: {told}\n")
            return
        columns = _columns(self._stream)
        bar = f"{_bar(done, total)} " if total and columns >= NARROW else ""
        self._write(_CLEAR + f"{self._doing} {bar}{told}"[: columns - 1])

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def add_quiet_flag(parser: Parser) -> None:
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def progress_of(arguments: argparse.Namespace, doing: str, unit: str) -> Progress:
    """The progress of a command, as its flags want it."""
    quiet = arguments.quiet or arguments.json
    return Progress(printable(doing), unit, stream=sys.stderr, quiet=quiet)


def progress_text(unit: str, done: int, total: int | None, seconds: float) -> str:
    """The count, the rate, and the time that is left where that can be told."""
    of = f" of {total:,}" if total is not None else ""
    text = f"{done:,}{of} {unit}"
    if done <= 0 or seconds <= 0:
        return text
    rate = done / seconds
    text += f", {rate:,.0f}/s" if rate >= 1 else f", {rate * 60:,.0f}/min"
    return text if total is None else f"{text}, {_time(max(total - done, 0) / rate)} left"


def _bar(done: int, total: int) -> str:
    full = min(done * BAR // total, BAR)
    return f"[{'=' * full}{' ' * (BAR - full)}]"


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
