"""`accord completion`: print a script that completes command lines of `accord` in a shell.

The scripts are generated from the argparse trees, so they contain every flag.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from accord.cli import exits
from accord.cli.commands import (
    COMMANDS as ALL_COMMANDS,
    GROUPS,
    Command,
    Parser,
    command_parser,
    in_group,
    top_parser,
)
from accord.cli.output import print_line

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
    """The name of the flag's value in the help; None for a flag without a value."""
    choices: tuple[str, ...] = ()

    @property
    def takes_file(self) -> bool:
        return self.value == "FILE"


class CommandWord(Struct, frozen=True):
    """A command, its flags and the choices of its first argument."""

    name: str
    """The last word of the command: `lint` for `openrpc lint`."""
    help: str
    flags: tuple[Flag, ...]
    first: tuple[str, ...] = ()
    takes_file: bool = False
    """True if the first argument may be a file."""


class GroupWord(Struct, frozen=True):
    """The first word of two-word commands, with those commands."""

    name: str
    commands: tuple[CommandWord, ...]

    @property
    def help(self) -> str:
        return " or ".join(command.name for command in self.commands)


def configure(parser: Parser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="your shell")


def run(arguments: argparse.Namespace) -> int:
    print_line("\n".join(SCRIPTS[arguments.shell]()))
    return exits.OK


def _words() -> list[CommandWord | GroupWord]:
    """Return the first words of all commands, each with what may follow the word."""
    found: dict[str, CommandWord | GroupWord] = {}
    for name in ALL_COMMANDS:
        word = name.split()[0]
        if word not in GROUPS:
            found[word] = _command(name)
        elif word not in found:
            found[word] = GroupWord(word, tuple(map(_command, in_group(word))))
    return list(found.values())


def _command(name: str) -> CommandWord:
    parser, _ = command_parser(name)
    positional = [action for action in parser.actions if not action.option_strings]
    metavar = str(positional[0].metavar) if positional else ""
    choices = (
        URLS
        if metavar in ("URL", "TARGET")
        else tuple(positional[0].choices or ())
        if positional
        else ()
    )
    takes_file = metavar.startswith(("DOC", "FILE"))
    return CommandWord(name.split()[-1], ALL_COMMANDS[name], _flags(parser), choices, takes_file)


def _flags(parser: Parser) -> tuple[Flag, ...]:
    return tuple(
        Flag(
            tuple(action.option_strings),
            (action.help or "").replace("%%", "%"),
            None if action.nargs == 0 else str(action.metavar or action.dest.upper()),
            tuple(action.choices or ()),
        )
        for action in parser.actions
        if action.option_strings
    )


# bash


def _bash() -> Iterator[str]:
    yield "# Completion of accord for bash, printed by: accord completion bash"
    yield "_accord() {"
    yield "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}"
    yield "    COMPREPLY=()"
    yield "    if ((COMP_CWORD == 1)); then"
    words = _words()
    yield f"        {_compgen([*_named(words), *_names(_flags(top_parser()))])}"
    yield "        return"
    yield "    fi"
    yield from _indented(_bash_case(1, words))
    yield "}"
    yield "complete -o default -F _accord accord"


def _bash_case(place: int, words: Sequence[CommandWord | GroupWord]) -> Iterator[str]:
    """Yield the bash code that completes what follows one word of a command line.

    The word has the index `place` in COMP_WORDS; `words` are the commands and groups that are
    possible there.
    """
    yield f"case ${{COMP_WORDS[{place}]}} in"
    for word in words:
        yield f"{word.name})"
        if isinstance(word, CommandWord):
            yield from _indented(_bash_command(word, place + 1))
        else:
            yield from _indented(_bash_group(word, place + 1))
        yield "    ;;"
    yield "esac"


def _bash_group(group: GroupWord, place: int) -> Iterator[str]:
    yield f"if ((COMP_CWORD == {place})); then"
    yield f"    {_compgen(_named(group.commands))}"
    yield "    return"
    yield "fi"
    yield from _bash_case(place, group.commands)


def _bash_command(command: CommandWord, place: int) -> Iterator[str]:
    yield "case $previous in"
    for flag in command.flags:
        if flag.value is not None:
            suggest = "compopt -o default" if flag.takes_file else _compgen(flag.choices)
            yield f"{'|'.join(flag.names)}) {suggest}; return ;;"
    yield "esac"
    yield "if [[ $current == -* ]]; then"
    yield f"    {_compgen(_names(command.flags))}"
    yield f"elif ((COMP_CWORD == {place})); then"
    yield f"    {_compgen(command.first)}"
    if command.first == URLS:
        yield "    compopt -o nospace"
    yield "fi"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _compgen(words: list[str] | tuple[str, ...]) -> str:
    return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$current"))' if words else ":"


def _names(flags: tuple[Flag, ...]) -> list[str]:
    return [name for flag in flags for name in flag.names]


def _named(words: Iterable[CommandWord | GroupWord]) -> list[str]:
    return [word.name for word in words]


# zsh


def _zsh() -> Iterator[str]:
    yield "#compdef accord"
    yield "# Completion of accord for zsh, printed by: accord completion zsh"
    yield "_accord() {"
    yield from _indented(_zsh_words(_words(), _flags(top_parser())))
    yield "}"
    yield 'if [[ $funcstack[1] == _accord ]]; then _accord "$@"; else compdef _accord accord; fi'


def _zsh_words(words: Sequence[CommandWord | GroupWord], flags: tuple[Flag, ...]) -> Iterator[str]:
    """Yield the zsh code that completes `words`, `flags` and what follows each word."""
    yield "if (( CURRENT == 2 )); then"
    yield "    local -a commands=("
    for word in words:
        yield f"        {_quoted(f'{word.name}:{word.help}')}"
    yield "    )"
    yield "    _describe command commands"
    if flags:
        yield "    _arguments \\"
        yield from _indented(_zsh_arguments(flags))
    yield "    return"
    yield "fi"
    yield "shift words"
    yield "(( CURRENT-- ))"
    yield "case $words[1] in"
    for word in words:
        yield f"{word.name})"
        if isinstance(word, CommandWord):
            yield from _indented(_zsh_command(word))
        else:
            yield from _indented(_zsh_words(word.commands, ()))
        yield "    ;;"
    yield "esac"


def _zsh_command(command: CommandWord) -> Iterator[str]:
    yield "_arguments \\"
    if command.first == URLS:
        urls = " ".join(url.replace(":", "\\:") for url in URLS)
        yield f"    {_quoted(f'1:URL:compadd -S {chr(39)}{chr(39)} -- {urls}')} \\"
        yield "    '*: :_files' \\"
    elif command.takes_file:
        yield "    '*: :_files' \\"
    else:
        yield f"    {_quoted(f'1: :({chr(32).join(command.first)})')} \\"
    yield from _zsh_arguments(command.flags)


def _zsh_arguments(flags: tuple[Flag, ...]) -> Iterator[str]:
    last = (flags[-1], flags[-1].names[-1])
    for flag in flags:
        for name in flag.names:
            more = "" if (flag, name) == last else " \\"
            shown = f"{name}[{_zsh_text(flag.help)}]{_zsh_value(flag)}"
            yield f"    {_quoted(shown)}{more}"


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
    for word in _words():
        what = f"-a {word.name} -d {_quoted(word.help)}"
        yield f"complete -c accord -n __fish_use_subcommand {what}"
        if isinstance(word, CommandWord):
            seen = f"__fish_seen_subcommand_from {word.name}"
            yield from _fish_command(word, seen)
        else:
            yield from _fish_group(word)


def _fish_group(group: GroupWord) -> Iterator[str]:
    seen = f"__fish_seen_subcommand_from {group.name}"
    unsaid = f"{seen}; and not __fish_seen_subcommand_from {' '.join(_named(group.commands))}"
    for command in group.commands:
        what = f"-a {command.name} -d {_quoted(command.help)}"
        yield f"complete -c accord -n {_quoted(unsaid)} {what}"
        both = f"{seen}; and __fish_seen_subcommand_from {command.name}"
        yield from _fish_command(command, both)


def _fish_command(command: CommandWord, seen: str) -> Iterator[str]:
    if command.first:
        yield f"complete -c accord -n {_quoted(seen)} -a {_quoted(' '.join(command.first))}"
    elif command.takes_file:
        yield f"complete -c accord -n {_quoted(seen)} -F"
    for flag in command.flags:
        yield from _fish_flag(_quoted(seen), flag)


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
    """Quote `text` for bash, zsh and fish. For fish, it must not contain a backslash."""
    return "'" + text.replace("'", "'\\''") + "'"


SCRIPTS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}


COMMANDS: Final = {
    "completion": Command(USAGE, DESCRIPTION, configure, run),
}
