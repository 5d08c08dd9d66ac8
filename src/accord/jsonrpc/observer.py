"""What an observer of incoming calls is told: the interface for metrics, traces and the like.

Pure: only the shape stands here. Whoever serves the calls tells, whoever implements it
decides what to make of it, and brings a clock if it wants one.

    called ─▶ the handler runs ─▶ ended ─▶ left      an inline method
    called ─▶ the handler starts ─▶ left ─▶ ended    one that runs in a task or a thread

Everything is told on the thread of the event loop that serves the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import UnsetType

from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import RpcError
from accord.jsonrpc.messages import Id

CANCELLED: Final = "cancelled"

Outcome: TypeAlias = int | Literal["cancelled"] | None
"""How a call ended: with an error of this code, given up because its caller went away, or
None if it worked. A notification has the code that a request would have been told."""

MakeContext: TypeAlias = Callable[[str, Id | UnsetType], Context]
"""Makes the context of a call from its method and id; it costs something, so only if needed."""


class Observation(Protocol):
    """One call, as an observer follows it."""

    def ended(self, outcome: Outcome, error: BaseException | None) -> None:
        """The call has come to its end; told once. `error` is what it failed with, if known."""

    def left(self) -> None:
        """The stack in which `called` was told is left; told once, in the same context."""


class Observer(Protocol):
    """Told of every call that comes in, and of what came in and was no call.

    What it raises is logged, and does not concern the call.
    """

    def called(
        self, method: str, id: Id | UnsetType, *, known: bool, context: MakeContext
    ) -> Observation:
        """A call came in: a notification if `id` is UNSET. `known` tells whether there is such
        a method; if not, its name may be anything.

        Context variables that are set here are seen by the handler, however it runs, and have
        to be reset in `left`.
        """

    def batch_received(self, size: int) -> None:
        """A batch of so many messages came in; each call in it is told of by itself."""

    def refused(self, error: RpcError) -> None:
        """Something came in of which no method is known: no JSON, no message, too large."""
