"""The table of runs in docs/fuzzing.md: each row is written by the run that it tells of."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

PAGE: Final = Path(__file__).parent.parent / "docs" / "fuzzing.md"
_END: Final = "<!-- end of runs -->"


class Run(Struct, frozen=True, kw_only=True):
    """A run that found nothing."""

    target: str
    commit: str
    engine: str
    inputs: int
    seconds: float

    @property
    def row(self) -> str:
        date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
        python = platform.python_version()
        return (
            f"| {date} | {self.target} | {self.commit} | {self.engine} | {python} "
            f"| {self.inputs:,} | {self.seconds:,.0f} s | 0 |"
        )


def commit() -> str:
    """Which state of the code is here, with a plus where it was changed since."""
    git = ["git", "describe", "--always", "--abbrev=7", "--dirty=+", "--exclude=*"]
    done = subprocess.run(git, cwd=PAGE.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def append(run: Run) -> None:
    """Add a row to the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, end, after = page.partition(_END)
    if not end:
        raise LookupError(f"{PAGE.name} has no line {_END}")
    PAGE.write_text(f"{before}{run.row}\n{end}{after}", encoding="utf-8")
