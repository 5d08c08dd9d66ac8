"""All commands, in the order in which they are told of: headings, names, and what each is for.

Each is a module of `accord.cli` with `USAGE`, `DESCRIPTION`, `configure(parser)` and
`run(arguments)`; one of two words, as `openrpc lint`, is the module `openrpc_lint`. Nothing is
imported here: this is read before it is known which command runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

SECTIONS: Final = {
    "run it": {
        "serve": "run the whole system",
        "executor": "execute runs of workflows, as a process of its own",
        "bridge": "call agents for workflows, as a process of its own",
    },
    "people and tokens": {
        "user create": "add a person to an installation",
        "user list": "list the people of an installation",
        "user update": "change a person's role, email or password, or deactivate them",
        "token create": "make a token for a person, and print it",
        "token list": "list the tokens of a person",
        "token revoke": "have a token refused from now on",
    },
    "requirements": {
        "hub demo": "load a sample project into the hub",
        "hub import": "bring a file into the hub",
        "hub export": "write what is in the hub to a file",
        "hub do": "run any operation of the hub",
        "hub reindex": "write the search index of the hub anew",
    },
    "workflows and agents": {
        "agent demo": "serve an agent to try things out with",
        "agent check": "find what is wrong with an agent",
        "agent add": "register an agent for workflows",
        "agent list": "list the agents that are registered",
        "agent migration": "list the agents that still use the older plain format",
        "workflow validate": "find what is wrong with a workflow's definition",
        "workflow save": "save a workflow's definition",
        "workflow list": "list workflows, or their runs",
        "workflow run": "start a run of a workflow",
        "workflow watch": "show what happens in a run",
        "workflow cancel": "cancel a run",
        "workflow retry": "continue a run that failed or was cancelled",
        "workflow archive": "move runs that ended long ago to files, or remove them",
    },
    "keep it": {
        "doctor": "look at all that it needs, and say what to do",
        "config": "show every setting, and where it was given",
        "plugin list": "list what installed packages add, and whether it can be used",
        "backup": "write all of an installation to one file, while it runs",
        "restore": "make an installation of a backup",
        "db status": "show which migrations a database has",
        "db migrate": "bring a database up to this release",
        "audit verify": "find what was changed in the audit trail",
        "audit export": "write all of the audit trail",
    },
    "library": {
        "call": "call a method, anywhere",
        "demo": "serve a few methods to try things out with",
        "openrpc lint": "find what is wrong with an OpenRPC document",
        "openrpc document": "print the OpenRPC document of a program",
        "openrpc client": "write a typed client from an OpenRPC document",
        "mcp run": "serve the MCP server that a Python file holds",
        "mcp list": "list what an MCP server offers",
        "mcp call": "call a tool of an MCP server",
        "mcp read": "read a resource of an MCP server",
        "mcp prompt": "get a prompt of an MCP server",
        "mcp inspect": "show who an MCP server is and what it can do",
        "mcp install": "tell a client, such as an editor, of an MCP server",
    },
    "shell": {
        "completion": "print a completion script for your shell",
    },
}
"""What `accord --help` lists: each heading with its commands, in the order of use."""

COMMANDS: Final = {name: about for section in SECTIONS.values() for name, about in section.items()}
GROUPS: Final = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS if " " in name))
"""The first words of commands that have two."""

_FORMER: Final = {"agents migration": "agent migration"}
"""Spellings of earlier releases, which scripts may still have."""
_MEANT: Final = {
    **dict.fromkeys(("start", "run", "up", "init", "server", "web", "setup"), "serve"),
    **dict.fromkeys(("status", "check", "health", "diagnose"), "doctor"),
    **dict.fromkeys(("settings", "env"), "config"),
    **dict.fromkeys(("login", "auth"), "token create"),
    "help": "--help",
    "version": "--version",
}
"""What other programs call it, or people look for."""


def split_command(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The command that the arguments begin with, None if they begin with none; and the others."""
    for length in (1, 2):
        words = " ".join(arguments[:length])
        name = _FORMER.get(words, words)
        if len(arguments) >= length and name in COMMANDS:
            return name, list(arguments[length:])
    return None, list(arguments)


def in_group(group: str) -> list[str]:
    """The commands that begin with the word `group`."""
    return [name for name in COMMANDS if name.startswith(f"{group} ")]


def meant_by(words: Sequence[str]) -> list[str]:
    """What somebody may have meant who began with these words, which are no command."""
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
