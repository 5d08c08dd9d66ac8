"""The way back to the client for the handler of a task, whose request has been answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from accord.jsonrpc.errors import own_error
from accord.mcp.protocol.params import RequestId
from accord.mcp.protocol.versions import Era
from accord.mcp.server.link import Link
from accord.mcp.server.tasks.wire import related

T = TypeVar("T")


class TaskLink:
    """The link of a task to its client; implements `ClientLink`."""

    __slots__ = ("_era", "_id", "_link", "principal", "session")

    def __init__(self, link: Link, id: str, era: Era) -> None:
        self._link = link
        self._id = id
        self._era = era
        self.session = link.session
        self.principal = link.principal

    def notify(self, method: str, params: Any) -> None:
        # Tasks extension, status notifications: tasks have neither progress nor messages.
        if self._era is Era.HANDSHAKE:
            self._link.announce(method, related(params, self._id))

    def announce(self, method: str, params: Any) -> None:
        self._link.announce(method, params)

    def at_end(self, callback: Callable[[], None]) -> None:
        self._link.at_end(callback)

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        raise own_error("internal_error", "the questions of a task wait to be fetched")

    def cancel(self, id: RequestId) -> None:
        self._link.cancel(id)

    def close_stream(self) -> None:
        """Do nothing: the request has been answered."""
