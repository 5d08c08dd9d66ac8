"""Makes load: prepared bytes over raw sockets and pipes, so many requests at once.

It keeps a window of requests in flight on each connection. Answers are told apart as they
come and checked when all are there, which leaves more of the machine to the server.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Sequence
from typing import Any, Protocol

from benchmarks.framings import Framing, WebSocket
from benchmarks.processes import Process

PATIENCE = 60.0
"""How many seconds a server may say nothing."""
CHUNK = 256 * 1024


class Wire(Protocol):
    """One connection."""

    def fileno(self) -> int: ...

    def write(self, data: bytes) -> None: ...

    def read(self) -> bytes: ...

    def close(self) -> None: ...


class Pipes:
    """The stdin and stdout of a process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._in, self._out = process.stdin, process.stdout
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)

    def fileno(self) -> int:
        return self._out

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._in, data) :]

    def read(self) -> bytes:
        if not self._poll.poll(PATIENCE * 1000):
            raise TimeoutError(f"no answer within {PATIENCE:g} s")
        data = os.read(self._out, CHUNK)
        if not data:
            raise self._process.failure()
        return data

    def close(self) -> None:
        """They are the process's own."""


class Socket:
    """A TCP connection to this machine."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fileno = self._socket.fileno
        self.write = self._socket.sendall
        self.close = self._socket.close

    def read(self) -> bytes:
        data = self._socket.recv(CHUNK)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data


def open_socket(port: int, framing: Framing) -> Socket:
    """A connection that is ready for requests."""
    wire = Socket(port)
    if isinstance(framing, WebSocket):
        wire.write(framing.HANDSHAKE)
        head = wire.read()
        while b"\r\n\r\n" not in head:
            head += wire.read()
        if not head.startswith(b"HTTP/1.1 101 "):
            raise ConnectionError(f"no WebSocket: {head[:200]!r}")
    return wire


def ask(wire: Wire, framing: Framing, method: str) -> Any:
    """The result of one call without params."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method}
    wire.write(framing.frame(json.dumps(request).encode()))
    reader = framing.reader()
    while not (answers := reader.feed(wire.read())):
        pass
    return json.loads(answers[0])["result"]


class Asked(Protocol):
    """What is sent, and how its answers are judged."""

    def requests(self) -> list[bytes]: ...

    def check(self, answers: Sequence[bytes], count: int) -> None: ...


class Load:
    """Sends one kind of work over some connections."""

    def __init__(
        self, wires: Sequence[Wire], framing: Framing, work: Asked, *, window: int = 1
    ) -> None:
        self._wires = wires
        self._framing = framing
        self._work = work
        self._window = window
        self._readers = [framing.reader() for _ in wires]
        # Twice over: a slice that begins anywhere in the first half has no seam.
        self._requests = [framing.frame(request) for request in work.requests()] * 2

    def send(self, count: int) -> None:
        """Send so many requests, wait for all answers, and check them."""
        answers = self._over_one(count) if len(self._wires) == 1 else self._over_many(count)
        self._work.check(answers, count)

    def latencies(self, count: int) -> list[float]:
        """The seconds that each of so many requests takes, one after the other."""
        wire, reader = self._wires[0], self._readers[0]
        answers: list[bytes] = []
        taken = []
        for number in range(count):
            request = self._next(number, 1)
            started = time.perf_counter()
            wire.write(request)
            while not (got := reader.feed(wire.read())):
                pass
            taken.append(time.perf_counter() - started)
            answers += got
        self._work.check(answers, count)
        return taken

    def close(self) -> None:
        for wire in self._wires:
            wire.close()

    def _next(self, sent: int, count: int) -> bytes:
        start = sent % (len(self._requests) // 2)
        if count == 1:
            return self._requests[start]
        return b"".join(self._requests[start : start + count])

    def _over_one(self, count: int) -> list[bytes]:
        wire, reader = self._wires[0], self._readers[0]
        sent = min(self._window, count)
        wire.write(self._next(0, sent))
        answers: list[bytes] = []
        while len(answers) < count:
            got = reader.feed(wire.read())
            answers += got
            more = min(len(got), count - sent)
            if more:
                wire.write(self._next(sent, more))
                sent += more
        return answers

    def _over_many(self, count: int) -> list[bytes]:
        """Each connection that was answered asks again, until enough was asked."""
        answers: list[bytes] = []
        sent = 0
        pairs = list(zip(self._wires, self._readers, strict=True))
        by_file = {wire.fileno(): (wire, reader) for wire, reader in pairs}
        with select.epoll() as poll:
            for wire in self._wires:
                poll.register(wire.fileno(), select.EPOLLIN)
                more = min(self._window, count - sent)
                if more:
                    wire.write(self._next(sent, more))
                    sent += more
            while len(answers) < count:
                ready = poll.poll(PATIENCE)
                if not ready:
                    raise TimeoutError(f"no answer within {PATIENCE:g} s")
                for file, _ in ready:
                    wire, reader = by_file[file]
                    got = reader.feed(wire.read())
                    answers += got
                    more = min(len(got), count - sent)
                    if more:
                        wire.write(self._next(sent, more))
                        sent += more
        return answers


class Served:
    """One or more processes under load: what they use is what an operation costs."""

    def __init__(self, processes: Sequence[Process], load: Load) -> None:
        self._processes = processes
        self.load = load

    def run(self, count: int) -> float:
        before = sum(process.cpu() for process in self._processes)
        self.load.send(count)
        return sum(process.cpu() for process in self._processes) - before
