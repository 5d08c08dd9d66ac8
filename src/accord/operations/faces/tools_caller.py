"""Who calls over MCP: `TokenAuthenticator` finds out, operations are run as that caller.

The principal of a request has its `Caller` among its claims.
"""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.codec import encode_failure
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.headers import VERSION
from accord.mcp.protocol.messages import failure
from accord.mcp.protocol.versions import era
from accord.mcp.server.auth.authenticator import (
    MalformedCredentials,
    PresentedToken,
    Refusal,
    credentials_in,
)
from accord.mcp.server.auth.bearer import BearerAuth
from accord.mcp.server.auth.verifier import UnavailableError as UnverifiableError
from accord.mcp.server.context import Context
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.session import Principal
from accord.operations.accounts.accounts import Accounts
from accord.operations.accounts.addresses import Addresses
from accord.operations.accounts.authentication import RequestAuthenticator
from accord.operations.accounts.credentials import Credentials, bearer
from accord.operations.caller import Caller, client_name
from accord.operations.errors import (
    RateLimitedError,
    ServiceError,
    UnauthenticatedError,
    UnavailableError,
)
from accord.operations.faces.answers import allowance_lines, error_lines
from accord.operations.identifiers import new_id
from accord.operations.limiter import Allowance
from accord.operations.operation import Operation
from accord.operations.outcome import Outcome
from accord.operations.runner import Arguments, Runner
from accord.telemetry.current import current_traceparent
from accord.transports.http.request import WebRequest

CALLER: Final = "caller"
"""The claim with the `Caller`."""
ALLOWANCE: Final = "allowance"
"""The claim with the `Allowance` of the caller, once a call was counted."""

_BEARER: Final = PresentedToken("bearer", "")
"""How refused tokens were presented, for the challenge."""


class TokenAuthenticator(BearerAuth):
    """An authenticator for access tokens and tokens of login sessions.

    The accounts decide, by the way of every other adapter; the refusals are those of `BearerAuth`.
    """

    repeatable = True

    def __init__(self, accounts: Accounts, addresses: Addresses | None = None) -> None:
        self._authenticator = RequestAuthenticator(accounts, "mcp", addresses)
        self._tokens = _Tokens(self._authenticator)
        super().__init__(self._tokens)

    def refusal(self, request: WebRequest) -> Refusal | None:
        """Return None: `authenticate` refuses, as it knows the address to record."""
        return None

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | Awaitable[Principal | Refusal]:
        credentials = self._authenticator.credentials(request, channel)
        in_url = request.once(_token_in_url)
        if in_url is not None or not credentials.bearer:
            self._authenticator.refused("missing" if in_url is None else "malformed", credentials)
            return self._refuse(in_url, request)
        caller = self._authenticator.caller_now(credentials)
        if caller is not None:
            return _principal(caller)
        return self._later(self._tokens.identify(credentials), _BEARER, request)

    def answer_lines(self, principal: Principal) -> bytes:
        return allowance_lines(principal.claims.get(ALLOWANCE))

    async def _later(
        self, principal: Awaitable[Principal | None], found: PresentedToken, request: WebRequest
    ) -> Principal | Refusal:
        try:
            return await super()._later(principal, found, request)
        except RateLimitedError as error:
            spoken = era(request.fields.get(VERSION, ""))
            told = failure("rate_limited", error.message, era=spoken, retryAfter=error.retry_after)
            return Refusal(429, error_lines(error), encode_failure(None, told))


class _Tokens:
    """A token verifier backed by the accounts; implements `Verifier`."""

    def __init__(self, authenticator: RequestAuthenticator) -> None:
        self._authenticator = authenticator

    async def verify(self, token: str) -> Principal | None:
        return await self.identify(replace(bearer(token), face="mcp"))

    async def identify(self, credentials: Credentials) -> Principal | None:
        try:
            return _principal(await self._authenticator.caller(credentials))
        except UnauthenticatedError:
            return None
        except UnavailableError as error:
            raise UnverifiableError(str(error)) from error


def _token_in_url(request: WebRequest) -> MalformedCredentials | None:
    found = credentials_in(request) if request.query else None
    return found if isinstance(found, MalformedCredentials) and found.in_url else None


def _principal(caller: Caller) -> Principal:
    return Principal(
        subject=caller.user_id,
        client_id=caller.token_id,
        scopes=caller.scopes,
        claims={CALLER: caller},
        expires=_seconds(caller.expires_at),
    )


def _seconds(time: str) -> float:
    """Convert a stored time to seconds since 1970."""
    return datetime.fromisoformat(time).timestamp()


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
        traceparent=current_traceparent() or known.traceparent,
    )


async def run_for(
    incoming: Incoming,
    runner: Runner,
    operation: Operation,
    arguments: Arguments,
    caller: Caller,
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
    return "" if info is None else client_name(f"{info.name}/{info.version}")
