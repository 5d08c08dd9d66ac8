"""Streamable HTTP, as a client: every message is sent by POST.

The response to a POST is one answer, or a stream of messages that ends with the answer. In the
handshake era a GET opens one more stream, for messages of the server that belong to no request.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urljoin

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import ChannelInfo, Receiver
from accord.jsonrpc.protocol.errors import (
    ConnectError,
    ConnectionLostError,
    RpcError,
    TransportError,
)
from accord.jsonrpc.protocol.framing import SseDecoder
from accord.jsonrpc.protocol.messages import Id, Notification, encode
from accord.jsonrpc.runtime.calls import Call
from accord.mcp.client.auth_hook import Auth, AuthRequest
from accord.mcp.client.calls import SessionGoneError
from accord.mcp.protocol.headers import SESSION, VERSION, request_headers
from accord.mcp.protocol.messages import CancelledParams
from accord.mcp.protocol.versions import Era, era
from accord.transports.http.requester import Requester, Response
from accord.transports.http.responses import Response as WholeResponse, no_answer
from accord.transports.options import Options
from accord.transports.urls import WebAddress, host_and_port, parse_web_address

MAX_CHALLENGES: Final = 5
"""Maximum number of times that one request is repeated with other credentials."""
REDIRECTS: Final = frozenset((307, 308))
"""Statuses of redirects that repeat the same request, with its body, at another URL (RFC 9110,
sections 15.4.8 and 15.4.9)."""
MAX_REDIRECTS: Final = 5
"""Maximum number of redirects of one request."""
MAX_DROPPED: Final = 64 * 1024
"""Maximum number of bytes of a response body that are read and discarded, so that the connection
can be reused."""

Around: TypeAlias = Callable[[Awaitable[bool]], Awaitable[bool]]
"""A function that awaits `Auth.challenged`, and meanwhile extends the timeout of the call."""


class Endpoint:
    """The address of a server, with the headers and credentials of its requests."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        auth: Auth | None,
        options: Options,
        credentials_changed: Callable[[], None],
    ) -> None:
        self.address = parse_web_address(url)
        self.max_bytes = options.limits.max_message_bytes
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._auth = auth
        self._credentials_changed = credentials_changed
        self._requester = Requester(options)

    async def request(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        address: WebAddress | None = None,
        around: Around | None = None,
    ) -> Response:
        """Send a request, answer challenges and follow redirects within the origin.

        Raises TransportError if the request cannot be sent or a redirect cannot be followed. A 401
        or 403 is returned like any other response if there are no new credentials.
        """
        address = self.address if address is None else address
        auth_request = AuthRequest(method=method, url=_url(address), server=_url(self.address))
        redirects = 0
        while True:
            credentials = {} if self._auth is None else await self._auth.headers(auth_request)
            fields = {**self._headers, **headers, **credentials}
            response = await self._requester.request(method, address, fields, body)
            if response.status in REDIRECTS and "location" in response.headers:
                await _drop(response)
                redirects += 1
                address = _redirected(address, response, redirects)
                auth_request = replace(auth_request, url=_url(address))
                continue
            if self._auth is None or response.status not in (401, 403):
                return response
            auth_request = replace(auth_request, headers=credentials)
            if auth_request.attempt >= MAX_CHALLENGES or not await self._again(
                auth_request, response, around
            ):
                return response
            await _drop(response)
            self._credentials_changed()
            auth_request = replace(auth_request, attempt=auth_request.attempt + 1, headers={})

    async def _again(
        self, auth_request: AuthRequest, response: Response, around: Around | None
    ) -> bool:
        assert self._auth is not None
        challenged: Any = self._auth.challenged(
            auth_request, response.status, dict(response.headers)
        )
        try:
            return await (challenged if around is None else around(challenged))
        except BaseException:
            response.close()
            raise

    def close(self) -> None:
        self._requester.close()


def _redirected(address: WebAddress, response: Response, redirects: int) -> WebAddress:
    """Return the target of a redirect.

    Raises TransportError after too many redirects, for an invalid URL, and for another origin:
    requests carry credentials and user data, which a server must not send elsewhere.
    """
    status, about = response.status, {"status": response.status}
    if redirects > MAX_REDIRECTS:
        raise TransportError(
            f"the server redirected a request more than {MAX_REDIRECTS} times",
            recoverable=False,
            advice="Connect to the URL where the server answers.",
            data=about,
        )
    location = response.headers["location"]
    try:
        target = parse_web_address(urljoin(_url(address), location).partition("#")[0])
    except (ValueError, ConnectError) as error:
        raise TransportError(
            f"the server redirected a request to no URL of HTTP: {error}",
            recoverable=False,
            data=about,
        ) from None
    origin = target.scheme, target.host, target.port
    if origin != (address.scheme, address.host, address.port):
        raise TransportError(
            f"the server redirects to {target.scheme}://{target.authority}{target.path} (HTTP "
            f"{status}): another origin, which is not followed",
            recoverable=False,
            advice="Connect to that URL instead, if you trust it.",
            data=about,
        )
    return target


async def _drop(response: Response) -> None:
    size = 0
    while size <= MAX_DROPPED and (chunk := await response.receive()):
        size += len(chunk)
    response.close()


def _url(address: WebAddress) -> str:
    query = f"?{address.query}" if address.query else ""
    return f"{address.scheme}://{address.authority}{address.path}{query}"


EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"
NO_ANSWER: Final = "the server's reply is not the answer to the request"


class _Reply(Struct):
    id: Any = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decode_reply = msgspec.json.Decoder(_Reply).decode
_BLANKS: Final = b" \t\n\r"


def is_stream(response: Response) -> bool:
    return response.status == 200 and response.content_type == EVENTS


def check_coding(response: Response) -> None:
    """Raise TransportError for a compressed body, which no request asks for."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise TransportError(
            f"the server's answer is compressed ({coding[:40]}), though that was not asked for",
            recoverable=False,
            advice="Have the server, or the proxy before it, send answers as they are.",
        )


def reply_to(id: Id, response: Response, body: bytes) -> bytes:
    """Return the answer to the request `id` from the body of a response.

    Raises TransportError if the body is no answer.
    """
    if body.lstrip(_BLANKS).startswith(b"["):  # 2025-03-26: the answer may come in a batch
        return body  # the receiver checks it
    try:
        reply = _decode_reply(body)
    except RecursionError:  # the codec refuses less deep nesting itself
        raise TransportError(NO_ANSWER) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise refusal(response, body) from None
    if reply.error is not UNSET and (reply.id is UNSET or reply.id is None):
        # 2026-07-28, Streamable HTTP: an error about the whole request may have no id.
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (msgspec.json.encode(id), reply.error)
    if reply.result is UNSET and reply.error is UNSET:
        raise refusal(response, body)
    return body


def refusal(response: Response, body: bytes) -> TransportError:
    """Return the exception for an HTTP response without a JSON-RPC message."""
    whole = WholeResponse(response.status, body, location=response.headers.get("location", ""))
    return no_answer(whole)


log = logging.getLogger("accord.mcp")

CLOSE_SECONDS: Final = 2.0
"""The timeout for ending the session at the server."""
SEND_SECONDS: Final = 30.0
LISTEN_SECONDS: Final = 1.0
"""The maximum wait for the GET stream. Some servers open it only with the first message."""
RETRY_SECONDS: Final = 1.0
"""The delay before a broken stream is resumed, unless the server sets another by `retry`."""
MIN_RETRY_SECONDS: Final = 0.1
"""The minimum delay, whatever the server requests."""
MAX_RETRY_SECONDS: Final = 60.0
MAX_FAILURES: Final = 6
"""The limit of failed attempts in a row to resume a stream."""
EXTEND_SECONDS: Final = 1.0
MAX_SENDING: Final = 64
"""The limit of responses and notifications in flight to the server; beyond it, no more messages are
read."""

_NULL_ID: Final = b'{"jsonrpc":"2.0","id":null,'

_ACCEPT: Final = {"accept": f"{JSON}, {EVENTS}", "content-type": JSON}


class StreamableHttpChannel:
    """A channel over Streamable HTTP: `post` sends requests, `send` other messages."""

    def __init__(self, endpoint: Endpoint) -> None:
        address = endpoint.address
        self._endpoint = endpoint
        self._info = ChannelInfo(
            scheme=address.scheme, address=host_and_port(address.host, address.port)
        )
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver
        self._version = ""
        """The negotiated version; empty before the negotiation."""
        self.session = ""
        self._posts: dict[Id, asyncio.Task[None]] = {}
        self._others: set[asyncio.Task[Any]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._heard = asyncio.Event()
        """Set once the server has opened or refused the GET stream."""
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
        """Send a message without an answer: a response or a notification."""
        # 2026-07-28, Streamable HTTP: a client must not send responses. An error without an id,
        # about a malformed message, helps no server and would cost a POST each time.
        if not self._closing and not self.stateless and not data.startswith(_NULL_ID):
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
        # 2025-11-25, Streamable HTTP: clients should end sessions that they no longer need.
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
        """Send a request, whose answer is delivered to the receiver."""
        if call.method == "initialize":
            self._version = self.session = ""
        if self.stateless:
            headers = {**request_headers(call.method, params, version=self._version), **headers}
        else:
            headers = {**self._session_headers(), **headers}
        task = self._loop.create_task(self._post(call, data, {**_ACCEPT, **headers}))
        self._posts[call.id] = task
        task.add_done_callback(lambda _task: self._posts.pop(call.id, None))

    def abandon(self, id: Id, method: str) -> None:
        """Cancel a request whose caller no longer waits for the answer."""
        task = self._posts.get(id)
        if task is not None:
            task.cancel()  # closes its stream, which in the stateless era cancels the request
        if not self.stateless and method != "initialize" and isinstance(id, int | str):
            params = CancelledParams(request_id=id)
            self.send(encode(Notification("notifications/cancelled", params)))

    async def tell(self, data: bytes) -> None:
        """Send a notification, and wait until the server has accepted it.

        Raises TransportError if the server refuses the notification or does not answer in time.
        """
        try:
            async with asyncio.timeout(SEND_SECONDS):
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
        """Open the GET stream for messages of the server, in the handshake era."""
        if self._listening is not None:
            self._listening.cancel()
        self._heard.clear()
        self._listening = self._loop.create_task(self._listen(self.session))
        self._listening.add_done_callback(lambda _task: self._heard.set())

    async def listening(self) -> None:
        """Wait until the GET stream is open or refused, at most `LISTEN_SECONDS`."""
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
        except RpcError as error:  # an event that is too large, or an error of `Auth`
            self._fail(call, error)
        except Exception as error:
            log.exception("%s failed", call.method)
            failed = TransportError(f"{call.method} could not be sent", recoverable=False)
            failed.__cause__ = error
            self._receiver.send_failed(data, failed)

    async def _take(self, call: Call, response: Response, session: str) -> None:
        if response.status == 404 and session and call.method != "initialize":
            # 2025-11-25, Streamable HTTP: after a 404 the client must begin a new session.
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
        """Await the answer to a challenge, and meanwhile extend the timeout of `call`."""
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
        """Read a request's stream until its answer arrives; resume a stream that breaks.

        Raises TransportError if the stream cannot be resumed.
        """
        place = _StreamPosition()
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

    async def _read(
        self, response: Response, place: _StreamPosition, call: Call | None
    ) -> TransportError:
        """Deliver the messages of a stream; return the error that ended the stream.

        Also returns as soon as `call` is answered; the caller must then ignore the returned error.
        """
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
        place = _StreamPosition()
        failures = 0
        while failures < MAX_FAILURES and session == self.session:
            try:
                response = await self._get(place.last_id)
                try:
                    if not is_stream(response):
                        # 2025-11-25, Streamable HTTP: 405 if the server has no such stream.
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

    # Messages without an answer

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


class _StreamPosition:
    """The last event id and the retry delay of a stream, to resume the stream.

    The stream may be resumed over several connections.
    """

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
        """Return the delay in seconds before the stream is resumed.

        `failures` is the number of failed attempts in a row to resume the stream.
        """
        requested = RETRY_SECONDS if self.retry_ms is None else self.retry_ms / 1000
        delay = max(requested, RETRY_SECONDS * (2.0**failures - 1), MIN_RETRY_SECONDS)
        return min(delay, MAX_RETRY_SECONDS)


def _limit(most: int | None) -> dict[str, int]:
    return {} if most is None else {"max_event_bytes": most}
