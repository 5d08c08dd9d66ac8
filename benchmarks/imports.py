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
SDK = "from mcp import ClientSession; from mcp.server import MCPServer"


def rows(plan: Plan) -> list[Row]:
    _import(sys.executable, OURS)  # leaves compiled modules behind
    _import(python_of("mcp"), SDK)
    ours, theirs = [], []
    for _ in range(plan.rounds):
        ours.append(_import(sys.executable, OURS))
        theirs.append(_import(python_of("mcp"), SDK))
    return [
        Row(
            group="imports",
            what=f"`{OURS}`: CPU time",
            ours=median(seconds for seconds, _ in ours),
            unit="s",
            against="mcp",
            theirs=median(seconds for seconds, _ in theirs),
            bound=at_most(0.15),
        ),
        Row(
            group="imports",
            what="the same: memory of the process at most",
            ours=median(memory for _, memory in ours),
            unit="MB",
            against="mcp",
            theirs=median(memory for _, memory in theirs),
            bound=at_most(30),
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
