"""What a run found: its rows, the table for people, the file for programs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from benchmarks.environments import ROOT, version_of

PAGE = ROOT / "docs" / "benchmarks.md"
FILE = ROOT / "docs" / "benchmarks.json"

Unit = Literal["µs", "ms", "s", "/s", "bytes", "KB", "MB", "%", "writes", "blocks", "characters"]


class Bound(Struct, frozen=True):
    """What a row must reach: a ratio where it has one, else its figure."""

    relation: Literal["at least", "at most"]
    limit: float

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.relation == "at least" else value <= self.limit


def at_least(limit: float) -> Bound:
    return Bound("at least", limit)


def at_most(limit: float) -> Bound:
    return Bound("at most", limit)


class Row(Struct, frozen=True, kw_only=True):
    """One thing that was measured."""

    group: str
    what: str
    ours: float
    unit: Unit
    against: str = ""
    theirs: float | None = None
    ratio: float | None = None
    bound: Bound | None = None
    proves: tuple[str, ...] = ()
    """The requirements that this row is part of the proof of."""

    @property
    def met(self) -> bool:
        value = self.ours if self.ratio is None else self.ratio
        return self.bound is None or self.bound.holds(value)


class Run(Struct, frozen=True):
    """A complete run."""

    date: str
    python: str
    command: str
    proves: list[str]
    rows: list[Row]
    again: dict[str, str] = {}
    """The groups that were measured by themselves since, and when."""


def stored() -> Run:
    """The run that is kept. Raises FileNotFoundError when there is none."""
    return msgspec.json.decode(FILE.read_bytes(), type=Run)


def renewed(run: Run, rows: Sequence[Row], order: Sequence[str]) -> Run:
    """`run` with these rows in the place of those of their groups."""
    groups = {row.group for row in rows}
    kept = [row for row in run.rows if row.group not in groups]
    together = sorted([*kept, *rows], key=lambda row: order.index(row.group))
    today = datetime.now(UTC).date().isoformat()
    return replace(
        run,
        rows=together,
        proves=proven(together),
        again={**run.again, **dict.fromkeys(sorted(groups), today)},
    )


def complete(rows: Sequence[Row]) -> Run:
    return Run(
        date=datetime.now(UTC).date().isoformat(),
        python=platform.python_version(),
        command="make bench",
        proves=proven(rows),
        rows=list(rows),
    )


def proven(rows: Iterable[Row]) -> list[str]:
    """The requirements all of whose rows were met."""
    outcomes: dict[str, bool] = {}
    for row in rows:
        for id in row.proves:
            outcomes[id] = outcomes.get(id, True) and row.met
    return sorted(id for id, met in outcomes.items() if met)


def missed(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row.met]


def write(run: Run, titles: dict[str, str]) -> None:
    PAGE.write_text(page(run, titles), encoding="utf-8")
    rows = [{**to_builtins(row), "met": row.met} for row in run.rows]
    found: dict[str, Any] = {**to_builtins(run), "rows": rows}
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def page(run: Run, titles: dict[str, str]) -> str:
    return (
        "# Benchmarks\n\n"
        "<!-- Written by `make bench`. -->\n\n"
        f"{_facts(run)}{_later(run)}\n"
        "Costs are CPU time per operation: of the thread for work in one process, of the server's\n"
        "whole process where there is a connection. The load comes from a generator of our own,\n"
        "which checks every answer. It shares one core with the server, neither interrupts the\n"
        "other, and so every server is woken equally often: once for all requests that are in\n"
        "flight. We and the others take turns in short slices of the same run, and a\n"
        "ratio is the median of the ratios of the rounds. Rates and latencies are by the clock on\n"
        "the wall, on all cores, and say as much about the machine as about us. `def` and\n"
        "`async def` say how our handler is declared: one runs inline, the other as a task.\n\n"
        "The MCP servers of others run *as they come*: an `async def` that returns a text, added\n"
        "with no option, has an output schema and structured content, and answers over HTTP are\n"
        "streams of events, on uvicorn with h11 and asyncio's loop. Ours runs without uvloop, and\n"
        "answers `-> str` by text alone, in JSON. *Tuned*, the others answer in JSON, without\n"
        "structured content, on httptools and uvloop, in the version in which they are faster.\n"
        "Why: [decision 12](decisions/0012-what-is-compared.md).\n\n"
        f"{table(run.rows, titles)}"
        f"\nProven: {', '.join(run.proves) or 'nothing'}.\n"
    )


def table(rows: Iterable[Row], titles: dict[str, str]) -> str:
    groups = groupby(rows, key=lambda row: row.group)
    return "\n".join(f"## {titles[group]}\n\n{plain_table(members)}" for group, members in groups)


def plain_table(rows: Iterable[Row]) -> str:
    """The rows of one group, without its title."""
    head = ("", "ours", "against", "theirs", "ratio", "must reach", "")
    lines = [head, ("---",) * len(head), *(_cells(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        amount(row.ours, row.unit),
        row.against,
        "" if row.theirs is None else amount(row.theirs, row.unit),
        "" if row.ratio is None else times(row.ratio),
        _limit(row),
        "" if row.bound is None else "yes" if row.met else "**no**",
    )


def _limit(row: Row) -> str:
    if row.bound is None:
        return ""
    limit = row.bound.limit
    shown = f"{limit:g}x" if row.ratio is not None else amount(limit, row.unit)
    return f"{row.bound.relation} {shown}"


def amount(value: float, unit: Unit) -> str:
    size = abs(value)
    digits = 0 if size >= 100 or size == int(size) else 1 if size >= 10 else 2
    space = "" if unit in ("/s", "%") else " "
    return f"{value:,.{digits}f}{space}{unit}"


def times(ratio: float) -> str:
    return f"{ratio:,.{0 if ratio >= 100 else 1 if ratio >= 10 else 2}f}x"


def _facts(run: Run) -> str:
    return (
        f"Measured on {run.date} by `{run.command}` under Python {run.python} on "
        f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores.\n"
        f"Accord {version('accord')} with {_versions(('msgspec', 'httptools', 'uvloop'))};\n"
        f"the others: {', '.join(f'{name} {version_of(name)}' for name in _peers())}.\n"
    )


def _later(run: Run) -> str:
    """Which groups are not of the same run."""
    return "".join(
        f"Measured again on {date} by `python -m benchmarks --keep --only {group}`: {group}.\n"
        for group, date in run.again.items()
    )


def _versions(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {version(name)}" for name in names)


def _peers() -> list[str]:
    return sorted(path.stem for path in (Path(__file__).parent / "peers").glob("*.txt"))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"
