"""`accord plugin list`: what is installed that adds something, and whether it can be used."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from accord.cli import exits
from accord.cli.output import print_error_line, print_json, print_line, printable
from accord.cli.parser import Parser
from accord.cli.setting_flags import add_setting_flags, settings_from
from accord.cli.table import print_table

if TYPE_CHECKING:
    from accord.app.plugins import PluginState

USAGE: Final = "accord plugin list [--json] [options]"

DESCRIPTION: Final = """\
List the plugins of all installed packages: what each adds, and whether it can be used. A server
uses those of the packages that the setting `plugins` names, which is all unless it is set; one of
operations or steps that cannot be used stops it. Transports are always there.

examples:
  accord plugin list
  accord plugin list --plugins accord-mail --json
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_setting_flags(parser, ("data", "plugins"))


def run(arguments: argparse.Namespace) -> int:
    from accord.app.plugins import load_plugins

    loaded = load_plugins(settings_from(arguments).settings.plugins, transports=True)
    failed = any(each.state == "failed" for each in loaded.states) or bool(loaded.missing)
    if arguments.json:
        rows = [_row(each) for each in loaded.states]
        print_json({"plugins": rows, "missing": loaded.missing})
    else:
        _tell(loaded.states)
        for each in loaded.missing:
            print_error_line(f"plugins: {printable(each)} is not installed, or has no plugin")
    return exits.ANSWERED_WITH_ERROR if failed else exits.OK


def _row(state: PluginState) -> dict[str, Any]:
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


def _tell(states: tuple[PluginState, ...]) -> None:
    if not states:
        print_line("no plugins are installed")
        return
    head = ("package", "version", "point", "name", "state")
    rows = [_row(each) for each in states]
    print_table(
        (*head, "adds"),
        [(*(row[name] for name in head), ", ".join(row["adds"]) or row["why"]) for row in rows],
    )
