"""Streamable HTTP: every message is a POST, whose response is an answer or a stream of messages.

In the stateless era a stream belongs to its request and ends with it; closing it cancels. In
the handshake era there may be a session, a broken stream is resumed with the id of its last
event, and a further stream brings what belongs to no request.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, Final

from accord.jsonrpc.calls import Call
from accord.jsonrpc.channel import ChannelInfo, Receiver
from accord.jsonrpc.codec import encode
from accord.jsonrpc.errors import ConnectionLostError, RpcError, TransportError
from accord.jsonrpc.messages import Id, Notification
from accord.jsonrpc.sse import SseDecoder
from accord.mcp.client.conversation import SessionGoneError
from accord.mcp.client.http.endpoint import Endpoint
from accord.mcp.client.http.replies import (
    EVENTS,
    JSON,
    NO_ANSWER,
    check_coding,
    is_stream,
    refusal,
    reply_to,
)
from accord.mcp.protocol.headers import SESSION, VERSION, request_headers
from accord.mcp.protocol.params import CancelledParams
from accord.mcp.protocol.versions import Era, era
from accord.transports.http.requester import Response
from accord.transports.urls import host_and_port

log = logging.getLogger("accord.mcp")

CLOSE_SECONDS: Final = 2.0
"""How long the server may take to hear that a session is over."""
TELL_SECONDS: Final = 30.0
LISTEN_SECONDS: Final = 1.0
"""How long the server may take to begin the stream beside requests. Some do so only when they
have something to say."""
RETRY_SECONDS: Final = 1.0
"""How long to wait before a stream is resumed where the server does not say."""
MIN_RETRY_SECONDS: Final = 0.1
"""However soon the server wants to be asked again."""
MAX_RETRY_SECONDS: Final = 60.0
MAX_FAILURES: Final = 6
"""How often in a row resuming may fail."""
EXTEND_SECONDS: Final = 1.0
MAX_SENDING: Final = 64
"""How many messages may be on their way to the server before no more of its own are read."""

_NOBODYS: Final = b'{"jsonrpc":"2.0","id":null,'

_ACCEPT: Final = {"accept": f"{JSON}, {EVENTS}", "content-type": JSON}


class HttpChannel:
    """The channel of a peer; requests are given to `post`, all else to `send`."""

    def __init__(self, endpoint: Endpoint) -> None:
        address = endpoint.address
        self._endpoint = endpoint
        self._info = ChannelInfo(
            scheme=address.scheme, address=host_and_port(address.host, address.port)
        )
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver
        self._version = ""
        """What messages follow; nothing before anything is agreed on."""
        self.session = ""
        self._posts: dict[Id, asyncio.Task[None]] = {}
        self._others: set[asyncio.Task[Any]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._heard = asyncio.Event()
        """Set once the server has said whether it sends anything beside requests."""
        self._closing = False

    # The peer's side

    @property
    def info(self) -> ChannelInfo:
        return self._info

    @property
    def writable(self) -> bool:
        return True

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, data: bytes) -> None:
        """Send what needs no answer: answers to the server, notifications."""
        # 2026-07-28, Streamable HTTP: a client must not send responses, nor is it asked. An error
        # about a message that is none says nothing to a server, and would be a POST for each.
        if not self._closing and not self.stateless and not data.startswith(_NOBODYS):
            self._run(self._send(data))

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.create_task(self._close())

    def abort(self) -> None:
        self.session = ""
        self.close()

    async def _close(self) -> None:
        tasks = [*self._posts.values(), *self._others]
        if self._listening is not None:
            tasks.append(self._listening)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self.session:
            await self._end_session()
        self._endpoint.close()
        self._receiver.connection_lost(None)

    async def _end_session(self) -> None:
        # 2025-11-25, Streamable HTTP: a session that is not needed any more should be ended.
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                response = await self._endpoint.request("DELETE", self._session_headers())
                response.close()
        except (RpcError, TimeoutError) as error:
            log.debug("the session could not be ended: %s", error)

    # The wire's side

    @property
    def stateless(self) -> bool:
        return bool(self._version) and era(self._version) is Era.STATELESS

    def agreed(self, version: str) -> None:
        self._version = version

    def post(self, call: Call, data: bytes, params: Any, headers: Mapping[str, str]) -> None:
        """Send a request; its answer goes to the receiver."""
        if call.method == "initialize":
            self._version = self.session = ""
        if self.stateless:
            headers = {**request_headers(call.method, params, version=self._version), **headers}
        else:
            headers = {**self._session_headers(), **headers}
        task = self._loop.create_task(self._post(call, data, {**_ACCEPT, **headers}))
        self._posts[call.id] = task
        task.add_done_callback(lambda task: self._posts.pop(call.id, None))

    def abandon(self, id: Id, method: str) -> None:
        """Nobody waits for a request any more."""
        task = self._posts.get(id)
        if task is not None:
            task.cancel()  # which closes its stream: in the stateless era that says it all
        if not self.stateless and method != "initialize" and isinstance(id, int | str):
            params = CancelledParams(request_id=id)
            self.send(encode(Notification("notifications/cancelled", params)))

    async def tell(self, data: bytes) -> None:
        """Send a notification, and wait until the server has taken it. Raises TransportError."""
        try:
            async with asyncio.timeout(TELL_SECONDS):
                headers = {**_ACCEPT, **self._session_headers()}
                response = await self._endpoint.request("POST", headers, data)
                try:
                    body = await response.read(self._endpoint.max_bytes)
                finally:
                    response.close()
        except TimeoutError:
            raise TransportError("the server took too long to take a notification") from None
        if response.status == 404 and self.session:
            raise SessionGoneError
        if response.status >= 300:
            raise refusal(response, body)

    def listen(self) -> None:
        """Take what the server sends apart from requests (the handshake era)."""
        if self._listening is not None:
            self._listening.cancel()
        self._heard.clear()
        self._listening = self._loop.create_task(self._listen(self.session))
        self._listening.add_done_callback(lambda task: self._heard.set())

    async def listening(self) -> None:
        """Wait until the stream for that is open, or will not be; not for ever."""
        try:
            async with asyncio.timeout(LISTEN_SECONDS):
                await self._heard.wait()
        except TimeoutError:
            log.debug("the stream beside requests is not open yet")

    # Requests

    async def _post(self, call: Call, data: bytes, headers: dict[str, str]) -> None:
        session = self.session

        async def around(challenge: Awaitable[bool]) -> bool:
            return await self._extending(call, challenge)

        try:
            response = await self._endpoint.request("POST", headers, data, around=around)
            try:
                if call.method == "initialize" and response.status == 200:
                    self.session = response.headers.get(SESSION.lower(), "")
                await self._take(call, response, session)
            finally:
                response.close()
        except TransportError as error:
            self._receiver.send_failed(data, error)
        except RpcError as error:  # an event that is too large, or what the credentials' owner says
            self._fail(call, error)
        except Exception as error:
            log.exception("%s failed", call.method)
            failed = TransportError(f"{call.method} could not be sent", recoverable=False)
            failed.__cause__ = error
            self._receiver.send_failed(data, failed)

    async def _take(self, call: Call, response: Response, session: str) -> None:
        if response.status == 404 and session and call.method != "initialize":
            # 2025-11-25, Streamable HTTP: 404 for a session means that a new one is needed.
            raise SessionGoneError
        check_coding(response)
        if is_stream(response):
            await self._follow(call, response)
            return
        body = await response.read(self._endpoint.max_bytes)
        self._receiver.message_received(reply_to(call.id, response, body))
        if not call.done:
            raise TransportError(NO_ANSWER)

    def _fail(self, call: Call, error: RpcError) -> None:
        if not call.done:
            call.fail(error)

    async def _extending(self, call: Call, challenge: Awaitable[bool]) -> bool:
        """Await what a user may take a while for, without the call running out of time."""
        task = asyncio.ensure_future(challenge)
        try:
            while not task.done():
                await asyncio.wait((task,), timeout=EXTEND_SECONDS)
                call.extend()
            return task.result()
        finally:
            task.cancel()

    # Streams

    async def _follow(self, call: Call, response: Response) -> None:
        """Read a request's stream until its answer has come, resuming it where that can be."""
        place = _Place()
        lost = await self._read(response, place, call)
        failures = 0
        while not call.done:
            if self.stateless or not place.last_id or failures >= MAX_FAILURES:
                raise lost
            await asyncio.sleep(place.seconds(failures))
            try:
                response = await self._get(place.last_id)
            except TransportError as error:
                lost, failures = error, failures + 1
                continue
            try:
                if not is_stream(response):
                    raise self._not_resumed(response)
                failures = 0
                lost = await self._read(response, place, call)
            finally:
                response.close()

    async def _read(self, response: Response, place: _Place, call: Call | None) -> TransportError:
        """Hand in every message of a stream; why it ended, if not by the answer to `call`."""
        decoder = SseDecoder(**_limit(self._endpoint.max_bytes))
        why = ConnectionLostError("the server's stream ended before the answer")
        try:
            while call is None or not call.done:
                chunk = await response.receive()
                if not chunk:
                    break
                for event in decoder.feed(chunk):
                    if event.event == "message" and event.data:
                        self._receiver.message_received(event.data)
                        while len(self._others) >= MAX_SENDING:
                            await asyncio.wait(self._others, return_when=FIRST_COMPLETED)
                place.move(decoder)
        except TransportError as error:
            return error
        return why

    async def _get(self, last_id: str) -> Response:
        headers = {"accept": EVENTS, **self._session_headers()}
        if last_id:
            headers["last-event-id"] = last_id
        return await self._endpoint.request("GET", headers)

    def _not_resumed(self, response: Response) -> TransportError:
        if response.status == 404 and self.session:
            return SessionGoneError()
        return ConnectionLostError(
            f"the server's stream ended, and resuming it was answered HTTP {response.status}"
        )

    async def _listen(self, session: str) -> None:
        place = _Place()
        failures = 0
        while failures < MAX_FAILURES and session == self.session:
            try:
                response = await self._get(place.last_id)
                try:
                    if not is_stream(response):
                        # 2025-11-25, Streamable HTTP: 405 where there is no such stream.
                        log.debug("no stream beside requests: HTTP %d", response.status)
                        return
                    self._heard.set()
                    before = place.events
                    await self._read(response, place, None)
                    failures = 0 if place.events > before else failures + 1
                finally:
                    response.close()
            except RpcError as error:
                log.debug("the stream beside requests broke: %s", error)
                failures += 1
            await asyncio.sleep(place.seconds(failures))

    # What needs no answer

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    async def _send(self, data: bytes) -> None:
        try:
            await self.tell(data)
        except RpcError as error:
            log.warning("the server did not take a message: %s", error)

    def _session_headers(self) -> dict[str, str]:
        headers = {}
        if self._version:
            headers[VERSION] = self._version
        if self.session:
            headers[SESSION] = self.session
        return headers


class _Place:
    """How far a stream has been read, over all connections that carried it."""

    __slots__ = ("events", "last_id", "retry_ms")

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_ms: int | None = None
        self.events = 0

    def move(self, decoder: SseDecoder) -> None:
        self.events += 1
        self.last_id = decoder.last_id or self.last_id
        if decoder.retry_ms is not None:
            self.retry_ms = decoder.retry_ms

    def seconds(self, failures: int) -> float:
        """How long to wait before the next connection."""
        asked = RETRY_SECONDS if self.retry_ms is None else self.retry_ms / 1000
        wanted = max(asked, RETRY_SECONDS * (2.0**failures - 1), MIN_RETRY_SECONDS)
        return min(wanted, MAX_RETRY_SECONDS)


def _limit(most: int | None) -> dict[str, int]:
    return {} if most is None else {"max_event_bytes": most}
