"""`accord serve`: the whole system, from nothing to running."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from accord import __version__
from accord.app.settings import Settings
from accord.app.system import MCP, REST, StartError, open_system, prepare
from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.output import print_line
from accord.cli.parser import Parser
from accord.cli.setting_flags import add_setting_flags, settings_from
from accord.cli.workers import OnListen, run_workers
from accord.operations.accounts.entities import FirstRun
from accord.operations.accounts.server_key import ServerKeyError
from accord.operations.logs.setup import configure_logging
from accord.store import StoreError
from accord.transports.serve import run_until_stopped

USAGE: Final = "accord serve [--data DIR] [--host H] [--port P] [--database URL] [settings]"

DESCRIPTION: Final = """\
Run the whole system: the requirements hub and workflows of agents, with pages for people, and over
REST, JSON-RPC and MCP.

The first start makes the data directory, the database and an administrator, and shows the
administrator's password and a first token once: on a terminal, or else in a file that only you can
read. Ctrl-C stops it; calls that are under way may finish.

Every setting can also come from the environment or from a file: see accord config.

examples:
  accord serve
  accord serve --data /var/lib/accord --host 0.0.0.0 --port 8080 --public-url https://hub.example
  ACCORD_SECRET_KEY=… accord serve --database postgresql://accord@db/accord --workers 2
"""

FIRST_RUN_FILE: Final = "first-run.txt"


def configure(parser: Parser) -> None:
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    settings = settings_from(arguments).settings
    if arguments.debug:
        settings = replace(settings, log_level="debug")
    configure_logging(settings.log_level, settings.log_format)
    if settings.workers > 1 and not settings.is_shared:
        raise UsageError("several workers need PostgreSQL: --database postgresql://…")
    try:
        first = asyncio.run(prepare(settings))
        if settings.workers == 1:
            begin = partial(open_system, settings)
            run_until_stopped(begin, lambda system: _announce(settings, first, system.url))
            return exits.OK
        return run_workers(
            f"http://{settings.host}:{settings.port}",
            settings.workers,
            partial(_serve_one, settings),
            partial(_announce, settings, first),
        )
    except (StartError, StoreError, ServerKeyError) as error:
        raise UsageError(str(error)) from None


def _serve_one(settings: Settings, url: str, on_listen: OnListen) -> None:
    port = urlsplit(url).port
    assert port is not None
    begin = partial(open_system, replace(settings, port=port), reuse_port=True)
    run_until_stopped(begin, on_listen)


def _announce(settings: Settings, first: FirstRun | None, url: str) -> None:
    """Say that it is ready, and give the first credentials to whoever started it, once."""
    url = settings.public_url.rstrip("/") or url.rstrip("/")
    lines = [] if first is None else _first_lines(first, url)
    if lines and not sys.stdout.isatty():
        path = Path(settings.data) / FIRST_RUN_FILE
        _keep(path, lines)
        lines = [f"The administrator's password and a first token are in {path}"]
    print_line(f"Accord {__version__} is ready at {url} (press Ctrl-C to stop)")
    for line in lines:
        print_line(line)
    print_line(f"Open {url}/ and sign in")


def _keep(path: Path, lines: list[str]) -> None:
    """Write a file that nobody else can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join(lines) + "\n")


def _first_lines(first: FirstRun, url: str) -> list[str]:
    return [
        "",
        "This is the first start. Keep these: nobody can ask for them again.",
        "",
        f"  administrator  {first.username}",
        f"  password       {first.password}",
        f"  token          {first.token}",
        "",
        "Connect an assistant, such as Claude Code:",
        "",
        f"  claude mcp add --transport http accord {url}{MCP} "
        f'--header "Authorization: Bearer {first.token}"',
        "",
        "or call it yourself:",
        "",
        f"  curl {url}{REST}/epics -H 'Authorization: Bearer {first.token}'",
        "",
    ]
