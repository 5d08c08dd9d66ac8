"""`accord` itself: help, version, and what it says to those who use it wrongly."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from accord import __version__
from accord.cli.commands import COMMANDS, MODULES, SECTIONS
from accord.cli.exits import MEANINGS
from tests.cli.command import PATIENCE, Completed, accord


def test_the_table_of_commands_and_those_of_the_modules_agree() -> None:
    tables = {name: import_module(f"accord.cli.{name}").COMMANDS for name in MODULES.values()}
    assert {command: name for name, table in tables.items() for command in table} == MODULES


def test_version() -> None:
    assert accord("--version") == Completed(0, f"accord {__version__}\n")


def test_help_says_what_it_is_for_with_examples_commands_and_exit_codes() -> None:
    shown = accord("--help")
    assert (shown.code, shown.err) == (0, "")
    for expected in (
        "Accord is how people, programs and AI agents agree on things",
        *(f"\n{heading}:\n  {next(iter(section))} " for heading, section in SECTIONS.items()),
        "accord call tcp://127.0.0.1:7000 add 1 2",
        "  completion         print a completion script",
        *(f"  {code:<4} {meaning}\n" for code, meaning in MEANINGS.items()),
    ):
        assert expected in shown.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    shown = accord(*command.split(), "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"usage: accord {command}")


def test_without_a_command_the_help_goes_to_stderr() -> None:
    shown = accord()
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith("usage: accord")


def test_the_first_word_of_a_command_alone_lists_what_can_follow() -> None:
    shown = accord("openrpc")
    assert (shown.code, shown.out) == (2, "")
    assert "  openrpc lint       find what is wrong with an OpenRPC document\n" in shown.err
    assert accord("openrpc", "--help").out == shown.err.removesuffix("\n")


def test_help_loads_nothing_slow() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "accord", "--help"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "accord.cli.commands" in loaded
    assert not loaded & {"asyncio", "msgspec", "ssl", "accord.jsonrpc", "accord.transports"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["frobnicate"], "there is no command 'frobnicate'; accord --help lists them all"),
        (
            ["openrpc", "frob"],
            "there is no command 'openrpc frob'; "
            "there are: accord openrpc lint, openrpc document, openrpc client",
        ),
        (["sevre"], "there is no command 'sevre'; did you mean accord serve?"),
        (["start"], "there is no command 'start'; did you mean accord serve?"),
        (["users", "list"], "there is no command 'users'; did you mean accord user list?"),
        (["create", "user"], "there is no command 'create'; did you mean accord user create?"),
        (["migrate"], "there is no command 'migrate'; did you mean accord db migrate?"),
        (["serve", "--prot", "8001"], "unrecognized arguments: --prot 8001; did you mean --port?"),
        (["--frob"], "unrecognized arguments: --frob; see accord --help"),
        (["call"], "a URL is missing, such as tcp://127.0.0.1:7000; see accord call --help"),
        (["call", "tcp://127.0.0.1:1"], "a METHOD is missing; see accord call --help"),
        (
            ["call", "ftp://me:secret@x", "add"],
            "'ftp://…@x' does not begin with a scheme that accord knows "
            "(http, https, stdio, tcp, tls, unix, ws, wss); see accord call --help",
        ),
        (
            ["call", "stdio:", "add"],
            "stdio: needs a command to start, such as 'stdio:python server.py'; see accord call --help",
        ),
        (
            ["call", "tcp://h:1", "add", "--header", "A: b"],
            "--header has no meaning for tcp (it is for http, https, ws, wss); see accord call --help",
        ),
        (
            ["call", "http://h/", "add", "--framing", "newline"],
            "--framing has no meaning for http (it is for stdio, tcp, tls, unix); see accord call --help",
        ),
        (
            ["call", "http://h/", "add", "--insecure"],
            "--insecure has no meaning for http (it is for https, tls, wss); see accord call --help",
        ),
        (
            ["call", "https://h/", "add", "--ca", "no-such-file"],
            "--ca no-such-file: No such file or directory; see accord call --help",
        ),
        (
            ["call", "http://h/", "add", "--header", "nonsense"],
            "--header 'nonsense' is not of the form 'Name: value'; see accord call --help",
        ),
        (
            ["call", "tcp://h:1", "add", "--answer", "nonsense"],
            "--answer 'nonsense' is not of the form METHOD=JSON; see accord call --help",
        ),
        (
            ["call", "tcp://h:1", "add", "--timeout", "-1"],
            "argument --timeout: must be a number of seconds above 0, or none, not '-1'; "
            "see accord call --help",
        ),
        (
            ["call", "tcp://h:1", "--batch", "no-such-file"],
            "--batch no-such-file: No such file or directory; see accord call --help",
        ),
        (
            ["call", "tcp://h:1", "add", "--batch", "-"],
            "with --batch the methods stand in the file; see accord call --help",
        ),
        (
            ["call", "ws://[/", "add"],
            "'ws://[/' is no URL; see accord call --help",
        ),
        (["demo"], "a URL is missing, such as tcp://127.0.0.1:7000; see accord demo --help"),
        (
            ["demo", "memory:x"],
            "'memory:x' does not begin with a scheme that accord knows "
            "(http, https, stdio, tcp, tls, unix, ws, wss); see accord demo --help",
        ),
        (
            ["demo", "stdio:cat"],
            "stdio: serves on stdin and stdout, and takes no command here; see accord demo --help",
        ),
        (
            ["demo", "wss://127.0.0.1:0"],
            "wss needs a certificate: --tls-cert FILE (and --tls-key FILE); see accord demo --help",
        ),
        (
            ["demo", "https://127.0.0.1:0", "--tls-cert", "no-such-file"],
            "--tls-cert no-such-file: No such file or directory; see accord demo --help",
        ),
        (
            ["demo", "unix:///x", "--workers", "2"],
            "--workers has no meaning for unix (it is for http, https, tcp, tls, ws, wss); "
            "see accord demo --help",
        ),
        (
            ["demo", "tcp://127.0.0.1:0", "--workers", "0"],
            "--workers must be at least 1; see accord demo --help",
        ),
        (
            ["demo", "tcp://127.0.0.1:0", "--max-depth", "deep"],
            "argument --max-depth: must be a number, 0 or more, not 'deep'; see accord demo --help",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], complaint: str) -> None:
    assert accord(*arguments) == Completed(2, "", f"error: {complaint}\n")


def test_a_fault_of_accord_itself_is_one_line_unless_debug_is_asked_for() -> None:
    broken = (
        "import accord.cli.call as c; c.read_params = None; from accord.cli import main; main({})"
    )

    def run(*flags: str) -> str:
        arguments = ["call", "tcp://127.0.0.1:1", "add", *flags]
        program = [sys.executable, "-c", f"import sys; {broken.format(arguments)}"]
        done = subprocess.run(
            program, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return done.stderr

    assert run() == (
        "error: TypeError: 'NoneType' object is not callable; run it with --debug to see where\n"
    )
    assert run("--debug").startswith("Traceback (most recent call last):\n")
