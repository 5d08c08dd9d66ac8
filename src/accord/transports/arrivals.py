"""The sockets of a server: what arrives at them becomes protocols, plain or under TLS."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Final

from accord.transports.options import Options

log = logging.getLogger("accord.transports")

ACCEPT_PAUSE_SECONDS: Final = 1.0
"""How long to wait when the system has no room for a further connection."""


class Arrivals:
    """Accepts connections at listening sockets, which belong to it once it is started.

    asyncio's own TLS server does not tell of handshakes that are under way or have failed, and
    they must count: a client that never finishes one holds a socket too. So under TLS the
    handshakes are made here, `under_way` says how many there are, and where `has_room` says
    no a connection is closed before its handshake.
    """

    def __init__(
        self,
        name: str,
        protocol: Callable[[], asyncio.BaseProtocol],
        options: Options,
        *,
        tls: ssl.SSLContext | None,
        has_room: Callable[[], bool],
    ) -> None:
        self._name = name
        self._protocol = protocol
        self._options = options
        self._tls = tls
        self._has_room = has_room
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.AbstractServer] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._handshakes: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """How many TLS handshakes are being made."""
        return len(self._handshakes)

    async def start(self, sockets: list[socket.socket]) -> None:
        """Begin to accept."""
        self._sockets = sockets
        loop = asyncio.get_running_loop()
        for bound in sockets:
            bound.listen(self._options.backlog)
            if self._tls is not None:
                self._accepting.append(loop.create_task(self._accept_tls(bound)))
            else:
                create = loop.create_unix_server if _is_unix(bound) else loop.create_server
                server = await create(self._protocol, sock=bound, backlog=self._options.backlog)
                self._servers.append(server)

    async def close(self) -> None:
        """Stop accepting; handshakes that are under way are dropped."""
        for server in self._servers:
            server.close()
        tasks = [*self._accepting, *self._handshakes]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for bound in self._sockets:
            bound.close()

    async def _accept_tls(self, bound: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(bound)
            except OSError as error:
                log.error("%s cannot accept connections now: %s", self._name, error)
                await asyncio.sleep(ACCEPT_PAUSE_SECONDS)
                continue
            if not self._has_room():
                connection.close()
                continue
            handshake = loop.create_task(self._handshake(connection))
            self._handshakes.add(handshake)
            handshake.add_done_callback(partial(self._handshake_done, connection))

    def _handshake_done(self, connection: socket.socket, handshake: asyncio.Task[None]) -> None:
        self._handshakes.discard(handshake)
        if handshake.cancelled():
            # A handshake that had not begun leaves its socket open, and uvloop keeps that of
            # one that is given up until its time is over.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    async def _handshake(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=self._options.server_limits.header_seconds,
            )
        except OSError as error:
            log.info("TLS handshake at %s failed: %s", self._name, error)


def _is_unix(bound: socket.socket) -> bool:
    return bound.family == socket.AF_UNIX
