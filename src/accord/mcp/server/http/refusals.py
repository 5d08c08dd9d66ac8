"""Why a request is refused, as errors. Pure."""

from __future__ import annotations

from accord.jsonrpc.errors import RpcError, own_error
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.headers import SESSION, VERSION
from accord.mcp.protocol.meta import PROTOCOL_VERSION
from accord.mcp.protocol.versions import STATELESS_VERSIONS, VERSIONS, Era


def missing_version(version: str | None) -> RpcError:
    """Return the error for a stateless request that does not state its version."""
    if version is None:
        return header_mismatch(f"{VERSION} header is missing")
    if version not in STATELESS_VERSIONS:
        return unsupported_version(version)
    message = f"Invalid params: _meta must have '{PROTOCOL_VERSION}'"
    return failure("invalid_meta", message, era=Era.STATELESS)


def unsupported_version(version: str) -> RpcError:
    return failure(
        "unsupported_protocol_version",
        "Unsupported protocol version",
        era=Era.STATELESS,
        supported=list(VERSIONS[::-1]),
        requested=version[:100],
    )


def header_mismatch(why: str) -> RpcError:
    return failure("header_mismatch", f"Header mismatch: {why}", era=Era.STATELESS)


def invalid(why: str) -> RpcError:
    return own_error("invalid_request", f"Invalid Request: {why}")


def unknown_event() -> RpcError:
    return invalid("nothing can be resumed from this Last-Event-ID")


def missing_session() -> RpcError:
    return invalid(f"the header {SESSION} is missing")


def no_such_session(profile: Profile) -> RpcError:
    message = "Invalid Request: there is no such session"
    return failure("session_not_found", message, era=Era.HANDSHAKE, profile=profile)


def too_many_sessions() -> RpcError:
    return own_error("busy", "there are too many sessions", retryAfter=1)
