"""`McpEndpoint`: a server at one path of HTTP, for clients of both eras.

POST ─▶ gate ─▶ authentication ─▶ kind of the body:
                                    a version in `_meta`, or in a header of this era
                                      ─▶ headers are compared ─▶ StatelessCall
                                    `initialize` ─▶ a new session
                                    no MCP, if plain calls are on ─▶ PlainCall
                                    anything else ─▶ its session ─▶ SessionCall
GET ─▶ … ─▶ its session: announcements, or a resumed stream
DELETE ─▶ … ─▶ its session ends

"…" stands for gate and authentication. `StatelessCall` and `PlainCall` are in the module
`stateless`, `SessionCall` is in `sessions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from inspect import isawaitable
from threading import get_ident
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.methods.context import Observer
from accord.jsonrpc.methods.param_values import REFUSALS, check_members
from accord.jsonrpc.protocol.channel import MIB, ChannelInfo, Limits
from accord.jsonrpc.protocol.codec import read, sort
from accord.jsonrpc.protocol.diagnosis import is_id_fault, too_many_items
from accord.jsonrpc.protocol.errors import own_error
from accord.jsonrpc.protocol.messages import (
    Envelope,
    Failure,
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    Success,
    encode_failure,
)
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.jsonrpc.runtime.threads import ThreadPool
from accord.mcp.protocol.messages import Params
from accord.mcp.protocol.versions import (
    HANDSHAKE_VERSIONS,
    STATELESS_VERSIONS,
    Era,
    era,
)
from accord.mcp.server.auth.authenticator import Authenticator, Refusal, Verifier
from accord.mcp.server.auth.bearer import authenticator_of
from accord.mcp.server.core import ServableServer
from accord.mcp.server.http.checks import (
    NO_MIRRORED_MEMBERS,
    AdmittedHttpRequest,
    HeaderCheck,
    McpGate,
    McpHead,
    read_mirrored_members,
)
from accord.mcp.server.http.endpoint_state import EndpointState, EventStore, MemoryEvents, loop_time
from accord.mcp.server.http.handshake import Handshake, LegacySse
from accord.mcp.server.http.responses import invalid
from accord.mcp.server.http.sessions import MemorySessions, SessionLimits, Sessions
from accord.mcp.server.http.stateless import PlainRpc, StatelessCall, is_plain
from accord.mcp.server.session import Principal
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply
from accord.transports.http.web_app import SMALL_BODY, BodyLimit, Exchange, LivingApp

HTTP_LIMITS: Final = Limits(
    max_message_bytes=50 * MIB, max_queued_bytes=64 * MIB, max_in_flight=10_000
)
PULSE_SECONDS: Final = 15.0
SAVE_SECONDS: Final = 1.0
"""Minimum time that a closing endpoint waits until changes of sessions are stored."""

_MODERN_METHODS: Final = frozenset(("server/discover", "subscriptions/listen"))
"""Methods that exist only in the stateless era."""


class McpEndpoint(EndpointState, LivingApp[McpHead]):
    """An MCP server over HTTP; implements `LivingApp`.

    `origins` are the allowed web origins besides the server's own; `hosts` are the allowed host
    names, if the loopback interface is reached under another name. `auth` replaces the server's own
    authentication. `sessions` and `events` store the state of the handshake era; with
    `handshake=False` that era is not served. `batches` allows batches also in versions of the
    protocol that have removed them. `old_sse` serves HTTP+SSE of 2024-11-05 at `sse` below the
    path. `plain_refusals` sends permission errors with status 200, for clients that discard the
    body of a 403. `plain` serves requests without session and version as plain JSON-RPC. `pages`
    are functions that answer requests for further pages, by path; a path may lie outside of the
    endpoint's path. `shared` is the URL of a store (`accord.store`) in which several processes
    share their sessions, streams and tasks, so that each process can serve the clients of all.
    """

    def __init__(
        self,
        server: ServableServer,
        *,
        limits: Limits = HTTP_LIMITS,
        session_limits: SessionLimits | None = None,
        origins: tuple[str, ...] | None = None,
        hosts: tuple[str, ...] | None = None,
        auth: Authenticator | Verifier | None = None,
        sessions: Sessions | None = None,
        events: EventStore | None = None,
        handshake: bool = True,
        batches: bool = True,
        plain_refusals: bool = False,
        plain: bool = False,
        old_sse: bool = False,
        shared: str | None = None,
        pulse_seconds: float = PULSE_SECONDS,
        pages: Mapping[str, Callable[[WebRequest], Reply]] | None = None,
        threads: ThreadPool | None = None,
        debug: bool = False,
        observer: Observer | None = None,
    ) -> None:
        if shared is not None and (old_sse or sessions is not None or events is not None):
            raise ValueError("`shared` keeps sessions and events itself, and none of HTTP+SSE")
        auth = server.auth if auth is None else auth
        super().__init__(
            server,
            limits=limits,
            events=MemoryEvents() if events is None else events,
            gate=McpGate(
                profile=lambda: server.codes,
                origins=origins,
                hosts=hosts,
                old_sse=old_sse,
                handshake=handshake,
                plain=plain,
            ),
            auth=None if auth is None else authenticator_of(auth),
            plain_refusals=plain_refusals,
            pulse_seconds=pulse_seconds,
            sweep=self._sweep,
        )
        self._session_limits = SessionLimits() if session_limits is None else session_limits
        self._shared = shared
        self._pages = {} if pages is None else pages
        self._dispatch: dict[str, Any] = {
            "threads": threads,
            "debug": debug,
            "observer": observer,
        }
        self._thread = 0
        self._closed_on: asyncio.AbstractEventLoop | None = None
        self._starting: asyncio.Task[None] | None = None
        self._living = AsyncExitStack()
        self._readers: Mapping[str, Callable[[Any], Params]]
        self._old_sse = LegacySse(self, self._dispatch)
        sessions = MemorySessions(session_limits) if sessions is None else sessions
        self._handshake = Handshake(self, sessions, batches=batches)
        self._plain = PlainRpc(self) if plain else None
        self._headers = HeaderCheck(server.tools)

    @property
    def sessions(self) -> Sessions:
        """The sessions of the handshake era."""
        return self._handshake.sessions

    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""
        return 0 if self._loop is None else self.dispatcher.in_flight

    # Methods of `LivingApp`

    def judge(self, request: WebRequest) -> Reply | McpHead:
        page = self._pages.get(request.path)
        if page is not None:
            return page(request)
        if self._auth is None:
            return self.gate.judge(request)
        public = self._auth.page(request)
        return self._judge_known(request, self._auth) if public is None else public

    def _judge_known(self, request: WebRequest, auth: Authenticator) -> Reply | McpHead:
        judged = self.gate.judge(request)
        if isinstance(judged, Reply):
            return judged
        refusal = auth.refusal(request)
        if refusal is None:
            return judged
        return Reply(refusal.status, judged.json + refusal.headers, refusal.body)

    def body_limit(self, judged: McpHead) -> BodyLimit:
        return BodyLimit() if judged.request.method == "POST" else SMALL_BODY

    async def admit(self, judged: McpHead, channel: ChannelInfo) -> Reply | McpHead:
        if self._auth is None or self._closed_on is asyncio.get_running_loop():
            return judged
        await self.start()  # a verifier may need resources of the server's lifespan
        result = self._auth.authenticate(judged.request, channel)
        if isawaitable(result):
            result = await result
        if isinstance(result, Refusal):
            return Reply(result.status, judged.json + result.headers, result.body)
        # A proof of possession is valid once; a token may be revoked before the body arrives.
        repeatable = getattr(self._auth, "repeatable", False)
        return judged if repeatable else replace(judged, principal=result)

    def exhausted(self, request: WebRequest) -> Reply:
        return self.gate.exhausted(request)

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return self.gate.too_large(request, most)

    async def start(self) -> None:
        """Start the server's lifespan, if it is not running.

        Calling this is optional: the first request starts the lifespan and waits for it.
        """
        loop = asyncio.get_running_loop()
        self._closed_on = None
        if self._loop is loop:
            return
        if self._starting is None or self._starting.get_loop() is not loop:
            self._starting = loop.create_task(self._start(loop))
        await asyncio.shield(self._starting)

    async def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._living = AsyncExitStack()
        try:
            await self._share()
            await self._living.enter_async_context(self.server.running())
            self.dispatcher = Dispatcher(
                self.server.router,
                limits=self.limits,
                statistics=self.statistics,
                shared=True,
                **self._dispatch,
            )
            self._readers = self.server.core.readers
            self.pulse.stop()
            self._loop, self._thread, self.now = loop, get_ident(), loop.time
        except BaseException:
            await self._living.aclose()
            raise
        finally:
            self._starting = None

    async def _share(self) -> None:
        """Join the cluster of processes that share sessions, if one is configured."""
        if self._shared is None:
            return
        from accord.mcp.server.cluster.cluster import Cluster

        shared = await self._living.enter_async_context(
            Cluster(self, self._shared, self._session_limits)
        )
        self.events = shared.events
        self._handshake.sessions, self._handshake.others = shared.sessions, shared.others

    def handle(self, judged: McpHead, body: bytes, exchange: Exchange) -> None:
        loop = self._loop
        # Asking for the running loop is slow; ours is it, if it runs and this is its thread.
        if loop is None or self._thread != get_ident() or not loop.is_running():
            self._handle_later(judged, body, exchange)
        elif self._auth is None or judged.principal is not None:
            self._serve(AdmittedHttpRequest(judged, judged.principal, exchange), body)
        else:
            self._authenticate(judged, body, exchange)

    def _handle_later(self, judged: McpHead, body: bytes, exchange: Exchange) -> None:
        """Handle a request after the server's lifespan has started."""
        if self._closed_on is asyncio.get_running_loop():
            # A late request must not begin the lifespan again: it would never end.
            refused = encode_failure(None, own_error("busy", "the server is closed"))
            exchange.reply(refused, status=503, headers=judged.json)
            return

        def started(_: None) -> None:
            self.handle(judged, body, exchange)

        self.then(self.start(), started, exchange)

    def _authenticate(self, judged: McpHead, body: bytes, exchange: Exchange) -> None:
        assert self._auth is not None
        self.then(
            self._auth.authenticate(judged.request, exchange.channel),
            lambda who: self._let_in(who, judged, body, exchange),
            exchange,
        )

    async def close(self, drain: float) -> None:
        """Wait up to `drain` seconds for requests, then end all streams and sessions."""
        self.server.closing.set()
        if self._loop is not None:
            await self.dispatcher.drain(drain)
        if self._finishing:
            await asyncio.wait(self._finishing, timeout=max(drain, SAVE_SECONDS))
        self.sessions.end_all()
        self._old_sse.close()
        self.pulse.stop()
        for task in tuple(self._tasks):
            task.cancel()
        self._loop, self._closed_on, self.now = None, asyncio.get_running_loop(), loop_time
        await self._living.aclose()

    def _let_in(
        self, result: Principal | Refusal | None, head: McpHead, body: bytes, exchange: Exchange
    ) -> None:
        if isinstance(result, Refusal):
            exchange.reply(result.body, status=result.status, headers=head.json + result.headers)
        else:
            self._serve(AdmittedHttpRequest(head, result, exchange), body)

    def _serve(self, arrival: AdmittedHttpRequest, body: bytes) -> None:
        head = arrival.head
        if head.is_message:
            self._post(arrival, body)
        elif head.route == "sse":
            self._old_sse.open(arrival)
        elif head.route == "messages":
            self._old_sse.take(arrival, body)
        elif head.version in STATELESS_VERSIONS and head.session_id is None:
            # 2026-07-28, Streamable HTTP: this version has neither GET nor DELETE
            arrival.exchange.reply(b"", status=405, headers=b"allow: POST\r\n" + head.lines)
        elif head.request.method == "GET":
            self._handshake.listen(arrival)
        else:
            self._handshake.end(arrival)

    # Messages of a POST

    def _post(self, arrival: AdmittedHttpRequest, body: bytes) -> None:
        what = read(body, self.limits.max_depth, self.limits.max_batch_items)
        if type(what) is Envelope and what.method:
            self._take(arrival, what, what.method)
        elif isinstance(what, list):
            self._batch(arrival, [sort(item) for item in what])
        else:
            message = sort(what)
            if isinstance(message, Success | Failure):
                self._handshake.settle(arrival, message)
            else:
                self._refuse_invalid(arrival, message)

    def _take(self, arrival: AdmittedHttpRequest, what: Envelope, method: str) -> None:
        """Serve a request or a notification."""
        id, params = what.id, what.params
        if id is None or type(id) is float:
            stateless = read_mirrored_members(params).is_modern or _is_stateless(
                arrival.head, method
            )
            arrival.refuse(400, self.request_error("invalid_id", stateless=stateless))
            return
        reader = self._readers.get(method)
        if reader is not None and params is not UNSET and id is not UNSET:
            try:
                check_members(params)
                known = reader(params)
            except REFUSALS:
                pass  # null means none; other errors are reported later
            else:
                if self._take_known(arrival, id, method, known):
                    return
        self._take_unknown(arrival, what, method)

    def _take_known(
        self, arrival: AdmittedHttpRequest, id: Id, method: str, params: Params
    ) -> bool:
        """Serve a request with decoded params, which is the fast path for most requests.

        Return False, without serving the request, if it needs the full checks of `_take_unknown`,
        for example because a fast check could not show that its headers match.
        """
        head = arrival.head
        if params.meta.protocol_version is not UNSET:
            if not self._headers.agree(head, method, params):
                return False
            call = StatelessCall(self, head, arrival.exchange, id, arrival.principal)
            call.begin(self.dispatcher.serve(id, method, params, call))
            return True
        if _is_stateless(head, method):
            return False
        self._take_old(arrival, id, method, params)
        return True

    def _take_old(
        self, arrival: AdmittedHttpRequest, id: Id | UnsetType, method: str, params: Any
    ) -> None:
        """Serve a message that is not of the stateless era.

        It belongs to the handshake era or to plain JSON-RPC.
        """
        if self._plain is not None and is_plain(arrival.head, method):
            self._plain.take(arrival, id, method, params)
        else:
            self._handshake.take(arrival, id, method, params)

    def _take_unknown(self, arrival: AdmittedHttpRequest, what: Envelope, method: str) -> None:
        """Check a request or a notification in full; serve it or reply with its error."""
        id = what.id
        found = read_mirrored_members(what.params)
        if found is NO_MIRRORED_MEMBERS and what.params is not UNSET:
            message = sort(what)
            if isinstance(message, Invalid):  # params that are neither object nor array
                self._refuse_invalid(arrival, message)
                return
        if not found.is_modern and not _is_stateless(arrival.head, method):
            self._take_old(arrival, id, method, what.params)
            return
        if id is not UNSET:
            # 2026-07-28, Streamable HTTP: the headers of notifications are not defined
            error = self._headers.fault(arrival.head, method, found)
            if error is not None:
                arrival.refuse(400, error, id)
                return
        call = StatelessCall(self, arrival.head, arrival.exchange, id, arrival.principal)
        call.begin(self.dispatcher.serve(id, method, what.params, call))

    def _batch(self, arrival: AdmittedHttpRequest, messages: list[Message]) -> None:
        if not messages:
            arrival.refuse(400, invalid("the batch is empty"))
        elif len(messages) > self.limits.max_batch_items:
            self._refuse_invalid(arrival, too_many_items(self.limits.max_batch_items))
        elif _is_stateless_batch(arrival.head, messages):
            arrival.refuse(400, invalid("this version has no batches"))
        elif self._plain is not None and is_plain(arrival.head, ""):
            self._plain.take_batch(arrival, messages)
        else:
            self._handshake.take_batch(arrival, messages)

    def _refuse_invalid(self, arrival: AdmittedHttpRequest, message: Message) -> None:
        assert isinstance(message, Invalid)
        self.statistics.invalid_received += 1
        error = message.error
        stateless = arrival.head.version in STATELESS_VERSIONS
        if is_id_fault(message):
            error = self.request_error("invalid_id", stateless=stateless)
        elif message.oversized:
            error = self.request_error("batch_too_large", stateless=stateless, of=error)
        # The id of a malformed response is one of ours, so the error must not carry it.
        arrival.refuse(400, error, UNSET if message.response else message.id)

    def _sweep(self) -> bool:
        return self.sessions.sweep(self.now())


def _is_stateless(head: McpHead, method: str) -> bool:
    """Return whether a request is stateless, although its body has no version."""
    if method == "initialize":
        return False
    version = head.version
    if version is None or version in HANDSHAKE_VERSIONS or era(version) is Era.HANDSHAKE:
        return method in _MODERN_METHODS and head.session_id is None
    return version in STATELESS_VERSIONS or head.session_id is None


def _is_stateless_batch(head: McpHead, messages: list[Message]) -> bool:
    if head.version is not None and head.version in STATELESS_VERSIONS:
        return True
    calls = [it for it in messages if isinstance(it, Request | Notification)]
    return any(read_mirrored_members(it.params).is_modern for it in calls)
