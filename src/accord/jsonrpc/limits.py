"""What a peer accepts before it says no. Every limit is on by default.

Pure values: the modules that read them enforce them.
"""

from __future__ import annotations

from msgspec import Struct

KIB = 1024
MIB = 1024 * KIB


class Limits(Struct, frozen=True, kw_only=True):
    """The bounds of one connection; `None` where a field allows it means unlimited."""

    max_message_bytes: int | None = MIB
    """Largest incoming message; a larger one is answered -32012 and skipped."""
    max_depth: int = 128
    """Deepest nesting of arrays and objects in an incoming message."""
    max_batch_items: int = 1_000
    """Most messages in one incoming batch; 0 turns batches off."""
    max_batch_response_bytes: int = 16 * MIB
    """Most bytes in the answer to one batch; answers beyond it become -32012 errors."""
    max_in_flight: int = 1_000
    """Most incoming requests and notifications being handled at once; more are answered -32010."""
    call_seconds: float | None = 300.0
    """How long a handler may take whose method has no deadline of its own; then it is answered
    -32009. Inline methods cannot be stopped."""
    max_pending: int = 10_000
    """Most outgoing calls waiting for an answer; further calls raise `BusyError`."""
    max_queued_bytes: int = 16 * MIB
    """Most bytes waiting to be written; a connection whose reader lags further behind is cut."""
    write_stall_seconds: float = 30.0
    """How long a connection may accept no bytes at all before it is cut."""


class ServerLimits(Struct, frozen=True, kw_only=True):
    """The bounds of a listening server, beside those of each connection."""

    max_connections: int = 10_000
    """Most connections open at once; further ones are closed on arrival."""
    max_header_bytes: int = 16 * KIB
    """HTTP and WebSocket: largest request line plus headers."""
    header_seconds: float = 10.0
    """HTTP and WebSocket: how long a client may take to send its headers."""
    body_seconds: float = 30.0
    """HTTP: how long a client may take to send a body."""
    idle_seconds: float = 75.0
    """HTTP: how long a kept-alive connection may stay silent."""
    max_buffered_bytes: int | None = 12 * MIB
    """Most bytes held for incoming messages, over all connections of the server: while they arrive
    and, over HTTP, until they are answered. A message that does not fit is answered -32010 and
    skipped (HTTP: 503). Messages up to 16 KiB are not counted."""
    message_seconds: float = 30.0
    """Streams and WebSocket: how long one message may take to arrive once its first byte did."""
