"""Gives each request its way to ask the client, by its era."""

from __future__ import annotations

from collections.abc import Sequence

from accord.mcp.protocol.codes import Profile
from accord.mcp.protocol.params import AnswerableParams
from accord.mcp.protocol.versions import Era
from accord.mcp.server.asking import Asking, Requests, Rounds
from accord.mcp.server.elicitations import Elicitations
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.request_state import StateSeal


class Asker:
    """Shared state of the input requests of one server."""

    def __init__(
        self,
        *,
        profile: Profile,
        timeout: float | None,
        state_keys: Sequence[bytes],
        state_seconds: float,
    ) -> None:
        self.elicitations = Elicitations()
        self.profile: Profile = profile
        self.timeout = timeout
        self._has_keys = bool(state_keys)
        self._state_seconds = state_seconds
        self._seal = StateSeal(state_keys, seconds=state_seconds)

    def share_key(self, key: bytes) -> None:
        """Seal by the key that all processes share, unless keys were given."""
        if not self._has_keys:
            self._seal = StateSeal([key], seconds=self._state_seconds)

    def begin(self, incoming: Incoming, params: AnswerableParams) -> Asking:
        """Return the input channel of one request.

        Raises RpcError for state of another request.
        """
        if incoming.era is Era.STATELESS:
            return Rounds(incoming, params, self._seal)
        return Requests(
            incoming,
            profile=self.profile,
            timeout=self.timeout,
            elicitations=self.elicitations,
        )
