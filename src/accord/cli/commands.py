"""The table of all commands: headings, names, modules, and what each command is for.

The module of a command has it in its table `COMMANDS`. Nothing is imported here: this module is
loaded before the command is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_TABLE: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "run it": {
        "serve": ("serve", "run the whole system"),
        "executor": ("serve", "execute runs of workflows, as a process of its own"),
        "bridge": ("serve", "call agents for workflows, as a process of its own"),
    },
    "people and tokens": {
        "user create": ("operations", "add a person to an installation"),
        "user list": ("operations", "list the people of an installation"),
        "user update": (
            "operations",
            "change a person's role, email or password, or deactivate them",
        ),
        "token create": ("operations", "make a token for a person, and print it"),
        "token list": ("operations", "list the tokens of a person"),
        "token revoke": ("operations", "have a token refused from now on"),
    },
    "requirements": {
        "hub demo": ("hub", "load a sample project into the hub"),
        "hub import": ("hub", "bring a file into the hub"),
        "hub export": ("hub", "write what is in the hub to a file"),
        "hub do": ("hub", "run any operation of the hub"),
        "hub reindex": ("hub", "write the search index of the hub anew"),
    },
    "workflows and agents": {
        "agent demo": ("agent", "serve an agent to try things out with"),
        "agent check": ("agent", "find what is wrong with an agent"),
        "agent add": ("operations", "register an agent for workflows"),
        "agent list": ("operations", "list the agents that are registered"),
        "agent migration": ("agent", "list the agents that still use the older plain format"),
        "workflow validate": ("workflow", "find what is wrong with a workflow's definition"),
        "workflow save": ("workflow", "save a workflow's definition"),
        "workflow list": ("workflow", "list workflows, or their runs"),
        "workflow run": ("workflow", "start a run of a workflow"),
        "workflow watch": ("workflow", "show what happens in a run"),
        "workflow cancel": ("operations", "cancel a run"),
        "workflow retry": ("operations", "continue a run that failed or was cancelled"),
        "workflow archive": ("workflow", "move runs that ended long ago to files, or remove them"),
    },
    "keep it": {
        "doctor": ("doctor.command", "look at all that it needs, and say what to do"),
        "config": ("installation", "show every setting, and where it was given"),
        "plugin list": (
            "installation",
            "list what installed packages add, and whether it can be used",
        ),
        "backup": ("backup", "write all of an installation to one file, while it runs"),
        "restore": ("backup", "make an installation of a backup"),
        "db status": ("backup", "show which migrations a database has"),
        "db migrate": ("backup", "bring a database up to this release"),
        "audit verify": ("backup", "find what was changed in the audit trail"),
        "audit export": ("backup", "write all of the audit trail"),
    },
    "library": {
        "call": ("call", "call a method, anywhere"),
        "demo": ("demo", "serve a few methods to try things out with"),
        "openrpc lint": ("openrpc", "find what is wrong with an OpenRPC document"),
        "openrpc document": ("openrpc", "print the OpenRPC document of a program"),
        "openrpc client": ("openrpc", "write a typed client from an OpenRPC document"),
        "mcp run": ("mcp_server", "serve the MCP server that a Python file holds"),
        "mcp list": ("mcp_client", "list what an MCP server offers"),
        "mcp call": ("mcp_client", "call a tool of an MCP server"),
        "mcp read": ("mcp_client", "read a resource of an MCP server"),
        "mcp prompt": ("mcp_client", "get a prompt of an MCP server"),
        "mcp inspect": ("mcp_client", "show who an MCP server is and what it can do"),
        "mcp install": ("mcp_server", "tell a client, such as an editor, of an MCP server"),
    },
    "shell": {
        "completion": ("completion", "print a completion script for your shell"),
    },
}
"""Each heading of `accord --help` with its commands, in the order of use: their modules, and what
each is for."""

SECTIONS: Final = {
    title: {name: about for name, (_, about) in section.items()}
    for title, section in _TABLE.items()
}
COMMANDS: Final = {name: about for section in SECTIONS.values() for name, about in section.items()}
MODULES: Final = {name: module for each in _TABLE.values() for name, (module, _) in each.items()}
"""The module of `accord.cli` that each command is in."""
GROUPS: Final = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS if " " in name))
"""The first words of two-word commands."""

_FORMER: Final = {"agents migration": "agent migration"}
"""Command names of earlier releases, which scripts may still use."""
_MEANT: Final = {
    **dict.fromkeys(("start", "run", "up", "init", "server", "web", "setup"), "serve"),
    **dict.fromkeys(("status", "check", "health", "diagnose"), "doctor"),
    **dict.fromkeys(("settings", "env"), "config"),
    **dict.fromkeys(("login", "auth"), "token create"),
    "help": "--help",
    "version": "--version",
}
"""Names that other programs use for our commands."""


def split_command(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the command that the arguments begin with, or None, and the remaining arguments."""
    for length in (1, 2):
        words = " ".join(arguments[:length])
        name = _FORMER.get(words, words)
        if len(arguments) >= length and name in COMMANDS:
            return name, list(arguments[length:])
    return None, list(arguments)


def in_group(group: str) -> list[str]:
    """Return the commands that begin with the word `group`."""
    return [name for name in COMMANDS if name.startswith(f"{group} ")]


def meant_by(words: Sequence[str]) -> list[str]:
    """Return the commands that are close to these words, which are no command."""
    from difflib import get_close_matches

    first, typed = words[0], " ".join(words[:2])
    if first in _MEANT:
        return [_MEANT[first]]
    turned = " ".join(reversed(words[:2]))
    if turned in COMMANDS:
        return [turned]
    close = get_close_matches(typed, COMMANDS, n=2, cutoff=0.75)
    if close or first in GROUPS:
        return close
    named = [name for name in COMMANDS if name.split()[-1] == first]
    return named or get_close_matches(first, [*COMMANDS, *GROUPS], n=2, cutoff=0.7)
