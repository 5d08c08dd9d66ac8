"""What is sent in place of results that are too large."""

from __future__ import annotations

from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.results import (
    CallToolResult,
    GetPromptResult,
    ReadResourceResult,
    Result,
)
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.tool_results import error_result


def too_large(result: Result, size: int, most: int, incoming: Incoming, profile: Profile) -> Result:
    """Return a replacement for a result that is too large.

    Results that do not come from a component are returned as they are. Raises RpcError for results
    that cannot report an error.
    """
    told = f"The result of {size:,} bytes is over the limit of {most:,}"
    if isinstance(result, CallToolResult):
        return error_result(f"{told}. Ask for less.")
    if isinstance(result, ReadResourceResult | GetPromptResult):
        raise failure("content_too_large", told, era=incoming.era, profile=profile, maxSize=most)
    return result
