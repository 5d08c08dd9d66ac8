"""`accord mcp run` serves a file; `accord mcp install` adds a server to a client's settings."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import logging
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Raw, Struct

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.flags import count, header, read_scheme
from accord.cli.output import print_json, print_line
from accord.cli.workers import OnListen, run_workers
from accord.jsonrpc.protocol.codec import decode_json
from accord.mcp.hosts import HOSTS, Installed, Local, Remote, json_entry, pretty, toml_entry
from accord.mcp.server.server import Server
from accord.store import StoreError, open_store
from accord.transports.stdio import StandardStreams

# Servers in Python files


ACCORD: Final = (sys.executable, "-m", "accord")
"""The command that runs `accord` with this Python."""
_UNNAMED: Final = "accord_mcp_file"
"""The module name of a server's Python file if another module already has the file's name."""


class ServerFile(Struct, frozen=True):
    """A Python file, and the variable in it that is the MCP server; empty if not named."""

    path: Path
    name: str = ""

    @staticmethod
    def read(text: str | None) -> ServerFile:
        """Parse FILE or FILE:NAME. Raises `UsageError` if there is no such file."""
        if not text:
            raise UsageError("a FILE is missing, such as server.py or server.py:NAME")
        file, colon, name = text.rpartition(":")
        if not colon or Path(text).exists():
            file, name = text, ""
        path = Path(file)
        if not path.is_file():
            raise UsageError(f"there is no file {file}")
        return ServerFile(path.resolve(), name)

    def __str__(self) -> str:
        return f"{self.path}:{self.name}" if self.name else str(self.path)


def load_server(file: ServerFile) -> Server:
    """Run a file as a module and return its MCP server.

    Raises `UsageError` if the file cannot be run, has no server, or has several and no NAME.
    """
    module = _run_file(file.path)
    shown = file.path.name
    if file.name:
        return _server_named(module, file.name, shown)
    found = _servers(module)
    if not found:
        raise UsageError(
            f"{shown} has no server: give a variable of it an accord.mcp.Server, or name the "
            f"function that makes one, as in {shown}:make_server"
        )
    if len(found) > 1:
        names = ", ".join(found)
        first = next(iter(found))
        raise UsageError(f"{shown} has several servers ({names}): say which, as in {shown}:{first}")
    return next(iter(found.values()))


@contextmanager
def messages_only() -> Iterator[None]:
    """Reserve stdin and stdout for MCP messages while a server's file is loaded.

    The `with` block loads the file. Text that the file prints goes to stderr, and the file reads an
    empty stdin. Raises `ConnectError` if stdin or stdout is closed.
    """
    streams = StandardStreams()
    os.close(streams.reading)
    os.close(streams.writing)
    try:
        yield
    finally:
        streams.give_back()


def _run_file(path: Path) -> ModuleType:
    name = path.stem if path.stem not in sys.modules else _UNNAMED
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path.name} is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # annotations are looked up there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise UsageError(f"{path.name} ends the program when it is run: {error}") from error
    except Exception as error:  # the file is foreign code
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path.name} cannot be run: {why}") from error
    return module


def _server_named(module: ModuleType, name: str, shown: str) -> Server:
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UsageError(f"{shown} has no {name}{_known_names(module)}") from None
    if inspect.isfunction(found):
        found = found()
    if not isinstance(found, Server):
        kind = type(found).__name__
        raise UsageError(
            f"{name} of {shown} is no accord.mcp.Server but a {kind}{_known_names(module)}"
        )
    return found


def _servers(module: ModuleType) -> dict[str, Server]:
    """Return the MCP servers in a module, each by the first variable that refers to it."""
    found: dict[str, Server] = {}
    for name, value in vars(module).items():
        if isinstance(value, Server) and not any(value is each for each in found.values()):
            found[name] = value
    return found


def _known_names(module: ModuleType) -> str:
    names = ", ".join(_servers(module))
    return f"; its servers are {names}" if names else ""


# accord mcp run


RUN_USAGE: Final = "accord mcp run FILE[:NAME] [--stdio | --http HOST:PORT/PATH] [options]"

RUN_DESCRIPTION: Final = """\
Serve the MCP server that a Python file holds: the accord.mcp.Server among its variables, or the
one that NAME says, which may be a function that makes one.

Over stdio, unless --http says otherwise, stdout has nothing but messages: what the file and its
tools print goes to stderr. The server ends when stdin does.

examples:
  accord mcp run server.py
  accord mcp run server.py:weather --http 127.0.0.1:8000/mcp --workers 2
"""

DEFAULT_PATH: Final = "/mcp"


def _configure_run(parser: Parser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE[:NAME]", nargs="?", help="the file, and the server in it")
    add("--stdio", action="store_true", help="serve on stdin and stdout (the default)")
    add(
        "--http",
        metavar="HOST:PORT/PATH",
        help=f"serve there instead; port 0 picks a free one, the path is {DEFAULT_PATH} by default",
    )
    add(
        "--workers",
        metavar="N",
        type=count,
        default=1,
        help="processes that share the port, with --http (default: 1)",
    )
    add(
        "--store",
        metavar="URL",
        help="where processes keep what they share, with --http: sqlite:///PATH or postgresql://… "
        "(default: a file of their own)",
    )
    add(
        "--codes",
        choices=("standard", "extended"),
        help="which error codes are sent (default: as the server says)",
    )
    add(
        "--strict-versions",
        action="store_true",
        help="refuse versions of the protocol that are not known, instead of offering another",
    )
    add("--json", action="store_true", help="announce it as a line of JSON, with --http")


def _run_run(arguments: argparse.Namespace) -> int:
    level = logging.DEBUG if arguments.debug else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    _check(arguments)
    file = ServerFile.read(arguments.file)
    if arguments.http is None:
        with messages_only():
            server = _configured_server(file, arguments)
        server.run("stdio:", debug=arguments.debug)
        return exits.OK
    url = _http_url(arguments.http)
    with _shared_store(arguments) as store:
        # Load before the fork: workers inherit the server, and an error is reported once.
        return _serve(_configured_server(file, arguments), url, store, arguments)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.stdio and arguments.http is not None:
        raise UsageError("either --stdio or --http, not both")
    if arguments.workers < 1:
        raise UsageError("--workers must be at least 1")
    if arguments.http is None and (arguments.workers > 1 or arguments.store is not None):
        raise UsageError("--workers and --store are for --http")
    if arguments.http is None and arguments.json:
        raise UsageError("--json is for --http: over stdio, stdout has nothing but messages")


def _serve(server: Server, url: str, store: str | None, arguments: argparse.Namespace) -> int:
    options = {"debug": arguments.debug, "shared": store}
    announce = partial(_announce, server, as_json=arguments.json)
    if arguments.workers == 1:
        server.run(url, on_listen=lambda serving: announce(serving.url), **options)
        return exits.OK

    def serve_one(url: str, _number: int, on_listen: OnListen) -> None:
        server.run(url, on_listen=on_listen, reuse_port=True, **options)

    return run_workers(url, arguments.workers, serve_one, announce)


@contextmanager
def _shared_store(arguments: argparse.Namespace) -> Iterator[str | None]:
    """Yield the URL of `--store`, or of a temporary store that several workers share, else None."""
    if arguments.store is not None:
        _try_store(arguments.store)
        yield arguments.store
    elif arguments.workers > 1:
        with TemporaryDirectory(prefix="accord-mcp-") as folder:
            yield f"sqlite://{quote(folder)}/shared.db"
    else:
        yield None


def _try_store(url: str) -> None:
    """Open and close a store, to fail early. Raises `UsageError` if it cannot be opened."""

    async def open_and_close() -> None:
        async with open_store(url):
            pass

    try:
        asyncio.run(open_and_close())
    except (StoreError, ValueError) as error:
        raise UsageError(f"--store: {error}") from None


def _configured_server(file: ServerFile, arguments: argparse.Namespace) -> Server:
    server = load_server(file)
    if arguments.codes is not None:
        server.use_codes(arguments.codes)
    if arguments.strict_versions:
        server.strict_versions = True
    return server


def _announce(server: Server, url: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "ready", "name": server.info.name, "url": url})
        return
    print_line(f"{server.info.name} listening on {url} (press Ctrl-C to stop)")


def _http_url(place: str) -> str:
    """Return the URL for `--http HOST:PORT/PATH`. Raises `UsageError` for any other form."""
    url = place if "://" in place else f"http://{place}"
    try:
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.hostname and parts.port is not None:
            return url if parts.path else url + DEFAULT_PATH
    except ValueError:
        pass
    raise UsageError(f"--http {place} is not of the form HOST:PORT/PATH")


# accord mcp install


INSTALL_USAGE: Final = "accord mcp install FILE[:NAME]|URL --client CLIENT [options]"

_CLIENTS: Final = "\n".join(f"  {name:<16} {host.title}" for name, host in HOSTS.items())

INSTALL_DESCRIPTION: Final = f"""\
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


def _configure_install(parser: Parser) -> None:
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


def _run_install(arguments: argparse.Namespace) -> int:
    if arguments.client is None:
        raise UsageError(f"say which program by --client: {', '.join(HOSTS)}")
    host = HOSTS[arguments.client]
    path = host.file(arguments.scope)
    if path is None:
        raise UsageError(f"{host.title} has no settings for a project, only --scope user")
    name, server = _server_to_install(arguments)
    entry = host.entry(server)
    file = SettingsFile(path)
    if arguments.dry_run:
        if arguments.json:
            return _print_installed("nothing", name, path, entry)
        print_line(f"{path} would have:")
        print_line(file.written(host.table, name, entry))
        return exits.OK
    if file.entry(host.table, name) == entry:
        if arguments.json:
            return _print_installed("nothing", name, path, entry)
        print_line(f"{path} has {name} already, exactly so")
        return exits.OK
    _check_free(file, host.table, name, replace=arguments.replace)
    backup = file.put(host.table, name, entry)
    if arguments.json:
        return _print_installed("written", name, path, entry, backup)
    print_line(f"{path} has now:")
    print_line(file.written(host.table, name, entry))
    if backup is not None:
        print_line(f"The file as it was: {backup}")
    print_line(host.afterwards)
    return exits.OK


def _print_installed(
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


def _server_to_install(arguments: argparse.Namespace) -> tuple[str, Installed]:
    text: str | None = arguments.server
    if text is not None and "://" in text:
        return _remote(text, arguments)
    return _local(ServerFile.read(text), arguments)


def _local(file: ServerFile, arguments: argparse.Namespace) -> tuple[str, Local]:
    if arguments.header or arguments.token is not None:
        raise UsageError("--header and --token are for a URL")
    env = dict(map(_variable, arguments.env))
    with redirect_stdout(sys.stderr):  # the output of the file is not output of the command
        own = load_server(file).info.name
    command, *args = (*ACCORD, "mcp", "run", str(file))
    return _server_name(arguments.name, own), Local(command, tuple(args), env)


def _remote(url: str, arguments: argparse.Namespace) -> tuple[str, Remote]:
    if arguments.env:
        raise UsageError("--env is for a file")
    if read_scheme(url) not in ("http", "https"):
        raise UsageError("only http and https URLs can be installed")
    headers: dict[str, str] = dict(map(header, arguments.header))
    if arguments.token is not None:
        headers["Authorization"] = f"Bearer {arguments.token}"
    return _server_name(arguments.name, urlsplit(url).hostname or ""), Remote(url, headers)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--env {text!r} is not of the form NAME=VALUE")
    return name, value


def _server_name(chosen: str | None, own: str) -> str:
    """Return `chosen` (--name), or a name derived from `own`; all clients must accept it."""
    if chosen is None:
        return _NOT_IN_NAMES.sub("-", own).strip("-")[:64] or "server"
    if not _NAME.fullmatch(chosen):
        raise UsageError(f"--name {chosen!r}: letters, digits, - and _, at most 64")
    return chosen


# Settings files of clients


class SettingsFile:
    """The settings file of an MCP client, to which an entry for a server is added.

    All other content of the file is kept, to the last digit; a file that cannot be parsed is not
    changed. A copy is made before the file is replaced as a whole. The file need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = (
            path.resolve()
        )  # settings files are often symbolic links into a shared folder
        try:
            self._text = self._target.read_bytes()
            self.exists = True
        except FileNotFoundError:
            self._text = b""
            self.exists = False
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None

    def entry(self, table: str, name: str) -> Any:
        """Return the entry `name` of the table `table` (such as `mcpServers`), or None.

        Raises `UsageError` if the settings file cannot be parsed.
        """
        if self._is_toml:
            return self._toml().get(table, {}).get(name)
        _, entries = self._json(table)
        return msgspec.json.decode(entries[name]) if name in entries else None

    def entries(self, table: str) -> dict[str, Any]:
        """Return all entries of a table. Raises `UsageError` for a file that cannot be parsed."""
        if self._is_toml:
            found = self._toml().get(table, {})
            return found if isinstance(found, dict) else {}
        _, entries = self._json(table)
        return {name: msgspec.json.decode(entry) for name, entry in entries.items()}

    def put(self, table: str, name: str, entry: dict[str, Any]) -> Path | None:
        """Write the file with this entry in the table.

        Return the path of the backup copy, None if the file did not exist before.
        """
        text = self._with_toml(table, name, entry) if self._is_toml else None
        return self._replace(text or self._with_json(table, name, entry))

    def written(self, table: str, name: str, entry: dict[str, Any]) -> str:
        """Return the entry as text in the format of the file, JSON or TOML."""
        if self._is_toml:
            return toml_entry(table, name, entry).strip()
        return json_entry(table, name, entry).strip()

    @property
    def _is_toml(self) -> bool:
        return self.path.suffix == ".toml"

    # JSON

    def _json(self, table: str) -> tuple[dict[str, Raw], dict[str, Raw]]:
        text = self._text.removeprefix(b"\xef\xbb\xbf")
        try:
            members = decode_json(text if text.strip() else b"{}", dict[str, Raw])
            entries = msgspec.json.decode(members.get(table, b"{}"), type=dict[str, Raw])
        except msgspec.DecodeError as error:
            raise UsageError(
                f"{self.path} is left as it is, because it is no plain JSON ({error}); comments "
                "are none. Write the entry yourself: --dry-run shows it"
            ) from None
        return members, entries

    def _with_json(self, table: str, name: str, entry: dict[str, Any]) -> bytes:
        members, entries = self._json(table)
        entries[name] = Raw(msgspec.json.encode(entry))
        members[table] = Raw(msgspec.json.encode(entries))
        return pretty(members)

    # TOML

    def _toml(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self._text.decode())
        except ValueError as error:
            raise UsageError(
                f"{self.path} is left as it is, because it is no TOML: {error}"
            ) from None

    def _with_toml(self, table: str, name: str, entry: dict[str, Any]) -> bytes:
        if name in self._toml().get(table, {}):
            raise UsageError(
                f"{self.path} has a [{table}.{name}] already, and accord does not rewrite TOML; "
                "take it out first, or choose another name by --name"
            )
        text = self._text.rstrip() + b"\n\n" if self._text.strip() else b""
        text += toml_entry(table, name, entry).encode()
        try:
            tomllib.loads(text.decode())
        except tomllib.TOMLDecodeError:
            raise UsageError(
                f"{self.path} is left as it is, because nothing can be added to its {table}; "
                "write the entry yourself: --dry-run shows it"
            ) from None
        return text

    # Writing

    def _replace(self, text: bytes) -> Path | None:
        try:
            return self._replace_file(text)
        except OSError as error:
            raise UsageError(f"{error.filename or self.path}: {error.strerror}") from None

    def _replace_file(self, text: bytes) -> Path | None:
        target = self._target
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = target.with_name(f"{target.name}.bak") if self.exists else None
        # mkstemp creates a file that only the owner can read: entries may contain tokens.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if backup is not None:
                shutil.copy2(target, backup)
                shutil.copymode(target, name)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
        return backup


COMMANDS: Final = {
    "mcp run": Command(RUN_USAGE, RUN_DESCRIPTION, _configure_run, _run_run),
    "mcp install": Command(INSTALL_USAGE, INSTALL_DESCRIPTION, _configure_install, _run_install),
}
