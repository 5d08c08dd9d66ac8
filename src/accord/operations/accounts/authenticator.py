"""`TokenAuthenticator`: who calls over MCP, by the same accounts as everywhere else.

The principal of a request has its `Caller` among its claims.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from datetime import datetime
from typing import Any, Final

from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.codec import encode_failure
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.headers import VERSION
from accord.mcp.protocol.versions import era
from accord.mcp.server.auth.authenticator import Refusal
from accord.mcp.server.auth.bearer import BearerAuth
from accord.mcp.server.auth.credentials import Credentials, Malformed, credentials_in
from accord.mcp.server.auth.verifier import UnavailableError as UnverifiableError
from accord.mcp.server.principal import Principal
from accord.operations.accounts.accounts import Accounts
from accord.operations.accounts.addresses import Addresses
from accord.operations.accounts.credentials import bearer
from accord.operations.caller import Caller, client_name
from accord.operations.errors import RateLimitedError, UnauthenticatedError, UnavailableError
from accord.operations.faces.answers import allowance_lines, error_lines
from accord.operations.identifiers import random_hex
from accord.transports.web.app import WebRequest

CALLER: Final = "caller"
"""The claim with the `Caller`."""
ALLOWANCE: Final = "allowance"
"""The claim with the `Allowance` of the caller, once a call was counted."""


class TokenAuthenticator(BearerAuth):
    """An authenticator for access tokens and tokens of login sessions."""

    repeatable = True

    def __init__(self, accounts: Accounts, addresses: Addresses | None = None) -> None:
        self._tokens = _Tokens(accounts, Addresses() if addresses is None else addresses)
        super().__init__(self._tokens)

    def _verify(
        self, token: str, request: WebRequest, channel: ChannelInfo | None
    ) -> Principal | Awaitable[Principal | None]:
        known = self._tokens.identify_now(token, request.fields, channel)
        return self._tokens.identify(token, request.fields, channel) if known is None else known

    def refusal(self, request: WebRequest) -> Refusal | None:
        """Return None: `authenticate` refuses, as it knows the address to record."""
        return None

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | Awaitable[Principal | Refusal]:
        wrong = _wrong_header(request)
        if not wrong:
            known = super().authenticate(request, channel)
            if isinstance(known, Refusal):
                reason = "missing" if credentials_in(request) is None else "malformed"
                self._tokens.refused(reason, request.fields, channel)
            return known
        # As over REST, a malformed header counts as a failed attempt and is recorded.
        found = Credentials("bearer", wrong)
        return self._later(self._tokens.identify(wrong, request.fields, channel), found, request)

    def answer_lines(self, principal: Principal) -> bytes:
        return allowance_lines(principal.claims.get(ALLOWANCE))

    async def _later(
        self, principal: Awaitable[Principal | None], found: Credentials, request: WebRequest
    ) -> Principal | Refusal:
        try:
            return await super()._later(principal, found, request)
        except RateLimitedError as error:
            spoken = era(request.fields.get(VERSION, ""))
            told = failure("rate_limited", error.message, era=spoken, retryAfter=error.retry_after)
            return Refusal(429, error_lines(error), encode_failure(None, told))


class _Tokens:
    """A token verifier backed by the accounts; implements `Verifier`."""

    def __init__(self, accounts: Accounts, addresses: Addresses) -> None:
        self._accounts = accounts
        self._addresses = addresses

    async def verify(self, token: str) -> Principal | None:
        return await self.identify(token, {}, None)

    def identify_now(
        self, token: str, fields: Mapping[str, str], channel: ChannelInfo | None
    ) -> Principal | None:
        """Return the principal of a token without waiting, or None.

        This is the usual case and saves a task. None means that `identify` must be awaited.
        """
        if not self._accounts.may_know_now:
            return None
        caller = self._accounts.caller_now(bearer(token), **self._came(fields, channel))
        return None if caller is None else _principal(caller)

    async def identify(
        self, token: str, fields: Mapping[str, str], channel: ChannelInfo | None
    ) -> Principal | None:
        try:
            caller = await self._accounts.caller(bearer(token), **self._came(fields, channel))
        except UnauthenticatedError:
            return None
        except UnavailableError as error:
            raise UnverifiableError(str(error)) from error
        return _principal(caller)

    def refused(self, reason: str, fields: Mapping[str, str], channel: ChannelInfo | None) -> None:
        """Record a request without a credential that could be verified."""
        self._accounts.refused(reason, **self._came(fields, channel))

    def _came(self, fields: Mapping[str, str], channel: ChannelInfo | None) -> dict[str, Any]:
        return {
            "face": "mcp",
            "client": client_name(fields.get("user-agent", "")),
            "address": self._addresses.client("" if channel is None else channel.address, fields),
            "correlation_id": random_hex(16),
        }


def _wrong_header(request: WebRequest) -> str:
    """Return an `Authorization` header that holds no possible bearer token."""
    found = credentials_in(request)
    if isinstance(found, Credentials) and found.scheme == "bearer":
        return ""
    if isinstance(found, Malformed) and found.in_url:
        return ""
    return request.fields.get("authorization", "")


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
