"""`accord audit verify`: whether the audit trail, and the data it tells of, is as written."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from pathlib import Path
from typing import Final

from accord.app.composition import data_checks
from accord.app.settings import Settings
from accord.cli import exits
from accord.cli.installation import audit_key, existing
from accord.cli.local import add_local_flags
from accord.cli.output import paint, print_json, print_line, printable
from accord.cli.parser import Parser
from accord.cli.progress import Progress, add_quiet_flag, progress_of
from accord.operations.audit.chain import Chain, Head
from accord.operations.audit.head_file import NAME, read_head_file
from accord.operations.audit.verify import Report, verify
from accord.store import open_store

USAGE: Final = "accord audit verify [--head SEQUENCE:HASH]… [--json] [options]"

DESCRIPTION: Final = """\
Look at every record of the audit trail, its seal and its place in the chain, and say what is not
as it was written: what was edited, removed, cut off, forged, or left without a seal. Then compare
the data with it: items, links, comments, revisions, baselines, proposals, accounts, tokens, agents
and workflows, and name each row and field that no operation wrote. The exit code is 1 where
something is found. What an older release did not keep enough of is listed as not provable. Nothing
is changed, and the server may run meanwhile.

Somebody who can write to the database may turn all of it back to what it was once. That is found
by a head which was kept elsewhere: the file `audit-head` in the data directory is looked at by
itself; one from the log, or from the last line of an export, is given with --head.

examples:
  accord audit verify --data /var/lib/accord
  accord audit verify --database postgresql://accord@db/accord --head 4711:9f2c…
"""

_HEAD: Final = re.compile(r"(\d{1,18}):([0-9a-f]{64}|)")


def configure(parser: Parser) -> None:
    parser.add_argument(
        "--head",
        metavar="SEQUENCE:HASH",
        type=_head,
        action="append",
        default=[],
        help="a head that was kept elsewhere; can be repeated",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    settings = existing(arguments)
    key = audit_key(settings)
    with progress_of(arguments, "verifying", "records") as progress:
        report = asyncio.run(_verify(settings, key, arguments.head, progress))
    if arguments.json:
        print_json(report)
    else:
        print_report(report)
    return exits.OK if report.is_intact else exits.ANSWERED_WITH_ERROR


async def _verify(settings: Settings, key: bytes, heads: list[Head], progress: Progress) -> Report:
    # The file is read first: the trail only goes on from there.
    kept = read_head_file(Path(settings.data) / NAME, Chain(key))
    async with open_store(settings.database_url) as store:
        anchors = [*heads, *([kept] if kept else [])]
        return await verify(store, key, anchors=anchors, progress=progress, checks=data_checks())


def print_report(report: Report) -> None:
    for finding in report.findings:
        label = paint(finding.fault, "error", sys.stdout)
        print_line(f"{label} {printable(finding.where)}: {printable(finding.detail)}")
    for each in report.unproven:
        print_line(f"not provable: {printable(each)}")
    found = f"{len(report.findings):,} findings" if report.findings else "nothing was changed"
    print_line(f"{report.sealed:,} records sealed, {report.pending:,} about to be: {found}")
    print_line(f"{report.compared:,} rows of data compared with them")
    if report.head is not None:
        print_line(f"head {report.head}")


def _head(text: str) -> Head:
    match = _HEAD.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"must be SEQUENCE:HASH, not {text!r}")
    return Head(int(match[1]), match[2])
