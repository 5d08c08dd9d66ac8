"""Start, watch and signal a child process and its own children.

It is started by the standard library and not by the event loop, so that it is the same
under every loop: uvloop's children inherit descriptors that they should not have.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from accord.transports.options import Stderr
from accord.transports.process.stderr import StderrLines, log

_STDERR_TARGETS = {"log": subprocess.PIPE, "inherit": None, "discard": subprocess.DEVNULL}
_STDERR_SECONDS = 1.0
_READ_BYTES = 64 * 1024


class ChildProcess:
    """One child process, the leader of its own session: the terminal's signals do not reach it.

    `reading` and `writing` are descriptors of our ends of its stdout and stdin, which the caller
    owns.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        stderr: Stderr,
    ) -> None:
        """Start the child. Raises OSError, ValueError or SubprocessError."""
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
        """Whether the child was still running when this end sent it a signal."""
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
        """Wait for the child's exit, and up to a second for the rest of its stderr."""
        await self._exited.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STDERR_SECONDS):
                await self._stderr_ended.wait()

    def _watch(self) -> int | None:
        """Watch for the exit: by a pidfd where the system has them, otherwise in a thread."""
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
    """Return a duplicate of the pipe's descriptor, and close the pipe."""
    assert pipe is not None
    with pipe:
        return os.dup(pipe.fileno())
