"""The handshake era over HTTP: messages, batches and streams of sessions; and HTTP+SSE.

HTTP+SSE of 2024-11-05 is a stream of events to the client, and POSTs back:

    GET …/sse            event `endpoint`: the URI to POST to; then an event per message
    POST …/messages/ID   202, and the answer arrives as an event

The rest of the server treats this as a duplex connection: a channel with a peer.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

from msgspec import UNSET, UnsetType

from accord.jsonrpc.protocol.channel import MIB, ChannelInfo, Receiver
from accord.jsonrpc.protocol.framing import KEEP_ALIVE, encode_event
from accord.jsonrpc.protocol.messages import (
    Failure,
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    Success,
)
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.protocol.versions import HANDSHAKE_VERSIONS, V2025_03_26
from accord.mcp.server.http.checks import MESSAGES_PLACE, SSE_PLACE, AdmittedHttpRequest
from accord.mcp.server.http.endpoint_state import (
    EndpointState,
    Event,
    MissedEvents,
    OrphanedStream,
    RemoteStream,
)
from accord.mcp.server.http.http_session import HttpSession, SessionPeers, event_id, parse_event_id
from accord.mcp.server.http.responses import (
    EVENT_STREAM,
    invalid,
    missing_session,
    no_such_session,
    too_many_sessions,
    unknown_event,
    unsupported_version,
)
from accord.mcp.server.http.sessions import (
    InitializeCall,
    NotificationSource,
    PostResponse,
    SessionCall,
    SessionLink,
    Sessions,
    new_id,
)
from accord.mcp.server.session import LINK, DuplexLink, owner_of
from accord.transports.http.web_app import Stream

_RETRY: Final = b"retry-after: 1\r\n"


class Handshake:
    """The HTTP requests of the handshake era at one endpoint."""

    def __init__(self, endpoint: EndpointState, sessions: Sessions, *, batches: bool) -> None:
        self.sessions = sessions
        self.others: SessionPeers | None = None
        """The connection to the other processes that serve the same sessions; None without any."""
        self._endpoint = endpoint
        self._batches = batches

    # HTTP requests

    def take(
        self, arrival: AdmittedHttpRequest, id: Id | UnsetType, method: str, params: Any
    ) -> None:
        """Serve a request or a notification of a client."""
        if method == "initialize" and arrival.head.session_id is None:
            self._initialize(arrival, id, method, params)
            return
        found = self._find(arrival, id)
        if type(found) is HttpSession:  # as it is where sessions are kept in memory
            self._take_in(arrival, found, id, method, params)
        elif found is not None:
            self._use(arrival, found, lambda it: self._take_in(arrival, it, id, method, params), id)

    def settle(self, arrival: AdmittedHttpRequest, response: Success | Failure) -> None:
        """Accept a client's answer to a request of the server."""

        def use(session: HttpSession) -> None:
            session.settle(response)
            arrival.accept()

        self._in_session(arrival, use)

    def take_batch(self, arrival: AdmittedHttpRequest, messages: list[Message]) -> None:
        self._in_session(arrival, lambda it: self._batch_in(arrival, it, messages))

    def listen(self, arrival: AdmittedHttpRequest) -> None:
        """Serve a GET: announcements of a session, or an interrupted stream."""
        last = arrival.head.request.fields.get("last-event-id", "")
        if last:
            self._in_session(arrival, lambda it: self._find_stream(arrival, it, last))
        else:
            self._in_session(arrival, lambda it: self._announce_to(arrival, it))

    def end(self, arrival: AdmittedHttpRequest) -> None:
        """Serve a DELETE: end the session."""

        def use(session: HttpSession) -> None:
            ending = self.sessions.end(session)
            self._endpoint.after(
                ending,
                lambda: arrival.exchange.reply(b"", status=204, headers=arrival.head.lines),
            )

        self._in_session(arrival, use)

    def _in_session(self, arrival: AdmittedHttpRequest, use: Callable[[HttpSession], None]) -> None:
        """Call `use` with the session of a request, or refuse the request."""
        found = self._find(arrival, UNSET)
        if found is not None:
            self._use(arrival, found, use, UNSET)

    def _find(
        self, arrival: AdmittedHttpRequest, id: Any
    ) -> HttpSession | Awaitable[HttpSession | None] | None:
        """Return the session of a request, or an awaitable of the session.

        None if there is no such session; then the request has been refused.
        """
        version, session_id = arrival.head.version, arrival.head.session_id
        if version is not None and version not in HANDSHAKE_VERSIONS:
            # 2025-06-18, transports: an invalid or unsupported version is answered 400. A
            # supported version that was not negotiated is harmless, and accepted.
            arrival.refuse(400, unsupported_version(version), id)
            return None
        if session_id is None:
            arrival.refuse(400, missing_session(), id)
            return None
        found = self.sessions.find(session_id, arrival.principal)
        if found is None or type(found) is HttpSession:
            return self._owned(found, arrival, id)
        return found

    def _use(
        self,
        arrival: AdmittedHttpRequest,
        found: HttpSession | Awaitable[HttpSession | None],
        use: Callable[[HttpSession], None],
        id: Any,
    ) -> None:
        if isinstance(found, HttpSession):
            use(found)
            return

        def late(session: HttpSession | None) -> None:
            if self._owned(session, arrival, id) is not None:
                use(cast(HttpSession, session))

        self._endpoint.then(found, late, arrival.exchange)

    def _owned(
        self, session: HttpSession | None, arrival: AdmittedHttpRequest, id: Any
    ) -> HttpSession | None:
        """Return the session of a request, after storing the caller's newest token in it.

        If `session` is None, because the caller has no such session, refuse the request and return
        None.
        """
        if session is None:
            # 2025-11-25, transports: unknown and ended sessions are 404. So are sessions of other
            # principals, because the caller must not learn that they exist.
            arrival.refuse(404, no_such_session(self._endpoint.server.codes), id)
        else:
            session.owner = arrival.principal  # with the newest token
        return session

    # Messages

    def _initialize(
        self, arrival: AdmittedHttpRequest, id: Id | UnsetType, method: str, params: Any
    ) -> None:
        if id is UNSET:
            arrival.refuse(400, invalid("initialize is a request"))
            return

        def begin(has_room: bool) -> None:
            if not has_room:
                arrival.refuse(503, too_many_sessions(), id, _RETRY)
                return
            self._endpoint.pulse.start()
            session = HttpSession(
                self._endpoint, self.sessions, new_id(), arrival.principal, self.others
            )
            call = InitializeCall(
                session, session.state, arrival.principal, PostResponse(session, arrival), id
            )
            self._serve(call, method, params)

        room = self.sessions.has_room(arrival.principal)
        self._endpoint.then(room, begin, arrival.exchange)

    def _take_in(
        self,
        arrival: AdmittedHttpRequest,
        session: HttpSession,
        id: Id | UnsetType,
        method: str,
        params: Any,
    ) -> None:
        if id is UNSET:
            self._hear(arrival, session, method, params)
            self._endpoint.after(self.sessions.save(session), arrival.accept)
        elif session.serves(id):
            arrival.refuse(400, self._endpoint.request_error("id_conflict"), id)
        else:
            post = PostResponse(session, arrival)
            call = SessionCall(session, session.state, arrival.principal, post, id)
            self._serve(call, method, params)

    def _serve(self, call: SessionCall, method: str, params: Any) -> None:
        call.register()
        call.begin(self._endpoint.dispatcher.serve(call.id, method, params, call))

    def _hear(
        self, arrival: AdmittedHttpRequest, session: HttpSession, method: str, params: Any
    ) -> None:
        source = NotificationSource(SessionLink(session, session.state, arrival.principal), arrival)
        self._endpoint.dispatcher.serve(UNSET, method, params, source)

    # Batches

    def _batch_in(
        self, arrival: AdmittedHttpRequest, session: HttpSession, messages: list[Message]
    ) -> None:
        version = session.state.version
        if version != V2025_03_26 and not self._batches:
            arrival.refuse(400, invalid(f"{version} has no batches"))
            return
        requests = self._requests_in(arrival, session, messages)
        if not requests:
            self._endpoint.after(self.sessions.save(session), arrival.accept)
            return
        post = PostResponse(session, arrival, len(requests), is_batch=True)
        calls = []
        for place, request in enumerate(requests):
            if isinstance(request, bytes):
                post.answered(place, request)
            else:
                call = SessionCall(
                    session, session.state, arrival.principal, post, request.id, place
                )
                call.register()
                calls.append((call, request))
        for call, request in calls:
            serve = self._endpoint.dispatcher.serve
            call.begin(serve(call.id, request.method, request.params, call))

    def _requests_in(
        self, arrival: AdmittedHttpRequest, session: HttpSession, messages: list[Message]
    ) -> list[Request | bytes]:
        """Return the requests of a batch, with encoded errors in place of invalid items.

        Notifications and answers in the batch are handled immediately.
        """
        requests: list[Request | bytes] = []
        used: set[Id] = set()
        for message in messages:
            match message:
                case Request(id=id):
                    refused = self._endpoint.refused_id(
                        id, lambda id: id in used or session.serves(id)
                    )
                    requests.append(message if refused is None else refused)
                    used.add(id)
                case Notification(method=method, params=params):
                    self._hear(arrival, session, method, params)
                case Invalid(response=False):
                    requests.append(self._endpoint.refused(message))
                case _:
                    session.settle(message)
        return requests

    # Streams

    def _announce_to(
        self,
        arrival: AdmittedHttpRequest,
        session: HttpSession,
        missed: Sequence[Event] = (),
        of: int = 0,
    ) -> None:
        """Send the session's announcements to this client from now on.

        `missed` are events that the client has not received on an earlier stream; `of` is the
        number of that stream. These events are sent first.
        """
        self._endpoint.then(
            self.sessions.listens(session),
            lambda _: self._connect_announcements(arrival, session, missed, of),
            arrival.exchange,
        )

    def _connect_announcements(
        self, arrival: AdmittedHttpRequest, session: HttpSession, missed: Sequence[Event], of: int
    ) -> None:
        connection = arrival.exchange.stream(headers=EVENT_STREAM + arrival.head.lines)
        stream = session.listen()
        arrival.exchange.on_gone = lambda: stream.lost(connection)
        for event in missed:
            connection.write(encode_event(event.data, id=event_id(of, event.number)))
        stream.connect(connection)

    def _find_stream(self, arrival: AdmittedHttpRequest, session: HttpSession, last: str) -> None:
        place = parse_event_id(last)
        if place is None:
            arrival.refuse(400, unknown_event())
            return
        number, after = place

        def resume(missed: MissedEvents) -> None:
            self._resume(arrival, session, number, missed)

        live = None if session.streams is None else session.streams.get(number)
        if live is not None and live.is_at(after):
            resume(())
        else:
            missed = self._endpoint.events.after(session.id, number, after)
            self._endpoint.then(missed, resume, arrival.exchange)

    def _resume(
        self, arrival: AdmittedHttpRequest, session: HttpSession, number: int, found: MissedEvents
    ) -> None:
        if found is None:
            arrival.refuse(400, unknown_event())
            return
        if isinstance(found, OrphanedStream):
            self._announce_to(arrival, session, found.events, number)
            return
        connection = arrival.exchange.stream(headers=EVENT_STREAM + arrival.head.lines)
        stream = session.stream(number)
        arrival.exchange.on_gone = lambda: stream.lost(connection)
        if isinstance(found, RemoteStream):
            stream.reconnect(connection, found.events)
            stop = found.follow(stream.relay)

            def gone() -> None:
                stream.lost(connection)
                stop()

            arrival.exchange.on_gone = gone
            return
        stream.reconnect(connection, found)
        if stream.is_over:
            stream.disconnect()


MAX_MESSAGE_BYTES: Final = 10 * MIB
MAX_STREAMS: Final = 1_000


class LegacySse:
    """The open connections of clients of HTTP+SSE."""

    def __init__(self, endpoint: EndpointState, options: dict[str, Any]) -> None:
        self._endpoint = endpoint
        self._options = options
        self._channels: dict[str, LegacySseChannel] = {}

    def __len__(self) -> int:
        return len(self._channels)

    def open(self, arrival: AdmittedHttpRequest) -> None:
        """Serve a GET: open a connection that lasts as long as its stream."""
        head, exchange = arrival.head, arrival.exchange
        if len(self._channels) >= MAX_STREAMS:
            arrival.refuse(503, too_many_sessions(), headers=b"retry-after: 1\r\n")
            return
        id = secrets.token_urlsafe(32)
        stream = exchange.stream(headers=EVENT_STREAM + head.lines)
        channel = LegacySseChannel(self, id, exchange.channel, stream)
        self._channels[id] = channel
        exchange.on_gone = channel.lost
        peer = Peer(
            channel, self._endpoint.server.router, limits=self._endpoint.limits, **self._options
        )
        # In later versions headers repeat the body, so that gateways can check requests. These
        # POSTs have no such headers, so they must not carry later versions.
        link = peer.call_state[LINK] = DuplexLink(peer, handshake_only=True)
        channel.link = link
        link.principal = arrival.principal
        self._endpoint.pulse.add(channel)
        # 2024-11-05, transports: first an `endpoint` event with the URI for messages
        path = head.request.path.rstrip("/").removesuffix(SSE_PLACE) + MESSAGES_PLACE + id
        stream.write(encode_event(path.encode(), event="endpoint"))

    def take(self, arrival: AdmittedHttpRequest, body: bytes) -> None:
        """Serve a POST: deliver its message to the client's connection."""
        request = arrival.head.request
        channel = self._channels.get((request.place or "").removeprefix(MESSAGES_PLACE))
        link = None if channel is None else channel.link
        if (
            channel is None
            or link is None
            or owner_of(link.principal) != owner_of(arrival.principal)
        ):
            arrival.refuse(404, no_such_session(self._endpoint.server.codes))
        elif len(body) > MAX_MESSAGE_BYTES:
            reply = self._endpoint.gate.too_large(request, MAX_MESSAGE_BYTES)
            arrival.exchange.reply(reply.body, status=413, headers=arrival.head.json)
        else:
            link.principal = arrival.principal  # with the newest of their tokens
            arrival.accept()
            channel.receive(body)

    def forget(self, channel: LegacySseChannel) -> None:
        self._channels.pop(channel.id, None)
        self._endpoint.pulse.discard(channel)

    def close(self) -> None:
        for channel in tuple(self._channels.values()):
            channel.close()


class LegacySseChannel:
    """The channel to one client of HTTP+SSE; implements `Channel`."""

    __slots__ = ("_among", "_info", "_receiver", "_stream", "id", "link")

    writable = True

    def __init__(
        self,
        among: LegacySse,
        id: str,
        info: ChannelInfo,
        stream: Stream,
    ) -> None:
        self._among = among
        self._info = ChannelInfo(scheme=info.scheme, address=info.address)
        self._stream = stream
        self._receiver: Receiver | None = None
        self.id = id
        self.link: DuplexLink | None = None
        """The link to the client, with its principal."""

    @property
    def info(self) -> ChannelInfo:
        return self._info

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def receive(self, data: bytes) -> None:
        if self._receiver is not None:
            self._receiver.message_received(data)

    def send(self, data: bytes) -> None:
        if self._receiver is not None:
            self._stream.write(encode_event(data, event="message"))

    def close(self) -> None:
        self._stream.close()
        self.lost()

    abort = close

    def beat(self) -> None:
        owner = None if self.link is None else self.link.principal
        if owner is not None and owner.has_expired:
            self.close()
        else:
            self._stream.write(KEEP_ALIVE)

    def lost(self) -> None:
        """Report to the receiver that the client is gone."""
        self._among.forget(self)
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.connection_lost(None)
