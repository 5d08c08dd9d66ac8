"""Who hears of changes: sessions that subscribed, and requests that listen.

One place knows everybody who is to be told, whatever the era and transport. Listeners come
when a session is ready or a client begins to listen, and go with it.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct


class Change(Struct, frozen=True):
    """Something that changed: a list, or the resource at `uri`."""

    method: str
    """The notification that tells of it."""
    uri: str = ""


TOOLS_CHANGED = Change("notifications/tools/list_changed")
PROMPTS_CHANGED = Change("notifications/prompts/list_changed")
RESOURCES_CHANGED = Change("notifications/resources/list_changed")


def updated(uri: str) -> Change:
    """The resource at `uri` has new contents."""
    return Change("notifications/resources/updated", uri)


class Listener(Protocol):
    """Someone who may want to hear of a change."""

    def hear(self, change: Change) -> None:
        """Tell the client if it asked for changes of this kind. Never raises."""


class Listeners:
    """All that are to be told of the changes of one server, in this process."""

    def __init__(self) -> None:
        self._listeners: dict[Listener, None] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    def add(self, listener: Listener) -> None:
        self._listeners[listener] = None

    def discard(self, listener: Listener) -> None:
        self._listeners.pop(listener, None)

    def tell(self, change: Change) -> None:
        for listener in tuple(self._listeners):
            listener.hear(change)


def params_of(change: Change) -> dict[str, Any]:
    return {"uri": change.uri} if change.uri else {}
