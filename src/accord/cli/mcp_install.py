"""`accord mcp install`: tells a program that uses MCP servers of one more."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from accord.cli import exits, schemes
from accord.cli.exits import UsageError
from accord.cli.flags import header
from accord.cli.mcp_file import ServerFile, load_server
from accord.cli.mcp_settings_file import SettingsFile
from accord.cli.mcp_target import ACCORD
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.mcp.hosts import HOSTS, Installed, Local, Remote

USAGE: Final = "accord mcp install FILE[:NAME]|URL --client CLIENT [options]"

_CLIENTS: Final = "\n".join(f"  {name:<16} {host.title}" for name, host in HOSTS.items())

DESCRIPTION: Final = f"""\
Write an MCP server into the settings of a program that uses such servers: a Python file, which
the program will start by accord mcp run, or the URL of a server that runs elsewhere.

All other settings stay as they are, the former file is copied beside it (.bak), and what was
written is shown. Tokens and headers stand in that file as they are given.

clients:
{_CLIENTS}

examples:
  accord mcp install server.py --client claude-desktop
  accord mcp install server.py --client vscode --scope project --env API_KEY=…
  accord mcp install https://example.org/mcp --client cursor --token "$TOKEN" --dry-run
"""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("server", metavar="FILE|URL", nargs="?", help="the server")
    add("--client", choices=tuple(HOSTS), help="the program to tell of it")
    add(
        "--scope",
        choices=("user", "project"),
        default="user",
        help="for all that you do, or in the folder where you are (default: user)",
    )
    add("--name", help="what the program is to call it (default: what it calls itself)")
    add(
        "--env",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="start the file with this environment variable; can be repeated",
    )
    add(
        "--header",
        metavar="'NAME: VALUE'",
        action="append",
        default=[],
        help="have this header sent to the URL; can be repeated",
    )
    add("--token", help="have this bearer token sent to the URL")
    add("--replace", action="store_true", help="replace another server of the same name")
    add("--dry-run", action="store_true", help="show what would be written, and write nothing")
    add("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace) -> int:
    if arguments.client is None:
        raise UsageError(f"say which program by --client: {', '.join(HOSTS)}")
    host = HOSTS[arguments.client]
    path = host.file(arguments.scope)
    if path is None:
        raise UsageError(f"{host.title} has no settings for a project, only --scope user")
    name, server = _server(arguments)
    entry = host.entry(server)
    file = SettingsFile(path)
    if arguments.dry_run:
        if arguments.json:
            return _print_json("nothing", name, path, entry)
        print_line(f"{path} would have:")
        print_line(file.written(host.table, name, entry))
        return exits.OK
    if file.entry(host.table, name) == entry:
        if arguments.json:
            return _print_json("nothing", name, path, entry)
        print_line(f"{path} has {name} already, exactly so")
        return exits.OK
    _check_free(file, host.table, name, replace=arguments.replace)
    backup = file.put(host.table, name, entry)
    if arguments.json:
        return _print_json("written", name, path, entry, backup)
    print_line(f"{path} has now:")
    print_line(file.written(host.table, name, entry))
    if backup is not None:
        print_line(f"The file as it was: {backup}")
    print_line(host.afterwards)
    return exits.OK


def _print_json(
    done: str, name: str, path: Path, entry: dict[str, Any], backup: Path | None = None
) -> int:
    file, copy = str(path), None if backup is None else str(backup)
    print_json({"done": done, "name": name, "file": file, "entry": entry, "backup": copy})
    return exits.OK


def _check_free(file: SettingsFile, table: str, name: str, *, replace: bool) -> None:
    other = file.entry(table, name)
    if other is not None and not replace:
        raise UsageError(
            f"{file.path} has another server called {name}; --replace replaces it, --name gives "
            "this one another name"
        )


def _server(arguments: argparse.Namespace) -> tuple[str, Installed]:
    text: str | None = arguments.server
    if text is not None and "://" in text:
        return _remote(text, arguments)
    return _local(ServerFile.read(text), arguments)


def _local(file: ServerFile, arguments: argparse.Namespace) -> tuple[str, Local]:
    if arguments.header or arguments.token is not None:
        raise UsageError("--header and --token are for a URL")
    env = dict(map(_variable, arguments.env))
    with redirect_stdout(sys.stderr):  # what the file prints is no answer to the command
        own = load_server(file).info.name
    command, *args = (*ACCORD, "mcp", "run", str(file))
    return _name(arguments.name, own), Local(command, tuple(args), env)


def _remote(url: str, arguments: argparse.Namespace) -> tuple[str, Remote]:
    if arguments.env:
        raise UsageError("--env is for a file")
    if schemes.read_scheme(url) not in ("http", "https"):
        raise UsageError("only http and https URLs can be installed")
    headers: dict[str, str] = dict(map(header, arguments.header))
    if arguments.token is not None:
        headers["Authorization"] = f"Bearer {arguments.token}"
    return _name(arguments.name, urlsplit(url).hostname or ""), Remote(url, headers)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--env {text!r} is not of the form NAME=VALUE")
    return name, value


def _name(given: str | None, own: str) -> str:
    """A name that all programs take."""
    if given is None:
        return _NOT_IN_NAMES.sub("-", own).strip("-")[:64] or "server"
    if not _NAME.fullmatch(given):
        raise UsageError(f"--name {given!r}: letters, digits, - and _, at most 64")
    return given
