"""Several processes that serve one port, and the parent that watches over them.

The children listen with SO_REUSEPORT, so that the kernel shares connections among them. Each
reports once on a pipe of its own: where it listens, or why it cannot. All of them watch one
more pipe, the lifeline, which only the parent holds open: when it ends, because the parent
was told to stop or is gone, they stop too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import NoReturn, Protocol, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from accord.cli import exits
from accord.cli.output import complain
from accord.jsonrpc.errors import ConnectError, TransportError
from accord.transports.urls import shown

log = logging.getLogger("accord.cli")


class Serving(Protocol):
    """What a worker serves."""

    @property
    def url(self) -> str: ...

    async def close(self) -> None: ...


OnListen: TypeAlias = Callable[[Serving], None]
ServeOne: TypeAlias = Callable[[str, OnListen], None]
"""Serves a URL until told to stop; calls back once it listens."""


class _Listening(Struct, tag=True):
    url: str


class _Failed(Struct, tag=True):
    message: str
    advice: str


_decode_report = msgspec.json.Decoder(_Listening | _Failed).decode


def run_workers(url: str, count: int, serve_one: ServeOne, announce: Callable[[str], None]) -> int:
    """Serve `url` by so many processes until they have all ended; the exit code.

    Raises `ConnectError` when one of them cannot listen.
    """
    sys.stdout.flush()  # or each child would have a copy of what is buffered
    with _chosen_port(url) as url:
        workers = _Workers()
        with workers.stopped_by_signals():
            for _ in range(count):
                workers.start(partial(serve_one, url))
            try:
                urls = [workers.wait_until_listening(pid) for pid in workers.pids]
                announce(urls[0])
            except BaseException:
                workers.stop()
                workers.wait()
                raise
            return workers.wait()


class _Workers:
    """The children of this process."""

    def __init__(self) -> None:
        self._reports: dict[int, int] = {}
        self._lifeline, self._held = os.pipe()
        self._stopping = False

    @property
    def pids(self) -> list[int]:
        return list(self._reports)

    def start(self, serve: Callable[[OnListen], None]) -> None:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            os.close(self._held)
            _run_child(serve, writing, self._lifeline)
        os.close(writing)
        self._reports[pid] = reading

    def wait_until_listening(self, pid: int) -> str:
        """The URL at which a child listens. Raises `ConnectError` if it does not."""
        with os.fdopen(self._reports[pid], "rb") as pipe:
            data = pipe.read()
        if not data:
            raise ConnectError(f"worker {pid} ended before it could listen", recoverable=False)
        report: _Listening | _Failed = _decode_report(data)
        if isinstance(report, _Failed):
            raise ConnectError(report.message, advice=report.advice)
        return report.url

    def stop(self) -> None:
        """Let every child finish what it does; the second time, kill them."""
        if not self._stopping:
            self._stopping = True
            os.close(self._held)
            return
        for pid in self._reports:
            os.kill(pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for all children; 0 if all of them ended well."""
        codes = []
        while self._reports:
            pid, status = os.wait()
            del self._reports[pid]
            codes.append(_exit_code(status))
            if codes[-1] != exits.OK and not self._stopping:
                complain(f"worker {pid} ended with exit code {codes[-1]}, the others go on")
        return next((code for code in codes if code), exits.OK)

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        def handle(number: int, frame: FrameType | None) -> None:
            self.stop()

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code  # a shell's way to say: ended by a signal


def _run_child(serve: Callable[[OnListen], None], report: int, lifeline: int) -> NoReturn:
    """A child must not run its parent's cleanup."""
    code = exits.BUG
    try:
        os.setpgid(0, 0)  # a terminal's Ctrl-C is for the parent, which ends the lifeline
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        serve(partial(_on_listen, report=report, lifeline=lifeline))
        code = exits.OK
    except TransportError as error:
        _send(report, _Failed(error.message, error.advice))
        code = exits.NO_CONNECTION
    except Exception:
        log.exception("worker %d failed", os.getpid())
    finally:
        os._exit(code)


def _on_listen(server: Serving, *, report: int, lifeline: int) -> None:
    loop = asyncio.get_running_loop()
    closing: set[asyncio.Task[None]] = set()

    def stop() -> None:
        loop.remove_reader(lifeline)
        closing.add(loop.create_task(server.close()))  # a loop keeps only weak references

    loop.add_reader(lifeline, stop)
    _send(report, _Listening(server.url))


def _send(pipe: int, report: _Listening | _Failed) -> None:
    os.write(pipe, msgspec.json.encode(report))  # less than PIPE_BUF: written in one piece
    os.close(pipe)


@contextmanager
def _chosen_port(url: str) -> Iterator[str]:
    """`url` with a port of its own in place of port 0, kept from others while it is served."""
    parts = urlsplit(url)
    if not parts.netloc.endswith(":0"):
        yield url
        return
    with _hold_port(parts.hostname or "", url) as holder:
        netloc = f"{parts.netloc.removesuffix(':0')}:{holder.getsockname()[1]}"
        yield urlunsplit(parts._replace(netloc=netloc))


def _hold_port(host: str, url: str) -> socket.socket:
    """A socket that is bound but does not listen, so that no connection goes to it."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        holder = socket.socket(family)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(address)
    except OSError as error:
        raise ConnectError(f"cannot listen on {shown(url)}: {error.strerror or error}") from error
    return holder
