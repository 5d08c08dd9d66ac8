"""`accord openrpc lint`: what is wrong with an OpenRPC document."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from accord.cli import exits
from accord.cli.openrpc_source import SOURCES, add_source, read_source
from accord.cli.output import paint, print_json, print_line, printable
from accord.cli.parser import Parser
from accord.openrpc.linter import RULES, Finding, lint

USAGE: Final = "accord openrpc lint [options] DOC"

_RULES: Final = "\n".join(f"  {name:<22} {rule.about}" for name, rule in RULES.items())

DESCRIPTION: Final = f"""\
Find what is wrong with an OpenRPC document, beyond what its meta-schema can tell: one line for
each fault, with its place, what to do about it, and the rule. Warnings are for what other tools
stumble over.

{SOURCES}

examples:
  accord openrpc lint openrpc.json
  accord openrpc lint http://127.0.0.1:8000/rpc/openrpc.json
  accord openrpc lint tcp://127.0.0.1:7000 --json

rules:
{_RULES}
"""


def configure(parser: Parser) -> None:
    add_source(parser)
    parser.add_argument("--json", action="store_true", help="print what is found as JSON")
    parser.add_argument("--strict", action="store_true", help="fail on warnings too")


def run(arguments: argparse.Namespace) -> int:
    found = lint(read_source(arguments))
    if arguments.json:
        print_json(found)
    else:
        for finding in found:
            print_line(_shown(finding))
        print_line(_summary(found))
    failed = [each for each in found if arguments.strict or each.severity == "error"]
    return exits.ANSWERED_WITH_ERROR if failed else exits.OK


def _shown(finding: Finding) -> str:
    label = paint(finding.severity, _STYLES[finding.severity], sys.stdout)
    rule = paint(f"[{finding.rule}]", "faint", sys.stdout)
    return f"{label} {printable(finding.path)}: {printable(finding.message)} {rule}"


_STYLES: Final = {"error": "error", "warning": "number"}


def _summary(found: list[Finding]) -> str:
    errors = sum(each.severity == "error" for each in found)
    return f"{_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}"


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
