"""A channel over the WebSocket of an ASGI server, which does the framing and the pings.

ASGI pulls where a channel pushes, so there are two loops. The one that reads stops while more
waits to be written than the other end takes; the one that writes ends with `close`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Final

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits, Receiver
from accord.jsonrpc.protocol.errors import ConnectionLostError, TransportError, own_error
from accord.transports.asgi.scope import Event, Receive, Send

log = logging.getLogger("accord.transports.asgi")

HIGH_WATER: Final = 64 * 1024
"""How many bytes may wait to be written before `writable` turns False."""

_ORDERLY: Final = (1000, 1001, 1005)
"""Normal, going away, and no status at all (RFC 6455, section 7.4.1)."""


class AsgiChannel:
    """One accepted WebSocket. See `Channel` for its methods; `run` carries the messages."""

    def __init__(self, info: ChannelInfo, limits: Limits, receive: Receive, send: Send) -> None:
        self._info = info
        self._limits = limits
        self._receive_event = receive
        self._send_event = send
        self._receiver: Receiver
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._queued = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closing = False
        self._error: TransportError | None = None
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    @property
    def info(self) -> ChannelInfo:
        return self._info

    @property
    def writable(self) -> bool:
        return self._room.is_set()

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, data: bytes) -> None:
        if self._closing:
            return
        most = self._limits.max_queued_bytes
        if not self.writable and self._queued_bytes > most:
            waiting = f"{self._queued_bytes:,} bytes wait to be written, over the limit of {most:,}"
            self._fail(waiting)
            return
        self._queue.append(data)
        self._queued_bytes += len(data)
        self._queued.set()
        if self.writable and self._queued_bytes > HIGH_WATER:
            self._room.clear()
            self._receiver.writable_changed(False)

    def close(self) -> None:
        self._closing = True
        self._queued.set()

    def abort(self) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()

    async def run(self) -> None:
        """Carry messages from `start` to the end of the connection. Raises what the server's
        functions do."""
        self._tasks = (
            asyncio.ensure_future(self._read()),
            asyncio.ensure_future(self._write()),
        )
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.abort()
            self._receiver.connection_lost(self._error)
        for task in done:
            if not task.cancelled():
                task.result()

    # Reading

    async def _read(self) -> None:
        while True:
            event = await self._receive_event()
            if event["type"] == "websocket.disconnect":
                self._note_end(event)
                return
            if not self._closing:
                try:
                    self._take(event)
                except Exception:
                    log.exception("a message of %s could not be handled", self._info.address)
                    self._fail("a message could not be handled")
            await self._room.wait()

    def _take(self, event: Event) -> None:
        text = event.get("text")
        data = event["bytes"] if text is None else text.encode()
        most = self._limits.max_message_bytes
        if most is not None and len(data) > most:
            why = f"message of {len(data):,} bytes is over the limit of {most:,}"
            error = own_error("message_too_large", why, maxSize=most, unit="bytes")
            self._receiver.message_refused(error)
        else:
            self._receiver.message_received(data)

    def _note_end(self, event: Event) -> None:
        code, reason = event.get("code", 1005), event.get("reason") or ""
        if code not in _ORDERLY and not self._closing:
            self._error = ConnectionLostError(
                f"the WebSocket ended with code {code}", data={"code": code, "reason": reason}
            )

    # Writing

    async def _write(self) -> None:
        try:
            while not (self._closing and not self._queue):
                if self._queue:
                    await self._write_next()
                else:
                    self._queued.clear()
                    await self._queued.wait()
            await self._send_event({"type": "websocket.close", "code": 1000})
        except TimeoutError:
            self._error = ConnectionLostError(
                f"the other end took nothing for {self._limits.write_stall_seconds:g} s"
            )
        except OSError as error:  # ASGI: the client is gone
            self._error = ConnectionLostError(f"the connection was lost: {error}")

    async def _write_next(self) -> None:
        data = self._queue.popleft()
        async with asyncio.timeout(self._limits.write_stall_seconds):
            await self._send_event({"type": "websocket.send", "text": data.decode()})
        self._queued_bytes -= len(data)
        if not self.writable and self._queued_bytes <= HIGH_WATER:
            self._room.set()
            self._receiver.writable_changed(True)

    def _fail(self, why: str) -> None:
        log.warning("%s is cut off: %s", self._info.address, why)
        self._error = ConnectionLostError(why)
        self.abort()
