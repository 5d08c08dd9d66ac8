"""This process's own stdin and stdout: programs that use them, from the outside."""

from __future__ import annotations

import os
import pty
import select
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parent.parent.parent
LOOPS = ["asyncio", "uvloop"] if find_spec("uvloop") else ["asyncio"]
TIMEOUT = 20.0
BACK = b"stdout is back: None\n"

Stream = int | IO[bytes]


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def command(behaviour: str, loop: str) -> list[str]:
    return [sys.executable, "-m", "tests.transports.stdio_program", behaviour, loop]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}


def run(behaviour: str, loop: str, questions: bytes) -> subprocess.CompletedProcess[bytes]:
    """The program, from `questions | program`."""
    return subprocess.run(
        command(behaviour, loop),
        input=questions,
        capture_output=True,
        env=environment(),
        timeout=TIMEOUT,
        check=False,
    )


def start(behaviour: str, loop: str, stdin: Stream, stdout: Stream) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(behaviour, loop),
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(),
    )


def end(program: subprocess.Popen[bytes]) -> bytes:
    """Wait for the program's end; returns what it wrote to stderr."""
    _, stderr = program.communicate(timeout=TIMEOUT)
    assert program.returncode == 0, stderr
    return stderr


@pytest.mark.req("F-16")
def test_piped_questions_are_answered_and_the_end_of_stdin_is_the_end(loop: str) -> None:
    questions = b"".join(b'{"id":%d}\n' % number for number in range(10_000))
    done = run("echo", loop, questions)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == questions + BACK


@pytest.mark.req("F-16")
def test_question_is_answered_though_stdin_ends_long_before_the_answer(loop: str) -> None:
    done = run("slow", loop, b"question\n")
    assert (done.returncode, done.stdout) == (0, b"question\n" + BACK)


@pytest.mark.req("F-16")
def test_program_without_questions_ends_at_once(loop: str) -> None:
    with open(os.devnull, "rb") as nothing:
        program = start("echo", loop, nothing, subprocess.PIPE)
        assert program.communicate(timeout=TIMEOUT)[0] == BACK
        assert program.returncode == 0


@pytest.mark.req("F-16")
def test_nothing_but_messages_reaches_stdout(loop: str) -> None:
    done = run("noisy", loop, b"one\ntwo\n")
    assert done.stdout == b"one\ntwo\n" + BACK
    assert sorted(set(done.stderr.splitlines())) == [
        b"noise from a child",
        b"noise from print",
        b"noise from the descriptor",
        b"noise from the first stdout",
    ]


@pytest.mark.req("F-16")
def test_nobody_else_can_read_messages_from_stdin(loop: str) -> None:
    done = run("greedy", loop, b"one\ntwo\n")
    assert done.stdout == b"one and nothing\ntwo and nothing\n" + BACK


@pytest.mark.req("F-16")
def test_stdin_and_stdout_carry_one_connection_at_a_time(loop: str) -> None:
    done = run("twice", loop, b"")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"stdin and stdout already carry a connection\n"


@pytest.mark.req("F-16", "F-27")
@pytest.mark.parametrize("closing", ["<&-", ">&-"])
def test_closed_stdin_or_stdout_says_so(closing: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closing}', "sh", *command("echo", "asyncio")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"stdin or stdout is closed\n")


@pytest.mark.req("F-16")
def test_program_without_stderr_works_too() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *command("noisy", "asyncio")],  # uvloop needs one
        input=b"one\n",
        capture_output=True,
        env=environment(),
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"one\n" + BACK)


@pytest.mark.req("F-16")
def test_files_can_be_stdin_and_stdout(loop: str, tmp_path: Path) -> None:
    questions = b"".join(b"%d\n" % number for number in range(50_000))
    (tmp_path / "questions").write_bytes(questions)
    with (
        (tmp_path / "questions").open("rb") as stdin,
        (tmp_path / "answers").open("wb") as stdout,
    ):
        assert end(start("echo", loop, stdin, stdout)) == b""
    assert (tmp_path / "answers").read_bytes() == questions + BACK


@pytest.mark.req("F-16")
def test_one_socket_can_be_stdin_and_stdout(loop: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(TIMEOUT)
        program = start("echo", loop, theirs.fileno(), theirs.fileno())
        ours.sendall(b"question\n")
        assert ours.recv(100) == b"question\n"
        ours.shutdown(socket.SHUT_WR)
        assert end(program) == b""
        assert theirs.getblocking()
        assert os.get_blocking(theirs.fileno())
        assert ours.recv(100) == BACK


@pytest.mark.req("F-16")
def test_terminal_can_be_stdin_and_stdout_and_is_left_as_it_was(loop: str) -> None:
    ours, theirs = pty.openpty()
    try:
        program = start("echo", loop, theirs, theirs)
        os.write(ours, b"question\n")
        assert _read_until(ours, b"question\r\nquestion\r\n")  # the terminal's echo, and ours
        assert os.get_blocking(theirs)
        os.write(ours, b"\x04")  # Ctrl-D
        assert _read_until(ours, b"stdout is back: None\r\n")
        assert end(program) == b""
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.req("F-16")
def test_pipes_are_left_as_they_were_found(loop: str) -> None:
    there, back = os.pipe(), os.pipe()
    try:
        program = start("echo", loop, there[0], back[1])
        os.write(there[1], b"question\n")
        assert os.read(back[0], 100) == b"question\n"
        assert not os.get_blocking(there[0])  # it shares this with the program
        os.close(there[1])
        assert end(program) == b""
        assert os.get_blocking(there[0])
        assert os.get_blocking(back[1])
        assert os.read(back[0], 100) == BACK
    finally:
        for fd in (there[0], *back):
            os.close(fd)


@pytest.mark.req("F-16", "F-24")
def test_reader_that_goes_away_ends_the_program(loop: str) -> None:
    there, back = os.pipe(), os.pipe()
    program = start("echo", loop, there[0], back[1])
    for fd in (there[0], *back):
        os.close(fd)
    os.write(there[1], b"question\n")
    _, stderr = program.communicate(timeout=TIMEOUT)
    os.close(there[1])
    # Serving ended by itself; what the program then prints has nobody to read it.
    assert stderr.endswith(b"BrokenPipeError: [Errno 32] Broken pipe\n")
    assert b"stdout is back" in stderr


def _read_until(fd: int, expected: bytes) -> bool:
    data = b""
    while expected not in data and select.select([fd], [], [], TIMEOUT)[0]:
        data += os.read(fd, 1000)
    return expected in data
