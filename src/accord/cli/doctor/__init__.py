"""`accord doctor`: run every check and print the findings.

A check yields findings in the order of output, changes nothing, and does not depend on other
checks.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.installation import add_setting_flags, settings_from
from accord.cli.output import paint, print_json, print_line, printable

if TYPE_CHECKING:
    from accord.app.settings import Settings
    from accord.cli.doctor.environment import CheckResult


USAGE: Final = "accord doctor [--data DIR] [--json] [settings]"

DESCRIPTION: Final = """\
Look at what is installed, at the settings, the data directory, the database, the broker, the port,
the audit trail, and the programs on this machine that use Accord; say of each whether it is well,
and what to do where it is not. Nothing is changed, no secret is shown, and the server may run.

Give it the settings that the server has: the same flags, environment and file. The exit code is 1
where there is a problem; warnings are about what works and may not be wanted.

examples:
  accord doctor
  accord doctor --data /var/lib/accord --json
  ACCORD_SECRET_KEY=… accord doctor --database postgresql://accord@db/accord --workers 4
"""

SYSTEM: Final = "pip install 'accord[hub,web,workflows]'; the library works without"
_STYLES: Final = {"ok": "string", "warning": "number", "problem": "error", "not looked at": "faint"}
_WIDTH: Final = max(map(len, _STYLES))


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    # Problems are reported once, as findings, not as log records.
    logging.basicConfig(level=logging.DEBUG if arguments.debug else logging.CRITICAL)
    found = asyncio.run(_run_checks(arguments))
    if arguments.json:
        _print_json(found)
    else:
        _print_summary(found)
    return exits.ANSWERED_WITH_ERROR if _count(found, "problem") else exits.OK


async def _run_checks(arguments: argparse.Namespace) -> dict[str, list[CheckResult]]:
    """Run all checks and return their findings by area, such as "installation".

    Without --json, the findings of an area are printed as soon as its checks are done.
    """
    found: dict[str, list[CheckResult]] = {}
    async for area, findings in _areas(arguments):
        found[area] = findings
        if not arguments.json:
            _print_area(area, findings)
    return found


async def _areas(arguments: argparse.Namespace) -> AsyncIterator[tuple[str, list[CheckResult]]]:
    from accord.cli.doctor.environment import check_installed, check_settings, problem

    yield "installation", _run_check(check_installed)
    try:
        resolved = settings_from(arguments)
    except UsageError as error:
        yield "settings", [problem("settings", str(error), "accord config tells what they may be")]
        return
    yield "settings", _run_check(lambda: check_settings(resolved))
    try:
        async for area in _of_system(resolved.settings):
            yield area
    except ImportError as error:
        yield "system", [problem("system", f"cannot be loaded: {error}", SYSTEM)]


async def _of_system(settings: Settings) -> AsyncIterator[tuple[str, list[CheckResult]]]:
    from accord.cli.doctor.data import check_database, check_folder, check_trail
    from accord.cli.doctor.network import check_broker, check_clients, check_port

    yield "data directory", _run_check(lambda: check_folder(settings))
    of_database = [finding async for finding in check_database(settings)]
    yield "database", of_database
    yield "broker", _run_check(lambda: check_broker(settings))
    yield "port", _run_check(lambda: check_port(settings))
    readable = all(finding.state != "problem" for finding in of_database)
    yield "audit trail", [await check_trail(settings, readable=readable)]
    yield "clients", _run_check(check_clients)


def _run_check(look: Callable[[], Iterable[CheckResult]]) -> list[CheckResult]:
    """Return the findings of one check. An OSError ends the check and becomes a finding."""
    from accord.cli.doctor.environment import not_checked

    found: list[CheckResult] = []
    try:
        found.extend(look())
    except OSError as error:
        found.append(not_checked(str(error.filename or "it"), error.strerror or str(error)))
    return found


def _print_area(area: str, findings: list[CheckResult]) -> None:
    print_line(paint(area, "key", sys.stdout))
    for each in findings:
        state = paint(f"{each.state:<{_WIDTH}}", _STYLES[each.state], sys.stdout)
        print_line(f"  {state}  {printable(f'{each.name}: {each.detail}')}")
        if each.advice:
            print_line(f"  {'':<{_WIDTH}}  → {printable(each.advice)}")


def _print_summary(found: dict[str, list[CheckResult]]) -> None:
    problems, warnings = _count(found, "problem"), _count(found, "warning")
    print_line(f"\n{_count_text(problems, 'problem')}, {_count_text(warnings, 'warning')}")


def _print_json(found: dict[str, list[CheckResult]]) -> None:
    findings = [
        {"area": area, "name": each.name, "state": each.state}
        | {"detail": each.detail, "advice": each.advice}
        for area, listed in found.items()
        for each in listed
    ]
    counts = {"problems": _count(found, "problem"), "warnings": _count(found, "warning")}
    print_json({**counts, "findings": findings})


def _count(found: dict[str, list[CheckResult]], state: str) -> int:
    return sum(each.state == state for findings in found.values() for each in findings)


def _count_text(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


COMMANDS: Final = {
    "doctor": Command(USAGE, DESCRIPTION, configure, run),
}
