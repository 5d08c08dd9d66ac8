"""`accord config`: every setting, what it is for, its value, and where that was given."""

from __future__ import annotations

import argparse
from typing import Final

import msgspec

from accord.app.settings import Setting
from accord.cli import exits
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.setting_flags import add_setting_flags, settings_from

USAGE: Final = "accord config [--json] [settings]"

DESCRIPTION: Final = """\
Show every setting of `accord serve`: what it is for, its value, and where that was given.

A setting is given by a flag, by a variable of the environment, or in a TOML file: `accord.toml`
in the data directory, or the one that --config or ACCORD_CONFIG names. Flags come first, the
file last. What is secret is shown as stars, and has no flag.

examples:
  accord config
  ACCORD_PORT=9000 accord config --json
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    found = settings_from(arguments).each()
    if arguments.json:
        rows = [{**msgspec.to_builtins(each), "variable": each.variable} for each in found]
        print_json(rows)
        return exits.OK
    for each in found:
        print_line(f"{each.name} = {_written(each.value)}   # {_from(each)}")
        print_line(f"    {each.about} ({each.variable})")
    return exits.OK


def _written(value: object) -> str:
    """As it would stand in the file."""
    return msgspec.json.encode(value).decode()


def _from(setting: Setting) -> str:
    return setting.source if setting.source == "default" else f"from {setting.source}"
