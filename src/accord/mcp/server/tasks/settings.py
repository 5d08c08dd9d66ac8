"""How a server keeps tasks."""

from __future__ import annotations

from msgspec import Struct

from accord.mcp.server.tasks.store import TaskStore


class TaskSettings(Struct, frozen=True, kw_only=True):
    """How long tasks are kept, how many, and where."""

    ttl_ms: int = 3_600_000
    """How long from its creation a task is kept, unless the client asks for another time."""
    max_ttl_ms: int = 86_400_000
    """The longest that a client gets."""
    poll_ms: int = 1_000
    """How often clients should look."""
    max_tasks: int = 10_000
    """How many tasks there may be, running or done."""
    max_tasks_per_owner: int = 1_000
    """How many of one principal, or of one session without a principal."""
    store: TaskStore | None = None
    """Where they are kept; in the memory of this process by default."""


MIN_TTL_MS = 1_000
"""The shortest that a client gets: what it asked for must be there to be fetched."""
