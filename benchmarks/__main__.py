"""`python -m benchmarks`: measures everything, shows a table, and stores it in docs/.

Ends with status 1 when a row that must reach something misses it.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from types import ModuleType

from benchmarks import (
    codec,
    dispatch,
    exposure,
    http,
    hub_calls,
    hub_figures,
    imports,
    latency,
    mcp_http,
    mcp_languages,
    mcp_memory,
    mcp_sessions,
    mcp_stdio,
    mcp_tools,
    memory,
    openrpc,
    report,
    scale_calls,
    scale_connected,
    scale_steps,
    stream,
    throughput,
    web_pages,
    websocket,
    workers,
    workflow_figures,
    workflow_steps,
)
from benchmarks.harness import FULL, QUICK, say

MODULES: tuple[ModuleType, ...] = (
    codec,
    dispatch,
    stream,
    http,
    websocket,
    exposure,
    openrpc,
    mcp_http,
    mcp_languages,
    mcp_stdio,
    mcp_memory,
    mcp_tools,
    mcp_sessions,
    workers,
    throughput,
    latency,
    memory,
    imports,
    hub_calls,
    hub_figures,
    web_pages,
    workflow_steps,
    workflow_figures,
    scale_calls,
    scale_steps,
    scale_connected,
)
GROUPS = {module.__name__.rpartition(".")[2]: module for module in MODULES}


def main() -> int:
    given = _arguments()
    if given.list:
        for name, module in GROUPS.items():
            print(f"{name:12} {module.TITLE}")
        return 0
    names = given.only or list(GROUPS)
    rows: list[report.Row] = []
    failed = []
    for name in names:
        say(f"{name} …")
        started = time.monotonic()
        try:
            rows += GROUPS[name].rows(QUICK if given.quick else FULL)
            say(f"{name}: {time.monotonic() - started:.0f} s")
        except Exception:
            failed.append(name)
            say(f"{name} failed\n{traceback.format_exc()}")
    titles = {name: GROUPS[name].TITLE for name in names}
    sys.stdout.write(report.table(rows, titles))
    if given.keep and given.only and not given.quick and not failed:
        all_titles = {name: module.TITLE for name, module in GROUPS.items()}
        report.write(report.renewed(report.stored(), rows, list(GROUPS)), all_titles)
    elif given.quick or given.only or failed:
        say("not stored: only a complete run is, or with --keep whole groups")
    else:
        report.write(report.complete(rows), titles)
    return _judge(rows, failed)


def _judge(rows: list[report.Row], failed: list[str]) -> int:
    missed = report.missed(rows)
    for row in missed:
        say(f"missed: {row.group}: {row.what} {row.against}".rstrip())
    for name in failed:
        say(f"failed: {name}")
    return 1 if missed or failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure less, in a minute or two")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="NAME")
    parser.add_argument(
        "--keep", action="store_true", help="with --only: store these groups in the last run"
    )
    parser.add_argument("--list", action="store_true", help="name the groups there are")
    return parser.parse_args()


sys.exit(main())
