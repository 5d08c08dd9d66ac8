"""What it costs to import the library, in a fresh process each time."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks.environments import ROOT, python_of
from benchmarks.harness import Plan
from benchmarks.report import Row, at_most

TITLE = "Import"

MEASURE = """
import time
started = time.process_time()
{statements}
taken = time.process_time() - started
with open("/proc/self/status") as status:
    memory = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
print(taken, memory)
"""
OURS = "import accord; accord.Router; accord.connect"
OURS_MCP = "from accord.mcp import Client, Server; Server('name').router"
SDK = "from mcp import Client; from mcp.server import MCPServer; MCPServer('name')"


def rows(plan: Plan) -> list[Row]:
    pythons = {OURS: sys.executable, OURS_MCP: sys.executable, SDK: python_of("mcp")}
    for statements, python in pythons.items():
        _import(python, statements)  # leaves compiled modules behind
    found: dict[str, list[tuple[float, float]]] = {statements: [] for statements in pythons}
    for _ in range(plan.rounds):
        for statements, python in pythons.items():
            found[statements].append(_import(python, statements))
    return [
        *_rows(OURS, found, seconds=0.15, megabytes=30),
        *_rows(OURS_MCP, found, seconds=0.3, megabytes=40),
    ]


def _rows(
    statements: str,
    found: dict[str, list[tuple[float, float]]],
    *,
    seconds: float,
    megabytes: float,
) -> list[Row]:
    return [
        Row(
            group="imports",
            what=f"`{statements}`: CPU time",
            ours=median(taken for taken, _ in found[statements]),
            unit="s",
            against="mcp",
            theirs=median(taken for taken, _ in found[SDK]),
            bound=at_most(seconds),
        ),
        Row(
            group="imports",
            what="the same: memory of the process at most",
            ours=median(memory for _, memory in found[statements]),
            unit="MB",
            against="mcp",
            theirs=median(memory for _, memory in found[SDK]),
            bound=at_most(megabytes),
        ),
    ]


def _import(python: str, statements: str) -> tuple[float, float]:
    """Seconds of CPU, and megabytes."""
    code = MEASURE.format(statements=statements)
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) / 1024
