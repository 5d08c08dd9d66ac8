"""`accord workflow list`: workflows, or their runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from accord.cli import exits
from accord.cli.local import add_local_flags, all_pages, run_local
from accord.cli.output import print_json
from accord.cli.parser import Parser
from accord.cli.table import print_table

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord workflow list [--runs [--of NAME] [--state STATE]] [--json] [options]"

DESCRIPTION: Final = """\
List workflows in their newest versions; or with --runs the newest hundred runs.

examples:
  accord workflow list
  accord workflow list --runs --of review --state waiting
"""

STATES: Final = ("pending", "running", "waiting", "paused", "completed", "failed", "cancelled")


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("--runs", action="store_true", help="list runs")
    add("--of", metavar="NAME", help="of this workflow, with or without a version")
    add("--state", choices=STATES, help="in this state")
    add("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    return run_local(arguments, lambda local: _list(local, arguments))


async def _list(local: Local, arguments: argparse.Namespace) -> int:
    found = await (_runs(local, arguments) if arguments.runs else _workflows(local))
    if arguments.json:
        print_json(found)
    elif arguments.runs:
        print_table(("run", "workflow", "state", "by", "since"), list(map(_run_row, found)))
    else:
        print_table(("workflow", "active", "since", "description"), list(map(_row, found)))
    return exits.OK


async def _runs(local: Local, arguments: argparse.Namespace) -> list[Any]:
    wanted = {"workflow": arguments.of, "state": arguments.state}
    found: list[Any] = (await local.run("list_runs", **wanted, limit=100)).result.items
    return found


async def _workflows(local: Local) -> list[Any]:
    return await all_pages(local, "list_workflows")


def _row(each: Any) -> tuple[str, ...]:
    active = "yes" if each.active else "no"
    return each.id, active, each.created_at[:10], each.description[:60]


def _run_row(each: Any) -> tuple[str, ...]:
    workflow = f"{each.workflow}@{each.workflow_version}"
    return each.id, workflow, each.state, each.started_by, each.created_at[:19]
