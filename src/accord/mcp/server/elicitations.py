"""Pages that users were asked to open, and whom to tell when they are done there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from accord.mcp.server.link import Link
from accord.mcp.server.session import Session

MAX_OPEN: Final = 10_000
"""How many are remembered; of more, the oldest are forgotten."""


class Elicitations:
    """The open URL elicitations of the handshake era, by id. They go with their sessions."""

    def __init__(self) -> None:
        self._links: dict[str, Link] = {}
        self._sessions: set[Session] = set()
        self.on_unknown: Callable[[str], None] | None = None
        """Called with the id of one that another process may know of."""

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
        """Tell the client that asked, and no other, that the user is done. Unknown ids are
        ignored: the client may be gone, or of an era without this notification."""
        if not self.complete_here(id) and self.on_unknown is not None:
            self.on_unknown(id)

    def complete_here(self, id: str) -> bool:
        """The same where it is known; whether it is."""
        link = self._links.pop(id, None)
        if link is not None:
            link.announce("notifications/elicitation/complete", {"elicitationId": id})
        return link is not None

    def _forget(self, session: Session) -> None:
        self._sessions.discard(session)
        for id in [id for id, link in self._links.items() if link.session is session]:
            del self._links[id]
