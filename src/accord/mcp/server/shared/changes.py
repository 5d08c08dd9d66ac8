"""Changes of lists and resources, told to the clients of all workers."""

from __future__ import annotations

import asyncio
import threading

from accord.mcp.server.listeners import Change, Listeners
from accord.mcp.server.shared.mail import Changed
from accord.mcp.server.shared.worker import Worker


class SharedChanges:
    """Change notifications, forwarded to and from the other workers."""

    def __init__(self, listeners: Listeners, worker: Worker) -> None:
        self._listeners = listeners
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Change, None] = {}
        self._telling = threading.local()
        self._lock = threading.Lock()
        worker.on(Changed, self._hear)

    def begin(self) -> None:
        self._listeners.pass_on(self._pass_on)

    def end(self) -> None:
        self._listeners.stop_passing_on(self._pass_on)

    def _pass_on(self, change: Change) -> None:
        """Queue a change for the other workers, in the thread of the change."""
        if getattr(self._telling, "of_others", False):
            return
        with self._lock:
            is_first = not self._waiting
            self._waiting[change] = None
        if is_first:
            self._loop.call_soon_threadsafe(self._send)

    def _send(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        self._worker.send_all(*(Changed(change.method, change.uri) for change in waiting))

    def _hear(self, changed: Changed) -> None:
        self._telling.of_others = True
        try:
            self._listeners.tell(Change(changed.method, changed.uri))
        finally:
            self._telling.of_others = False
