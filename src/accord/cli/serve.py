"""`accord serve`: the whole system, from nothing to running."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from accord.app.fellows import Worker
from accord.app.settings import Settings
from accord.cli import exits
from accord.cli.descriptors import allow_many_connections
from accord.cli.exits import UsageError
from accord.cli.extras import install_command, missing_for_serve
from accord.cli.parser import Parser
from accord.cli.setting_flags import add_setting_flags, settings_from
from accord.cli.workers import OnListen, run_workers
from accord.jsonrpc.errors import ConnectError
from accord.operations.accounts.server_key import ServerKeyError
from accord.operations.logs.setup import configure_logging
from accord.store import StoreError
from accord.transports.serve import run_until_stopped

if TYPE_CHECKING:
    from accord.cli.announcement import Announcement

USAGE: Final = "accord serve [--data DIR] [--host H] [--port P] [--database URL] [settings]"

DESCRIPTION: Final = """\
Run the whole system: the requirements hub and workflows of agents, with pages for people, and over
REST, JSON-RPC and MCP.

The first start makes the data directory, the database and an administrator, and shows the
administrator's password and a first token for an assistant, which reads and proposes, once: on a
terminal, or else in a file that only you can read. Ctrl-C stops it; calls that are under way may
finish.

Every setting can also come from the environment or from a file: see accord config.

examples:
  accord serve
  accord serve --data /var/lib/accord --host 0.0.0.0 --port 8080 --public-url https://hub.example
  ACCORD_SECRET_KEY=… accord serve --database postgresql://accord@db/accord --workers 2
"""

LOOK: Final = "accord doctor looks at all of it"
OTHER_PORT: Final = (
    "Choose another port by --port (0 picks a free one), or stop what uses this one; accord doctor "
    "tells whether it is an Accord."
)


def configure(parser: Parser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="announce it as a line of JSON, for programs"
    )
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if missing := missing_for_serve():
        names = ", ".join(missing)
        raise UsageError(
            f"accord serve needs extras that are not installed: {names}",
            advice=install_command(missing),
        )
    # Imported here, as these need extras; --help and completion do not.
    from accord.app.system import StartError, prepare
    from accord.cli.announcement import Announcement

    settings = settings_from(arguments).settings
    if arguments.debug:
        settings = replace(settings, log_level="debug")
    configure_logging(settings.log_level, settings.log_format)
    allow_many_connections()
    if settings.workers > 1 and not settings.is_shared:
        raise UsageError("several workers need PostgreSQL: --database postgresql://…", advice="")
    try:
        first = asyncio.run(prepare(settings))
        with Announcement(settings, first, as_json=arguments.json) as announce:
            return _serve(settings, announce)
    except (StartError, StoreError, ServerKeyError) as error:
        raise UsageError(str(error), advice=LOOK) from None
    except ConnectError as error:
        raise ConnectError(error.message, advice=OTHER_PORT) from None


def _serve(settings: Settings, announce: Announcement) -> int:
    from accord.app.system import open_system

    if settings.workers == 1:
        begin = partial(open_system, settings)
        run_until_stopped(begin, lambda system: announce(system.url))
        return exits.OK
    with TemporaryDirectory(prefix="accord-workers-") as folder:
        return run_workers(
            settings.place,
            settings.workers,
            partial(_serve_one, settings, Path(folder)),
            announce,
        )


def _serve_one(
    settings: Settings, folder: Path, url: str, number: int, on_listen: OnListen
) -> None:
    from accord.app.system import open_system

    port = urlsplit(url).port
    assert port is not None
    settings = replace(settings, port=port)
    begin = partial(open_system, settings, reuse_port=True, worker=Worker(folder, number))
    run_until_stopped(begin, on_listen)
