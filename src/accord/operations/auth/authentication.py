"""The way from a request to its caller, for every adapter: REST, JSON-RPC, MCP, A2A and pages.

    request ─▶ credentials   parsed once per head, with the origin of the request
            ─▶ caller        the accounts look the token up; a refusal is an exception

An adapter only renders the refusal in its own form. Failed authentications are recorded by the
accounts, whichever adapter they came through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.credentials import (
    Addresses,
    RequestCredentials,
    bearer_in,
    credentials_in,
)
from accord.operations.auth.users import SignedIn
from accord.operations.context import Caller, Face, client_name, new_correlation_id
from accord.operations.logs import masked
from accord.telemetry.observers import current_traceparent
from accord.transports.http.heads import WebRequest

MAX_PLACES: Final = 4_096
"""Maximum number of cached origins of requests.

An origin is the client's address and the use of https. It is derived from the peer of the
connection and from the headers of proxies.
"""
MAX_TRACE: Final = 64
"""Maximum length of a traceparent; in the current version it has 55 characters."""

_CORRELATION: Final = re.compile(r"[A-Za-z0-9._:\-]{1,64}")
# W3C Trace Context, section 3.2: the trace is known by its second part, which is never zero.
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*")


class RequestAuthenticator:
    """Authentication of the requests of one adapter."""

    def __init__(self, accounts: Accounts, face: Face, addresses: Addresses | None = None) -> None:
        """Create an authenticator; `addresses` has the trusted proxies, by default none."""
        self.accounts = accounts
        self._face: Face = face
        # Clients of MCP authenticate with tokens alone, never with the cookie of a page.
        self._takes_cookies = face != "mcp"
        addresses = Addresses() if addresses is None else addresses
        self._has_proxies = addresses.has_proxies

        # Cached, as all requests of a connection have the same address and proxy headers.
        @lru_cache(MAX_PLACES)
        def place(peer: str, scheme: str, forwarded: str, proto: str) -> tuple[str, bool]:
            fields = {"x-forwarded-for": forwarded, "x-forwarded-proto": proto}
            return addresses.client(peer, fields), addresses.is_secure(peer, scheme, fields)

        self._place = place

    def credentials(self, request: WebRequest, channel: ChannelInfo | None) -> RequestCredentials:
        """Return the credentials of a request, with its origin."""
        peer, scheme = ("", "") if channel is None else (channel.address, channel.scheme)
        forwarded, proto = request.once(_forwarded) if self._has_proxies else ("", "")
        address, secure = self._place(peer, scheme, forwarded, proto)
        if not self._takes_cookies:
            presented = request.once(_of_token)
        else:
            presented = request.once(_of_secure_page if secure else _of_page)
        return replace(
            presented,
            face=self._face,
            address=address,
            secure=secure,
            correlation_id=presented.correlation_id or new_correlation_id(),
        )

    def caller_now(self, credentials: RequestCredentials) -> Caller | None:
        """Return the caller if that is possible without waiting, else None.

        None means that `caller` must be awaited, which also raises the errors for invalid tokens.
        """
        accounts = self.accounts
        return accounts.caller_now(credentials) if accounts.may_know_now else None

    async def caller(self, credentials: RequestCredentials) -> Caller:
        """Return the caller with these credentials.

        Raises UnauthenticatedError, ForbiddenError for a missing CSRF token, RateLimitedError and
        ServiceUnavailableError; see `Accounts.caller`.
        """
        caller = await self.accounts.caller(credentials)
        trace = current_traceparent()
        return replace(caller, traceparent=trace) if trace else caller

    def refused(self, reason: str, credentials: RequestCredentials) -> None:
        """Record the refusal of a request whose credentials were not looked up."""
        self.accounts.refused(reason, credentials)

    async def sign_in(
        self, username: str, password: str, credentials: RequestCredentials
    ) -> SignedIn:
        """Begin a session of the client that sent a request, and end its previous one.

        Raises SignInError, RateLimitedError and ServiceUnavailableError; see `Accounts.sign_in`.
        """
        return await self.accounts.sign_in(
            username,
            password,
            face=credentials.face,
            client=credentials.client,
            address=credentials.address,
            correlation_id=credentials.correlation_id,
            previous=credentials,
        )


def correlation_id_of(request: WebRequest) -> str:
    """Return the correlation id of a request: the one its client sent, or a new one."""
    return request.once(_sent_correlation_id) or new_correlation_id()


def _sent_traceparent(fields: Mapping[str, str]) -> str:
    """Return the `traceparent` that a client sent, if valid; else an empty string."""
    trace = fields.get("traceparent", "")
    return trace if trace and _TRACEPARENT.fullmatch(trace) and len(trace) <= MAX_TRACE else ""


def _sent_correlation_id(request: WebRequest) -> str:
    """Return the correlation id or the trace id that a client sent; else an empty string."""
    header = request.fields.get("x-correlation-id", "")
    if header and _CORRELATION.fullmatch(header) and masked(header) == header:
        return header
    trace = request.fields.get("traceparent", "")
    found = _TRACEPARENT.fullmatch(trace) if trace else None
    return "" if found is None else found[1]


# What a head presents: see `WebRequest.once`


def _of_token(request: WebRequest) -> RequestCredentials:
    fields = request.fields
    return RequestCredentials(
        bearer=bearer_in(fields), client=_client(fields), traceparent=_sent_traceparent(fields)
    )


def _of_page(request: WebRequest) -> RequestCredentials:
    return _of_head(request, secure=False)


def _of_secure_page(request: WebRequest) -> RequestCredentials:
    return _of_head(request, secure=True)


def _of_head(request: WebRequest, *, secure: bool) -> RequestCredentials:
    fields = request.fields
    return replace(
        credentials_in(request.method, fields, secure=secure),
        client=_client(fields),
        correlation_id=request.once(_sent_correlation_id),
        traceparent=_sent_traceparent(fields),
    )


def _client(fields: Mapping[str, str]) -> str:
    return client_name(fields.get("user-agent", ""))


def _forwarded(request: WebRequest) -> tuple[str, str]:
    get = request.fields.get
    return get("x-forwarded-for", ""), get("x-forwarded-proto", "")
