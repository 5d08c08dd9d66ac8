"""Messages over this process's own stdin and stdout.

While a channel is open they belong to it alone. Whatever else prints goes to stderr, and
whatever else reads stdin finds it empty: handlers, libraries, child processes. So nothing
but messages is ever written to stdout, and nobody eats one.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.pipe import PipeTransport
from accord.transports.stream.channel import StreamChannel, StreamSettings

STDIN, STDOUT, STDERR = 0, 1, 2


async def open_stdio(options: Options) -> StreamChannel:
    """Reserve stdin and stdout for messages until the channel has ended.

    The end of stdin is reported as `input_ended`: answers can still be written. Raises ConnectError
    when the streams are closed or already in use.
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
    """Return a descriptor of our own for the stream behind `standard`.

    A terminal is shared with the shell and every program in it, and so is its blocking mode. So
    it is opened a second time, which shares nothing.
    """
    if os.isatty(standard):
        with contextlib.suppress(OSError):
            return os.open(os.ttyname(standard), flags | os.O_NONBLOCK | os.O_NOCTTY)
    return os.dup(standard)


def _stderr() -> int:
    return os.open(os.devnull, os.O_WRONLY) if sys.__stderr__ is None else os.dup(STDERR)


def _point(standard: int, fd: int) -> None:
    """Make `standard` refer to the stream of `fd`, and close `fd`."""
    os.dup2(fd, standard)
    os.close(fd)


def _flush(stream: TextIO | None) -> None:
    if stream is not None and not stream.closed:
        stream.flush()
