"""Messages over this process's own stdin and stdout, or another pair of file descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
from typing import Any, TextIO

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.stream.channel import CHUNK, StreamChannel, StreamSettings


class PipeTransport(asyncio.Transport):
    """A transport for one channel over two file descriptors, which it owns and closes."""

    def __init__(self, channel: StreamChannel, reading: int, writing: int) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._channel = channel
        self._reading = reading
        self._writing = writing
        self._blocking = [fd for fd in (reading, writing) if os.get_blocking(fd)]
        for fd in self._blocking:
            if _can_wait(fd):
                os.set_blocking(fd, False)
        self._reading_enabled = False  # whether the channel reads
        self._turn: asyncio.Handle | None = None  # next read of a file that epoll cannot watch
        self._input_ended = False
        self._buffer = bytearray()
        self._high, self._low = CHUNK, CHUNK // 4
        self._paused = False  # whether the channel was asked to stop writing
        self._output_ending = False
        self._closing = False
        self._ended = False
        channel.connection_made(self)

    # Reading

    def is_reading(self) -> bool:
        return self._reading_enabled

    def pause_reading(self) -> None:
        if not self._reading_enabled:
            return
        self._reading_enabled = False
        if self._turn is None:
            self._loop.remove_reader(self._reading)
        else:
            self._turn.cancel()
            self._turn = None

    def resume_reading(self) -> None:
        if self._reading_enabled or self._closing or self._input_ended:
            return
        self._reading_enabled = True
        try:
            self._loop.add_reader(self._reading, self._read)
        except PermissionError:  # from epoll: a regular file, which is always ready
            self._turn = self._loop.call_soon(self._read_a_turn)

    def _read_a_turn(self) -> None:
        turn = self._turn
        self._read()
        if self._turn is turn:  # otherwise reading was paused in between
            self._turn = self._loop.call_soon(self._read_a_turn)

    def _read(self) -> None:
        try:
            data = os.read(self._reading, CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(error)
            return
        if data:
            self._channel.data_received(data)
            return
        self.pause_reading()
        self._input_ended = True
        if not self._channel.eof_received():
            self.close()

    # Writing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = CHUNK if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self._closing or self._output_ending:
            return
        if not self._buffer:
            data = self._write_now(memoryview(data))
            if not data:
                return
            self._loop.add_writer(self._writing, self._write_more)
        self._buffer += data
        if len(self._buffer) > self._high and not self._paused:
            self._paused = True
            self._channel.pause_writing()

    def _write_now(self, data: memoryview[Any]) -> memoryview[Any]:
        """Write until the descriptor would block, and return the rest of `data`."""
        try:
            while data:
                data = data[os.write(self._writing, data) :]
        except (BlockingIOError, InterruptedError):
            return data
        except OSError as error:
            self._write_failed(error)
        return memoryview(b"")

    def _write_more(self) -> None:
        try:
            written = os.write(self._writing, self._buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._write_failed(error)
            return
        del self._buffer[:written]
        if not self._buffer:
            self._loop.remove_writer(self._writing)
            if self._closing:
                self._end(None)
            elif self._output_ending:
                self._end_output()
        if self._paused and len(self._buffer) <= self._low:
            self._paused = False
            self._channel.resume_writing()

    def _write_failed(self, error: OSError) -> None:
        self._end(error)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if self._closing or self._output_ending:
            return
        self._output_ending = True
        if not self._buffer:
            self._end_output()

    def _end_output(self) -> None:
        os.close(self._writing)
        self._writing = -1

    # Ending

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        self.pause_reading()
        if not self._buffer:
            self._end(None)

    def abort(self) -> None:
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        if self._ended:
            return
        self._ended = self._closing = True
        self.pause_reading()
        if self._buffer:
            self._loop.remove_writer(self._writing)
            self._buffer.clear()
        self._loop.call_soon(self._finish, error)

    def _finish(self, error: Exception | None) -> None:
        self._release()
        self._channel.connection_lost(error)

    def _release(self) -> None:
        """Restore the descriptors' blocking mode, and close them.

        uvloop makes every descriptor that it watches non-blocking. This mode belongs to the open
        file, so it would also affect other processes that share the file.
        """
        for fd in (self._reading, self._writing):
            if fd in self._blocking:
                os.set_blocking(fd, True)
            if fd >= 0:
                os.close(fd)


def _can_wait(fd: int) -> bool:
    """Return whether reading or writing `fd` can block: it is a pipe or a socket.

    Regular files never block.
    """
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


STDIN, STDOUT, STDERR = 0, 1, 2


async def open_stdio(options: Options) -> StreamChannel:
    """Open a channel over stdin and stdout.

    Both are reserved for messages until the channel has ended. The end of stdin is reported as
    `input_ended`: answers can still be written. Raises ConnectError when the streams are closed or
    already in use.
    """
    streams = StandardStreams()
    channel = StreamChannel(
        ChannelInfo(scheme="stdio", address="stdio"),
        StreamSettings(framing=options.framing, limits=options.limits, serving=True),
    )
    StdioTransport(channel, streams)
    return channel


class StandardStreams:
    """This process's stdin and stdout, withheld from all other code until they are restored.

    `reading` and `writing` are private descriptors of the original streams.
    """

    _taken = False

    def __init__(self) -> None:
        if StandardStreams._taken:
            raise ConnectError(
                "stdin and stdout already carry a connection",
                recoverable=False,
                advice="Close the other connection first, or use another address.",
            )
        # The number of a closed descriptor may by now belong to the event loop, so do not look at
        # the descriptors: Python recorded at its start which of them were open.
        if sys.__stdin__ is None or sys.__stdout__ is None:
            raise ConnectError(
                "stdin or stdout is closed",
                recoverable=False,
                advice="Start the program with both connected, or use another address.",
            )
        StandardStreams._taken = True
        self.reading = _private(STDIN, os.O_RDONLY)
        self.writing = _private(STDOUT, os.O_WRONLY)
        self._stdin = os.dup(STDIN)
        self._stdout = os.dup(STDOUT)
        self._printing = sys.stdout
        _flush(sys.stdout)
        _point(STDIN, os.open(os.devnull, os.O_RDONLY))
        _point(STDOUT, _stderr())
        sys.stdout = sys.stderr

    def give_back(self) -> None:
        _flush(self._printing)  # text printed in the meantime goes to stderr
        if sys.stdout is sys.stderr:
            sys.stdout = self._printing
        _point(STDIN, self._stdin)
        _point(STDOUT, self._stdout)
        StandardStreams._taken = False


class StdioTransport(PipeTransport):
    """A pipe transport over the standard streams, which it restores at the end."""

    def __init__(self, channel: StreamChannel, streams: StandardStreams) -> None:
        super().__init__(channel, streams.reading, streams.writing)
        self._streams = streams

    def _release(self) -> None:
        super()._release()
        self._streams.give_back()


def _private(standard: int, flags: int) -> int:
    """Return a descriptor of our own for the stream behind the descriptor `standard`.

    A terminal is opened a second time: a duplicate of the descriptor would share its blocking mode
    with the shell and every other program in the terminal.
    """
    if os.isatty(standard):
        with contextlib.suppress(OSError):
            return os.open(os.ttyname(standard), flags | os.O_NONBLOCK | os.O_NOCTTY)
    return os.dup(standard)


def _stderr() -> int:
    return os.open(os.devnull, os.O_WRONLY) if sys.__stderr__ is None else os.dup(STDERR)


def _point(standard: int, fd: int) -> None:
    """Redirect the descriptor `standard` to the stream behind `fd`, and close `fd`."""
    os.dup2(fd, standard)
    os.close(fd)


def _flush(stream: TextIO | None) -> None:
    if stream is not None and not stream.closed:
        stream.flush()
