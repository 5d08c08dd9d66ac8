"""`accord agent check`: whether an agent keeps the rules of the wire format."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.flags import add_web_flags, header, seconds
from accord.cli.output import paint, print_json, print_line, printable
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.a2a.checker.report import Finding, Report

USAGE: Final = "accord agent check [options] URL"

DESCRIPTION: Final = """\
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
WIRES: Final = ("a2a-0.3", "a2a-1.0", "plain")
_STYLES: Final = {"pass": "string", "fail": "error", "warn": "number", "skipped": "faint"}


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("url", metavar="URL", nargs="?", help="where the agent, or its card, is")
    add("--wire", choices=WIRES, help="check this format (default: those that the card names)")
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


def run(arguments: argparse.Namespace) -> int:
    from accord.a2a.checker.checker import check

    if arguments.url is None:
        raise UsageError("a URL is missing, such as http://127.0.0.1:9000/")
    report = asyncio.run(check(arguments.url, _asking(arguments)))
    if arguments.json:
        print_json(_told(report))
    else:
        _print(report)
    worse = report.count("warn") if arguments.strict else 0
    return exits.OK if report.passed and not worse else exits.ANSWERED_WITH_ERROR


def _asking(arguments: argparse.Namespace) -> Any:
    from accord.a2a.checker.checker import Asking
    from accord.a2a.protocol.addresses import AddressPolicy
    from accord.a2a.protocol.versions import Wire
    from accord.cli.certificates import client_tls

    token = arguments.token or os.environ.get(TOKEN_VARIABLE, "")
    wire = arguments.wire
    given = {
        name: value
        for name in ("text", "long", "timeout", "patience")
        if (value := getattr(arguments, name)) is not None
    }
    return Asking(
        wires=() if wire in (None, "plain") else (Wire(wire.removeprefix("a2a-")),),
        plain=wire == "plain",
        credentials={"authorization": f"Bearer {token}"} if token else {},
        headers={name.lower(): value for name, value in map(header, arguments.header)},
        # Whoever runs this could ask the same with any other program of theirs.
        policy=AddressPolicy(allow_private=True),
        tls=client_tls(ca=arguments.ca, insecure=arguments.insecure),
        **given,
    )


def _told(report: Report) -> dict[str, Any]:
    counts = {outcome: report.count(outcome) for outcome in ("pass", "fail", "warn", "skipped")}
    return {"passed": report.passed, "counts": counts, **msgspec.to_builtins(report)}


def _print(report: Report) -> None:
    print_line(f"{printable(report.agent) or 'an agent'} at {report.url}")
    for wire, findings in groupby(report.findings, key=lambda each: each.wire):
        print_line(f"\n{_title(wire)}")
        _print_findings(findings)
    print_line(f"\n{_summary(report)}")


def _title(wire: str) -> str:
    match wire:
        case "":
            return "card"
        case "plain":
            return "plain format"
        case _:
            return f"format {wire}"


def _print_findings(findings: Iterable[Finding]) -> None:
    for each in findings:
        word = paint(f"{each.outcome:<7}", _STYLES[each.outcome], sys.stdout)
        print_line(f"  {word}  {each.rule:<17}  {each.holds}")
        if each.detail and each.outcome != "pass":
            print_line(f"           {printable(each.detail)}")
        if each.fix:
            print_line(f"           fix: {each.fix}")


def _summary(report: Report) -> str:
    counts = (("passed", "pass"), ("failed", "fail"), ("warnings", "warn"), ("skipped", "skipped"))
    told = ", ".join(f"{report.count(outcome)} {word}" for word, outcome in counts)  # type: ignore[arg-type]
    if not report.passed:
        return f"{told}: the agent does not keep the rules"
    return f"{told}: the agent keeps every rule that must hold"
