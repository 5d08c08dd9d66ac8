"""To whom tasks belong."""

from __future__ import annotations

from secrets import token_urlsafe
from typing import Final

from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming

ANYONE: Final = "anyone"
"""Who comes without a name and without a session. Tasks extension, security: then the id of a
task, which nobody can guess, is all that it takes."""
_SESSION: Final = "session "


def owner_of(incoming: Incoming) -> str:
    """Whom a request acts for: a principal, or else a session.

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
    """Whether nobody can ask for the tasks of `owner` any more when a session is over."""
    return owner.startswith(_SESSION)
