"""Exchange messages with a child process over its stdin and stdout.

Shutdown:

    close    closes the child's stdin, which a well-behaved program takes as its end; a child that
             takes none of the queued data for `exit_seconds` is aborted
             after `exit_seconds`       SIGTERM to the child's process group
             after `terminate_seconds`  SIGKILL
    abort    SIGKILL at once

`connection_lost` follows once the child has exited, and reports its status unless this end asked it
to exit. The child does not get the terminal's signals: Ctrl-C reaches only this process, which can
then shut the child down in order.
"""

from __future__ import annotations

import asyncio
import shlex
import signal
import subprocess
from collections.abc import Sequence

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import ConnectError, ConnectionLostError
from accord.transports.options import Options
from accord.transports.pipe import PipeTransport
from accord.transports.process.child import ChildProcess
from accord.transports.stream.channel import StreamChannel, StreamSettings

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
        """Stop writing, as the child reads no more; its remaining output is still read."""
        self._output_ending = True
        if self._buffer:
            self._loop.remove_writer(self._writing)
            self._buffer.clear()
        self._await_end_of_input(error)

    def _await_end_of_input(self, error: OSError | None) -> None:
        """Wait for the end of the child's stdout, for `exit_seconds` at most.

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
        """Return the seconds that remain for the child to exit on its own."""
        now = self._loop.time()
        return self._exit_seconds - (now - (now if self._asked_at is None else self._asked_at))

    def _verdict(self) -> ConnectionLostError | None:
        """Return the error for an unexpected exit; None for a requested or successful one."""
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
