"""Pages that users were asked to open, and whom to tell when they are done there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from accord.mcp.server.link import Link
from accord.mcp.server.session import Session

MAX_OPEN: Final = 10_000
"""The limit of remembered elicitations; beyond it the oldest are forgotten."""


class Elicitations:
    """Open URL elicitations of the handshake era, by id.

    They end with their sessions.
    """

    def __init__(self) -> None:
        self._links: dict[str, Link] = {}
        self._sessions: set[Session] = set()
        self.on_unknown: Callable[[str], None] | None = None
        """A callback with the id of an elicitation that another process may know."""

    def __len__(self) -> int:
        return len(self._links)

    def remember(self, id: str, link: Link) -> None:
        session = link.session
        if session is not None and session not in self._sessions:
            self._sessions.add(session)
            link.at_end(lambda: self._forget(session))
        self._links[id] = link
        if len(self._links) > MAX_OPEN:
            del self._links[next(iter(self._links))]

    def complete(self, id: str) -> None:
        """Notify the client that asked that its user has finished.

        Unknown ids are ignored: the client may be gone, or of an era without this notification.
        """
        if not self.complete_here(id) and self.on_unknown is not None:
            self.on_unknown(id)

    def complete_here(self, id: str) -> bool:
        """Notify the client if this process knows the id; return whether it does."""
        link = self._links.pop(id, None)
        if link is not None:
            link.announce("notifications/elicitation/complete", {"elicitationId": id})
        return link is not None

    def _forget(self, session: Session) -> None:
        self._sessions.discard(session)
        for id in [id for id, link in self._links.items() if link.session is session]:
            del self._links[id]
