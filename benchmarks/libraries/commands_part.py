"""The command line: start of the program, and completion of shells."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import contextlib
import io
import resource
import subprocess
import sys
import time
from statistics import median
from typing import Any

import shtab

from accord.cli import main as accord
from accord.cli.commands import COMMANDS, GROUPS, command_parser
from benchmarks.libraries.figures import ROUNDS, import_cost, show, versions

SHELLS = ("bash", "zsh", "fish")
TAB = """
import argparse, io, os
import argcomplete
from accord.cli.commands import command_parser
parser, _ = command_parser("hub import")
os.environ.update(_ARGCOMPLETE="1", COMP_LINE="hub --d", COMP_POINT="7", _ARGCOMPLETE_IFS=" ")
found = io.StringIO()
argcomplete.autocomplete(parser, exit_method=lambda code: None, output_stream=found)
assert "dry-run" in found.getvalue(), found.getvalue()
"""


def process(*arguments: str) -> float:
    """Milliseconds of CPU for a process."""
    found = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(found) * 1e3


def whole_tree() -> argparse.ArgumentParser:
    """All commands as one tree, which is what shtab takes."""
    top = argparse.ArgumentParser("accord")
    words = top.add_subparsers()
    groups: dict[str, Any] = {
        name: words.add_parser(name, help=name).add_subparsers() for name in GROUPS
    }
    for name, about in COMMANDS.items():
        first, _, second = name.partition(" ")
        parser, _ = command_parser(name)
        where, word = (groups[first], second) if second else (words, first)
        where.add_parser(word, help=about, parents=[parser], add_help=False)
    return top


def by_us(shell: str) -> str:
    raw = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(raw, write_through=True)):
        accord(["completion", shell])
        return raw.getvalue().decode()


def timed(make: Any) -> tuple[float, list[str]]:
    started = time.process_time()
    made = [make(shell) for shell in SHELLS]
    return (time.process_time() - started) * 1e3, made


def main() -> None:
    versions("click", "typer", "argcomplete", "shtab")
    show(
        "import",
        [
            (module, import_cost(f"import {module}"))
            for module in ("argparse", "accord.cli", "click", "typer", "argcomplete", "shtab")
        ],
    )
    show(
        "a process, ms of CPU",
        [
            ("python -c pass", process("-c", "pass")),
            ("accord --version", process("-m", "accord", "--version")),
            ("accord hub import --help", process("-m", "accord", "hub", "import", "--help")),
            ("a TAB with argcomplete", process("-c", TAB)),
            ("python -c 'import click'", process("-c", "import click")),
            ("python -c 'import typer'", process("-c", "import typer")),
        ],
    )
    timed(by_us)
    milliseconds, ours = timed(by_us)
    show(
        f"scripts for {', '.join(SHELLS)} ({len(COMMANDS)} commands)",
        [
            ("ours, ms", milliseconds),
            ("ours, bytes", [len(each) for each in ours]),
        ],
    )
    milliseconds, theirs = timed(lambda shell: shtab.complete(whole_tree(), shell))
    show(
        "the same by shtab",
        [
            ("shtab, ms", milliseconds),
            ("shtab, bytes", [len(each) for each in theirs]),
            ("knows `hub import --dry-run`", ["dry-run" in each for each in theirs]),
        ],
    )


main()
