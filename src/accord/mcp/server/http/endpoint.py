"""`McpEndpoint`: a server at one path of HTTP, for clients of both eras.

POST ─▶ gate ─▶ authentication ─▶ what does the body say?
                                    a version in `_meta`, or in a header of this era
                                      ─▶ headers are compared ─▶ StatelessCall
                                    `initialize` ─▶ a new session
                                    anything else ─▶ its session ─▶ SessionCall
GET ─▶ … ─▶ its session: announcements, or a stream to be resumed
DELETE ─▶ … ─▶ its session ends
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw

from accord.jsonrpc.codec import Envelope, encode_failure, read, sort
from accord.jsonrpc.dispatcher import Dispatcher
from accord.jsonrpc.errors import RpcError, own_error
from accord.jsonrpc.limits import MIB, Limits
from accord.jsonrpc.messages import (
    Failure,
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    Success,
)
from accord.jsonrpc.msgspec_types import REFUSALS
from accord.jsonrpc.observer import Observer
from accord.jsonrpc.session import Statistics
from accord.jsonrpc.threads import ThreadPool
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.headers import (
    SESSION,
    VERSION,
    HeaderParameter,
    check_headers,
    parameter_headers,
)
from accord.mcp.protocol.meta import PROTOCOL_VERSION
from accord.mcp.protocol.versions import (
    HANDSHAKE_VERSIONS,
    STATELESS_VERSIONS,
    V2025_03_26,
    VERSIONS,
    Era,
    era,
)
from accord.mcp.server.http.answers import Status, failed
from accord.mcp.server.http.authentication import Authenticator, Refusal
from accord.mcp.server.http.bodies import NOTHING_MIRRORED, Mirrored, mirrored
from accord.mcp.server.http.event_stream import parse_event_id
from accord.mcp.server.http.events import Event, EventStore, MemoryEvents
from accord.mcp.server.http.gate import Gate, McpHead
from accord.mcp.server.http.http_session import HttpSession
from accord.mcp.server.http.old_sse import OldSse
from accord.mcp.server.http.post import Post
from accord.mcp.server.http.pulse import Pulse
from accord.mcp.server.http.session_call import (
    InitializeCall,
    NotificationSource,
    SessionCall,
    SessionLink,
)
from accord.mcp.server.http.sessions import MemorySessions, SessionLimits, Sessions, new_id
from accord.mcp.server.http.stateless import EVENT_STREAM, StatelessCall
from accord.mcp.server.principal import Principal
from accord.transports.http.replies import Reply
from accord.transports.web.app import Exchange, WebRequest

if TYPE_CHECKING:
    from accord.mcp.server.server import Server

log = logging.getLogger("accord.mcp.http")

T = TypeVar("T")

HTTP_LIMITS: Final = Limits(
    max_message_bytes=50 * MIB, max_queued_bytes=64 * MIB, max_in_flight=10_000
)
PULSE_SECONDS: Final = 15.0

_MODERN_METHODS: Final = frozenset(("server/discover", "subscriptions/listen"))
"""What only clients of the stateless era ask for."""
_RETRY: Final = b"retry-after: 1\r\n"


class McpEndpoint:
    """Serves a server over HTTP; implements `LivingApp`.

    `origins` are the web pages that may ask, beside the server's own; `hosts` the names that
    it may be called by, where the loopback interface is not called by its own. `authenticator`
    says who asks. `sessions` and `events` keep the state of the handshake era; without
    `handshake` there is none. `batches` says whether versions that dropped them take them.
    `old_sse` serves HTTP+SSE of 2024-11-05 at `sse` below the path. `plain_refusals` sends
    errors for want of permissions with status 200, for clients that throw the body of a 403
    away. `pages` are answered for their paths, wherever they are.
    """

    def __init__(
        self,
        server: Server,
        *,
        limits: Limits = HTTP_LIMITS,
        session_limits: SessionLimits | None = None,
        origins: tuple[str, ...] | None = None,
        hosts: tuple[str, ...] | None = None,
        authenticator: Authenticator | None = None,
        sessions: Sessions | None = None,
        events: EventStore | None = None,
        handshake: bool = True,
        batches: bool = True,
        plain_refusals: bool = False,
        old_sse: bool = False,
        pulse_seconds: float = PULSE_SECONDS,
        pages: Mapping[str, Callable[[WebRequest], Reply]] | None = None,
        threads: ThreadPool | None = None,
        debug: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self.server = server
        self.limits = limits
        self.sessions: Sessions = MemorySessions(session_limits) if sessions is None else sessions
        self.events: EventStore = MemoryEvents() if events is None else events
        self.pulse = Pulse(pulse_seconds, self._sweep)
        self.statistics = Statistics()
        self._gate = Gate(origins=origins, hosts=hosts, old_sse=old_sse, handshake=handshake)
        self._authenticator = authenticator
        self._batches = batches
        self._plain_refusals = plain_refusals
        self._pages = {} if pages is None else pages
        self._dispatch: dict[str, Any] = {
            "threads": threads,
            "debug": debug,
            "observer": observer,
        }
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one that this endpoint is started on."""
        self._starting: asyncio.Task[None] | None = None
        self._living = AsyncExitStack()
        self._dispatcher: Dispatcher
        self._tasks: set[asyncio.Task[None]] = set()
        self._old_sse = OldSse(self, self._dispatch)
        self._tools = server.tools
        self._tools_version = -1
        self._parameters: dict[str, tuple[HeaderParameter, ...]] = {}

    @property
    def in_flight(self) -> int:
        """How many requests are being served."""
        return 0 if self._loop is None else self._dispatcher.in_flight

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def send_json(self, exchange: Exchange, body: bytes, status: Status, headers: bytes) -> None:
        """Send an answer with the status that goes with it."""
        if status.code != 403:
            exchange.reply(body, status=status.code, headers=headers)
        elif self._plain_refusals:
            exchange.reply(body, headers=headers)
        else:
            if self._authenticator is not None:
                headers += self._authenticator.forbidden(status.scopes)
            exchange.reply(body, status=403, headers=headers)

    # What carries this endpoint asks: see `LivingApp`

    def judge(self, request: WebRequest) -> Reply | McpHead:
        page = self._pages.get(request.path)
        if page is not None:
            return page(request)
        return self._gate.judge(request)

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return self._gate.too_large(request, most)

    async def start(self) -> None:
        """Begin the server's lifespan. Requests that come before it has begun wait for it, so
        that nobody needs to call this."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._starting is None or self._starting.get_loop() is not loop:
            self._starting = loop.create_task(self._start(loop))
        await asyncio.shield(self._starting)

    async def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._living = AsyncExitStack()
        try:
            await self._living.enter_async_context(self.server.running())
            self._dispatcher = Dispatcher(
                self.server.router, limits=self.limits, statistics=self.statistics, **self._dispatch
            )
            self.pulse.stop()
            self._loop = loop
        finally:
            self._starting = None

    def handle(self, judged: McpHead, body: bytes, exchange: Exchange) -> None:
        if self._loop is asyncio.get_running_loop():
            self._authenticate(judged, body, exchange)
            return

        def started(_: None) -> None:
            self._authenticate(judged, body, exchange)

        self._then(self.start(), started, exchange)

    def _authenticate(self, judged: McpHead, body: bytes, exchange: Exchange) -> None:
        if self._authenticator is None:
            self._serve(judged, None, body, exchange)
            return
        self._then(
            self._authenticator.authenticate(judged.request),
            lambda who: self._let_in(who, judged, body, exchange),
            exchange,
        )

    async def close(self, drain: float) -> None:
        """Let requests be answered for so long, then end all streams and sessions."""
        self.server.closing.set()
        if self._loop is not None:
            await self._dispatcher.drain(drain)
        self.sessions.end_all()
        self._old_sse.close()
        self.pulse.stop()
        for task in tuple(self._tasks):
            task.cancel()
        self._loop = None
        await self._living.aclose()

    def _let_in(
        self, who: Principal | Refusal | None, head: McpHead, body: bytes, exchange: Exchange
    ) -> None:
        if isinstance(who, Refusal):
            lines = head.json + who.headers
            exchange.reply(who.body, status=who.status, headers=lines)
        else:
            self._serve(head, who, body, exchange)

    def _serve(
        self, head: McpHead, principal: Principal | None, body: bytes, exchange: Exchange
    ) -> None:
        if head.route == "sse":
            self._old_sse.open(head, principal, exchange)
        elif head.route == "messages":
            self._old_sse.take(head, principal, body, exchange)
        elif head.request.method == "POST":
            self._post(head, principal, body, exchange)
        elif head.version in STATELESS_VERSIONS and head.session_id is None:
            # 2026-07-28, Streamable HTTP: there is neither GET nor DELETE in this version
            exchange.reply(b"", status=405, headers=b"allow: POST\r\n" + head.lines)
        elif head.request.method == "GET":
            self._in_session(head, principal, exchange, lambda it: self._listen(head, it, exchange))
        else:
            self._in_session(head, principal, exchange, lambda it: self._delete(head, it, exchange))

    # A message

    def _post(
        self, head: McpHead, principal: Principal | None, body: bytes, exchange: Exchange
    ) -> None:
        what = read(body, self.limits.max_depth)
        if isinstance(what, list):
            self._batch(head, principal, [sort(item) for item in what], exchange)
            return
        if type(what) is Envelope and what.method:
            if what.id is None or type(what.id) is float:
                self._refuse(head, exchange, 400, None, _bad_id())
                return
            found = mirrored(what.params)
            if found is NOTHING_MIRRORED and what.params is not UNSET:
                message = sort(what)
                if isinstance(message, Invalid):  # params that are neither object nor array
                    self._refuse_invalid(head, message, exchange)
                    return
            if _is_stateless(head, what.method, found):
                self._stateless(head, principal, what, found, exchange)
            elif what.method == "initialize" and head.session_id is None:
                self._initialize(head, principal, what, exchange)
            else:
                self._in_session(
                    head, principal, exchange,
                    lambda it: self._call(head, principal, it, what, exchange),
                    id=what.id,
                )  # fmt: skip
            return
        message = sort(what)
        if isinstance(message, Success | Failure):
            self._in_session(
                head, principal, exchange, lambda it: self._settle(head, it, [message], exchange)
            )
        else:
            assert isinstance(message, Invalid)
            self._refuse_invalid(head, message, exchange)

    # The stateless era

    def _stateless(
        self,
        head: McpHead,
        principal: Principal | None,
        what: Envelope,
        found: Mirrored,
        exchange: Exchange,
    ) -> None:
        method = cast(str, what.method)
        if what.id is not UNSET:
            # 2026-07-28, Streamable HTTP: which headers notifications need is not defined
            error = self._header_fault(head, method, found)
            if error is not None:
                self._refuse(head, exchange, 400, what.id, error)
                return
        call = StatelessCall(self, head, principal, exchange, what.id)
        call.begin(self._dispatcher.serve(what.id, method, what.params, call))

    def _header_fault(self, head: McpHead, method: str, found: Mirrored) -> RpcError | None:
        version = found.version
        if version is None:
            return _missing_version(head)
        parameters = self._header_parameters(method, found)
        wrong = check_headers(
            head.headers,
            version=version,
            method=method,
            name=found.name_for(method),
            arguments=_arguments(found.arguments) if parameters else None,
            parameters=parameters,
        )
        return None if wrong is None else _header_mismatch(wrong)

    def _header_parameters(self, method: str, found: Mirrored) -> tuple[HeaderParameter, ...]:
        """The parameters of the tool that is called which headers repeat."""
        if method != "tools/call":
            return ()
        if self._tools.version != self._tools_version:
            self._tools_version = self._tools.version
            self._parameters.clear()
        name = found.name_for(method) or ""
        known = self._parameters.get(name)
        if known is None:
            tool = self._tools.get(name)
            if tool is None:
                return ()
            known = self._parameters[name] = _header_parameters(tool.definition)
        return known

    # The handshake era

    def _in_session(
        self,
        head: McpHead,
        principal: Principal | None,
        exchange: Exchange,
        use: Callable[[HttpSession], None],
        *,
        id: Any = UNSET,
    ) -> None:
        """Find the session of a request, or say why there is none."""
        if head.version is not None and head.version not in HANDSHAKE_VERSIONS:
            # 2025-06-18, transports: an invalid or unsupported version is answered 400
            self._refuse(head, exchange, 400, id, _unsupported(head.version))
            return
        if head.session_id is None:
            error = own_error(
                "invalid_request", f"Invalid Request: the header {SESSION} is missing"
            )
            self._refuse(head, exchange, 400, id, error)
            return

        def found(session: HttpSession | None) -> None:
            if session is None:
                # 2025-11-25, transports: unknown and ended sessions are 404. So are those of
                # others, as nobody else is to learn that they exist.
                error = own_error("invalid_request", "Invalid Request: there is no such session")
                self._refuse(head, exchange, 404, id, error)
            else:
                use(session)

        self._then(self.sessions.find(head.session_id, principal), found, exchange)

    def _initialize(
        self, head: McpHead, principal: Principal | None, what: Envelope, exchange: Exchange
    ) -> None:
        if what.id is UNSET:
            self._refuse(head, exchange, 400, UNSET, own_error("invalid_request"))
            return
        if not self.sessions.has_room(principal):
            error = own_error("busy", "there are too many sessions", retryAfter=1)
            exchange.reply(failed(what.id, error), status=503, headers=head.json + _RETRY)
            return
        self.pulse.start()
        session = HttpSession(self, new_id(), principal)
        post = Post(session, head, exchange)
        self._begin(InitializeCall(post, principal, exchange.channel, what.id), post, what)

    def _call(
        self,
        head: McpHead,
        principal: Principal | None,
        session: HttpSession,
        what: Envelope,
        exchange: Exchange,
    ) -> None:
        if what.id is UNSET:
            self._hear(head, principal, session, cast(str, what.method), what.params, exchange)
            exchange.reply(b"", status=202, headers=head.lines)
        elif session.serves(what.id):
            self._refuse(head, exchange, 400, what.id, _id_in_use())
        else:
            post = Post(session, head, exchange)
            call = SessionCall(post, principal, exchange.channel, what.id)
            self._begin(call, post, what)

    def _begin(self, call: SessionCall, post: Post, what: Envelope | Request) -> None:
        post.session.add(call)
        method = cast(str, what.method)
        call.begin(self._dispatcher.serve(call.id, method, what.params, call))

    def _hear(
        self,
        head: McpHead,
        principal: Principal | None,
        session: HttpSession,
        method: str,
        params: Any,
        exchange: Exchange,
    ) -> None:
        source = NotificationSource(SessionLink(session, principal), head, exchange.channel)
        self._dispatcher.serve(UNSET, method, params, source)

    def _settle(
        self,
        head: McpHead,
        session: HttpSession,
        responses: list[Success | Failure | Invalid],
        exchange: Exchange,
    ) -> None:
        for response in responses:
            session.settle(response)
        exchange.reply(b"", status=202, headers=head.lines)

    def _batch(
        self,
        head: McpHead,
        principal: Principal | None,
        messages: list[Message],
        exchange: Exchange,
    ) -> None:
        most = self.limits.max_batch_items
        if not messages or len(messages) > most:
            why = "the batch is empty" if not messages else f"a batch has at most {most:,} messages"
            self._refuse(head, exchange, 400, UNSET, _invalid(why))
        elif _is_stateless_batch(head, messages):
            self._refuse(head, exchange, 400, UNSET, _invalid("this version has no batches"))
        else:
            self._in_session(
                head,
                principal,
                exchange,
                lambda it: self._batch_in(head, principal, it, messages, exchange),
            )

    def _batch_in(
        self,
        head: McpHead,
        principal: Principal | None,
        session: HttpSession,
        messages: list[Message],
        exchange: Exchange,
    ) -> None:
        if session.state.version != V2025_03_26 and not self._batches:
            why = f"{session.state.version} has no batches"
            self._refuse(head, exchange, 400, UNSET, _invalid(why))
            return
        requests: list[Request | bytes] = []
        used: set[Id] = set()
        for message in messages:
            match message:
                case Request(id=id):
                    bad = id is None or type(id) is float
                    if bad or id in used or session.serves(id):
                        error = _bad_id() if bad else _id_in_use()
                        requests.append(encode_failure(None if bad else id, error))
                    else:
                        used.add(id)
                        requests.append(message)
                case Notification(method=method, params=params):
                    self._hear(head, principal, session, method, params, exchange)
                case Invalid(response=False, id=id, error=error):
                    requests.append(encode_failure(id, error))
                case _:
                    session.settle(message)
        if not requests:
            exchange.reply(b"", status=202, headers=head.lines)
            return
        post = Post(session, head, exchange, batch=True)
        post.expect(len(requests))
        calls: list[tuple[SessionCall, Request]] = []
        for place, request in enumerate(requests):
            if isinstance(request, bytes):
                post.answered(place, request)
            else:
                call = SessionCall(post, principal, exchange.channel, request.id, place=place)
                session.add(call)
                calls.append((call, request))
        for call, request in calls:
            call.begin(self._dispatcher.serve(call.id, request.method, request.params, call))

    # Streams

    def _listen(self, head: McpHead, session: HttpSession, exchange: Exchange) -> None:
        """GET: the announcements of a session, or a stream that was interrupted."""
        last = head.headers.get("last-event-id", "")
        if not last:
            connection = exchange.stream(headers=EVENT_STREAM + head.lines)
            stream = session.listen()
            exchange.on_gone = lambda: stream.lost(connection)
            stream.connect(connection)
            return
        place = parse_event_id(last)
        if place is None:
            self._refuse(head, exchange, 400, UNSET, _unknown_event())
            return
        number, after = place
        live = None if session.streams is None else session.streams.get(number)
        if live is not None and live.is_at(after):
            self._resume(head, session, number, (), exchange)
            return
        self._then(
            self.events.after(session.id, number, after),
            lambda missed: self._resume(head, session, number, missed, exchange),
            exchange,
        )

    def _resume(
        self, head: McpHead, session: HttpSession, number: int, missed: Any, exchange: Exchange
    ) -> None:
        if missed is None:
            self._refuse(head, exchange, 400, UNSET, _unknown_event())
            return
        events = cast("tuple[Event, ...]", missed)
        connection = exchange.stream(headers=EVENT_STREAM + head.lines)
        stream = session.stream(number)
        exchange.on_gone = lambda: stream.lost(connection)
        stream.reconnect(connection, events)
        if stream.is_over:
            stream.disconnect()

    def _delete(self, head: McpHead, session: HttpSession, exchange: Exchange) -> None:
        self.sessions.end(session)
        exchange.reply(b"", status=204, headers=head.lines)

    # Around all of this

    def _refuse(
        self, head: McpHead, exchange: Exchange, status: int, id: Any, error: RpcError
    ) -> None:
        exchange.reply(failed(id, error), status=status, headers=head.json)

    def _refuse_invalid(self, head: McpHead, message: Invalid, exchange: Exchange) -> None:
        self.statistics.invalid_received += 1
        self._refuse(head, exchange, 400, message.id, message.error)

    def _then(
        self, value: T | Awaitable[T], proceed: Callable[[T], None], exchange: Exchange
    ) -> None:
        """Go on with a value that may take its time; a client that leaves ends the wait."""
        if not isawaitable(value):
            proceed(value)
            return

        async def wait() -> None:
            try:
                found = await value
            except Exception:
                log.exception("a request could not be let in")
                error = own_error("internal_error")
                exchange.reply(encode_failure(None, error), status=500)
                return
            exchange.on_gone = None
            proceed(found)

        task = asyncio.get_running_loop().create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

        def gone() -> None:
            task.cancel()

        exchange.on_gone = gone

    def _sweep(self) -> bool:
        return self.sessions.sweep(self.now())


def _is_stateless(head: McpHead, method: str, found: Mirrored) -> bool:
    if found.is_modern:
        return True
    if method == "initialize":
        return False
    if head.version is not None and era(head.version) is Era.STATELESS:
        return head.version in STATELESS_VERSIONS or head.session_id is None
    return method in _MODERN_METHODS and head.session_id is None


def _is_stateless_batch(head: McpHead, messages: list[Message]) -> bool:
    if head.version is not None and head.version in STATELESS_VERSIONS:
        return True
    calls = [it for it in messages if isinstance(it, Request | Notification)]
    return any(mirrored(it.params).is_modern for it in calls)


def _missing_version(head: McpHead) -> RpcError:
    """The error for a request of the stateless era that does not say its version."""
    if head.version is None:
        return _header_mismatch(f"{VERSION} header is missing")
    if head.version not in STATELESS_VERSIONS:
        return _unsupported(head.version)
    message = f"Invalid params: _meta must have '{PROTOCOL_VERSION}'"
    return failure("invalid_meta", message, era=Era.STATELESS)


def _unsupported(version: str) -> RpcError:
    return failure(
        "unsupported_protocol_version",
        "Unsupported protocol version",
        era=Era.STATELESS,
        supported=list(VERSIONS[::-1]),
        requested=version[:100],
    )


def _header_mismatch(why: str) -> RpcError:
    return failure("header_mismatch", f"Header mismatch: {why}", era=Era.STATELESS)


def _header_parameters(tool: Tool) -> tuple[HeaderParameter, ...]:
    try:
        return parameter_headers(tool.input_schema)
    except ValueError as error:
        # Clients leave such a tool out of their lists.
        log.warning("the headers of tool %s are not checked: %s", tool.name, error)
        return ()


def _arguments(raw: Any) -> Any:
    try:
        return {} if raw is UNSET else msgspec.json.decode(cast(Raw, raw))
    except REFUSALS:
        return {}


def _invalid(why: str) -> RpcError:
    return own_error("invalid_request", f"Invalid Request: {why}")


def _bad_id() -> RpcError:
    return _invalid("'id' must be a string or an integer")


def _id_in_use() -> RpcError:
    return _invalid("a request with this 'id' is being served")


def _unknown_event() -> RpcError:
    return _invalid("nothing can be resumed from this Last-Event-ID")
