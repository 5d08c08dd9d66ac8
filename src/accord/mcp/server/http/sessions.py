"""The sessions of the handshake era: how many there may be, for how long, and whose they are."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Iterable
from typing import Final, Protocol

from msgspec import Struct

from accord.mcp.server.http.http_session import HttpSession
from accord.mcp.server.principal import Principal, owner_of
from accord.mcp.server.session import Phase


class SessionLimits(Struct, frozen=True, kw_only=True):
    """How many sessions there may be, and for how long."""

    max_sessions: int = 10_000
    """Beyond it the session that was unused for longest makes room."""
    max_per_principal: int = 100
    """The same for each principal; those without one count together, for `max_sessions` only."""
    idle_seconds: float = 1_800.0
    """How long a session may stay unused while nobody listens for its messages."""
    handshake_seconds: float = 60.0
    """How long a client may take to send `notifications/initialized`."""


ID_BYTES: Final = 32
MAX_LOOKED: Final = 100
"""How many sessions are looked at for one that never began."""


def new_id() -> str:
    """2025-11-25, transports: unguessable, and visible ASCII characters only."""
    return secrets.token_urlsafe(ID_BYTES)


class Sessions(Protocol):
    """Where sessions are found."""

    def __len__(self) -> int: ...

    def has_room(self, principal: Principal | None) -> bool | Awaitable[bool]:
        """Whether somebody may begin a session; may end one that is not used for it."""

    def add(self, session: HttpSession) -> None: ...

    def save(self, session: HttpSession) -> Awaitable[None] | None:
        """Keep what a request has changed of a session; before the request is answered."""

    def listens(self, session: HttpSession) -> Awaitable[None] | None:
        """The client listens for announcements here; before it is told that it does."""

    def find(
        self, id: str, principal: Principal | None
    ) -> HttpSession | None | Awaitable[HttpSession | None]:
        """The session, if there is one and it is this principal's."""

    def end(self, session: HttpSession) -> Awaitable[None] | None: ...

    def sweep(self, now: float) -> bool:
        """End those that are too old; whether any are left."""

    def end_all(self) -> None:
        """Nothing is served here any more."""


class MemorySessions:
    """The sessions of this process, the one that was unused for longest first."""

    def __init__(self, limits: SessionLimits | None = None) -> None:
        self._limits = SessionLimits() if limits is None else limits
        # A plain dict is slow to find its first item once many before it have gone.
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
        """Sessions are kept as they are."""

    def listens(self, session: HttpSession) -> None:
        """Nobody else needs to know."""

    def find(self, id: str, principal: Principal | None) -> HttpSession | None:
        session = self._sessions.get(id)
        if session is None or owner_of(session.owner) != owner_of(principal):
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
            patience = limits.idle_seconds if ready else limits.handshake_seconds
            if not session.is_busy and now - session.used > patience:
                self.end(session)
        return bool(self._sessions)

    def end_all(self) -> None:
        for session in tuple(self._sessions.values()):
            self.end(session)

    def _make_room(self, among: Iterable[str]) -> bool:
        """End the session that was unused for longest, one that never began first."""
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
