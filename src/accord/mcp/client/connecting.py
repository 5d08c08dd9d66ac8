"""From a target to a conversation: the connection is made, the version agreed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from accord.jsonrpc.errors import ConnectError
from accord.mcp.client.agreement import Agreement
from accord.mcp.client.asked import Asked
from accord.mcp.client.auth_hook import Auth
from accord.mcp.client.conversation import Conversation
from accord.mcp.client.identity import Identity
from accord.mcp.client.inbox import Inbox
from accord.mcp.client.negotiation import begin_as, probe
from accord.mcp.client.target import Target, is_web, open_duplex, options_for
from accord.mcp.client.wire import Wire
from accord.mcp.protocol.params import LogLevel
from accord.mcp.protocol.versions import LATEST, LATEST_HANDSHAKE

PROBE_SECONDS: Final = 5.0
"""How long a server may be silent before a handshake is tried beside the probe."""


class Connecting:
    """How one client gets, and gets back, to its server."""

    def __init__(
        self,
        target: Target,
        identity: Identity,
        inbox: Inbox,
        asked: Asked,
        *,
        mode: Literal["auto", "modern", "legacy"],
        version: str | None,
        headers: Mapping[str, str],
        auth: Auth | None,
        timeout: float | None,
        longest: float | None,
        options: dict[str, Any],
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
            raise ConnectError("HTTP is not spoken here", recoverable=False)
        wire = await open_duplex(self._target, self._inbox.router(), self._options)
        try:
            return wire, await self._agree(wire)
        except BaseException:
            await wire.close()
            raise

    async def _agree(self, wire: Wire) -> Agreement:
        if self._version is not None:
            agreement = await begin_as(wire, self._identity, self._version, timeout=self._timeout)
        else:
            agreement = await probe(
                wire, self._identity, seconds=PROBE_SECONDS, timeout=self._timeout
            )
        return agreement

    async def _renew(self, wire: Wire) -> Agreement:
        return await self._agree(wire)
