"""What a client and a server have agreed on: the version, and what the server can do."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from accord.jsonrpc.errors import own_error
from accord.mcp.protocol.capabilities import ServerCapabilities
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.versions import Era, era


class Agreement(Struct, frozen=True, kw_only=True):
    """The negotiated version, and the server's capabilities, info and instructions."""

    version: str
    capabilities: ServerCapabilities
    server: Implementation | None
    """The server's name and version; optional in 2026-07-28."""
    instructions: str = ""
    """Instructions of the server for a model."""

    @property
    def era(self) -> Era:
        return era(self.version)

    def need(self, feature: str, method: str) -> None:
        """Raise capability_not_supported (-32004) unless the server declares `feature`."""
        if getattr(self.capabilities, feature) is None:
            raise lacking(feature, method)

    def need_subscribing(self) -> None:
        """Raise the same error unless the server sends notifications of resource updates."""
        self.need("resources", "resources/subscribe")
        if self.capabilities.resources is not None and not self.capabilities.resources.subscribe:
            raise lacking("resources.subscribe", "resources/subscribe")

    def need_extension(self, name: str, method: str) -> None:
        if name not in (self.capabilities.extensions or {}):
            raise lacking(f"extensions.{name}", method)

    @property
    def runs_tools_as_tasks(self) -> bool:
        """Return whether tool calls may become tasks (2025-11-25, tasks: capabilities)."""
        requests = (self.capabilities.tasks or {}).get("requests")
        tools = requests.get("tools") if isinstance(requests, dict) else None
        return isinstance(tools, dict) and "call" in tools


def lacking(feature: str, method: str) -> Exception:
    """Return the error of a call to a feature that the server does not declare."""
    details: dict[str, Any] = {"capability": feature, "method": method}
    return own_error(
        "capability_not_supported", f"the server does not declare {feature}: {method}", **details
    )
