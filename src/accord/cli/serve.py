"""`accord serve`, `accord executor` and `accord bridge`: the processes of a running system."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from msgspec.structs import replace

from accord import __version__
from accord.app.settings import Settings
from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError, install_command, missing_for_serve
from accord.cli.installation import add_setting_flags, settings_from
from accord.cli.output import print_error_line, print_json, print_line
from accord.cli.workers import OnListen, run_workers
from accord.jsonrpc.protocol.errors import ConnectError
from accord.operations.auth.server_key import ServerKeyError
from accord.operations.logs import configure_logging
from accord.store import StoreError
from accord.transports.serve import run_until_stopped

if TYPE_CHECKING:
    from accord.app.system import Subsystem
    from accord.operations.auth.users import FirstRun


# accord serve


SERVE_USAGE: Final = "accord serve [--data DIR] [--host H] [--port P] [--database URL] [settings]"

SERVE_DESCRIPTION: Final = """\
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


def _configure_serve(parser: Parser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="announce it as a line of JSON, for programs"
    )
    add_setting_flags(parser)


def _run_serve(arguments: argparse.Namespace) -> int:
    if missing := missing_for_serve():
        names = ", ".join(missing)
        raise UsageError(
            f"accord serve needs extras that are not installed: {names}",
            advice=install_command(missing),
        )
    # Imported here, as these need extras; --help and completion do not.
    from accord.app.system import MCP, REST, StartError, prepare

    settings = settings_from(arguments).settings
    if arguments.debug:
        settings = replace(settings, log_level="debug")
    configure_logging(settings.log_level, settings.log_format)
    allow_many_connections()
    if settings.workers > 1 and not settings.is_shared:
        raise UsageError("several workers need PostgreSQL: --database postgresql://…", advice="")
    try:
        first = asyncio.run(prepare(settings))
        with Announcement(settings, first, as_json=arguments.json, rest=REST, mcp=MCP) as announce:
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
    from accord.app.health import WorkerSocket
    from accord.app.system import open_system

    port = urlsplit(url).port
    assert port is not None
    settings = replace(settings, port=port)
    begin = partial(open_system, settings, reuse_port=True, worker=WorkerSocket(folder, number))
    run_until_stopped(begin, on_listen)


# Announcement


FIRST_RUN_FILE: Final = "first-run.txt"


class Announcement:
    """The ready message of `accord serve`, with the first credentials.

    The password and token of the first administrator cannot be shown again, so they must survive a
    failed start: the server starts inside the `with` block. On a terminal the credentials are
    printed. Without a terminal, with --json or after a failed start they are written to a file that
    only its owner can read.
    """

    def __init__(
        self,
        settings: Settings,
        first: FirstRun | None,
        *,
        as_json: bool,
        rest: str,
        mcp: str,
    ) -> None:
        """Prepare the message; `rest` and `mcp` are the paths of the REST and MCP interfaces."""
        self._settings = settings
        self._first = first
        self._as_json = as_json
        self._rest = rest
        self._mcp = mcp
        self._file = Path(settings.data) / FIRST_RUN_FILE
        self._is_made = False

    def __enter__(self) -> Announcement:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write the credentials to a file if the message was not printed."""
        if self._first is None or self._is_made:
            return
        url = self._settings.public_url.rstrip("/") or self._settings.place
        _write_private(self._file, self._first_lines(self._first, url))
        if not self._as_json:
            print_error_line(_where_kept(self._file))

    def __call__(self, url: str) -> None:
        url = self._settings.public_url.rstrip("/") or url.rstrip("/")
        lines = [] if self._first is None else self._first_lines(self._first, url)
        self._is_made = True
        if lines and (self._as_json or not sys.stdout.isatty()):
            _write_private(self._file, lines)
            lines = [_where_kept(self._file)]
        if self._as_json:
            self._print_json(url)
            return
        print_line(f"Accord {__version__} is ready at {url} (press Ctrl-C to stop)")
        for line in lines:
            print_line(line)
        print_line(f"Open {url}/ and sign in")

    def _print_json(self, url: str) -> None:
        print_json(
            {
                "event": "ready",
                "version": __version__,
                "url": url,
                "mcp": f"{url}{self._mcp}",
                "data": self._settings.data,
                "first_run_file": None if self._first is None else str(self._file),
            }
        )

    def _first_lines(self, first: FirstRun, url: str) -> list[str]:
        data = (
            ""
            if self._settings.data == Settings().data
            else f" --data {quote(self._settings.data)}"
        )
        return [
            "",
            "This is the first start. Keep these: nobody can ask for them again.",
            "",
            f"  administrator  {first.username}",
            f"  password       {first.password}",
            f"  token          {first.token}",
            "",
            "The token is for an assistant: it reads, and what it proposes waits until you accept "
            "it.",
            "Connect one, such as Claude Code:",
            "",
            f"  claude mcp add --transport http accord {url}{self._mcp} "
            f'--header "Authorization: Bearer {first.token}"',
            "",
            "or call it yourself:",
            "",
            f"  curl {url}{self._rest}/epics -H 'Authorization: Bearer {first.token}'",
            "",
            "A program that is to change things needs another token:",
            "",
            f"  accord token create --user {first.username} --name my-program "
            f"--scope read --scope write{data}",
            "",
        ]


def _where_kept(file: Path) -> str:
    return f"The administrator's password and a first token are in {file}"


def _write_private(path: Path, lines: list[str]) -> None:
    """Write a file that only its owner can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join(lines) + "\n")


# What executor and bridge share


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
    """Run an executor or a bridge until it is stopped.

    Raises `UsageError` if it cannot start.
    """
    from accord.app.system import StartError, open_subsystem
    from accord.operations.auth.server_key import ServerKeyError
    from accord.operations.logs import configure_logging
    from accord.store import StoreError
    from accord.transports.serve import run_until_stopped

    settings = settings_from(arguments).settings
    if arguments.debug:
        settings = replace(settings, log_level="debug")
    configure_logging(settings.log_level, settings.log_format)

    def announce(part: Subsystem) -> None:
        if arguments.json:
            ready = {"role": role, "name": part.engine.member.name, "probes": part.probes_url}
            print_json({"event": "ready", **ready})
            return
        where = f", probes at {part.probes_url}" if part.probes_url else ""
        print_line(f"{role} {part.engine.member.name} is running{where} (press Ctrl-C to stop)")

    try:
        begin = partial(open_subsystem, settings, role, probes=arguments.probes or "")
        run_until_stopped(begin, announce)
    except (StartError, StoreError, ServerKeyError) as error:
        raise UsageError(str(error), advice=LOOK) from None
    return exits.OK


# accord executor


EXECUTOR_USAGE: Final = "accord executor --database URL [--probes URL] [settings]"

EXECUTOR_DESCRIPTION: Final = """\
Execute runs of workflows, beside servers and other executors on the same database, which must be
PostgreSQL. Runs are shared out among all that live; what one leaves, or is killed with, others
take over. `accord serve --workflows elsewhere` leaves runs to executors.

examples:
  ACCORD_SECRET_KEY=… accord executor --database postgresql://accord@db/accord
  accord executor --database postgresql://accord@db/accord --bus kafka://broker:9092 \\
    --probes http://127.0.0.1:9100
"""


def _configure_executor(parser: Parser) -> None:
    configure_part(parser, "keep_runs_days", "old_runs")


def _run_executor(arguments: argparse.Namespace) -> int:
    return run_part(arguments, "executor")


# accord bridge


BRIDGE_USAGE: Final = "accord bridge --database URL [--probes URL] [settings]"

BRIDGE_DESCRIPTION: Final = """\
Call agents, tools of MCP servers and JSON-RPC methods for runs of workflows, beside servers,
executors and other bridges on the same database, which must be PostgreSQL. What one leaves, or is
killed with, others take over. `accord serve --workflows elsewhere` leaves calls to bridges.

examples:
  ACCORD_SECRET_KEY=… accord bridge --database postgresql://accord@db/accord
  accord bridge --database postgresql://accord@db/accord --allow-agents 10.0.0.0/8
"""


def _configure_bridge(parser: Parser) -> None:
    configure_part(parser, "allow_agents", "allow_private_agents", "secrets")


def _run_bridge(arguments: argparse.Namespace) -> int:
    return run_part(arguments, "bridge")


# Open files


def allow_many_connections() -> None:
    """Raise the limit of open files to the hard limit.

    Linux starts programs with a soft limit of 1,024, for old programs, and lets them raise it.
    """
    import resource  # POSIX only

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    with suppress(ValueError, OSError):  # macOS reports no limit, but has one
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


COMMANDS: Final = {
    "serve": Command(SERVE_USAGE, SERVE_DESCRIPTION, _configure_serve, _run_serve),
    "executor": Command(EXECUTOR_USAGE, EXECUTOR_DESCRIPTION, _configure_executor, _run_executor),
    "bridge": Command(BRIDGE_USAGE, BRIDGE_DESCRIPTION, _configure_bridge, _run_bridge),
}
