"""`accord bridge`: calls agents, tools and methods for runs, as a process of its own."""

from __future__ import annotations

import argparse
from typing import Final

from accord.cli.parser import Parser
from accord.cli.part import configure_part, run_part

USAGE: Final = "accord bridge --database URL [--probes URL] [settings]"

DESCRIPTION: Final = """\
Call agents, tools of MCP servers and JSON-RPC methods for runs of workflows, beside servers,
executors and other bridges on the same database, which must be PostgreSQL. What one leaves, or is
killed with, others take over. `accord serve --workflows elsewhere` leaves calls to bridges.

examples:
  ACCORD_SECRET_KEY=… accord bridge --database postgresql://accord@db/accord
  accord bridge --database postgresql://accord@db/accord --allow-agents 10.0.0.0/8
"""


def configure(parser: Parser) -> None:
    configure_part(parser, "allow_agents", "allow_private_agents", "secrets")


def run(arguments: argparse.Namespace) -> int:
    return run_part(arguments, "bridge")
