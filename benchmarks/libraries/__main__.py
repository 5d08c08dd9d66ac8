"""Measures parts in the environment of `benchmarks/peers/libraries.txt`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import Final

from benchmarks.environments import ROOT, python_of

PARTS: Final = {
    "redis": "decision 0022: checks of rate limits in Redis",
    "websocket": "decision 0023: frames of WebSocket",
    "http": "decision 0024: HTTP clients",
    "schema": "decision 0025: validation by JSON Schema",
    "metrics": "decision 0026: metrics of Prometheus",
    "cron": "decision 0027: cron schedules",
    "reqif": "decision 0028: files in ReqIF",
    "commands": "decision 0029: the command line and its completion",
}


def main() -> int:
    lines = "\n".join(f"  {name:<10} {about}" for name, about in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.libraries",
        description=__doc__,
        epilog=f"parts:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", nargs="*", metavar="PART", help="the parts to measure")
    parts = parser.parse_args().part
    if not parts:
        parser.print_help()
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    for part in parts:
        print(f"\n{part}: {PARTS[part]}", flush=True)
        command = [python_of("libraries"), "-m", f"benchmarks.libraries.{part}_part"]
        if subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode:
            return 1
    return 0


sys.exit(main())
