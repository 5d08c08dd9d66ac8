"""Who a client is and what it can do, in the words of each version."""

from __future__ import annotations

from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.capabilities import (
    ClientCapabilities,
    Elicitation,
    ListFeature,
    Sampling,
)
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.meta import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PROTOCOL_VERSION,
    Meta,
)
from accord.mcp.protocol.params import LogLevel
from accord.mcp.protocol.versions import V2025_06_18, V2025_11_25, Era, era


class Identity:
    """What a client says about itself: once in a handshake, or with every request."""

    def __init__(self, info: Implementation, capabilities: ClientCapabilities) -> None:
        self.info = info
        self._capabilities = capabilities
        self.log_level: LogLevel | None = None
        """The least severe level of the messages that are wanted, where every request says so."""

    def capabilities(self, version: str) -> ClientCapabilities:
        """What this client can do, without what `version` does not know."""
        can = self._capabilities
        if era(version) is Era.STATELESS:
            # 2026-07-28, roots: nobody is told of changed roots any more.
            return replace(can, roots=can.roots and ListFeature())
        if version < V2025_11_25:
            can = replace(
                can, sampling=can.sampling and Sampling(), elicitation=_plain(can, version)
            )
        return replace(can, extensions=None)

    def meta(self, version: str) -> Meta:
        """The `_meta` of a request in the stateless era (2026-07-28, overview)."""
        meta: dict[str, Any] = {
            PROTOCOL_VERSION: version,
            CLIENT_INFO: Raw(encode(self.info)),
            CLIENT_CAPABILITIES: Raw(encode(self.capabilities(version))),
        }
        if self.log_level is not None:
            meta[LOG_LEVEL] = self.log_level
        return meta


def _plain(can: ClientCapabilities, version: str) -> Elicitation | None:
    """Elicitation before it had modes, which came with forms alone."""
    takes_form = can.elicitation is not None and can.elicitation.takes_form
    return Elicitation() if takes_form and version >= V2025_06_18 else None
