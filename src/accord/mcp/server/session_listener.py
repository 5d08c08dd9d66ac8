"""A session of the handshake era that hears of changes."""

from __future__ import annotations

from accord.mcp.server.link import Link
from accord.mcp.server.listeners import Change, params_of
from accord.mcp.server.principal import Principal


class SessionListener:
    """The listener of a session: all lists, and the subscribed resources."""

    __slots__ = ("_link",)

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def principal(self) -> Principal | None:
        return self._link.principal

    def hear(self, change: Change) -> None:
        session = self._link.session
        if session is not None and (not change.uri or change.uri in session.subscriptions):
            self._link.announce(change.method, params_of(change))
