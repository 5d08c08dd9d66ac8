"""Access to the installation that a command works on.

There are functions that define flags for the settings, and functions that open the installation in
this process, without a server. The commands that show settings and plugins are here, too. There are
few imports: asyncio and the store are imported when a command opens the installation.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec.structs import fields, replace

from accord.app.settings import (
    NO_FLAG,
    ResolvedSettings,
    Settings,
    SettingsError,
    SettingValue,
    about,
    is_list,
    is_switch,
    resolve,
)
from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.output import print_error_line, print_json, print_line, print_table, printable

if TYPE_CHECKING:
    from accord.app.composition import PluginState
    from accord.app.runtime import Runtime
    from accord.operations.context import Caller
    from accord.operations.operation import Outcome


# Settings as flags


def add_setting_flags(parser: Parser, names: Iterable[str] | None = None) -> None:
    """Add a flag for each of the named settings, by default for all that may have one."""
    selected = None if names is None else set(names)
    for each in fields(Settings):
        name = each.name
        if (selected is not None and name not in selected) or name in NO_FLAG:
            continue
        flag = f"--{name.replace('_', '-')}"
        if is_switch(name):
            parser.add_argument(flag, action="store_const", const=True, help=about(name))
        else:
            parser.add_argument(
                flag,
                metavar=name.rpartition("_")[2].upper(),
                action="append" if is_list(name) else "store",
                help=about(name) + _default_note(each.default),
            )
    parser.add_argument("--config", metavar="FILE", help="a TOML file with settings")


def settings_from(arguments: argparse.Namespace) -> ResolvedSettings:
    """Return the settings from flags, environment variables and the settings file.

    Raises `UsageError` if a setting is invalid.
    """
    flags = {
        each.name: value
        for each in fields(Settings)
        if (value := getattr(arguments, each.name, None)) is not None
    }
    try:
        return resolve(flags, config=getattr(arguments, "config", None))
    except SettingsError as error:
        raise UsageError(str(error), advice="accord config tells what each setting is") from None


def _default_note(value: object) -> str:
    return f" (default: {value})" if isinstance(value, str | int | float) and value != "" else ""


# An installation that is not opened


WHERE: Final = "accord serve makes one, or say with --data where it is"


def existing(arguments: argparse.Namespace) -> Settings:
    """Return the settings of an existing installation.

    Raises `UsageError` if the installation does not exist.
    """
    settings = settings_from(arguments).settings
    check_there(settings)
    return settings


def is_there(settings: Settings) -> bool:
    """Return false if the database is a SQLite file that does not exist.

    Returns true for all other databases, without a check.
    """
    url = settings.database_url
    return not url.startswith("sqlite:") or Path(unquote(urlsplit(url).path)).is_file()


def check_there(settings: Settings) -> None:
    """Raise `UsageError` if the installation does not exist."""
    if not is_there(settings):
        raise UsageError(f"there is no installation in {settings.data}", advice=WHERE)


def audit_key(settings: Settings) -> bytes:
    """Return the key of the audit trail.

    Raises `UsageError` if the server key is missing or cannot be used.
    """
    from accord.app.runtime import AUDIT_PURPOSE, server_key
    from accord.operations.auth.server_key import KEY_FILE, ServerKeyError

    if not settings.is_shared and not (Path(settings.data) / KEY_FILE).is_file():
        raise UsageError(
            f"there is no server key in {settings.data}", advice="restore it from a backup"
        )
    try:
        return server_key(settings).derive(AUDIT_PURPOSE)
    except ServerKeyError as error:
        raise UsageError(str(error), advice="") from None


# An opened installation


def add_local_flags(parser: Parser, *more: str) -> None:
    """Add the flags that locate the installation, and flags for the settings `more`."""
    add_setting_flags(parser, ("data", "database", *more))


async def all_pages(local: Runtime, operation: str, **arguments: Any) -> list[Any]:
    """Return all items of a list operation, fetched page by page."""
    found: list[Any] = []
    cursor = None
    while True:
        page = (await local.run(operation, **arguments, limit=100, cursor=cursor)).result
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def run_local(
    arguments: argparse.Namespace, use: Callable[[Runtime], Awaitable[int]], *, new: bool = False
) -> int:
    """Open the installation, call `use` with it, and return the result.

    The result of `use` is an exit code. If `new` is true, a missing installation is created.
    Otherwise a missing installation raises `UsageError`: a mistyped folder must not become a second
    installation.
    """
    import asyncio

    from accord.app.runtime import open_runtime
    from accord.operations.auth.server_key import ServerKeyError
    from accord.operations.logs import configure_logging
    from accord.store import open_store

    configure_logging("debug" if arguments.debug else "warning", "text")
    settings = settings_from(arguments).settings
    try:
        open_store(settings.database_url)  # nothing is opened yet
    except ValueError as error:
        raise UsageError(f"the database {error}") from None
    if not new:
        check_there(settings)

    async def main() -> int:
        async with open_runtime(settings) as local:
            return await use(local)

    try:
        return asyncio.run(main())
    except ServerKeyError as error:
        raise UsageError(str(error), advice="") from None


# The caller of operations


def add_as_flag(parser: Parser) -> None:
    """Add the flag `--as NAME` to a parser: operations run as the user NAME."""
    parser.add_argument(
        "--as",
        dest="person",
        metavar="NAME",
        help="whom new things belong to (default: the first administrator)",
    )


async def caller_named(local: Runtime, name: str | None) -> Caller:
    """Return a caller with all rights who acts as a user.

    The caller's changes are recorded as changes of the user `name`. Without a name, the first
    administrator is used. Raises UsageError if there is no administrator, and ServiceError if there
    is no user of this name.
    """
    from accord.operations.auth.storage import FIRST_ADMINISTRATOR
    from accord.operations.context import LOCAL, new_correlation_id

    if name is None:
        rows = await local.store.fetch(FIRST_ADMINISTRATOR)
        if not rows:
            raise UsageError(
                "there is nobody whom things could belong to: "
                "accord user create NAME --role administrator"
            )
        name = str(rows[0]["username"])
    user = (await local.run("get_user", id=name)).result
    return replace(
        LOCAL, user_id=user.id, username=user.username, correlation_id=new_correlation_id()
    )


async def run_as(local: Runtime, caller: Caller, operation: str, **arguments: Any) -> Outcome:
    """Run an operation as `caller`. Raises ServiceError if the operation fails."""
    from accord.operations.arguments import convert

    found = local.runner.registry[operation]
    return await local.runner.run(found, lambda: convert(found, arguments), caller)


# accord config


CONFIG_USAGE: Final = "accord config [--json] [settings]"

CONFIG_DESCRIPTION: Final = """\
Show every setting of `accord serve`: what it is for, its value, and where that was given.

A setting is given by a flag, by a variable of the environment, or in a TOML file: `accord.toml`
in the data directory, or the one that --config or ACCORD_CONFIG names. Flags come first, the
file last. What is secret is shown as stars, and has no flag.

examples:
  accord config
  ACCORD_PORT=9000 accord config --json
"""


def _configure_config(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_setting_flags(parser)


def _run_config(arguments: argparse.Namespace) -> int:
    found = settings_from(arguments).each()
    if arguments.json:
        rows = [{**msgspec.to_builtins(each), "variable": each.variable} for each in found]
        print_json(rows)
        return exits.OK
    for each in found:
        print_line(f"{each.name} = {_written(each.value)}   # {_source_of(each)}")
        print_line(f"    {each.about} ({each.variable})")
    return exits.OK


def _written(value: object) -> str:
    """Return a value as it is written in the settings file."""
    return msgspec.json.encode(value).decode()


def _source_of(setting: SettingValue) -> str:
    return setting.source if setting.source == "default" else f"from {setting.source}"


# accord plugin list


PLUGINS_USAGE: Final = "accord plugin list [--json] [options]"

PLUGINS_DESCRIPTION: Final = """\
List the plugins of all installed packages: what each adds, and whether it can be used. A server
uses those of the packages that the setting `plugins` names, which is all unless it is set; one of
operations or steps that cannot be used stops it. Transports are always there.

examples:
  accord plugin list
  accord plugin list --plugins accord-mail --json
"""


def _configure_plugins(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_setting_flags(parser, ("data", "plugins"))


def _run_plugins(arguments: argparse.Namespace) -> int:
    from accord.app.composition import load_plugins

    loaded = load_plugins(settings_from(arguments).settings.plugins, transports=True)
    failed = any(each.state == "failed" for each in loaded.states) or bool(loaded.missing)
    if arguments.json:
        rows = [_plugin_row(each) for each in loaded.states]
        print_json({"plugins": rows, "missing": loaded.missing})
    else:
        _print_plugins(loaded.states)
        for each in loaded.missing:
            print_error_line(f"plugins: {printable(each)} is not installed, or has no plugin")
    return exits.ANSWERED_WITH_ERROR if failed else exits.OK


def _plugin_row(state: PluginState) -> dict[str, Any]:
    plugin = state.plugin
    return {
        "package": plugin.distribution,
        "version": plugin.version,
        "point": plugin.group,
        "name": plugin.name,
        "state": state.state,
        "adds": state.adds,
        "why": state.why,
    }


def _print_plugins(states: tuple[PluginState, ...]) -> None:
    if not states:
        print_line("no plugins are installed")
        return
    head = ("package", "version", "point", "name", "state")
    rows = [_plugin_row(each) for each in states]
    print_table(
        (*head, "adds"),
        [(*(row[name] for name in head), ", ".join(row["adds"]) or row["why"]) for row in rows],
    )


COMMANDS: Final = {
    "config": Command(CONFIG_USAGE, CONFIG_DESCRIPTION, _configure_config, _run_config),
    "plugin list": Command(PLUGINS_USAGE, PLUGINS_DESCRIPTION, _configure_plugins, _run_plugins),
}
