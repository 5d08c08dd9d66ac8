"""What the connections of one listener share: rules, limits, a coarse clock, a receive buffer.

Time is kept by one sweep per listener, not by timers per request. The sweep sets `now`, which
connections note when they begin to wait for something, and looks for those that waited too
long. It runs only while there are connections.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from email.utils import formatdate
from math import inf
from typing import Final, Protocol

from accord.transports.http.dispatch import Dispatch
from accord.transports.http.replies import Starts, always_lines
from accord.transports.http.requests import BodyBudget
from accord.transports.http.rules import HeadRules, Rules
from accord.transports.http.waits import Wait
from accord.transports.options import Options
from accord.transports.origins import is_loopback

READ_BYTES: Final = 64 * 1024
"""Most bytes taken from a socket at once."""
MAX_TURNED_AWAY: Final = 64
"""How many connections over the limit are told so at a time; further ones are just cut."""
LINGER_SECONDS: Final = 2.0


class SiteConnection(Protocol):
    """A connection as its site sees it."""

    since: float
    """The time at which it began to wait."""

    @property
    def wait(self) -> Wait: ...

    def retire(self) -> None:
        """End once what is under way was answered."""

    def waited_too_long(self) -> None:
        """End, or answer that the client took too long."""

    def abort(self) -> None:
        """End now."""


class Site:
    """The shared part of a listener."""

    def __init__(self, scheme: str, rules: Callable[[bool], HeadRules], options: Options) -> None:
        """`rules` gives those for clients that do or do not come over the loopback interface."""
        self.scheme = scheme
        self.limits = options.limits
        self.server_limits = options.server_limits
        self._rules = {loopback: rules(loopback) for loopback in (False, True)}
        self.buffer = memoryview(bytearray(READ_BYTES))
        """Where every connection receives: what arrived is copied out before the next read."""
        self.budget = BodyBudget(options.server_limits.max_buffered_bytes)
        """Memory for the bodies of requests, of all connections together."""
        self.connections: set[SiteConnection] = set()
        self._turned_away: set[SiteConnection] = set()
        self.closing = False
        self.leaving = False
        """Whether every answer is the last of its connection, and says so."""
        self._patience = _patience(options)
        self._shortest = min(self._patience.values())
        self._loop = asyncio.get_running_loop()
        self._interval = min(1.0, max(0.01, self._shortest / 4))
        self._timer: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self._always = always_lines(options.answer_headers)
        self._second = 0
        self._tick()

    def rules_for(self, transport: asyncio.BaseTransport) -> HeadRules:
        """Return the rules for the requests of a connection."""
        peer = transport.get_extra_info("peername")
        return self._rules[bool(peer) and is_loopback(peer[0])]

    def join(self, connection: SiteConnection) -> bool:
        """Add a connection; whether there was room for it within the limit."""
        room = len(self.connections) < self.server_limits.max_connections
        (self.connections if room else self._turned_away).add(connection)
        self._empty.clear()
        if self._timer is None:
            self._tick()
            self._timer = self._loop.call_later(self._interval, self._sweep)
        return room

    def leave(self, connection: SiteConnection) -> None:
        self.connections.discard(connection)
        self._turned_away.discard(connection)
        if not self.connections and not self._turned_away:
            self._empty.set()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def has_room_for(self, arriving: int) -> bool:
        """Whether so many connections that are still arriving can at least be turned away."""
        most = self.server_limits.max_connections + MAX_TURNED_AWAY
        return len(self.connections) + len(self._turned_away) + arriving < most

    @property
    def overcrowded(self) -> bool:
        """Whether too many connections are turned away even to say so."""
        return len(self._turned_away) > MAX_TURNED_AWAY

    async def close(self) -> None:
        """Let what is under way be answered, and wait until there is no connection left.

        Cancelled, it cuts those that are left.
        """
        self.closing = self.leaving = True
        for connection in tuple(self.connections):
            connection.retire()
        try:
            await self._empty.wait()
        except asyncio.CancelledError:
            for connection in (*self.connections, *self._turned_away):
                connection.abort()
            raise

    def _sweep(self) -> None:
        self._timer = self._loop.call_later(self._interval, self._sweep)
        self._tick()
        recent = self.now - self._shortest - self._interval
        for connection in (*self.connections, *self._turned_away):
            since = connection.since  # may lie up to one interval before the truth
            if since > recent:
                continue
            if self.now - since >= self._patience[connection.wait] + self._interval:
                connection.waited_too_long()

    def _tick(self) -> None:
        self.now = self._loop.time()
        second = int(time.time())
        if second != self._second:
            self._second = second
            self.starts = Starts(formatdate(second, usegmt=True), self._always)


class CallSite(Site):
    """What the connections of a JSON-RPC endpoint share."""

    def __init__(self, scheme: str, path: str, dispatch: Dispatch, options: Options) -> None:
        self.handle = dispatch.handle
        self.statistics = dispatch.statistics
        super().__init__(
            scheme,
            lambda loopback: Rules(
                path=path,
                max_body=options.limits.max_message_bytes,
                origins=options.origins,
                loopback=loopback,
                pages=options.pages,
            ),
            options,
        )


def _patience(options: Options) -> dict[Wait, float]:
    """How long a connection may wait for each thing, in seconds."""
    limits = options.server_limits
    return {
        Wait.FIRST_BYTE: limits.header_seconds,
        Wait.NEXT_REQUEST: limits.idle_seconds,
        Wait.HEAD: limits.header_seconds,
        Wait.BODY: limits.body_seconds,
        Wait.ANSWER: inf,
        Wait.ROOM: options.limits.write_stall_seconds,
        Wait.LAST_WORDS: LINGER_SECONDS,
        Wait.END: options.limits.write_stall_seconds,
    }
