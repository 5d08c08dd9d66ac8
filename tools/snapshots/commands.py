"""What the command line and the settings are called."""

from __future__ import annotations

import argparse

import msgspec

from accord.app.settings import NO_FLAG, SettingValue, resolve
from accord.cli.commands import COMMANDS, GROUPS, command_parser, group_parser, top_parser

WIDTH = 100


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Lays help out the same way on every terminal and every version of Python."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        # Python 3.13 says the value of several flags once, earlier ones say it after each.
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


def helps() -> str:
    """`--help` of `accord`, of each group and of each command."""
    parsers = {
        "": top_parser(),
        **{name: group_parser(name) for name in GROUPS},
        **{name: command_parser(name)[0] for name in COMMANDS},
    }
    return "\n".join(_help(name, parser) for name, parser in parsers.items())


def _help(name: str, parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = _Formatter
    if name in COMMANDS:
        parser.epilog = None  # the exit codes, which stand below the help of `accord` already
    return f"$ {f'accord {name}'.strip()} --help\n{parser.format_help()}"


def settings() -> str:
    """Each setting: name, default, variable, flag, and what it is for."""
    return "".join(map(_setting, resolve({}, {}).each()))


def _setting(setting: SettingValue) -> str:
    flag = "no flag" if setting.name in NO_FLAG else setting.flag
    default = msgspec.json.encode(setting.default).decode()
    return f"{setting.name} = {default}  {setting.variable}  {flag}  {setting.about}\n"
