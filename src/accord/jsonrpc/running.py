"""A request that is being served: where it came from, and how it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, Protocol

from msgspec import Struct, UnsetType

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
    _among: RunningCalls
    seen: Observation | None
    """Who is to be told how this ends; None when nobody is, or has been already."""
    work: Awaitable[Any] | None
    """What the task will await; None once it does."""
    key: object = None
    """Its key among the others, None for itself."""
    deadline: float | None = None
    task: asyncio.Task[None] | None = None
    answered: bool = False
    ended: bool = False
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
            self.leave()
            if isinstance(self.work, Coroutine):
                self.work.close()

    def leave(self) -> None:
        """Be no longer among the calls that run."""
        self.ended = True
        self._among.pop(self if self.key is None else self.key, None)


class RunningCalls(dict[object, Running]):
    """Requests whose handlers have not finished: by id where ids are unique, else by themselves."""

    __slots__ = ()

    def free(self, id: Id) -> None:
        """Let another request have an id."""
        older = self.pop(id)
        older.key = None
        self[older] = older


def origin(source: Source) -> Source:
    """Return the source that a request came from: for an item of a batch, that of the batch."""
    return getattr(source, "batch_source", source)
