"""What does the tasks of one kind: agents, tools, methods, operations.

A caller makes one attempt, and knows nothing of tables, retries and limits, which are the
worker's. It tells what came of the attempt by returning or raising:

    Succeeded, Asked              the task is done, or needs input
    Failed                        the other side did its work and failed: definite
    CallError (accord.a2a)        DefiniteError: it failed; UnknownOutcomeError: it may have been
                                  done all the same, and the same message is to be sent again

A caller that is cancelled stops at once, and tells the other side nothing: somebody else may have
the task by then. `cancel` is for that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from accord.workflows.bridge.claimed import ClaimedTask
from accord.workflows.core.definition import Retry


class Succeeded(Struct, frozen=True, kw_only=True):
    """It worked."""

    output: Any = None
    data: Any = None
    artifacts: Any = None


class Failed(Struct, frozen=True, kw_only=True):
    """The other side worked on it and failed, or would not."""

    code: str
    message: str
    details: Any = None
    body: bytes = b""
    """What it answered, for the log; the beginning of it."""


class Asked(Struct, frozen=True, kw_only=True):
    """The other side needs input, for the task that it calls `remote_task`."""

    prompt: Any = None
    remote_task: str
    remote_context: str = ""


Outcome: TypeAlias = Succeeded | Failed | Asked

Progress: TypeAlias = Callable[[str, str], Awaitable[None]]
"""Stores what the other side calls the task that it began, and its context. It is awaited before
anything else is done with the id; what runs after it knows that it is stored. Where somebody else
has the task, or nobody waits for it any more, it does not return."""


class Terms(Struct, frozen=True, kw_only=True):
    """How a target is called."""

    retry: Retry = Retry()
    """For steps that say nothing of it."""
    concurrency: int = 64
    """Tasks under way at once."""
    follows: bool = False
    """Whether the other side gives what it begins an id, without which it cannot be cancelled: a
    request that is under way is waited for then."""
    breaks: bool = True
    """Whether a target that fails again and again is left alone for a while."""


class TaskCaller(Protocol):
    """Does the tasks of one kind."""

    async def terms(self, target: str) -> Terms:
        """How a target is called; asked for often. Raises CallError for one that is unknown."""

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        """Make one attempt, or go on with what an earlier one began. Raises CallError."""

    async def cancel(self, task: ClaimedTask) -> None:
        """Tell the other side that nobody waits for what it began, if it began anything. Raises
        CallError."""
