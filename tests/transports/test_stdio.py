"""Standard streams, and pairs of file descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import select
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pytest

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.errors import ConnectionLostError
from accord.transports.stdio import PipeTransport
from accord.transports.stream import StreamChannel, StreamSettings
from tests.transports.recorder import Echo, Recorder

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


BOTH_LOOPS = True
INFO = ChannelInfo(scheme="stdio", address="pipe")
SERVING = StreamSettings(serving=True)
CALLING = StreamSettings()
FULL_DISK = Path("/dev/full")


def over(
    reading: int,
    writing: int,
    settings: StreamSettings = SERVING,
    receiver: Callable[[StreamChannel], Recorder] = Echo,
) -> tuple[StreamChannel, Recorder]:
    """A started channel over two descriptors, which belong to it from here on."""
    channel = StreamChannel(INFO, settings)
    PipeTransport(channel, reading, writing)
    recorder = receiver(channel)
    channel.start(recorder)
    return channel, recorder


def joined(
    settings: StreamSettings = CALLING,
) -> tuple[StreamChannel, Recorder, StreamChannel, Recorder]:
    """A calling channel and a serving one that echoes, with two pipes between them."""
    there, back = os.pipe(), os.pipe()
    server, server_recorder = over(there[0], back[1])
    client, client_recorder = over(back[0], there[1], settings, lambda _: Recorder())
    return client, client_recorder, server, server_recorder


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@pytest.mark.req("F-17")
async def test_messages_of_all_sizes_go_there_and_back_in_order() -> None:
    client, answers, server, recorder = joined()
    messages = [b"%d" % number * size for number, size in enumerate((1, 10, 70_000, 1_000_000, 1))]
    for message in messages:
        client.send(message)
    assert await answers.received(len(messages)) == messages
    assert recorder.writable_changes
    client.close()
    assert await answers.ended() is None
    await recorder.until(lambda: recorder.inputs_ended == 1)
    server.close()
    assert await recorder.ended() is None


@pytest.mark.req("F-24", "F-28")
async def test_reader_that_does_not_read_stops_the_server_reading() -> None:
    there, back = os.pipe(), os.pipe()
    server, recorder = over(there[0], back[1])
    os.set_blocking(there[1], False)
    sent = 0
    while not recorder.writable_changes:
        sent += os.write(there[1], b"x" * 999 + b"\n")
        await asyncio.sleep(0)
    with contextlib.suppress(BlockingIOError):
        for _ in range(1000):
            sent += os.write(there[1], b"x" * 999 + b"\n")
    await asyncio.sleep(0)
    assert recorder.writable_changes == [False]
    assert sent < 1_000_000  # two pipes, one read and one chunk
    for fd in (there[1], back[0]):
        os.close(fd)
    assert isinstance(await recorder.ended(), ConnectionLostError)
    assert not server.writable


async def test_reader_that_goes_away_ends_the_connection() -> None:
    there, back = os.pipe(), os.pipe()
    _, recorder = over(there[0], back[1])
    os.close(back[0])
    os.write(there[1], b"hello\n")
    error = await recorder.ended()
    assert isinstance(error, ConnectionLostError)
    assert isinstance(error.__cause__, BrokenPipeError)
    os.close(there[1])


async def test_reader_that_goes_away_while_something_waits_ends_the_connection() -> None:
    there, back = os.pipe(), os.pipe()
    server, recorder = over(there[0], back[1])
    server.send(b"x" * 1_000_000)
    await recorder.until(lambda: recorder.writable_changes == [False])
    os.close(back[0])
    error = await recorder.ended()
    assert isinstance(error, ConnectionLostError)
    assert isinstance(error.__cause__, BrokenPipeError)
    os.close(there[1])


async def test_descriptors_are_closed_at_the_end() -> None:
    for end in (StreamChannel.close, StreamChannel.abort):
        there, back = os.pipe(), os.pipe()
        channel, recorder = over(there[0], back[1])
        channel.send(b"x" * 1_000_000)
        if end is StreamChannel.close:
            drained = asyncio.to_thread(_read_all, back[0])
            channel.close()
            assert await drained == b"x" * 1_000_000 + b"\n"
        else:
            channel.abort()
        assert await recorder.ended() is None
        assert [is_open(fd) for fd in (*there, *back)] == [False, True, True, False]
        os.close(there[1])
        os.close(back[0])


def _read_all(fd: int) -> bytes:
    data = b""
    while part := os.read(fd, 1_000_000):
        data += part
    return data


@pytest.mark.req("F-16")
async def test_file_is_read_and_written_to_the_end(tmp_path: Path) -> None:
    questions = tmp_path / "questions"
    answers = tmp_path / "answers"
    questions.write_bytes(b"".join(b"%d\n" % number for number in range(100_000)))
    reading = os.open(questions, os.O_RDONLY)
    writing = os.open(answers, os.O_WRONLY | os.O_CREAT)
    channel, recorder = over(reading, writing)
    await recorder.until(lambda: recorder.inputs_ended == 1)
    channel.close()
    assert await recorder.ended() is None
    assert answers.read_bytes() == questions.read_bytes()


async def test_reading_of_a_file_can_be_paused(tmp_path: Path) -> None:
    questions = tmp_path / "questions"
    questions.write_bytes(b"x" * 999 + b"\n" + b"y" * 999_999 + b"\n")
    out = os.pipe()
    channel = StreamChannel(INFO, SERVING)
    transport = PipeTransport(channel, os.open(questions, os.O_RDONLY), out[1])

    def pause_and_resume(message: bytes) -> None:
        transport.pause_reading()
        transport.pause_reading()
        transport.resume_reading()
        transport.resume_reading()
        if message.startswith(b"x"):
            transport.pause_reading()
            assert not transport.is_reading()

    recorder = Recorder(pause_and_resume)
    channel.start(recorder)
    assert await recorder.received(1) == [b"x" * 999]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(recorder.messages) == 1
    transport.resume_reading()
    assert await recorder.received(2) == [b"x" * 999, b"y" * 999_999]
    channel.abort()
    await recorder.ended()
    os.close(out[0])


@pytest.mark.skipif(not FULL_DISK.exists(), reason="only on systems with /dev/full")
async def test_full_disk_ends_the_connection() -> None:
    there = os.pipe()
    _, recorder = over(there[0], os.open(FULL_DISK, os.O_WRONLY))
    os.write(there[1], b"hello\n")
    error = await recorder.ended()
    assert isinstance(error, ConnectionLostError)
    assert "No space left on device" in error.message
    os.close(there[1])


async def test_unreadable_input_ends_the_connection(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    out = os.pipe()
    _, recorder = over(folder, out[1])
    error = await recorder.ended()
    assert isinstance(error, ConnectionLostError)
    assert isinstance(error.__cause__, IsADirectoryError)
    os.close(out[0])


async def test_one_socket_serves_both_directions() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        reading, writing = os.dup(theirs.fileno()), theirs.detach()
        channel, recorder = over(reading, writing)
        ours.sendall(b"hello\n")
        await recorder.received(1)
        assert ours.recv(100) == b"hello\n"
        ours.shutdown(socket.SHUT_WR)
        await recorder.until(lambda: recorder.inputs_ended == 1)
        channel.send(b"bye")
        channel.close()
        assert await recorder.ended() is None
        assert ours.recv(100) == b"bye\n"


async def test_output_can_end_before_input() -> None:
    settings = StreamSettings(linger_seconds=10, limits=Limits(write_stall_seconds=10))
    client, answers, server, recorder = joined(settings)
    message = b"x" * 1_000_000
    client.send(message)
    client.close()
    assert await recorder.received(1) == [message]
    await recorder.until(lambda: recorder.inputs_ended == 1)
    assert answers.ends == []
    server.close()
    assert await recorder.ended() is None
    assert await answers.ended() is None
