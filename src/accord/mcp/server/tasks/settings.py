"""How a server keeps tasks."""

from __future__ import annotations

from msgspec import Struct

from accord.mcp.server.tasks.store import TaskStore


class TaskSettings(Struct, frozen=True, kw_only=True):
    """Retention, limits and storage of tasks."""

    ttl_ms: int = 3_600_000
    """Retention of a task from its creation, unless the client asks for another."""
    max_ttl_ms: int = 86_400_000
    """Maximum retention that a client can ask for."""
    poll_ms: int = 1_000
    """Recommended polling interval of clients."""
    max_tasks: int = 10_000
    """Limit of tasks, running or done."""
    max_tasks_per_owner: int = 1_000
    """Limit of tasks per principal, or per session without a principal."""
    store: TaskStore | None = None
    """The store; by default the memory of this process."""


MIN_TTL_MS = 1_000
"""Minimum retention that a client can ask for: a result must remain long enough to be fetched."""
