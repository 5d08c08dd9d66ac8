"""`python -m tests.soak`: a soak on each event loop, and docs/soak.md written from it.

Progress goes to stderr. Ends with status 1 when something was left behind.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec

import msgspec

from tests.soak.page import PAGE, render
from tests.soak.run import Report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small one, which is not stored")
    given = parser.parse_args()
    reports = []
    for loop in ("asyncio", "uvloop"):
        if loop == "uvloop" and find_spec("uvloop") is None:
            print("uvloop is not installed: one loop only", file=sys.stderr)
            continue
        reports.append(_run(loop, quick=given.quick))
    faults = [f"{report.loop}: {fault}" for report in reports for fault in report.faults]
    for fault in faults:
        print(fault, file=sys.stderr)
    if given.quick or faults:
        sys.stdout.write(render(reports))
    else:
        PAGE.write_text(render(reports), encoding="utf-8")
    return 1 if faults else 0


def _run(loop: str, *, quick: bool) -> Report:
    """A soak in a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", "tests.soak.run", loop, *(["--quick"] if quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"the soak on {loop} failed")
    return msgspec.json.decode(done.stdout, type=Report)


if __name__ == "__main__":
    sys.exit(main())
