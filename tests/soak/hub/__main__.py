"""`python -m tests.soak.hub`: a soak of the system on each engine, written into docs/soak.md.

Progress goes to stderr. Ends with status 1 when something was left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from tests.soak.hub.page import HEADING, render
from tests.soak.hub.run import HubReport, soak
from tests.soak.page import PAGE
from tests.store.cluster import Cluster, running_cluster


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.hub", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="on each engine (300)")
    parser.add_argument("--print", action="store_true", help="show what comes of it only")
    given = parser.parse_args()
    logging.disable()
    reports = [_run(engine, given.seconds) for engine in ("SQLite", "PostgreSQL")]
    faults = [f"{report.engine}: {fault}" for report in reports for fault in report.faults]
    for fault in faults:
        print(fault, file=sys.stderr)
    part = render(reports)
    if given.print or faults:
        sys.stdout.write(part)
    else:
        before = PAGE.read_text(encoding="utf-8").partition(f"\n{HEADING}\n")[0]
        PAGE.write_text(f"{before}\n{part}", encoding="utf-8")
    return 1 if faults else 0


def _run(engine: str, seconds: float) -> HubReport:
    def say(what: str) -> None:
        print(f"{engine}: {what}", file=sys.stderr, flush=True)

    server = running_cluster() if engine == "PostgreSQL" else nullcontext()
    with tempfile.TemporaryDirectory(prefix="accord-soak-") as folder, server as cluster:
        database = cluster.database() if isinstance(cluster, Cluster) else ""
        return asyncio.run(soak(Path(folder), database, seconds, say))


if __name__ == "__main__":
    sys.exit(main())
