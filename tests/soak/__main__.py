"""`python -m tests.soak`: a soak on each event loop, and docs/soak.md written from it.

Progress goes to stderr. Ends with status 1 when something was left behind.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec
from typing import TypeVar

import msgspec

from tests.soak.hub.page import HEADING
from tests.soak.mcp.page import render as render_mcp
from tests.soak.mcp.run import McpReport
from tests.soak.page import PAGE, render
from tests.soak.run import Report

R = TypeVar("R", Report, McpReport)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small one, which is not stored")
    given = parser.parse_args()
    loops = ["asyncio", "uvloop"]
    if find_spec("uvloop") is None:
        print("uvloop is not installed: one loop only", file=sys.stderr)
        loops.remove("uvloop")
    reports = [_run(loop, "tests.soak.run", Report, quick=given.quick) for loop in loops]
    of_mcp = [_run(loop, "tests.soak.mcp.run", McpReport, quick=given.quick) for loop in loops]
    faults = [f"{report.loop}: {fault}" for report in reports for fault in report.faults]
    faults += [f"{report.loop}: {fault}" for report in of_mcp for fault in report.faults]
    for fault in faults:
        print(fault, file=sys.stderr)
    page = render(reports) + render_mcp(of_mcp)
    if given.quick or faults:
        sys.stdout.write(page)
    else:
        _, *of_hub = PAGE.read_text(encoding="utf-8").partition(f"\n{HEADING}\n")
        PAGE.write_text(page + "".join(of_hub), encoding="utf-8")
    return 1 if faults else 0


def _run(loop: str, module: str, kind: type[R], *, quick: bool) -> R:
    """A soak in a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", module, loop, *(["--quick"] if quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"the soak on {loop} failed: {module}")
    return msgspec.json.decode(done.stdout, type=kind)


if __name__ == "__main__":
    sys.exit(main())
