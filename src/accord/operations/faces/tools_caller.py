"""Who calls over MCP: what the authenticator found out, with what the client says of itself."""

from __future__ import annotations

from msgspec.structs import replace

from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.server.context import Context
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.principal import Principal
from accord.operations.accounts.authenticator import ALLOWANCE, CALLER
from accord.operations.caller import Caller, client_name
from accord.operations.errors import ServiceError
from accord.operations.faces.asking import sent_traceparent
from accord.operations.identifiers import new_id
from accord.operations.operation import Operation
from accord.operations.outcome import Allowance, Outcome
from accord.operations.runner import Arguments, Runner
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


async def run_for(
    incoming: Incoming, runner: Runner, operation: Operation, arguments: Arguments, caller: Caller
) -> Outcome:
    """Run an operation, and keep what the caller has left for the headers of the answer.

    Raises what the runner raises.
    """
    try:
        outcome = await runner.run(operation, arguments, caller)
    except ServiceError as error:
        keep_allowance(incoming, error.allowance)
        raise
    keep_allowance(incoming, outcome.allowance)
    return outcome


def keep_allowance(incoming: Incoming, allowance: Allowance | None) -> None:
    """Keep what a caller has left for the headers of the answer."""
    principal = incoming.link.principal
    if allowance is not None and principal is not None:
        principal.claims[ALLOWANCE] = allowance


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
