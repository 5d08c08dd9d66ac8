"""`accord executor`: decides on runs, as a process of its own."""

from __future__ import annotations

import argparse
from typing import Final

from accord.cli.parser import Parser
from accord.cli.part import configure_part, run_part

USAGE: Final = "accord executor --database URL [--probes URL] [settings]"

DESCRIPTION: Final = """\
Execute runs of workflows, beside servers and other executors on the same database, which must be
PostgreSQL. Runs are shared out among all that live; what one leaves, or is killed with, others
take over. `accord serve --workflows elsewhere` leaves runs to executors.

examples:
  ACCORD_SECRET_KEY=… accord executor --database postgresql://accord@db/accord
  accord executor --database postgresql://accord@db/accord --bus kafka://broker:9092 \\
    --probes http://127.0.0.1:9100
"""


def configure(parser: Parser) -> None:
    configure_part(parser, "keep_runs_days", "old_runs")


def run(arguments: argparse.Namespace) -> int:
    return run_part(arguments, "executor")
