"""Child processes as the other end, on both event loops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from accord.jsonrpc.protocol.errors import ConnectError, ConnectionLostError
from accord.transports.options import Options
from accord.transports.process import KEPT_LINES, MAX_LINE_BYTES, StderrLines, open_process
from accord.transports.stream import StreamChannel
from tests.transports.recorder import PATIENCE, Recorder

BOTH_LOOPS = True
BRIEF = 0.2
"""Seconds for each step of an orderly end, where the child is not going to take it."""


async def opened(*command: str, **settings: Any) -> tuple[StreamChannel, Recorder]:
    channel = await open_process(command, Options(**{"stderr": "log", **settings}))
    recorder = Recorder()
    channel.start(recorder)
    return channel, recorder


async def python(code: str, **settings: Any) -> tuple[StreamChannel, Recorder]:
    return await opened(sys.executable, "-c", code, **settings)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def gone(pid: int) -> None:
    """Wait until a process that is not our child has gone."""
    async with asyncio.timeout(PATIENCE):
        while is_alive(pid):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def is_collected(channel: StreamChannel) -> bool:
    """Whether nothing is left of the child, not even a zombie."""
    return not Path(f"/proc/{channel.info.details['pid']}").exists()


# Talking


@pytest.mark.req("F-16", "F-17")
async def test_child_answers_and_ends_when_its_stdin_does() -> None:
    channel, recorder = await opened("cat")
    messages = [b"x" * size for size in (1, 100, 70_000, 1_000_000, 2)]
    for message in messages:
        channel.send(message)
    assert await recorder.received(len(messages)) == messages
    assert (channel.info.scheme, channel.info.address) == ("stdio", "cat")
    channel.close()
    assert await recorder.ended() is None
    assert is_collected(channel)


@pytest.mark.req("F-16")
async def test_child_gets_its_environment_and_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "GREETING": "hello"}
    _, recorder = await opened("sh", "-c", "echo $GREETING; pwd", env=environment, cwd=tmp_path)
    assert await recorder.received(2) == [b"hello", str(tmp_path).encode()]
    assert await recorder.ended() is None


@pytest.mark.req("F-16")
async def test_what_a_child_wrote_before_it_ended_is_delivered_before_the_end() -> None:
    _, recorder = await python("print('x' * 500_000); print('last')")
    assert await recorder.ended() is None
    assert recorder.messages == [b"x" * 500_000, b"last"]


@pytest.mark.req("F-16")
async def test_answers_are_read_though_the_child_reads_no_more() -> None:
    code = "import os, sys; os.close(0); input_ = sys.stdout.write('ready\\n'); " + (
        "sys.stdout.flush(); import time; time.sleep(0.2); print('last')"
    )
    channel, recorder = await python(code)
    await recorder.received(1)
    channel.send(b"nobody reads this")
    await recorder.ended()
    assert recorder.messages == [b"ready", b"last"]


# Starting


@pytest.mark.req("F-16", "F-27")
async def test_command_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    plain_file = tmp_path / "plain"
    plain_file.write_text("no program")
    for command, settings in (
        (["no-such-program-anywhere"], {}),
        ([str(plain_file)], {}),
        (["cat"], {"cwd": tmp_path / "missing"}),
        (["cat", "null\0byte"], {}),
        ([], {}),
    ):
        with pytest.raises(ConnectError) as caught:
            await open_process(command, Options(**settings))  # type: ignore[arg-type]
        assert not caught.value.recoverable
        assert caught.value.message.startswith(("cannot start ", "the command to start is empty"))


# Ending


@pytest.mark.req("F-16", "F-18")
async def test_child_that_fails_at_once_says_with_which_status_and_why() -> None:
    _, recorder = await opened("sh", "-c", "echo first >&2; echo no config >&2; exit 3")
    error = await recorder.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == (
        "sh -c 'echo first >&2; echo no config >&2; exit 3' ended with status 3: no config"
    )
    assert error.data == {"status": 3, "stderr": ["first", "no config"]}


@pytest.mark.req("F-16", "F-18")
async def test_child_that_is_killed_says_by_which_signal() -> None:
    channel, recorder = await opened("sleep", "100")
    os.kill(channel.info.details["pid"], signal.SIGSEGV)
    error = await recorder.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "sleep 100 ended with SIGSEGV"
    assert error.data == {"status": -signal.SIGSEGV, "stderr": []}


@pytest.mark.req("F-16")
async def test_child_that_ends_in_good_order_is_no_error() -> None:
    _, recorder = await opened("true")
    assert await recorder.ended() is None


@pytest.mark.req("F-16", "F-18")
async def test_child_that_ends_in_the_middle_of_a_message_is_an_error() -> None:
    _, recorder = await opened("printf", '{"half"')
    error = await recorder.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "the connection ended in the middle of a message"


@pytest.mark.req("F-16", "F-24")
async def test_child_that_ignores_the_end_of_stdin_is_terminated() -> None:
    channel, recorder = await opened("sleep", "100", exit_seconds=BRIEF)
    started = time.monotonic()
    channel.close()
    assert await recorder.ended() is None
    assert time.monotonic() - started >= BRIEF
    assert is_collected(channel)


STUBBORN = "trap '' TERM; echo ready; while true; do sleep 0.02; done"


@pytest.mark.req("F-16", "F-24")
async def test_child_that_ignores_sigterm_is_killed() -> None:
    channel, recorder = await opened(
        "sh", "-c", STUBBORN, exit_seconds=BRIEF, terminate_seconds=BRIEF
    )
    await recorder.received(1)
    started = time.monotonic()
    channel.close()
    assert await recorder.ended() is None
    assert time.monotonic() - started >= 2 * BRIEF
    assert is_collected(channel)


@pytest.mark.req("F-16", "F-24")
async def test_abort_kills_at_once() -> None:
    channel, recorder = await opened("sh", "-c", STUBBORN, exit_seconds=60)
    await recorder.received(1)
    channel.abort()
    assert await recorder.ended() is None
    assert is_collected(channel)


async def test_abort_while_closing_kills_at_once() -> None:
    channel, recorder = await opened("sh", "-c", STUBBORN, exit_seconds=0.05, terminate_seconds=60)
    await recorder.received(1)
    channel.close()
    await asyncio.sleep(0.2)  # SIGTERM is sent and ignored
    channel.abort()
    assert await recorder.ended() is None
    assert is_collected(channel)


@pytest.mark.req("F-16", "F-24")
async def test_what_the_child_started_ends_with_it() -> None:
    channel, recorder = await opened("sh", "-c", "sleep 100 & echo $!; cat")
    (pid,) = await recorder.received(1)
    assert is_alive(int(pid))
    channel.close()
    assert await recorder.ended() is None
    await gone(int(pid))


@pytest.mark.req("F-16", "F-24")
async def test_child_that_leaves_its_stdout_to_another_ends_all_the_same() -> None:
    _, recorder = await opened("sh", "-c", "sleep 100 & echo $!", exit_seconds=BRIEF)
    (pid,) = await recorder.received(1)
    assert await recorder.ended() is None
    await gone(int(pid))


@pytest.mark.req("F-16")
async def test_child_that_closes_its_stdout_but_stays_is_ended() -> None:
    channel, recorder = await opened(
        "sh", "-c", "exec >&-; exec sleep 100", exit_seconds=BRIEF, terminate_seconds=BRIEF
    )
    assert await recorder.ended() is None
    assert is_collected(channel)


@pytest.mark.req("F-16")
async def test_exit_is_noticed_on_systems_without_process_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    channel, recorder = await opened("sh", "-c", "exit 3")
    error = await recorder.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "sh -c 'exit 3' ended with status 3"
    assert is_collected(channel)


async def test_child_does_not_get_the_terminals_signals() -> None:
    channel, recorder = await opened("cat")
    pid = channel.info.details["pid"]
    assert os.getsid(pid) == pid
    assert os.getpgid(pid) == pid
    channel.abort()
    await recorder.ended()


@pytest.mark.req("F-24")
async def test_children_leave_nothing_behind() -> None:
    async def come_and_go() -> None:
        for _ in range(3):
            channel, recorder = await opened("cat")
            channel.send(b"hello")
            await recorder.received(1)
            channel.close()
            assert await recorder.ended() is None
            with contextlib.suppress(ConnectError):
                await open_process(["no-such-program-anywhere"], Options())

    async def left() -> tuple[int, int, int]:
        for _ in range(5):
            await asyncio.sleep(0)
        gc.collect()
        descriptors = len(os.listdir("/proc/self/fd"))
        return descriptors, len(asyncio.all_tasks()), threading.active_count()

    await come_and_go()
    before = await left()
    await come_and_go()
    assert await left() == before


# Stderr


@pytest.mark.req("F-16")
async def test_stderr_goes_to_the_log_line_by_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "accord.process")
    channel, recorder = await opened("sh", "-c", "echo one >&2; printf two >&2")
    assert await recorder.ended() is None
    pid = channel.info.details["pid"]
    assert [record.getMessage() for record in caplog.records] == [
        f"sh[{pid}]: one",
        f"sh[{pid}]: two",
    ]


@pytest.mark.req("F-16")
async def test_stderr_goes_to_a_function_line_by_line() -> None:
    lines: list[str] = []
    _, recorder = await opened("sh", "-c", "echo one >&2; echo two >&2", stderr=lines.append)
    assert await recorder.ended() is None
    assert lines == ["one", "two"]


async def test_stderr_can_be_discarded_or_inherited(capfd: pytest.CaptureFixture[str]) -> None:
    for target in ("discard", "inherit"):
        _, recorder = await opened("sh", "-c", f"echo {target} >&2", stderr=target)
        assert await recorder.ended() is None
    assert capfd.readouterr().err == "inherit\n"


@pytest.mark.req("F-16", "F-24")
async def test_endless_stderr_stops_nothing_and_is_kept_only_in_part() -> None:
    count = 0

    def take(line: str) -> None:
        nonlocal count
        count += 1
        assert len(line) <= MAX_LINE_BYTES

    code = (
        "import sys; sys.stderr.write('x' * 3_000_000 + 'y\\n' * 100_000); print('done'); exit(1)"
    )
    _, recorder = await python(code, stderr=take)
    error = await recorder.ended()
    assert recorder.messages == [b"done"]
    assert isinstance(error, ConnectionLostError)
    assert error.data == {"status": 1, "stderr": ["y"] * KEPT_LINES}
    assert count > 100_000


async def test_garbage_from_a_child_is_delivered_as_it_is() -> None:
    code = "import os; os.write(1, bytes(range(256)).replace(b'\\n', b'').replace(b'\\r', b'') + b'\\n')"
    _, recorder = await python(code)
    (garbage,) = await recorder.received(1)
    assert len(garbage) == 254
    assert await recorder.ended() is None


def test_lines_of_stderr_are_text_in_bounded_parts() -> None:
    lines: list[str] = []
    cutter = StderrLines(lines.append)
    cutter.feed(b"one\r\ntw")
    cutter.feed(b"o\n\n\xff\n" + b"x" * (2 * MAX_LINE_BYTES + 1))
    assert lines == ["one", "two", "", "\\xff", "x" * MAX_LINE_BYTES, "x" * MAX_LINE_BYTES]
    cutter.end()
    cutter.end()
    assert lines[6:] == ["x"]
    assert [len(line) for line in cutter.last] == [3, 3, 0, 4, 500, 500, 1]


def test_function_that_fails_on_a_line_gets_the_next_one(caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []

    def take(line: str) -> None:
        lines.append(line)
        raise RuntimeError("clumsy")

    StderrLines(take).feed(b"one\ntwo\n")
    assert lines == ["one", "two"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
