"""The table of sessions of the handshake era: limits, lifetimes and owners."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Iterable
from typing import Final, Protocol

from msgspec import Struct

from accord.mcp.server.http.http_session import HttpSession, SessionStore
from accord.mcp.server.session import Phase, Principal, owner_of


class SessionLimits(Struct, frozen=True, kw_only=True):
    """Limits on the number and lifetime of sessions."""

    max_sessions: int = 10_000
    """Beyond it the least recently used session is ended."""
    max_per_principal: int = 100
    """The same per principal; anonymous sessions only count for `max_sessions`."""
    idle_seconds: float = 1_800.0
    """Lifetime of an unused session without a listening client."""
    handshake_seconds: float = 60.0
    """Time until a client must send `notifications/initialized`."""


ID_BYTES: Final = 32
MAX_LOOKED: Final = 100
"""The limit of sessions that are searched for one that never became ready."""


def new_id() -> str:
    """Return an unguessable session id of visible ASCII.

    2025-11-25, transports.
    """
    return secrets.token_urlsafe(ID_BYTES)


class Sessions(SessionStore, Protocol):
    """The sessions of one endpoint."""

    def __len__(self) -> int: ...

    def has_room(self, principal: Principal | None) -> bool | Awaitable[bool]:
        """Return whether a principal may begin a session.

        May end an unused session to make room.
        """

    def listens(self, session: HttpSession) -> Awaitable[None] | None:
        """Register that the client listens here, before its stream is opened."""

    def find(
        self, id: str, principal: Principal | None
    ) -> HttpSession | None | Awaitable[HttpSession | None]:
        """Return the session if it exists and belongs to this principal."""

    def end(self, session: HttpSession) -> Awaitable[None] | None: ...

    def sweep(self, now: float) -> bool:
        """End sessions that are too old; return whether any are left."""

    def end_all(self) -> None:
        """End all sessions, because this process stops serving."""


class MemorySessions:
    """The sessions of this process, least recently used first."""

    def __init__(self, limits: SessionLimits | None = None) -> None:
        self._limits = SessionLimits() if limits is None else limits
        # A plain dict is slow to find its first item after many removals at its start.
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        self._owned: dict[str, OrderedDict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def has_room(self, principal: Principal | None) -> bool:
        owner = owner_of(principal)
        if owner is not None:
            own = self._owned.get(owner, ())
            if len(own) >= self._limits.max_per_principal and not self._make_room(own):
                return False
        if len(self._sessions) < self._limits.max_sessions:
            return True
        return self._make_room(self._sessions)

    def add(self, session: HttpSession) -> None:
        self._sessions[session.id] = session
        owner = owner_of(session.owner)
        if owner is not None:
            self._owned.setdefault(owner, OrderedDict())[session.id] = None

    def save(self, session: HttpSession) -> None:
        """Do nothing: sessions stay in memory."""

    def listens(self, session: HttpSession) -> None:
        """Do nothing: there is no other process."""

    def find(self, id: str, principal: Principal | None) -> HttpSession | None:
        session = self._sessions.get(id)
        if session is None:
            return None
        # The same object, or None for anonymous callers, needs no comparison of keys.
        if session.owner is not principal and owner_of(session.owner) != owner_of(principal):
            return None
        session.touch()
        self._sessions.move_to_end(id)
        return session

    def end(self, session: HttpSession) -> None:
        if self._sessions.pop(session.id, None) is None:
            return
        owner = owner_of(session.owner)
        if owner is not None:
            own = self._owned[owner]
            del own[session.id]
            if not own:
                del self._owned[owner]
        session.end()

    def sweep(self, now: float) -> bool:
        limits = self._limits
        for session in tuple(self._sessions.values()):
            ready = session.state.phase is Phase.READY
            timeout = limits.idle_seconds if ready else limits.handshake_seconds
            if not session.is_busy and now - session.used > timeout:
                self.end(session)
        return bool(self._sessions)

    def end_all(self) -> None:
        for session in tuple(self._sessions.values()):
            self.end(session)

    def _make_room(self, among: Iterable[str]) -> bool:
        """End the least recently used session; return False if all are busy.

        One that never became ready is preferred.
        """
        idle: HttpSession | None = None
        for looked, id in enumerate(among):
            session = self._sessions[id]
            if session.is_busy:
                continue
            if session.state.phase is not Phase.READY:
                idle = session
                break
            idle = idle or session
            if looked >= MAX_LOOKED:
                break
        if idle is None:
            return False
        self.end(idle)
        return True
