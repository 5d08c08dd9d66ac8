"""Listeners for changes: subscribed sessions, and requests of `subscriptions/listen`.

One table serves all eras and transports. A listener is added when a session is ready or a listening
request begins, and removed at its end. Equal changes in one turn of the event loop are announced
once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from accord.mcp.server.session import ClientLink, Principal


class ServerChange(Struct, frozen=True):
    """A change of a list of components, or of the resource at `uri`."""

    method: str
    """The method of the notification that announces the change."""
    uri: str = ""


TOOLS_CHANGED = ServerChange("notifications/tools/list_changed")
PROMPTS_CHANGED = ServerChange("notifications/prompts/list_changed")
RESOURCES_CHANGED = ServerChange("notifications/resources/list_changed")


def updated(uri: str) -> ServerChange:
    """Return the `ServerChange` for new contents of the resource at `uri`."""
    return ServerChange("notifications/resources/updated", uri)


class ChangeListener(Protocol):
    """A listener for changes, which notifies one client."""

    @property
    def principal(self) -> Principal | None:
        """The principal of the client; None for an anonymous client."""

    def hear(self, change: ServerChange) -> None:
        """Notify the client of a change if it has subscribed to such changes.

        Never raises.
        """


class ChangeListeners:
    """All listeners of one server in this process.

    Each listener is called on the event loop that it was added on. `tell` may be called from any
    thread.
    """

    def __init__(self) -> None:
        self._listeners: dict[ChangeListener, asyncio.AbstractEventLoop] = {}
        self._waiting: dict[asyncio.AbstractEventLoop, dict[ServerChange, None]] = {}
        self._lock = threading.Lock()
        self._others: list[Callable[[ServerChange], None]] = []

    def __len__(self) -> int:
        return len(self._listeners)

    def add(self, listener: ChangeListener) -> None:
        self._listeners[listener] = asyncio.get_running_loop()

    def discard(self, listener: ChangeListener) -> None:
        self._listeners.pop(listener, None)

    @property
    def principals(self) -> list[Principal | None]:
        """The principal of each listener."""
        return [listener.principal for listener in self._listeners]

    def silence(self, is_barred: Callable[[Principal | None], bool]) -> None:
        """Remove the listeners of principals who may no longer listen.

        `is_barred` returns true for such a principal.
        """
        for listener in tuple(self._listeners):
            if is_barred(listener.principal):
                self.discard(listener)

    def pass_on(self, tell: Callable[[ServerChange], None]) -> None:
        """Register `tell`, a function that forwards each change.

        It is called at once with every change, in the thread in which the change happens, and
        forwards it to other processes or to an outer server.
        """
        self._others.append(tell)

    def stop_passing_on(self, tell: Callable[[ServerChange], None]) -> None:
        self._others.remove(tell)

    def tell(self, change: ServerChange) -> None:
        """Forward a change, and notify all listeners soon, each on its event loop."""
        for tell in tuple(self._others):
            tell(change)
        self.tell_here(change)

    def tell_here(self, change: ServerChange) -> None:
        """Notify the listeners of this process, without forwarding the change."""
        with self._lock:
            for loop in set(self._listeners.values()):
                waiting = self._waiting.get(loop)
                if waiting is not None:
                    waiting[change] = None
                elif not loop.is_closed():
                    self._waiting[loop] = {change: None}
                    loop.call_soon_threadsafe(self._flush, loop)

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            changes = self._waiting.pop(loop)
        for listener, at in tuple(self._listeners.items()):
            if at is loop:
                for change in changes:
                    listener.hear(change)


def params_of(change: ServerChange) -> dict[str, Any]:
    return {"uri": change.uri} if change.uri else {}


class SessionListener:
    """The listener of a session, for all lists and the subscribed resources."""

    __slots__ = ("_link",)

    def __init__(self, link: ClientLink) -> None:
        self._link = link

    @property
    def principal(self) -> Principal | None:
        return self._link.principal

    def hear(self, change: ServerChange) -> None:
        session = self._link.session
        if session is not None and (not change.uri or change.uri in session.subscriptions):
            self._link.announce(change.method, params_of(change))
