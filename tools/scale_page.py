"""Computes the tables of docs/operate/scale.md from the stored figures of benchmarks: nobody types
their numbers in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import ceil
from pathlib import Path
from typing import Final

from benchmarks.report import Row, Run, amount, stored

PAGE: Final = Path(__file__).parent.parent / "docs" / "operate" / "scale.md"
MARKED: Final = re.compile(
    r"(<!-- computed: (?P<name>[a-z]+) -->\n).*?(<!-- end of what is computed -->)", re.DOTALL
)
BUSY: Final = 0.5
"""How busy a core may be kept: the rest is for peaks, backups and a neighbour that failed."""
STEPS: Final = 10
RUNS: Final = (10_000, 100_000, 1_000_000)
ASSISTANTS: Final = (100, 1_000, 10_000)
CALL_SECONDS: Final = 10
"""How often each assistant calls."""
MISSING: Final = "not measured yet"


class Figures:
    """Rows by their group and what they are about."""

    def __init__(self, run: Run) -> None:
        self._rows = {(row.group, row.what): row for row in run.rows}
        self._dates = run.again
        self._date = run.date

    def find(self, group: str, what: str) -> Row | None:
        """The first row of a group that begins so."""
        return next(
            (
                row
                for (of, told), row in self._rows.items()
                if of == group and told.startswith(what)
            ),
            None,
        )

    def get(self, group: str, what: str) -> Row:
        found = self.find(group, what)
        assert found is not None, f"{group} has no row about {what!r}"
        return found

    def date(self, group: str) -> str:
        return self._dates.get(group, self._date)


def render(page: str, figures: Figures) -> str:
    """The page with its tables computed anew."""
    return MARKED.sub(lambda found: found[1] + TABLES[found["name"]](figures) + found[3], page)


def _costs(figures: Figures) -> str:
    """What one of each costs, and where the figure is from."""
    lines = []
    for name, (group, what) in COSTS.items():
        row = figures.find(group, what)
        told = MISSING if row is None else amount(row.ours, row.unit)
        date = "" if row is None else figures.date(group)
        lines.append((name, told, f"`{group}`", date))
    return _table(("one …", "costs", "measured by", "on"), lines)


def _workers(figures: Figures) -> str:
    """What two cost against one."""
    lines = []
    for name, (group, cpu, share) in WORKERS.items():
        row, busier = figures.find(group, cpu), figures.find(group, share)
        if row is None or row.ratio is None or busier is None:
            lines.append((name, MISSING, ""))
        else:
            lines.append((name, f"{row.ratio:.2f} times", amount(busier.ours, busier.unit)))
    return _table(("", "CPU of two against one", "share of the busier one"), lines)


def _runs(figures: Figures) -> str:
    """Cores for so many runs an hour."""
    cores: list[Callable[[float], str]] = [
        _cores(figures.get("workflow_steps", what))
        for what in (
            "PostgreSQL: CPU of the engine's process",
            "PostgreSQL: CPU of the database's processes",
            "Kafka and PostgreSQL: CPU of the engine's process",
            "Kafka and PostgreSQL: CPU of the database's processes",
            "Kafka and PostgreSQL: CPU of the broker",
        )
    ]
    head = (
        *("runs an hour", "steps a second"),
        *("cores of executors and bridges", "of PostgreSQL"),
        *("with Kafka: of executors and bridges", "of PostgreSQL", "of brokers"),
    )
    lines = []
    for runs in RUNS:
        steps = runs * STEPS / 3600
        lines.append((f"{runs:,}", f"{steps:,.0f}", *(each(steps) for each in cores)))
    return _table(head, lines)


def _assistants(figures: Figures) -> str:
    """Cores, memory and descriptors for so many that are connected."""
    cores = _cores(figures.get("hub_calls", "`get_requirement`, PostgreSQL"))
    fresh = figures.get("hub_figures", "memory of a fresh server").ours
    connected = figures.find("scale_connected", "memory of an assistant")
    session = figures.get("mcp_sessions", "memory of a session").ours
    idle = figures.get("memory", "an idle connection that was used once, HTTP").ours
    each = session + idle if connected is None else connected.ours
    lines = []
    for count in ASSISTANTS:
        calls = count / CALL_SECONDS
        memory = fresh + count * each / 1024
        lines.append(
            (
                f"{count:,}",
                f"{calls:,.0f}",
                cores(calls),
                amount(memory, "MB"),
                f"{2 * count:,}",
            )
        )
    head = (
        *("assistants", "calls a second", "cores of servers"),
        *("memory of one process that has them all", "descriptors: a stream and a call each"),
    )
    return _table(head, lines)


def _connected(figures: Figures) -> str:
    """What was measured with very many connections."""
    rows = [figures.find("scale_connected", what) for what in CONNECTED]
    if any(row is None for row in rows):
        return f"{MISSING}: `make bench-connected`\n"
    lines = [(row.what, amount(row.ours, row.unit)) for row in rows if row is not None]
    head = ("", f"measured on {figures.date('scale_connected')}")
    return _table(head, lines)


def _cores(row: Row) -> Callable[[float], str]:
    """How many cores so many of these a second take."""
    assert row.unit == "µs"
    seconds = row.ours / 1e6

    def cores(rate: float) -> str:
        needed = rate * seconds / BUSY
        return f"{ceil(needed * 10) / 10:.1f}"

    return cores


def _table(head: Iterable[str], lines: Iterable[tuple[str, ...]]) -> str:
    titles = tuple(head)
    rows = [titles, ("---",) * len(titles), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


COSTS: Final = {
    "read over MCP, our process": ("hub_calls", "`get_requirement`, PostgreSQL"),
    "read over MCP, with the database": (
        "scale_calls",
        "`get_requirement` over MCP 2026-07-28: CPU",
    ),
    "read over REST, with the database": ("scale_calls", "`get_requirement` over REST: CPU"),
    "write over MCP, our process": ("hub_calls", "`create_requirement`, PostgreSQL"),
    "step of a workflow, our process": (
        "workflow_steps",
        "PostgreSQL: CPU of the engine's process",
    ),
    "step of a workflow, the database": (
        "workflow_steps",
        "PostgreSQL: CPU of the database's processes",
    ),
    "session of an assistant, memory": ("mcp_sessions", "memory of a session"),
    "idle connection, memory": ("memory", "an idle connection that was used once, HTTP"),
    "fresh server, memory": ("hub_figures", "memory of a fresh server"),
}
WORKERS: Final = {
    "JSON-RPC over HTTP, a method that does nothing": (
        *("workers", "HTTP: CPU time per call"),
        "HTTP: share",
    ),
    **{
        f"{name}, with the database": ("scale_calls", f"{name}: CPU", f"{name}: share")
        for name in (
            "`get_requirement` over JSON-RPC",
            "`get_requirement` over MCP 2026-07-28",
            "`get_requirement` over MCP 2025-11-25, in a session",
            "`get_requirement` over REST",
        )
    },
    "a step of a workflow, of runs that are all there, with the database": (
        *("scale_steps", "CPU of processes and database, a step"),
        "share of",
    ),
}
CONNECTED: Final = (
    "memory of an assistant",
    "CPU to connect one",
    "CPU of a core while",
    "a change is told to",
    "CPU to tell one",
)
TABLES: Final[dict[str, Callable[[Figures], str]]] = {
    "costs": _costs,
    "workers": _workers,
    "runs": _runs,
    "assistants": _assistants,
    "connected": _connected,
}


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), Figures(stored())), encoding="utf-8")
