"""Wires, which carry the messages of a client: duplex connection, HTTP, memory.

A wire sends requests and notifications of the client; those of the server go to the inbox. This
module also has the name and capabilities that a client declares, and the negotiated agreement.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, Protocol

from msgspec import Raw, Struct
from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits, Receiver
from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.jsonrpc.protocol.messages import Id, encode
from accord.jsonrpc.runtime.calls import Call
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.protocol.content import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PROTOCOL_VERSION,
    Meta,
)
from accord.mcp.protocol.definitions import (
    ClientCapabilities,
    Elicitation,
    Implementation,
    ListFeature,
    SamplingCapability,
    ServerCapabilities,
)
from accord.mcp.protocol.messages import CancelledParams, LogLevel
from accord.mcp.protocol.versions import V2025_06_18, V2025_11_25, Era, era

PING_SECONDS = 30.0

_NOT_CANCELLED = frozenset(("initialize", "server/discover"))
"""Methods whose requests are never cancelled.

`initialize` must not be cancelled (2025-11-25, cancellation). The probe `server/discover` is not
cancelled, because a server without the stateless era expects no notification before a handshake.
"""


class ClientWire(Protocol):
    """The transport of a client's messages; `close` fails all calls in flight."""

    mirrors: bool
    """True if the wire repeats members of params in HTTP headers, which tools may then require."""

    def agreed(self, version: str) -> None:
        """Use the negotiated `version` for all later messages."""

    def begin(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None,
        longest: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Call:
        """Send a request; `headers` repeat members of params, if the wire `mirrors`."""

    async def tell(self, method: str, params: Any) -> None:
        """Send a notification.

        Messages that are sent after this call has returned arrive later.
        """

    async def listening(self) -> None:
        """Wait until the server can send messages that belong to no request.

        Subscriptions of the handshake era call this, so that no notification is missed.
        """

    async def close(self) -> None: ...


class DuplexWire:
    """A wire over one connection that carries messages both ways, in both eras."""

    mirrors = False

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        peer.on_abandoned = self._abandoned

    def agreed(self, version: str) -> None:
        pass

    def begin(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None,
        longest: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Call:
        return self._peer.begin(method, params, timeout=timeout, longest=longest)

    async def tell(self, method: str, params: Any) -> None:
        await self._peer.notify(method, params)

    async def listening(self) -> None:
        # After a round trip all earlier notifications have arrived, such as the end of a handshake.
        try:
            await self._peer.call("ping", {}, timeout=PING_SECONDS)
        except RpcError as error:
            if not error.remote:  # an error of the server is an answer too
                raise

    async def close(self) -> None:
        await self._peer.close(drain=0)

    def _abandoned(self, id: Id, method: str) -> None:
        # 2026-07-28, stdio: there is no stream to close, so a notification cancels the request.
        if method not in _NOT_CANCELLED and isinstance(id, int | str):
            self._peer.post("notifications/cancelled", CancelledParams(request_id=id))


MAX_DIRECT_DELIVERIES: Final = 64
"""The number of messages that are delivered in a row before the event loop runs other tasks."""

_INFO: Final = ChannelInfo(scheme="memory", address="memory:")


class DirectChannel:
    """One end of a connection within this process; implements `Channel`.

    Public members that are not in `Channel` are only for the channel at the other end.
    """

    __slots__ = (
        *("_ended", "_loop", "_most", "_receiver"),
        *("ending", "inbox", "other", "since", "taking"),
    )

    def __init__(self, limits: Limits) -> None:
        self.other: DirectChannel = self
        self._most = limits.max_message_bytes
        self._receiver: Receiver | None = None
        self.inbox: deque[bytes] = deque()
        self.taking = False
        """True while messages are delivered, or while their delivery is scheduled."""
        self.since = 0
        self.ending = self._ended = False
        self._loop = asyncio.get_running_loop()

    @property
    def info(self) -> ChannelInfo:
        return _INFO

    @property
    def writable(self) -> bool:
        return True

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, data: bytes) -> None:
        if self.ending:
            return
        other = self.other
        other.inbox.append(data)
        # A receiver that sends while it receives must not recurse: the loop in `take` that called
        # it delivers the rest.
        if other.taking:
            return
        other.taking = True
        other.since += 1
        if other.since < MAX_DIRECT_DELIVERIES:
            other.take()
        else:
            # Two ends that only answer each other would keep the event loop from all other tasks.
            other.since = 0
            self._loop.call_soon(other.take)

    def close(self) -> None:
        if not self.ending:
            self.ending = self.other.ending = True
            self._loop.call_soon(self.end)
            self._loop.call_soon(self.other.end)

    abort = close

    def take(self) -> None:
        receiver = self._receiver
        assert receiver is not None
        try:
            while self.inbox:
                data = self.inbox.popleft()
                if self._most is None or len(data) <= self._most:
                    receiver.message_received(data)
                else:
                    receiver.message_refused(_too_large(len(data), self._most))
        finally:
            self.taking = False

    def end(self) -> None:
        if not self._ended and self._receiver is not None:
            self._ended = True
            self._receiver.connection_lost(None)


def direct_pair(limits: Limits) -> tuple[DirectChannel, DirectChannel]:
    """Return the two ends of a connection in this process."""
    one, two = DirectChannel(limits), DirectChannel(limits)
    one.other, two.other = two, one
    return one, two


def _too_large(size: int, most: int) -> RpcError:
    return own_error(
        "message_too_large",
        f"message of {size:,} bytes is over the limit of {most:,}",
        maxSize=most,
        unit="bytes",
    )


class ClientIdentity:
    """The name, version, capabilities and log level that a client declares."""

    def __init__(self, info: Implementation, capabilities: ClientCapabilities) -> None:
        self.info = info
        self._capabilities = capabilities
        self.log_level: LogLevel | None = None
        """The least severe level of log messages to request, in the stateless era."""

    def capabilities(self, version: str) -> ClientCapabilities:
        """Return the client's capabilities in the form that `version` defines."""
        can = self._capabilities
        if era(version) is Era.STATELESS:
            # 2026-07-28, roots: notifications of changed roots were removed.
            return replace(can, roots=can.roots and ListFeature())
        if version < V2025_11_25:
            can = replace(
                can,
                sampling=can.sampling and SamplingCapability(),
                elicitation=_plain(can, version),
            )
        return replace(can, extensions=None)

    def meta(self, version: str) -> Meta:
        """Return the `_meta` of a request in the stateless era (2026-07-28, overview)."""
        meta: dict[str, Any] = {
            PROTOCOL_VERSION: version,
            CLIENT_INFO: Raw(encode(self.info)),
            CLIENT_CAPABILITIES: Raw(encode(self.capabilities(version))),
        }
        if self.log_level is not None:
            meta[LOG_LEVEL] = self.log_level
        return meta


def _plain(can: ClientCapabilities, version: str) -> Elicitation | None:
    """Return the elicitation capability for a version that defines forms and no URLs.

    None if `version` has no elicitation, or if the client takes no forms.
    """
    takes_form = can.elicitation is not None and can.elicitation.takes_form
    return Elicitation() if takes_form and version >= V2025_06_18 else None


class Agreement(Struct, frozen=True, kw_only=True):
    """The negotiated version, and the server's capabilities, info and instructions."""

    version: str
    capabilities: ServerCapabilities
    server: Implementation | None
    """The server's name and version; optional in 2026-07-28."""
    instructions: str = ""
    """Instructions of the server for a model."""

    @property
    def era(self) -> Era:
        return era(self.version)

    def need(self, feature: str, method: str) -> None:
        """Raise capability_not_supported (-32004) unless the server declares `feature`."""
        if getattr(self.capabilities, feature) is None:
            raise lacking(feature, method)

    def need_subscribing(self) -> None:
        """Raise capability_not_supported unless the server lets clients watch resources."""
        self.need("resources", "resources/subscribe")
        if self.capabilities.resources is not None and not self.capabilities.resources.subscribe:
            raise lacking("resources.subscribe", "resources/subscribe")

    def need_extension(self, name: str, method: str) -> None:
        if name not in (self.capabilities.extensions or {}):
            raise lacking(f"extensions.{name}", method)

    @property
    def runs_tools_as_tasks(self) -> bool:
        """Return whether tool calls may become tasks (2025-11-25, tasks: capabilities)."""
        requests = (self.capabilities.tasks or {}).get("requests")
        tools = requests.get("tools") if isinstance(requests, dict) else None
        return isinstance(tools, dict) and "call" in tools


def lacking(feature: str, method: str) -> Exception:
    """Return the error for a request whose feature the server does not declare."""
    details: dict[str, Any] = {"capability": feature, "method": method}
    return own_error(
        "capability_not_supported", f"the server does not declare {feature}: {method}", **details
    )
