"""From a target to a conversation: the connection is made, the version agreed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from accord.jsonrpc.limits import Limits
from accord.mcp.client.agreement import Agreement
from accord.mcp.client.auth_hook import Auth
from accord.mcp.client.conversation import Conversation
from accord.mcp.client.identity import Identity
from accord.mcp.client.inbox import Inbox
from accord.mcp.client.input_requests import InputHandlers
from accord.mcp.client.negotiation import begin_as, probe, shake_hands
from accord.mcp.client.target import Target, is_web, open_duplex, options_for
from accord.mcp.client.wire import Wire
from accord.mcp.protocol.params import LogLevel
from accord.mcp.protocol.versions import LATEST, LATEST_HANDSHAKE
from accord.transports.options import TransportOptions


class ClientTransportOptions(TransportOptions, total=False):
    """The options of a client's transport, as keywords."""

    limits: Limits


class Connecting:
    """How one client gets, and gets back, to its server."""

    def __init__(
        self,
        target: Target,
        identity: Identity,
        inbox: Inbox,
        asked: InputHandlers,
        *,
        mode: Literal["auto", "modern", "legacy"],
        version: str | None,
        headers: Mapping[str, str],
        auth: Auth | None,
        timeout: float | None,
        longest: float | None,
        probe_seconds: float,
        options: ClientTransportOptions,
        credentials_changed: Callable[[], None],
    ) -> None:
        self._target = target
        self._identity = identity
        self._inbox = inbox
        self._asked = asked
        self._version = version or {"modern": LATEST, "legacy": LATEST_HANDSHAKE}.get(mode)
        """The version to speak; None to find it out."""
        self._headers = headers
        self._auth = auth
        self._timeout = timeout
        self._longest = longest
        self._probe_seconds = probe_seconds
        self._options = options_for(target, {**options, "headers": headers})
        self._credentials_changed = credentials_changed
        self.log_level: LogLevel | None = None
        """What a new session is told."""

    async def connect(self) -> Conversation:
        """Raises ConnectError, or what the server says."""
        wire, agreement = await self._reach()
        return Conversation(
            wire,
            agreement,
            self._identity,
            self._inbox,
            self._asked,
            timeout=self._timeout,
            longest=self._longest,
            renew=self._renew,
        )

    async def _reach(self) -> tuple[Wire, Agreement]:
        if is_web(self._target):
            return await self._reach_web(self._target)
        wire = await open_duplex(self._target, self._inbox.router(), self._options)
        try:
            return wire, await self._agree(wire)
        except BaseException:
            await wire.close()
            raise

    async def _reach_web(self, url: str) -> tuple[Wire, Agreement]:
        from accord.mcp.client.http.endpoint import Endpoint
        from accord.mcp.client.http.reaching import reach

        def make_endpoint() -> Endpoint:
            return Endpoint(
                url,
                headers=self._headers,
                auth=self._auth,
                options=self._options,
                credentials_changed=self._credentials_changed,
            )

        return await reach(
            make_endpoint,
            self._inbox.router(),
            self._identity,
            version=self._version,
            timeout=self._timeout,
            limits=self._options.limits,
        )

    async def _agree(self, wire: Wire) -> Agreement:
        if self._version is not None:
            return await begin_as(wire, self._identity, self._version, timeout=self._timeout)
        return await probe(wire, self._identity, seconds=self._probe_seconds, timeout=self._timeout)

    async def _renew(self, wire: Wire) -> Agreement:
        """Begin a new session in place of one that is gone."""
        version = self._version or LATEST_HANDSHAKE
        agreement = await shake_hands(wire, self._identity, version, timeout=self._timeout)
        if self.log_level is not None:
            params = {"level": self.log_level}
            await wire.begin("logging/setLevel", params, timeout=self._timeout).answer()
        return agreement
