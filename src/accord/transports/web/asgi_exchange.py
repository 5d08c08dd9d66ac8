"""One request that came over ASGI, and its answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.transports.asgi.protocol import Receive, Scope, Send
from accord.transports.asgi.scope import channel_info
from accord.transports.http.fields import Pairs
from accord.transports.http.replies import CRASHED, NO_CONTENT, Reply, pairs_in
from accord.transports.memory_budget import Reservation
from accord.transports.web.app import JSON
from accord.transports.web.watch import Watch

log = logging.getLogger("accord.transports.web")


class AsgiExchange(Struct, eq=False):
    """A request that came over ASGI; implements `Exchange`, `Stream` and `Watched`.

    What is to be sent is queued, and sent by `run`, the coroutine that the server awaits. Whether
    the client is still there is asked only once that has taken a while.
    """

    _scope: Scope
    _receive: Receive
    _send: Send
    _limits: Limits
    _watch: Watch
    _queue: list[dict[str, Any]] = []
    _pieces: list[bytes] = []
    """Of the body; they leave together, behind the queue."""
    _queued: int = 0
    _streaming: bool = False
    _done: bool = False
    """Whether the last event is in the queue."""
    _gone: bool = False
    _wake: asyncio.Future[None] | None = None
    _runner: asyncio.Task[Any] | None = None
    """The task that sends."""
    _sending: float | None = None
    """Since when an event is being sent."""
    _stalled: bool = False
    _listening: asyncio.Task[None] | None = None
    on_gone: Callable[[], None] | None = None
    reservation: Reservation | None = None
    """Memory of the request's body, until it is answered."""

    @property
    def channel(self) -> ChannelInfo:
        return channel_info(self._scope)

    # What the application says

    def answer(self, reply: Reply) -> None:
        self.reply(reply.body, status=reply.status, headers=reply.headers)

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        assert not self._streaming, "a request is answered once"
        pairs = [*_known_pairs(headers)]
        if status not in NO_CONTENT:
            pairs.append((b"content-length", b"%d" % len(body)))
        self._start(status, pairs)
        # RFC 9110, section 9.3.2: HEAD tells about a body that is not sent.
        unsent = self._scope["method"] == "HEAD" or status in NO_CONTENT
        self._end(b"" if unsent else body)

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> AsgiExchange:
        assert not self._streaming, "a request is answered once"
        self._streaming = True
        self._start(status, [*_known_pairs(headers)])
        # Servers wait with the head for the first piece of the body.
        self._put({"type": "http.response.body", "body": b"", "more_body": True})
        return self

    def write(self, data: bytes) -> None:
        if self._done or self._gone or not data:
            return
        self._queued += len(data)
        if self._queued > self._limits.max_queued_bytes:
            log.warning("a client is cut off: it does not read its stream")
            self._leave()
            return
        self._pieces.append(data)
        self._awake()

    def close(self) -> None:
        if not self._done and not self._gone:
            self._end(b"")

    def fail(self) -> None:
        """The application failed: say so, or cut what it has begun."""
        if self._streaming:
            self._leave()
        else:
            self.answer(CRASHED)

    def _start(self, status: int, headers: Pairs) -> None:
        self._put({"type": "http.response.start", "status": status, "headers": headers})

    def _end(self, body: bytes) -> None:
        self._done = True
        self.on_gone = None  # whoever would be told often refers to this, and would live on
        if self.reservation is not None:
            self.reservation.release()
        if self._pieces:
            body = b"".join((*self._pieces, body))
            self._pieces.clear()
        self._put({"type": "http.response.body", "body": body})

    def _put(self, event: dict[str, Any]) -> None:
        self._queue.append(event)
        self._awake()

    def _awake(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # What the server awaits

    async def run(self) -> None:
        """Send what is to be sent until the request is answered or its client is gone."""
        loop = asyncio.get_running_loop()
        runner = self._runner = asyncio.current_task(loop)
        assert runner is not None
        self._watch.add(self, loop)
        try:
            while not self._gone:
                await self._send_queue(loop)
                if self._done:
                    return
                self._wake = loop.create_future()
                if not self._queue and not self._pieces and not self._gone:
                    await self._wake
        except OSError:  # ASGI, HTTP since version 2.4: the client is gone
            self._leave()
        except asyncio.CancelledError:
            self._leave()
            if not self._stalled or runner.uncancel() > 0:
                raise
        finally:
            self._watch.discard(self)
            if self._listening is not None:
                self._listening.cancel()

    async def _send_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        while (self._queue or self._pieces) and not self._gone:
            if self._queue:
                event = self._queue.pop(0)
            else:
                body = b"".join(self._pieces)
                self._pieces.clear()
                event = {"type": "http.response.body", "body": body, "more_body": True}
            self._queued = sum(map(len, self._pieces)) if self._pieces else 0
            self._sending = loop.time()
            await self._send(event)
            self._sending = None

    def look(self, now: float) -> None:
        """Cut a client off that takes nothing, and notice one that goes away."""
        if self._sending is not None:
            if now - self._sending >= self._limits.write_stall_seconds and not self._stalled:
                assert self._runner is not None
                self._stalled = True
                self._runner.cancel()
        elif self._listening is None:
            listening = self._await_disconnect()
            self._listening = asyncio.get_running_loop().create_task(listening)

    async def _await_disconnect(self) -> None:
        with contextlib.suppress(Exception):  # a server that cannot tell: then nobody listens
            while (await self._receive())["type"] != "http.disconnect":
                pass
            if not self._done:
                self._leave()

    def _leave(self) -> None:
        """The client is gone."""
        if self._gone:
            return
        self._gone = True
        self._queue.clear()
        self._pieces.clear()
        self._awake()
        gone, self.on_gone = self.on_gone, None
        if gone is not None:
            gone()


@lru_cache(maxsize=256)
def _known_pairs(lines: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """ASGI, HTTP: the names of header fields are in lower case."""
    return tuple((name.lower(), value) for name, value in pairs_in(lines))
