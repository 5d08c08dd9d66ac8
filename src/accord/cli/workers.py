"""Worker processes that serve one port, and the parent that supervises them.

The children listen with SO_REUSEPORT: the kernel distributes connections among them. Each child
reports once on its own pipe: the URL, or why it cannot listen. All children also watch a shared
pipe, the lifeline, which only the parent holds open. When the parent stops or dies, the lifeline
closes and the children stop, too. A child that ends while the lifeline is open is replaced: at
once, or with a growing delay if it and its predecessors ended soon after their start. Children are
numbered from 1, and their log records contain the number.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Final, NoReturn, Protocol, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from accord.cli import exits
from accord.cli.output import complain
from accord.jsonrpc.protocol.errors import ConnectError, TransportError
from accord.transports.urls import shown

log = logging.getLogger("accord.cli")

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
STEADY_SECONDS: Final = 10.0
"""A worker that ends within this many seconds has ended early. After a later end, the worker is
replaced at once."""
DELAYS: Final = (0.5, 30.0)
"""The delay in seconds after two early ends of a worker, and the longest delay.

Each further early end doubles the delay before the worker is replaced."""


class ListeningServer(Protocol):
    """The interface of a server that a worker can run."""

    @property
    def url(self) -> str: ...

    async def close(self) -> None: ...


OnListen: TypeAlias = Callable[[ListeningServer], None]
ServeOne: TypeAlias = Callable[[str, int, OnListen], None]
"""A function `serve(url, number, on_listen)` that runs worker `number` and serves `url`.

It calls `on_listen` with the server once the server listens, and returns when the worker stops."""


class _ListenReport(Struct, tag=True):
    url: str


class _FailureReport(Struct, tag=True):
    message: str
    advice: str


_decode_report = msgspec.json.Decoder(_ListenReport | _FailureReport).decode


def run_workers(url: str, count: int, serve_one: ServeOne, announce: Callable[[str], None]) -> int:
    """Serve `url` by `count` processes until a signal stops them. Return the exit code.

    Raises `ConnectError` if one of the first processes cannot listen.
    """
    sys.stdout.flush()  # or each child would inherit the buffered text
    with _chosen_port(url) as url:
        workers = _Workers(partial(serve_one, url))
        with workers.stopped_by_signals():
            for number in range(1, count + 1):
                workers.start(number)
            try:
                urls = [workers.wait_until_listening(pid) for pid in workers.pids]
                announce(urls[0])
            except BaseException:
                workers.stop()
                workers.watch()
                raise
            return workers.watch()


class _Child(Struct, frozen=True):
    number: int
    report: int
    """The file descriptor of the pipe on which the child reports."""
    started: float
    early_ends: int
    """How many predecessors of this child, workers with the same number, ended early in a row."""


class _Workers:
    """The worker processes of a parent process."""

    def __init__(self, serve: Callable[[int, OnListen], None]) -> None:
        self._serve = serve
        self._children: dict[int, _Child] = {}
        self._lifeline, self._held = os.pipe()
        self._stopping = False

    @property
    def pids(self) -> list[int]:
        return list(self._children)

    def start(self, number: int, *, early_ends: int = 0) -> int | None:
        """Start a worker and return its process id; return None after `stop`."""
        # A signal between the fork and the entry in `_children` would miss the new child.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            if self._stopping:
                return None
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reading)
                os.close(self._held)  # the lifeline must end with the parent
                _run_child(self._serve, number, writing, self._lifeline)
            os.close(writing)
            self._children[pid] = _Child(number, reading, time.monotonic(), early_ends)
            return pid
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def wait_until_listening(self, pid: int) -> str:
        """Wait until a child listens and return its URL. Raises `ConnectError` if it cannot."""
        with os.fdopen(self._children[pid].report, "rb") as pipe:
            data = pipe.read()  # until the child closes its end, at the latest by ending
        if not data:
            raise ConnectError(f"worker {pid} ended before it could listen", recoverable=False)
        report: _ListenReport | _FailureReport = _decode_report(data)
        if isinstance(report, _FailureReport):
            raise ConnectError(report.message, advice=report.advice)
        return report.url

    def stop(self) -> None:
        """Let all children finish their work and end; a second call kills them."""
        if not self._stopping:
            self._stopping = True
            os.close(self._held)
            return
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)

    def watch(self) -> int:
        """Replace children that end, until `stop` was called and all have ended.

        Return the first exit code that is not 0, otherwise 0.
        """
        codes = []
        while self._children:
            pid, status = os.wait()
            child, code = self._children.pop(pid), _exit_code(status)
            if self._stopping:
                codes.append(code)
            else:
                self._replace(child, pid, code)
        return next((code for code in codes if code), exits.OK)

    def _replace(self, child: _Child, pid: int, code: int) -> None:
        is_early = time.monotonic() - child.started < STEADY_SECONDS
        early_ends = child.early_ends + 1 if is_early else 0
        delay = _delay(early_ends)
        complain(
            f"worker {child.number} (process {pid}) ended with exit code {code}; another takes "
            f"its place {f'in {delay:g} s' if delay else 'now'}, the others go on"
        )
        # Wait for the delay, but no longer than until `stop` closes the lifeline.
        select.select([self._lifeline], [], [], delay)
        successor = self.start(child.number, early_ends=early_ends)
        if successor is not None:
            try:
                self.wait_until_listening(successor)
            except ConnectError as error:
                complain(error.message)

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        def handle(_number: int, _frame: FrameType | None) -> None:
            self.stop()

        before = {number: signal.signal(number, handle) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _delay(early_ends: int) -> float:
    """Return the delay in seconds before a worker is replaced, doubled by each early end."""
    first, most = DELAYS
    return 0.0 if early_ends < 2 else float(min(first * 2 ** min(early_ends - 2, 10), most))


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code  # as shells report the end by a signal


def _run_child(
    serve: Callable[[int, OnListen], None], number: int, report: int, lifeline: int
) -> NoReturn:
    """Serve in a forked child, then exit without running the parent's cleanup."""
    code = exits.BUG
    try:
        os.setpgid(0, 0)  # a terminal's Ctrl-C is for the parent, which ends the lifeline
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        _number_logs(number)
        serve(number, partial(_on_listen, report=report, lifeline=lifeline))
        code = exits.OK
    except TransportError as error:
        _send(report, _FailureReport(error.message, error.advice))
        code = exits.NO_CONNECTION
    except Exception:
        log.exception("worker %d failed", number)
    finally:
        os._exit(code)


def _number_logs(number: int) -> None:
    """Add the worker's number to all log records of this process."""
    make = logging.getLogRecordFactory()

    def numbered(*arguments: Any, **named: Any) -> logging.LogRecord:
        record = make(*arguments, **named)
        record.worker = number
        return record

    logging.setLogRecordFactory(numbered)


def _on_listen(server: ListeningServer, *, report: int, lifeline: int) -> None:
    loop = asyncio.get_running_loop()
    closing: set[asyncio.Task[None]] = set()

    def stop() -> None:
        loop.remove_reader(lifeline)
        closing.add(loop.create_task(server.close()))  # a loop keeps only weak references

    loop.add_reader(lifeline, stop)
    _send(report, _ListenReport(server.url))


def _send(pipe: int, report: _ListenReport | _FailureReport) -> None:
    os.write(pipe, msgspec.json.encode(report))  # less than PIPE_BUF: written in one piece
    os.close(pipe)


@contextmanager
def _chosen_port(url: str) -> Iterator[str]:
    """Yield `url` with a free port in place of port 0, reserved until the block ends."""
    parts = urlsplit(url)
    if not parts.netloc.endswith(":0"):
        yield url
        return
    with _hold_port(parts.hostname or "", url) as holder:
        netloc = f"{parts.netloc.removesuffix(':0')}:{holder.getsockname()[1]}"
        yield urlunsplit(parts._replace(netloc=netloc))


def _hold_port(host: str, url: str) -> socket.socket:
    """Reserve a port by a bound socket that does not listen, so that it gets no connections.

    Raises `ConnectError` if no port can be bound.
    """
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        holder = socket.socket(family)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(address)
    except OSError as error:
        raise ConnectError(f"cannot listen on {shown(url)}: {error.strerror or error}") from error
    return holder
