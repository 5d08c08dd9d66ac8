"""What the handlers of a server may take: time, room and company. Every limit is on by default.

Pure values: the modules that read them enforce them.
"""

from __future__ import annotations

from msgspec import Struct

from accord.jsonrpc.limits import MIB


class McpLimits(Struct, frozen=True, kw_only=True):
    """The bounds of one server; `None` where a field allows it means unlimited."""

    call_seconds: float | None = 300.0
    """How long a tool, a resource or a prompt may take that has no `timeout` of its own. A call
    that goes on as a task is not bound by it."""
    max_result_bytes: int | None = 8 * MIB
    """How large the result of a tool, a resource or a prompt may be, as it is sent."""
    max_calls_per_session: int = 1_000
    """How many calls of tools one session may have running; more are refused."""
    max_calls_per_tool: int | None = 10_000
    """How many calls of a tool may run that has no `concurrency` of its own."""
    max_subscriptions: int = 10_000
    """How many resources one session, or one request that listens, may subscribe to."""
