"""`accord completion`: a script that makes a shell complete the command line of `accord`.

The scripts are written from the argparse trees, so that no flag is forgotten.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from accord.cli import exits
from accord.cli.output import print_line
from accord.cli.parser import COMMANDS, Parser, command_parser, top_parser

USAGE: Final = "accord completion bash|zsh|fish"

DESCRIPTION: Final = """\
Print a script that completes the commands and flags of accord. To install it:

  accord completion bash > ~/.local/share/bash-completion/completions/accord
  accord completion zsh > ~/.zfunc/_accord      with ~/.zfunc in $fpath, before compinit
  accord completion fish > ~/.config/fish/completions/accord.fish
"""

URLS: Final = ("http://", "https://", "stdio:", "tcp://", "tls://", "unix:///", "ws://", "wss://")


class Flag(Struct, frozen=True):
    """One flag of a command."""

    names: tuple[str, ...]
    help: str
    value: str | None = None
    """What its value is called; None if it takes none."""
    choices: tuple[str, ...] = ()

    @property
    def takes_file(self) -> bool:
        return self.value == "FILE"


class Command(Struct, frozen=True):
    """One command, with its flags and what its first argument can be."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    first: tuple[str, ...] = ()


def configure(parser: Parser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="your shell")


def run(arguments: argparse.Namespace) -> int:
    print_line("\n".join(SCRIPTS[arguments.shell]()))
    return exits.OK


def _commands() -> list[Command]:
    return [_command(name, help) for name, help in COMMANDS.items()]


def _command(name: str, help: str) -> Command:
    parser, _ = command_parser(name)
    first = next(action for action in parser._actions if not action.option_strings)
    choices = URLS if first.dest == "url" else tuple(first.choices or ())
    return Command(name, help, _flags(parser), choices)


def _flags(parser: Parser) -> tuple[Flag, ...]:
    return tuple(
        Flag(
            tuple(action.option_strings),
            (action.help or "").replace("%%", "%"),
            None if action.nargs == 0 else str(action.metavar or action.dest.upper()),
            tuple(action.choices or ()),
        )
        for action in parser._actions
        if action.option_strings
    )


# bash


def _bash() -> Iterator[str]:
    yield "# Completion of accord for bash, printed by: accord completion bash"
    yield "_accord() {"
    yield "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}"
    yield "    COMPREPLY=()"
    yield "    if ((COMP_CWORD == 1)); then"
    yield f"        {_compgen([*COMMANDS, *_names(_flags(top_parser()))])}"
    yield "        return"
    yield "    fi"
    yield "    case ${COMP_WORDS[1]} in"
    for command in _commands():
        yield f"    {command.name})"
        yield from _bash_command(command)
        yield "        ;;"
    yield "    esac"
    yield "}"
    yield "complete -o default -F _accord accord"


def _bash_command(command: Command) -> Iterator[str]:
    yield "        case $previous in"
    for flag in command.flags:
        if flag.value is not None:
            suggest = "compopt -o default" if flag.takes_file else _compgen(flag.choices)
            yield f"        {'|'.join(flag.names)}) {suggest}; return ;;"
    yield "        esac"
    yield "        if [[ $current == -* ]]; then"
    yield f"            {_compgen(_names(command.flags))}"
    yield "        elif ((COMP_CWORD == 2)); then"
    yield f"            {_compgen(command.first)}"
    if command.first == URLS:
        yield "            compopt -o nospace"
    yield "        fi"


def _compgen(words: list[str] | tuple[str, ...]) -> str:
    return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$current"))' if words else ":"


def _names(flags: tuple[Flag, ...]) -> list[str]:
    return [name for flag in flags for name in flag.names]


# zsh


def _zsh() -> Iterator[str]:
    yield "#compdef accord"
    yield "# Completion of accord for zsh, printed by: accord completion zsh"
    yield "_accord() {"
    yield "    if (( CURRENT == 2 )); then"
    yield "        local -a commands=("
    for name, help in COMMANDS.items():
        yield f"            {_quoted(f'{name}:{help}')}"
    yield "        )"
    yield "        _describe command commands"
    yield "        _arguments \\"
    yield from _zsh_arguments(_flags(top_parser()))
    yield "        return"
    yield "    fi"
    yield "    shift words"
    yield "    (( CURRENT-- ))"
    yield "    case $words[1] in"
    for command in _commands():
        yield f"    {command.name})"
        yield "        _arguments \\"
        if command.first == URLS:
            urls = " ".join(url.replace(":", "\\:") for url in URLS)
            yield f"            {_quoted(f'1:URL:compadd -S {chr(39)}{chr(39)} -- {urls}')} \\"
            yield "            '*: :_files' \\"
        else:
            yield f"            {_quoted(f'1: :({chr(32).join(command.first)})')} \\"
        yield from _zsh_arguments(command.flags)
        yield "        ;;"
    yield "    esac"
    yield "}"
    yield 'if [[ $funcstack[1] == _accord ]]; then _accord "$@"; else compdef _accord accord; fi'


def _zsh_arguments(flags: tuple[Flag, ...]) -> Iterator[str]:
    last = (flags[-1], flags[-1].names[-1])
    for flag in flags:
        for name in flag.names:
            more = "" if (flag, name) == last else " \\"
            shown = f"{name}[{_zsh_text(flag.help)}]{_zsh_value(flag)}"
            yield f"            {_quoted(shown)}{more}"


def _zsh_value(flag: Flag) -> str:
    if flag.value is None:
        return ""
    what = _zsh_text(flag.value.strip("'"))
    if flag.takes_file:
        return f":{what}:_files"
    return f":{what}:({' '.join(flag.choices)})" if flag.choices else f":{what}:"


def _zsh_text(text: str) -> str:
    for special in "\\[]:":
        text = text.replace(special, f"\\{special}")
    return text


# fish


def _fish() -> Iterator[str]:
    yield "# Completion of accord for fish, printed by: accord completion fish"
    yield "complete -c accord -f"
    for flag in _flags(top_parser()):
        yield from _fish_flag("__fish_use_subcommand", flag)
    for command in _commands():
        what = f"-a {command.name} -d {_quoted(command.help)}"
        yield f"complete -c accord -n __fish_use_subcommand {what}"
        seen = _quoted(f"__fish_seen_subcommand_from {command.name}")
        if command.first:
            yield f"complete -c accord -n {seen} -a {_quoted(' '.join(command.first))}"
        for flag in command.flags:
            yield from _fish_flag(seen, flag)


def _fish_flag(condition: str, flag: Flag) -> Iterator[str]:
    names = " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names
    )
    value = "" if flag.value is None else " -r"
    if flag.takes_file:
        value += " -F"
    elif flag.choices:
        value += f" -a {_quoted(' '.join(flag.choices))}"
    yield f"complete -c accord -n {condition} {names}{value} -d {_quoted(flag.help)}"


def _quoted(text: str) -> str:
    """In single quotes, as all three shells understand them; it must have no backslash for fish."""
    return "'" + text.replace("'", "'\\''") + "'"


SCRIPTS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
