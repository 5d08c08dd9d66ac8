"""What `accord executor` and `accord bridge` have in common."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from msgspec.structs import replace

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.setting_flags import add_setting_flags, settings_from

if TYPE_CHECKING:
    from accord.app.part import Part

LOOK: Final = "accord doctor looks at all of it"

COMMON: tuple[str, ...] = (
    *("data", "database", "log_level", "log_format", "drain_seconds", "tracing"),
    *("bus", "lease_seconds"),
)


def configure_part(parser: Parser, *more: str) -> None:
    parser.add_argument(
        "--probes", metavar="URL", help="answer /healthz, /readyz and /metrics at http://host:port"
    )
    parser.add_argument("--json", action="store_true", help="announce it as a line of JSON")
    add_setting_flags(parser, (*COMMON, *more))


def run_part(arguments: argparse.Namespace, role: Literal["executor", "bridge"]) -> int:
    """Run a part until it is stopped. Raises `UsageError`."""
    from accord.app.part import open_part
    from accord.app.system import StartError
    from accord.operations.accounts.server_key import ServerKeyError
    from accord.operations.logs.setup import configure_logging
    from accord.store import StoreError
    from accord.transports.serve import run_until_stopped

    settings = settings_from(arguments).settings
    if arguments.debug:
        settings = replace(settings, log_level="debug")
    configure_logging(settings.log_level, settings.log_format)

    def announce(part: Part) -> None:
        if arguments.json:
            told = {"role": role, "name": part.engine.member.name, "probes": part.probes_url}
            print_json({"event": "ready", **told})
            return
        where = f", probes at {part.probes_url}" if part.probes_url else ""
        print_line(f"{role} {part.engine.member.name} is running{where} (press Ctrl-C to stop)")

    try:
        begin = partial(open_part, settings, role, probes=arguments.probes or "")
        run_until_stopped(begin, announce)
    except (StartError, StoreError, ServerKeyError) as error:
        raise UsageError(str(error), advice=LOOK) from None
    return exits.OK
