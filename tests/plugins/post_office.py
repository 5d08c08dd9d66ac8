"""A mail server that keeps what it is sent, and may take its time."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from queue import Queue
from typing import Any

from msgspec import Struct


class PostOffice(Struct, frozen=True):
    port: int
    arrived: Queue[Message]
    """All that came in, answered or not."""
    answers: threading.Event
    """Whether mails are acknowledged."""


@contextmanager
def post_office() -> Iterator[PostOffice]:
    """A mail server at a port of its own."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            while command := self.rfile.readline():
                match command.split()[0].upper():
                    case b"DATA":
                        self._say("354 go on")
                        self._take()
                    case b"QUIT":
                        self._say("221 bye")
                        return
                    case _:
                        self._say("250 fine")

        def _take(self) -> None:
            lines: list[bytes] = []
            while (line := self.rfile.readline()) != b".\r\n":
                lines.append(line)
            office.arrived.put(message_from_bytes(b"".join(lines)))
            office.answers.wait()
            self._say("250 kept")

        def _say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Who asked was killed."""

    with Server(("127.0.0.1", 0), Handler) as server:
        office = PostOffice(server.server_address[1], Queue(), threading.Event())
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield office
        finally:
            office.answers.set()
            server.shutdown()
            thread.join()
