"""A request that is being served: where it came from, and how it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, Protocol

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.context import Context
from accord.jsonrpc.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.method import Method
from accord.jsonrpc.observed import tell_ended
from accord.jsonrpc.observer import CANCELLED, Observation


class Cancellable(Protocol):
    """Something that runs for a caller who may go away."""

    def cancel(self) -> None: ...


class Source(Protocol):
    """Where requests come from."""

    def context(self, method: str, id: Id | UnsetType) -> Context:
        """What the handler of this call may know."""

    def answer(self, data: bytes | None) -> None:
        """Take an answer that was not ready at once; None when there is nothing to say."""

    def settle(self, response: Success | Failure | Invalid) -> None:
        """Take a response, or something that was meant to be one."""


class Running(Struct, eq=False):
    """A request whose handler has not finished."""

    method: Method
    id: Id | UnsetType
    source: Source
    _among: set[Running]
    seen: Observation | None
    """Who is to be told how this ends; None when nobody is, or has been already."""
    work: Awaitable[Any] | None
    """What the task will await; None once it does."""
    deadline: float | None = None
    task: asyncio.Task[None] | None = None
    answered: bool = False
    answer: bytes | None = None

    def take_seen(self) -> Observation | None:
        seen, self.seen = self.seen, None
        return seen

    def cancel(self) -> None:
        """Stop the handler; its caller is gone and is not answered."""
        self.answered = True
        tell_ended(self.take_seen(), CANCELLED)
        if self.task is not None:
            self.task.cancel()
        if self.work is not None:  # a task cancelled before its first step runs no line of its own
            self._among.discard(self)
            if isinstance(self.work, Coroutine):
                self.work.close()


class RunningById(set[Running]):
    """Requests in flight, which can be found by connection and id.

    Expects ids that are strings or integers, unique on each connection.
    """

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        super().__init__()
        self._by_id: dict[tuple[Source, Id | UnsetType], Running] = {}

    def add(self, running: Running) -> None:
        super().add(running)
        if running.id is not UNSET:
            self._by_id[origin(running.source), running.id] = running

    def discard(self, running: object) -> None:
        assert isinstance(running, Running)
        super().discard(running)
        key = origin(running.source), running.id
        if self._by_id.get(key) is running:
            del self._by_id[key]

    def has(self, source: Source, id: Id) -> bool:
        """Return whether a request with this id is in flight on this connection."""
        running = self._by_id.get((origin(source), id))
        # A cancelled handler may still be cleaning up. Its id is free: it is never answered.
        return running is not None and not running.answered


def origin(source: Source) -> Source:
    """Return the source that a request came from: for an item of a batch, that of the batch."""
    return getattr(source, "batch_source", source)
