"""Who calls over MCP: what the authenticator found out, with what the client says of itself."""

from __future__ import annotations

from msgspec.structs import replace

from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.server.context import Context
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.principal import Principal
from accord.operations.accounts.authenticator import CALLER
from accord.operations.caller import Caller, client_name
from accord.operations.faces.asking import sent_traceparent
from accord.operations.identifiers import new_id
from accord.telemetry.current import current_traceparent


def caller_of(context: Context) -> Caller:
    """Raises RpcError where nobody was let in as somebody."""
    return caller_in(context.incoming)


def caller_in(incoming: Incoming) -> Caller:
    """The same, by the request itself."""
    known = known_caller(incoming.link.principal)
    if known is None:
        raise failure("authentication_failed", "A valid token is required", era=incoming.era)
    return replace(
        known,
        face="mcp",
        client=_client(incoming) or known.client,
        correlation_id=known.correlation_id or new_id(),
        traceparent=current_traceparent() or sent_traceparent(incoming.context.headers),
    )


def introduced(client: Implementation) -> Implementation:
    """How a client introduces itself, as it can be written down."""
    return Implementation(name=client_name(client.name), version=client_name(client.version))


def known_caller(principal: Principal | None) -> Caller | None:
    """Whom an authenticator let in."""
    known = None if principal is None else principal.claims.get(CALLER)
    return known if isinstance(known, Caller) else None


def _client(incoming: Incoming) -> str:
    info = incoming.client_info
    if info is None:
        return client_name(incoming.context.headers.get("user-agent", ""))
    return client_name(f"{info.name}/{info.version}")
