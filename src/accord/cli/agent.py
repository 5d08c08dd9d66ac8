"""`accord agent`: check an agent, run a demo agent, prepare the move to A2A.

`accord agent migration` lists the registered agents that still use the plain format instead of A2A.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.flags import add_web_flags, count, header, seconds
from accord.cli.installation import add_local_flags, existing
from accord.cli.output import paint, print_json, print_line, print_table, printable

if TYPE_CHECKING:
    from accord.a2a.checker.rules import CheckReport, RuleFinding
    from accord.a2a.server.serving import Serving


# accord agent demo


DEMO_USAGE: Final = "accord agent demo [--port PORT] [options]"

DEMO_DESCRIPTION: Final = """\
Serve an agent until Ctrl-C that does what the first word of a message says:

  echo TEXT         answers the text, and so does anything else
  slow SECONDS      answers after so many seconds, at most 600
  stream TEXT       answers word by word
  ask TEXT          asks the text, and answers what it is told
  fail TEXT         fails
  reject TEXT       rejects the task
  crash TEXT        answers with an internal error when a message comes first, later with the text
  forget TEXT       forgets its task when a message comes first, later answers the text

It speaks the formats 0.3 and 1.0, and has its card at /.well-known/agent-card.json.

examples:
  accord agent demo
  accord agent demo --port 0 --token secret --wire a2a-0.3
"""


def _configure_demo(parser: Parser) -> None:
    add = parser.add_argument
    add("--port", metavar="PORT", type=count, default=9000, help="0 for a free one (default: 9000)")
    add("--host", metavar="HOST", default="127.0.0.1", help="(default: 127.0.0.1)")
    add("--name", metavar="NAME", default="demo", help="what it calls itself (default: demo)")
    add("--token", metavar="TOKEN", default="", help="let in only who has this bearer token")
    add("--wire", choices=("a2a-0.3", "a2a-1.0"), help="speak only this format")
    add("--json", action="store_true", help="announce it as a line of JSON")


def _run_demo(arguments: argparse.Namespace) -> int:
    from accord.a2a.demo import BOTH_WIRES, DemoAgent
    from accord.a2a.protocol.fields import Wire

    level = logging.DEBUG if arguments.debug else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    wire = arguments.wire
    wires = BOTH_WIRES if wire is None else (Wire(wire.removeprefix("a2a-")),)
    agent = DemoAgent(arguments.name, token=arguments.token, wires=wires)
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host

    def announce(serving: Serving) -> None:
        if arguments.json:
            card = f"{serving.url}.well-known/agent-card.json"
            print_json({"event": "ready", "url": serving.url, "card": card})
            return
        print_line(f"Agent {arguments.name} listening on {serving.url} (press Ctrl-C to stop)")
        print_line(f"Its card is at {serving.url}.well-known/agent-card.json")
        added = f"accord agent add {arguments.name} {serving.url} --allow-agents {arguments.host}"
        print_line(f"Register it: {added}")

    agent.run(f"http://{host}:{arguments.port}/", on_listen=announce)
    return exits.OK


# accord agent check


CHECK_USAGE: Final = "accord agent check [options] URL"

CHECK_DESCRIPTION: Final = """\
Check an agent, rule by rule: its card, how it answers requests that are right and wrong, messages,
tasks and streams, in each format that its card names. The agent works for it: a few messages are
sent in each format. What fails says how to fix it; a warning is about what should hold and need
not. An agent in the older plain format is recognised, and told how to move.

Agents on this machine and in private networks are asked as well, those at link-local addresses
never are.

examples:
  accord agent check http://127.0.0.1:9000/
  accord agent check https://agents.example.com/review --text 'Review: The ferry shall be fast.'
  accord agent check http://127.0.0.1:9000/ --wire a2a-0.3 --json
"""

TOKEN_VARIABLE: Final = "ACCORD_AGENT_TOKEN"
CHECKED_WIRES: Final = ("a2a-0.3", "a2a-1.0", "plain")
_STYLES: Final = {"pass": "string", "fail": "error", "warn": "number", "skipped": "faint"}


def _configure_check(parser: Parser) -> None:
    add = parser.add_argument
    add("url", metavar="URL", nargs="?", help="where the agent, or its card, is")
    add(
        "--wire",
        choices=CHECKED_WIRES,
        help="check this format (default: those that the card names)",
    )
    add(
        "--token", metavar="TOKEN", help=f"a bearer token (default: {TOKEN_VARIABLE}, if it is set)"
    )
    add("--text", metavar="TEXT", help="the message to send, one that the agent can work on")
    add("--long", metavar="TEXT", help="a message that takes a while, to check cancelling with")
    add(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help="how long to wait for one answer (default: 30)",
    )
    add(
        "--patience",
        metavar="SECONDS",
        type=seconds,
        help="how long to wait for the end of a task, or of a stream (default: 60)",
    )
    add("--strict", action="store_true", help="fail where anything but a skipped rule is told")
    add("--json", action="store_true", help="for programs")
    add_web_flags(parser)


def _run_check(arguments: argparse.Namespace) -> int:
    from accord.a2a.checker.checker import check

    if arguments.url is None:
        raise UsageError("a URL is missing, such as http://127.0.0.1:9000/")
    report = asyncio.run(check(arguments.url, _check_options(arguments)))
    if arguments.json:
        print_json(_report_json(report))
    else:
        _print_report(report)
    worse = report.count("warn") if arguments.strict else 0
    return exits.OK if report.passed and not worse else exits.ANSWERED_WITH_ERROR


def _check_options(arguments: argparse.Namespace) -> Any:
    from accord.a2a.checker.checker import CheckOptions
    from accord.a2a.protocol.addresses import AddressPolicy
    from accord.a2a.protocol.fields import Wire
    from accord.cli.flags import client_tls

    token = arguments.token or os.environ.get(TOKEN_VARIABLE, "")
    wire = arguments.wire
    given = {
        name: value
        for name in ("text", "long", "timeout", "patience")
        if (value := getattr(arguments, name)) is not None
    }
    return CheckOptions(
        wires=() if wire in (None, "plain") else (Wire(wire.removeprefix("a2a-")),),
        plain=wire == "plain",
        credentials={"authorization": f"Bearer {token}"} if token else {},
        headers={name.lower(): value for name, value in map(header, arguments.header)},
        # No address is refused: the user could send the same requests with any other program.
        policy=AddressPolicy(allow_private=True),
        tls=client_tls(ca=arguments.ca, insecure=arguments.insecure),
        **given,
    )


def _report_json(report: CheckReport) -> dict[str, Any]:
    counts = {outcome: report.count(outcome) for outcome in ("pass", "fail", "warn", "skipped")}
    return {"passed": report.passed, "counts": counts, **msgspec.to_builtins(report)}


def _print_report(report: CheckReport) -> None:
    print_line(f"{printable(report.agent) or 'an agent'} at {report.url}")
    for wire, findings in groupby(report.findings, key=lambda each: each.wire):
        print_line(f"\n{_wire_title(wire)}")
        _print_findings(findings)
    print_line(f"\n{_report_summary(report)}")


def _wire_title(wire: str) -> str:
    match wire:
        case "":
            return "card"
        case "plain":
            return "plain format"
        case _:
            return f"format {wire}"


def _print_findings(findings: Iterable[RuleFinding]) -> None:
    for each in findings:
        word = paint(f"{each.outcome:<7}", _STYLES[each.outcome], sys.stdout)
        print_line(f"  {word}  {each.rule:<17}  {each.holds}")
        if each.detail and each.outcome != "pass":
            print_line(f"           {printable(each.detail)}")
        if each.fix:
            print_line(f"           fix: {each.fix}")


def _report_summary(report: CheckReport) -> str:
    counts = (("passed", "pass"), ("failed", "fail"), ("warnings", "warn"), ("skipped", "skipped"))
    counted = ", ".join(f"{report.count(outcome)} {word}" for word, outcome in counts)  # type: ignore[arg-type]
    if not report.passed:
        return f"{counted}: the agent does not keep the rules"
    return f"{counted}: the agent keeps every rule that must hold"


# accord agent migration


MIGRATION_USAGE: Final = "accord agent migration [--json] [options]"

MIGRATION_DESCRIPTION: Final = """\
List the registered agents that are still called in the older plain format. The exit code is 1 while
there are any: the gate before that format is turned off. Nothing is changed.

examples:
  accord agent migration --data /var/lib/accord
  accord agent migration --database postgresql://accord@db/accord --json
"""


class AgentFormat(Struct, frozen=True):
    """A registered agent, with the wire format used to call it."""

    name: str
    url: str
    wire: str
    active: bool


def _configure_migration(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def _run_migration(arguments: argparse.Namespace) -> int:
    agents = asyncio.run(_registered_agents(existing(arguments).database_url))
    agents_in_plain = [each for each in agents if each.wire == "plain"]
    if arguments.json:
        print_json({"agents": len(agents), "plain": agents_in_plain})
    else:
        _print_left(len(agents), agents_in_plain)
    return exits.ANSWERED_WITH_ERROR if agents_in_plain else exits.OK


async def _registered_agents(url: str) -> list[AgentFormat]:
    from accord.store import open_store
    from accord.workflows.storage.agents import ADDRESSES

    async with open_store(url) as store:
        rows = await store.fetch(ADDRESSES)
    return [
        AgentFormat(str(row["name"]), str(row["url"]), str(row["wire"]), bool(row["active"]))
        for row in rows
    ]


def _print_left(total: int, agents: list[AgentFormat]) -> None:
    if not agents:
        print_line(f"None of {total:,} agents uses the plain format: it can be turned off")
        return
    print_table(
        ("agent", "url", "active"),
        [(each.name, each.url, "yes" if each.active else "no") for each in agents],
    )
    print_line(f"{len(agents):,} of {total:,} agents still use the plain format")


COMMANDS: Final = {
    "agent demo": Command(DEMO_USAGE, DEMO_DESCRIPTION, _configure_demo, _run_demo),
    "agent check": Command(CHECK_USAGE, CHECK_DESCRIPTION, _configure_check, _run_check),
    "agent migration": Command(
        MIGRATION_USAGE, MIGRATION_DESCRIPTION, _configure_migration, _run_migration
    ),
}
