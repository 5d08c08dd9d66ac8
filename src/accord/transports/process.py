"""Exchange messages over the stdin and stdout of a child process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import ConnectError, ConnectionLostError
from accord.transports.options import Options, Stderr
from accord.transports.stdio import PipeTransport
from accord.transports.stream.channel import StreamChannel, StreamSettings

__all__ = ["open_process"]

# A package until 0.1: with a path, `accord.deprecated` finds its former modules.
__path__: list[str] = []

log = logging.getLogger("accord.process")

MAX_LINE_BYTES = 4096
"""Maximum length of a line that is passed on whole; longer lines are split."""
KEPT_LINES = 20
"""Number of lines of stderr that an error contains: the last ones that were written."""
MAX_KEPT_CHARACTERS = 500
"""Maximum length of each line of stderr in an error."""


class StderrLines:
    """A splitter of the bytes of stderr into lines.

    It passes each line to `sink`, and keeps the last lines for an error.
    """

    def __init__(self, sink: Callable[[str], None]) -> None:
        self.last: deque[str] = deque(maxlen=KEPT_LINES)
        self._sink = sink
        self._partial = b""

    def feed(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._pass_on(line)
        whole = len(self._partial) - len(self._partial) % MAX_LINE_BYTES
        if whole:
            self._pass_on(self._partial[:whole])
            self._partial = self._partial[whole:]

    def end(self) -> None:
        """Pass on the last line at the end of the stream, if it has no newline."""
        if self._partial:
            self._pass_on(self._partial)
            self._partial = b""

    def _pass_on(self, line: bytes) -> None:
        for start in range(0, max(len(line), 1), MAX_LINE_BYTES):
            part = line[start : start + MAX_LINE_BYTES]
            text = part.decode(errors="backslashreplace").removesuffix("\r")
            self.last.append(text[:MAX_KEPT_CHARACTERS])
            try:
                self._sink(text)
            except Exception:
                log.exception("a function that takes lines of stderr failed")


_STDERR_TARGETS = {"log": subprocess.PIPE, "inherit": None, "discard": subprocess.DEVNULL}
_STDERR_SECONDS = 1.0
_READ_BYTES = 64 * 1024


class ChildProcess:
    """One child process, the leader of its own session.

    Therefore signals of the terminal do not reach it. `reading` and `writing` are the descriptors
    at this end of the pipes to its stdout and stdin; the caller owns them.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        stderr: Stderr,
    ) -> None:
        """Start the child process.

        Raises OSError, ValueError or SubprocessError if it cannot be started.
        """
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if callable(stderr) else _STDERR_TARGETS[stderr],
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
        self.writing = _taken_over(self._process.stdin)
        self.reading = _taken_over(self._process.stdout)
        self.was_signalled = False
        """True if the child was still running when this end sent it a signal."""
        self._loop = asyncio.get_running_loop()
        self._name = os.path.basename(command[0])
        self._at_exit: Callable[[], None] | None = None
        self._exited = asyncio.Event()
        self._exit_fd = self._watch()
        self._lines = StderrLines(stderr if callable(stderr) else self._log)
        self._stderr_ended = asyncio.Event()
        self._stderr = self._listen(self._process.stderr)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Exit status, or the negative number of the signal that ended the child."""
        return self._process.returncode

    @property
    def last_lines(self) -> list[str]:
        """The last lines that the child wrote to stderr."""
        return list(self._lines.last)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the child's process group: to itself and its descendants."""
        self.was_signalled = self.was_signalled or not self._exited.is_set()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        """Release all resources; a child that is still running is killed."""
        if not self._exited.is_set():
            self.signal(signal.SIGKILL)
            self._process.wait()
            self._exit()
        self._end_stderr()

    # Its exit

    def call_at_exit(self, callback: Callable[[], None]) -> None:
        self._at_exit = callback

    async def exits_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    async def is_gone(self) -> None:
        """Wait until the child has exited, then up to a second for the rest of its stderr."""
        await self._exited.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STDERR_SECONDS):
                await self._stderr_ended.wait()

    def _watch(self) -> int | None:
        """Watch for the child's exit, by a pidfd where available, otherwise in a thread."""
        try:
            exit_fd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait_in_thread, daemon=True).start()
            return None
        self._loop.add_reader(exit_fd, self._exit)
        return exit_fd

    def _wait_in_thread(self) -> None:
        self._process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._exit)

    def _exit(self) -> None:
        if self._exited.is_set():
            return
        if self._exit_fd is not None:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
        self._process.wait()
        self._exited.set()
        if self._at_exit is not None:
            self._at_exit()

    # Its stderr

    def _listen(self, stderr: IO[bytes] | None) -> int | None:
        if stderr is None:
            self._stderr_ended.set()
            return None
        fd = _taken_over(stderr)
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read_stderr, fd)
        return fd

    def _read_stderr(self, fd: int) -> None:
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._lines.feed(data)
        else:
            self._end_stderr()

    def _end_stderr(self) -> None:
        if self._stderr is not None:
            self._loop.remove_reader(self._stderr)
            os.close(self._stderr)
            self._stderr = None
            self._lines.end()
            self._stderr_ended.set()

    def _log(self, line: str) -> None:
        log.info("%s[%d]: %s", self._name, self.pid, line)


def _taken_over(pipe: IO[bytes] | None) -> int:
    """Return a duplicate of the descriptor of `pipe`, which leads to the child; close `pipe`."""
    assert pipe is not None
    with pipe:
        return os.dup(pipe.fileno())


_MAX_ADDRESS = 200


async def open_process(command: Sequence[str], options: Options) -> StreamChannel:
    """Start `command`, and open a channel to it. Raises ConnectError if it cannot be started."""
    name = shlex.join(command)[:_MAX_ADDRESS]
    if not command:
        raise ConnectError("the command to start is empty", recoverable=False)
    try:
        child = ChildProcess(command, env=options.env, cwd=options.cwd, stderr=options.stderr)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ConnectError(
            f"cannot start {name}: {error}",
            recoverable=False,
            advice="Check the command, that it is installed, and its working directory.",
        ) from error
    channel = StreamChannel(
        ChannelInfo(scheme="stdio", address=name, details={"pid": child.pid}),
        StreamSettings(
            framing=options.framing,
            limits=options.limits,
            linger_seconds=options.exit_seconds,
            close_stall_seconds=options.exit_seconds,
        ),
    )
    ProcessTransport(
        channel,
        child,
        exit_seconds=options.exit_seconds,
        terminate_seconds=options.terminate_seconds,
    )
    return channel


class ProcessTransport(PipeTransport):
    """A pipe transport that ends when its child process has exited."""

    def __init__(
        self,
        channel: StreamChannel,
        child: ChildProcess,
        *,
        exit_seconds: float,
        terminate_seconds: float,
    ) -> None:
        super().__init__(channel, child.reading, child.writing)
        self._child = child
        self._exit_seconds = exit_seconds
        self._terminate_seconds = terminate_seconds
        self._asked_at: float | None = None  # time at which this end asked the child to exit
        self._killed = False
        self._last_call: asyncio.TimerHandle | None = None
        self._reaping: asyncio.Task[None] | None = None
        child.call_at_exit(self._child_exited)

    def write_eof(self) -> None:
        self._asked_at = self._loop.time()
        super().write_eof()

    def close(self) -> None:
        self._end(None)  # drop unwritten data: the child would not answer it any more

    def abort(self) -> None:
        self._asked_at = self._loop.time()
        self._killed = True
        self._child.signal(signal.SIGKILL)
        self._end(None)

    def _child_exited(self) -> None:
        if self._asked_at is None:
            self._await_end_of_input(None)
        else:
            self._end(None)

    def _write_failed(self, error: OSError) -> None:
        """Stop writing, as the child no longer reads; go on reading its remaining output."""
        self._output_ending = True
        if self._buffer:
            self._loop.remove_writer(self._writing)
            self._buffer.clear()
        self._await_end_of_input(error)

    def _await_end_of_input(self, error: OSError | None) -> None:
        """Wait at most `exit_seconds` for the end of the child's stdout.

        A process that the child started may hold its stdout open.
        """
        if self._last_call is None and not self._ended:
            self._last_call = self._loop.call_later(self._exit_seconds, self._end, error)

    def _end(self, error: Exception | None) -> None:
        super()._end(error)
        if self._last_call is not None:
            self._last_call.cancel()

    def _finish(self, error: Exception | None) -> None:
        self._release()
        self._reaping = self._loop.create_task(self._reap(error))

    async def _reap(self, error: Exception | None) -> None:
        try:
            if not self._killed and not await self._child.exits_within(self._patience()):
                self._child.signal(signal.SIGTERM)
                await self._child.exits_within(self._terminate_seconds)
            self._child.signal(signal.SIGKILL)  # the child, or descendants that outlived it
            await self._child.is_gone()
        finally:
            self._child.close()
            self._channel.connection_lost(self._verdict() or error)

    def _patience(self) -> float:
        """Return the number of seconds that the child still has to exit on its own."""
        now = self._loop.time()
        return self._exit_seconds - (now - (now if self._asked_at is None else self._asked_at))

    def _verdict(self) -> ConnectionLostError | None:
        """Return the error for an unexpected exit of the child.

        Returns None if the exit was requested, or if the status of the child is 0.
        """
        status = self._child.status
        if self._asked_at is not None or self._child.was_signalled or not status:
            return None
        how = f"status {status}" if status > 0 else signal.Signals(-status).name
        lines = self._child.last_lines
        return ConnectionLostError(
            f"{self._channel.info.address} ended with {how}" + (f": {lines[-1]}" if lines else ""),
            advice="Look at what the program wrote to stderr.",
            data={"status": status, "stderr": lines},
        )
