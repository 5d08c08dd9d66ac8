"""Pages that users were asked to open, and whom to tell when they are done there."""

from __future__ import annotations

from typing import Final

from accord.mcp.server.link import Link

MAX_OPEN: Final = 10_000
"""How many are remembered; of more, the oldest are forgotten."""


class Elicitations:
    """The open URL elicitations of the handshake era, by id. They go with their sessions."""

    def __init__(self) -> None:
        self._links: dict[str, Link] = {}

    def __len__(self) -> int:
        return len(self._links)

    def remember(self, id: str, link: Link) -> None:
        if id not in self._links:
            link.at_end(lambda: self._forget(id, link))
        self._links[id] = link
        if len(self._links) > MAX_OPEN:
            del self._links[next(iter(self._links))]

    def complete(self, id: str) -> None:
        """Tell the client that asked, and no other, that the user is done. Unknown ids are
        ignored: the client may be gone, or of an era without this notification."""
        link = self._links.pop(id, None)
        if link is not None:
            link.announce("notifications/elicitation/complete", {"elicitationId": id})

    def _forget(self, id: str, link: Link) -> None:
        if self._links.get(id) is link:
            del self._links[id]
