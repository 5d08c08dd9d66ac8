"""Sessions and incoming requests: a client's principal, its state, and the link to it.

The state between `initialize` and the end of a session exists in the handshake era only: in the
stateless era every request repeats it.

A link (`ClientLink`) is what the server knows of the client that has sent a request, and its way to
send messages to that client. A transport stores it under the key `LINK` in the state of each
request's context. A duplex connection has one link for all of its requests, created here; HTTP has
one link per request.

Admission determines the era and the version of a request. An admitted request has all metadata that
its era requires.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Protocol, TypeVar, get_args

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.param_values import (
    REFUSALS,
    DuplicateMemberError,
    MsgspecType,
    ParamsProblem,
    ValueRefusedError,
    check_members,
    invalid_params,
    undecodable,
)
from accord.jsonrpc.methods.router import RequestFault
from accord.jsonrpc.protocol.channel import State
from accord.jsonrpc.protocol.errors import RpcError, TransportError, own_error
from accord.jsonrpc.runtime.calls import decode_result
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.protocol.content import CLIENT_CAPABILITIES, NO_META, PROTOCOL_VERSION, RequestMeta
from accord.mcp.protocol.definitions import ClientCapabilities, Implementation
from accord.mcp.protocol.messages import (
    LogLevel,
    Params,
    Profile,
    RequestId,
    failure,
    request_error,
)
from accord.mcp.protocol.versions import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    STATELESS_VERSIONS,
    VERSIONS,
    Era,
)


class Principal(Struct, frozen=True, kw_only=True):
    """An authenticated caller."""

    subject: str
    """The identifier of the caller, unique among the callers of this server."""
    client_id: str = ""
    """The application that acts for the subject; empty if unknown."""
    scopes: frozenset[str] = frozenset()
    claims: dict[str, Any] = {}
    """The claims of the token."""
    expires: float | None = None
    """Expiry of the token in seconds since 1970; None if it is unknown."""

    @property
    def key(self) -> str:
        """A key of the subject and the application, which stays the same for renewed tokens."""
        return f"{len(self.subject)}:{self.subject}{self.client_id}"

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the token expires; None if its expiry is unknown."""
        return None if self.expires is None else self.expires - time.time()

    @property
    def has_expired(self) -> bool:
        return self.expires is not None and self.expires <= time.time()


def owner_of(principal: Principal | None) -> str | None:
    """Return the owner of objects that a principal creates; None for anonymous callers."""
    return None if principal is None else principal.key


class Phase(Enum):
    """A phase of the handshake (2025-11-25, lifecycle)."""

    NEW = "new"
    """`initialize` has not arrived: only `initialize` and `ping` are served."""
    INITIALIZING = "initializing"
    """`initialize` is answered; `notifications/initialized` has not arrived."""
    READY = "ready"


class Session:
    """The state of one client between `initialize` and the end of its session.

    Only the methods of the lifecycle change it.
    """

    __slots__ = (
        "capabilities",
        "client_info",
        "key",
        "log_level",
        "phase",
        "running",
        "subscriptions",
        "version",
    )

    def __init__(self) -> None:
        self.phase = Phase.NEW
        self.key = ""
        """The owner key of everything that the session owns, such as tasks; empty until it is
        needed."""
        self.version: str = LATEST_HANDSHAKE
        self.client_info: Implementation | None = None
        self.capabilities = ClientCapabilities()
        self.log_level: LogLevel | None = None
        """The least severe level of log messages for the client; None until the client chooses a
        level."""
        self.running = 0
        """The number of tool calls in flight."""
        self.subscriptions: set[str] = set()
        """URIs of the resources that the client subscribed to."""


_ORDER: Final = {level: rank for rank, level in enumerate(get_args(LogLevel))}


def is_wanted(level: LogLevel, least: str) -> bool:
    """Return whether a client gets log messages of `level`.

    `least` is the least severe level that the client has chosen. If it is an unknown level, the
    client gets all messages.
    """
    return _ORDER[level] >= _ORDER.get(least, 0)


T = TypeVar("T")

LINK: Final = "accord.mcp.link"


class ClientLink(Protocol):
    """The link to the client of a request."""

    session: Session | None
    """The client's session; None for a client without one, as over HTTP in the stateless era."""
    principal: Principal | None
    """The authenticated caller; None for an anonymous caller."""

    def notify(self, method: str, params: Any) -> None:
        """Send the client a notification that belongs to the request.

        The notification is dropped if the client is gone.
        """

    def announce(self, method: str, params: Any) -> None:
        """Send the client a notification that belongs to no request."""

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the client's session or connection ends."""

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        """Send a request to the client and wait for its answer.

        Only the handshake era has such requests.
        """

    def cancel(self, id: RequestId) -> None:
        """Cancel another request of the same client."""

    def close_stream(self) -> None:
        """Release the connection that waits for the answer, if the client can resume it.

        Only connections over HTTP in the handshake era can be resumed.
        """


class DuplexLink:
    """The link to the client of a connection that carries messages both ways."""

    __slots__ = ("_peer", "handshake_only", "principal", "session")

    def __init__(self, peer: Peer, *, handshake_only: bool = False) -> None:
        self._peer = peer
        self.session: Session | None = Session()
        self.principal: Principal | None = None
        self.handshake_only = handshake_only
        """True if requests of the stateless era are refused on this connection."""

    def notify(self, method: str, params: Any) -> None:
        self._peer.post(method, params)

    announce = notify

    def at_end(self, callback: Callable[[], None]) -> None:
        def ended(state: State, _error: TransportError | None) -> None:
            if state is State.CLOSED:
                callback()

        self._peer.observe(ended)

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        call = self._peer.begin(method, params, timeout=timeout)
        result: T = decode_result(await call.answer(), into, method)
        return result

    def cancel(self, id: RequestId) -> None:
        self._peer.cancel_incoming(id)

    def close_stream(self) -> None:
        """Do nothing: a duplex connection is not released."""


def link_of(context: Context) -> ClientLink:
    """Return the link of a request; create it for a duplex connection without one."""
    link: ClientLink | None = context.state.get(LINK)
    if link is None:
        assert isinstance(context.peer, Peer)
        link = context.state[LINK] = DuplexLink(context.peer)
    return link


P = TypeVar("P", bound=Params)

NO_PARAMS: Final = b"{}"
"""The params that a request without params is decoded from."""

MAX_KNOWN: Final = 1_024
"""The maximum number of decoded capabilities in the cache."""

BOTH: Final = tuple(Era)
_EARLY: Final = frozenset(("initialize", "ping"))
"""The methods that are allowed before the handshake is complete (2025-11-25, lifecycle)."""
_known_capabilities: dict[bytes, ClientCapabilities] = {}
_decode_capabilities = msgspec.json.Decoder(ClientCapabilities).decode
_decode_info = msgspec.json.Decoder(Implementation).decode


class _OnlyMeta(msgspec.Struct):
    meta: RequestMeta = msgspec.field(name="_meta", default=NO_META)


_decode_meta = msgspec.json.Decoder(_OnlyMeta).decode


class Incoming(msgspec.Struct, eq=False):
    """One request or notification of a client."""

    context: Context
    link: ClientLink
    meta: RequestMeta
    era: Era
    version: str
    shared: Any = None
    """The context that the handler will get, if middleware has needed it before; else None."""
    unfinished: bool = False
    """True if the result must not be encoded yet, because middleware gets it as an object."""

    @property
    def method(self) -> str:
        return self.context.method

    @property
    def capabilities(self) -> ClientCapabilities:
        """The client's capabilities, from the request or the session."""
        raw = self.meta.client_capabilities
        if self.era is Era.STATELESS and isinstance(raw, Raw):
            return _capabilities(bytes(raw))
        return self.link.session.capabilities if self.link.session else ClientCapabilities()

    @property
    def client_info(self) -> Implementation | None:
        """The client's name and version; None if the client does not report them."""
        if self.era is Era.STATELESS:
            return _info(self.meta.client_info)
        return self.link.session.client_info if self.link.session else None


class RequestAdmission:
    """Admission of requests by the rules of their era."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def admit(self, meta: RequestMeta, context: Context) -> Incoming:
        """Return the request with its era, version and link.

        Raises RpcError for an unsupported version, for missing metadata, and for a request before
        the handshake is complete.
        """
        link: ClientLink = context.state.get(LINK) or link_of(context)
        version = meta.protocol_version
        if version is not UNSET:
            if version not in STATELESS_VERSIONS:
                raise self._unsupported(version)
            if isinstance(link, DuplexLink) and link.handshake_only:
                raise self._unsupported(version, HANDSHAKE_VERSIONS)
            if meta.client_capabilities is UNSET:
                raise _missing(CLIENT_CAPABILITIES)
            return Incoming(context, link, meta, Era.STATELESS, version)
        session = link.session
        if session is None:
            raise _missing(PROTOCOL_VERSION)
        if session.phase is not Phase.READY and context.method not in _EARLY:
            raise failure(
                "not_initialized",
                f"{context.method} before the handshake is complete: send initialize, then "
                "notifications/initialized",
                era=Era.HANDSHAKE,
                profile=self._profile,
            )
        return Incoming(context, link, meta, Era.HANDSHAKE, session.version)

    def request_error(self, fault: RequestFault, params: Any, context: Context) -> RpcError:
        """Return the error for a request with an invalid or used id, in the code of its era."""
        era = Era.STATELESS if link_of(context).session is None else Era.HANDSHAKE
        if isinstance(params, bytes | Raw):
            try:
                if _decode_meta(params).meta.protocol_version is not UNSET:
                    era = Era.STATELESS
            except REFUSALS:
                pass  # the id is refused first; what is wrong with the params does not matter
        of = params if isinstance(params, RpcError) else None
        return request_error(fault, era=era, profile=self._profile, of=of)

    def read_refused(
        self,
        kind: type[P],
        data: bytes | Raw,
        context: Context,
        check: Callable[[Incoming], None],
    ) -> P:
        """Return empty params for `null`; raise RpcError for other undecodable params.

        This is called after the decoder has refused `data`. If there are several errors, those in
        the metadata come first, then those that `check` raises for the method, then those of the
        params.
        """
        if bytes(data) == b"null":  # decision 0006: as if they were absent
            data = NO_PARAMS
            try:
                return msgspec.json.decode(data, type=kind)
            except REFUSALS:
                pass
        check(self.admit(self._meta_of(data), context))
        raise _refused(kind, data) from None

    def _meta_of(self, data: Any) -> RequestMeta:
        try:
            return _decode_meta(data).meta
        except REFUSALS:
            raise _refused(_OnlyMeta, data) from None

    def _unsupported(self, version: str, supported: tuple[str, ...] = VERSIONS) -> Exception:
        return failure(
            "unsupported_protocol_version",
            "Unsupported protocol version",
            era=Era.STATELESS,
            supported=list(supported[::-1]),
            requested=version[:100],
        )


def check_era(incoming: Incoming, eras: tuple[Era, ...]) -> None:
    """Raise RpcError for a method that does not exist in the request's era."""
    if incoming.era not in eras:
        raise own_error(
            "method_not_found",
            f"Method not found: {incoming.method} is not in {incoming.version}",
            method=incoming.method,
        )


def check_notification(params: Any) -> None:
    """Raise RpcError if the params of a notification have duplicate members."""
    if params is UNSET:
        return
    try:
        check_members(params)
    except REFUSALS as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> Exception:
    if not isinstance(error, DuplicateMemberError):
        return invalid_params([undecodable("params", "params", "object", error)])
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.path)
    text = "is given twice" if error.path else str(error)
    return invalid_params([ParamsProblem("params", f"params{path}", "one member", "two", text)])


def _refused(kind: Any, data: Any) -> Exception:
    """Return the error for params that cannot be decoded, with paths of problems."""
    try:
        check_members(data)
    except REFUSALS as error:
        return _unreadable(error)
    try:
        MsgspecType(kind).decode(data, "params", "params")
    except ValueRefusedError as refused:
        return invalid_params(refused.problems)
    raise AssertionError("params were refused and accepted")


def _missing(member: str) -> Exception:
    return failure("invalid_meta", f"Invalid params: _meta must have '{member}'", era=Era.STATELESS)


def _capabilities(raw: bytes) -> ClientCapabilities:
    found = _known_capabilities.get(raw)
    if found is None:
        try:
            found = _decode_capabilities(raw)
        except REFUSALS:
            raise _refused(ClientCapabilities, raw) from None
        if len(_known_capabilities) >= MAX_KNOWN:
            _known_capabilities.clear()
        _known_capabilities[raw] = found
    return found


def _info(raw: Raw | UnsetType) -> Implementation | None:
    if raw is UNSET:
        return None
    try:
        return _decode_info(raw)
    except REFUSALS:
        return None
