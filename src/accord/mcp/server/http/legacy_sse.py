"""HTTP+SSE of 2024-11-05: a stream of events to the client, POSTs back.

    GET …/sse            event `endpoint`: the URI to POST to; then an event per message
    POST …/messages/ID   202, and the answer arrives as an event

To the rest of the server this is a duplex connection like any other: a channel with a peer.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

from accord.jsonrpc.protocol.channel import MIB, ChannelInfo, Receiver
from accord.jsonrpc.protocol.framing import KEEP_ALIVE, encode_event
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.server.http.checks import MESSAGES_PLACE, SSE_PLACE, AdmittedRequest
from accord.mcp.server.http.endpoint_state import EndpointState
from accord.mcp.server.http.responses import EVENT_STREAM, no_such_session, too_many_sessions
from accord.mcp.server.session import LINK, DuplexLink, owner_of
from accord.transports.http.web_app import Stream

MAX_MESSAGE_BYTES: Final = 10 * MIB
MAX_STREAMS: Final = 1_000


class LegacySse:
    """The open streams of HTTP+SSE."""

    def __init__(self, endpoint: EndpointState, options: dict[str, Any]) -> None:
        self._endpoint = endpoint
        self._options = options
        self._channels: dict[str, LegacySseChannel] = {}

    def __len__(self) -> int:
        return len(self._channels)

    def open(self, arrival: AdmittedRequest) -> None:
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

    def take(self, arrival: AdmittedRequest, body: bytes) -> None:
        """Serve a POST: deliver a message to one of the connections."""
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
    """One client of HTTP+SSE; implements `Channel`."""

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
        """Report that the client is gone."""
        self._among.forget(self)
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.connection_lost(None)
