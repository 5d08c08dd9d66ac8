"""What is known about a client between `initialize` and the end of its session.

The handshake era only: in the stateless one every request says all of it again.
"""

from __future__ import annotations

from enum import Enum

from accord.mcp.protocol.capabilities import ClientCapabilities
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.params import LogLevel
from accord.mcp.protocol.versions import LATEST_HANDSHAKE


class Phase(Enum):
    """The progress of the handshake (2025-11-25, lifecycle)."""

    NEW = "new"
    """`initialize` has not arrived: only it and `ping` are served."""
    INITIALIZING = "initializing"
    """`initialize` is answered; `notifications/initialized` has not arrived."""
    READY = "ready"


class Session:
    """State of one client between `initialize` and the end of its session.

    Changed only by the methods of the lifecycle.
    """

    __slots__ = (
        "capabilities",
        "client_info",
        "key",
        "log_level",
        "phase",
        "running",
        "subscriptions",
        "version",
    )

    def __init__(self) -> None:
        self.phase = Phase.NEW
        self.key = ""
        """The key of everything that the session owns, such as tasks; empty until needed."""
        self.version: str = LATEST_HANDSHAKE
        self.client_info: Implementation | None = None
        self.capabilities = ClientCapabilities()
        self.log_level: LogLevel | None = None
        """The least severe level that the client wants; None until it chooses."""
        self.running = 0
        """The number of tool calls in flight."""
        self.subscriptions: set[str] = set()
        """URIs of the resources that the client subscribed to."""
