"""The settings of the system as flags of commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from msgspec.structs import fields

from accord.app.settings import (
    NO_FLAG,
    Resolved,
    Settings,
    SettingsError,
    about,
    is_list,
    is_switch,
    resolve,
)
from accord.cli.exits import UsageError
from accord.cli.parser import Parser


def add_setting_flags(parser: Parser, names: Iterable[str] | None = None) -> None:
    """Flags for all settings that may have one, or for those named."""
    wanted = None if names is None else set(names)
    for each in fields(Settings):
        name = each.name
        if (wanted is not None and name not in wanted) or name in NO_FLAG:
            continue
        flag = f"--{name.replace('_', '-')}"
        if is_switch(name):
            parser.add_argument(flag, action="store_const", const=True, help=about(name))
        else:
            parser.add_argument(
                flag,
                metavar=name.rpartition("_")[2].upper(),
                action="append" if is_list(name) else "store",
                help=about(name) + _default(each.default),
            )
    parser.add_argument("--config", metavar="FILE", help="a TOML file with settings")


def settings_from(arguments: argparse.Namespace) -> Resolved:
    """What the flags, the environment and the file say. Raises `UsageError`."""
    given = {
        each.name: value
        for each in fields(Settings)
        if (value := getattr(arguments, each.name, None)) is not None
    }
    try:
        return resolve(given, config=getattr(arguments, "config", None))
    except SettingsError as error:
        raise UsageError(str(error), advice="accord config tells what each setting is") from None


def _default(value: object) -> str:
    return f" (default: {value})" if isinstance(value, str | int | float) and value != "" else ""
