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
    """How far the handshake is (2025-11-25, lifecycle)."""

    NEW = "new"
    """`initialize` has not come: only it and `ping` are served."""
    INITIALIZING = "initializing"
    """It was answered; `notifications/initialized` has not come."""
    READY = "ready"


class Session:
    """One client that shakes hands. Changed only by the methods of the lifecycle."""

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
        """What is the session's own, such as its tasks, is found by; empty until needed."""
        self.version: str = LATEST_HANDSHAKE
        self.client_info: Implementation | None = None
        self.capabilities = ClientCapabilities()
        self.log_level: LogLevel | None = None
        """The least severe level that the client wants; None until it says so."""
        self.running = 0
        """How many calls of tools are being served."""
        self.subscriptions: set[str] = set()
        """URIs of resources whose changes the client wants to hear of."""
