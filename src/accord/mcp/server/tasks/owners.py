"""To whom tasks belong."""

from __future__ import annotations

from secrets import token_urlsafe
from typing import Final

from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming

ANYONE: Final = "anyone"
"""The owner of an anonymous caller's tasks outside of a session. Tasks extension, security: then
knowledge of a task's unguessable id is sufficient."""
_SESSION: Final = "session "


def owner_of(incoming: Incoming) -> str:
    """Return the owner of a request's tasks: a principal, or else a session.

    2025-11-25, tasks, access control: a task belongs to the authorization that it was made with.
    """
    link = incoming.link
    if link.principal is not None:
        return "principal " + link.principal.key
    if incoming.era is Era.HANDSHAKE and link.session is not None:
        if not link.session.key:
            link.session.key = token_urlsafe(24)
        return _SESSION + link.session.key
    return ANYONE


def ends_with_session(owner: str) -> bool:
    """Return whether the tasks of `owner` become unreachable with its session."""
    return owner.startswith(_SESSION)
