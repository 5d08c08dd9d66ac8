"""What the handlers of a server may take: time, room and company. Every limit is on by default.

Pure values: the modules that read them enforce them.
"""

from __future__ import annotations

from msgspec import Struct

from accord.jsonrpc.limits import MIB


class McpLimits(Struct, frozen=True, kw_only=True):
    """The limits of one server; `None` means unlimited where a field allows it."""

    call_seconds: float | None = 300.0
    """Time limit of a tool, a resource or a prompt without `timeout`. It does not apply to calls
    that continue as tasks."""
    max_result_bytes: int | None = 8 * MIB
    """Size limit of an encoded result of a tool, a resource or a prompt."""
    max_calls_per_session: int = 1_000
    """Limit of concurrent tool calls per session; more are refused."""
    max_calls_per_tool: int | None = 10_000
    """Limit of concurrent calls of a tool without `concurrency`."""
    max_subscriptions: int = 10_000
    """Limit of resource subscriptions per session, or per listening request."""
