"""The `accord` command: `accord call`, `accord demo`, `accord openrpc lint` and others.

`main` finds the command, runs it, and is the one place where an exception becomes a line on
stderr and an exit code. Nothing slow is imported before it is needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from accord.cli.exits import BUG, OUTPUT_CLOSED, WRONG_USAGE, UsageError, exit_code
from accord.cli.parser import (
    COMMANDS,
    GROUPS,
    Parser,
    command_parser,
    find_command,
    group_parser,
    in_group,
    top_parser,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `accord` with these arguments (those of the process unless given); the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = find_command(arguments)
    try:
        code = _run_top(arguments) if command is None else _run_command(command, arguments)
        sys.stdout.flush()
        return code
    except Exception as error:
        if "--debug" in arguments:
            raise
        return _explain(error, command)
    except KeyboardInterrupt as error:
        return exit_code(error)


def _run_top(arguments: list[str]) -> int:
    if arguments and arguments[0] in GROUPS:
        return _run_group(*arguments)
    parser = top_parser()
    parsed = parser.parse_args(arguments)
    if parsed.version:
        from accord import __version__

        print(f"accord {__version__}")
        return 0
    return _refuse(parser, parsed.command, list(COMMANDS))


def _run_group(group: str, *arguments: str) -> int:
    parser = group_parser(group)
    command = parser.parse_args(arguments).command
    return _refuse(parser, command and f"{group} {command}", in_group(group))


def _refuse(parser: Parser, command: str | None, known: list[str]) -> int:
    """Say what there is to those who named no command. Raises `UsageError` for a wrong one."""
    if command is None:
        print(parser.format_help(), file=sys.stderr)
        return WRONG_USAGE
    raise UsageError(f"there is no command {command!r}, only {', '.join(known)}")


def _run_command(command: str, arguments: list[str]) -> int:
    parser, run = command_parser(command)
    return run(parser.parse_intermixed_args(arguments[len(command.split()) :]))


def _explain(error: Exception, command: str | None) -> int:
    """Say in one line what went wrong and what to do next."""
    from accord.cli.output import complain

    code = exit_code(error)
    if code == OUTPUT_CLOSED:
        # What is still buffered would fail again when the interpreter flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    elif code == WRONG_USAGE:
        what = f"accord {command}" if command else "accord"
        complain(f"{error}; see {what} --help")
    elif code == BUG:
        complain(f"{type(error).__name__}: {error}; run it with --debug to see where")
    else:
        complain(error)
    return code
