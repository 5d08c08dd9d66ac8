"""The part of docs/soak.md about MCP, from the reports of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.soak.mcp.kinds import WEIGHTS
from tests.soak.mcp.run import AT_ONCE, STAYING, McpReport
from tests.soak.measures import MIB, Held

HEAD: Final = """
## MCP

Clients of both eras, {at_once} at a time, over HTTP, to our own server and to the same endpoint under
uvicorn: each is a session of its own, which calls, is asked, listens, runs tasks, cancels, leaves in
the middle or is cut off at any moment. Then a server is closed and another one put in its place again
and again, under {staying} clients that stay and must be served by each. Then programs over stdio are
started, called, and closed, killed or told to go while calls are under way. At the end there must be no
request, session, stream, listener, event or task left at any server, and in the process no more
than the table says.
"""


def render(reports: Sequence[McpReport]) -> str:
    """The whole part."""
    parts = [HEAD.format(at_once=AT_ONCE, staying=STAYING)]
    for report in reports:
        parts += [f"\n### {report.loop}, {report.seconds:,.0f} s\n\n", *_found(report)]
    parts += ["\n### The clients\n\n", *_mix(reports)]
    return "".join(parts)


def _found(report: McpReport) -> list[str]:
    size = report.size
    rss = [f"{each / MIB:.1f}" for each in report.rss]
    ends = ", ".join(f"{count} {how}" for how, count in sorted(report.programs.items()))
    return [
        f"{size.visits:,} clients; {size.restarts} servers in the place of the last one, under "
        f"{report.calls_over_restarts:,} calls; {size.programs} programs: {ends}.\n",
        f"Resident MiB after each tenth of the clients: {', '.join(rss[:-2])}; after the restarts "
        f"{rss[-2]}, after the programs {rss[-1]}.\n\n",
        "| | resident | objects | tasks | open files | threads |\n",
        "|---|---|---|---|---|---|\n",
        _row("after the warm-up", report.before),
        _row("at the end", report.after),
    ]


def _row(name: str, held: Held) -> str:
    return (
        f"| {name} | {held.rss / MIB:.1f} MiB | {held.objects:,} | {held.tasks} | {held.files} "
        f"| {held.threads} |\n"
    )


def _mix(reports: Sequence[McpReport]) -> list[str]:
    columns = [(report, mode) for report in reports for mode in report.kinds]
    names = " | ".join(f"{report.loop}, {mode}" for report, mode in columns)
    lines = [f"| clients that | {names} |\n", "|---" * (len(columns) + 1) + "|\n"]
    for kind in WEIGHTS:
        counts = " | ".join(
            f"{report.kinds[mode].get(kind.__name__, 0):,}" for report, mode in columns
        )
        lines.append(f"| {kind.__name__.replace('_', ' ')} | {counts} |\n")
    return lines
