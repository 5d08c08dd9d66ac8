"""The entry point of `accord` with all its commands, such as `accord call`.

`main` finds the command and runs it. Only `main` turns an exception into a line on stderr and an
exit code. Slow modules are imported when they are needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from accord.cli.commands import (
    GROUPS,
    Parser,
    command_parser,
    group_parser,
    in_group,
    similar_commands,
    split_command,
    top_parser,
)
from accord.cli.exits import OUTPUT_CLOSED, WRONG_USAGE, UsageError, exit_code


def main(argv: Sequence[str] | None = None) -> int:
    """Run `accord` with `argv` (default: `sys.argv[1:]`) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command, others = split_command(arguments)
    try:
        code = _run_top(arguments) if command is None else _run_command(command, others)
        sys.stdout.flush()
        return code
    except Exception as error:
        if "--debug" in arguments:
            raise
        return _explain(error, command, arguments)
    except KeyboardInterrupt as error:
        return exit_code(error)


def _run_top(arguments: list[str]) -> int:
    words = [word for word in arguments[:2] if not word.startswith("-")]
    if words and words[0] in GROUPS:
        return _refuse(group_parser(words[0]), arguments[1:], words, in_group(words[0]))
    return _refuse(top_parser(), arguments, words, [])


def _refuse(parser: Parser, arguments: list[str], words: list[str], known: list[str]) -> int:
    """Print help for a command line without a command, and return the exit code.

    `words` are the first words of the command line that are not flags, and `known` the commands of
    the group, if the first word is one. With `--version`, the version is printed instead. Raises
    `UsageError` for an unknown command.
    """
    is_group = bool(known)
    if len(words) > is_group:
        raise _unknown(words, known)
    parsed = parser.parse_args(arguments)
    if not is_group and parsed.version:
        from accord import __version__

        print(f"accord {__version__}")
        return 0
    print(parser.format_help(), file=sys.stderr)
    return WRONG_USAGE


def _unknown(words: list[str], known: list[str]) -> UsageError:
    """Return the error for an unknown command, with similar commands as advice."""
    typed = " ".join(words) if known else words[0]
    meant = similar_commands(words)
    if meant:
        advice = f"did you mean accord {' or accord '.join(meant)}?"
    elif known:
        advice = f"there are: accord {', '.join(known)}"
    else:
        advice = "accord --help lists them all"
    return UsageError(f"there is no command {typed!r}", advice=advice)


def _run_command(command: str, arguments: list[str]) -> int:
    parser, run = command_parser(command)
    return run(parser.parse_intermixed_args(arguments))


def _explain(error: Exception, command: str | None, arguments: list[str]) -> int:
    """Print an error with advice on what to do next. Return the exit code."""
    if exit_code(error) == OUTPUT_CLOSED:
        # What is still buffered would fail again when the interpreter flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_CLOSED
    from accord.cli.errors import explain

    before_values = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return explain(error, command, as_json="--json" in before_values)
