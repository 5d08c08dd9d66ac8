"""`BearerAuth`: bearer tokens over HTTP (RFC 6750) and WebSocket, for any verifier.

A missing, empty or invalid token gives 401, a token in a forbidden place 400, missing scopes 403.
A WebSocket connection is authenticated once, by the headers of its handshake, and ends when the
token that opened it expires.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Final
from urllib.parse import unquote

from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import ChannelInfo, State
from accord.jsonrpc.protocol.errors import RpcError, TransportError, own_error
from accord.jsonrpc.protocol.messages import encode_failure
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.protocol.headers import VERSION
from accord.mcp.protocol.messages import failure
from accord.mcp.protocol.versions import Era, era
from accord.mcp.server.auth.authenticator import (
    Authenticator,
    MalformedCredentials,
    PresentedToken,
    Refusal,
    Scheme,
    UnavailableError,
    Verifier,
    challenge,
    credentials_in,
    is_scope,
    scope_of,
)
from accord.mcp.server.session import LINK, DuplexLink, Principal
from accord.transports.http.heads import Fields, WebRequest
from accord.transports.http.replies import Reply
from accord.transports.http.web_app import JSON
from accord.transports.options import Admit, Verdict

log = logging.getLogger("accord.mcp.auth")

_RETRY: Final = b"retry-after: 5\r\n"
_LIMITED: Final = "This needs permissions that the caller does not have"


class BearerAuth(Authenticator):
    """Authentication by bearer tokens that `verifier` accepts.

    Every caller needs all of `scopes`. `implies` maps a broader scope to the scopes that it
    includes: `{"notes:write": ["notes:read"]}`.
    """

    def __init__(
        self,
        verifier: Verifier,
        *,
        scopes: Iterable[str] = (),
        implies: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        """Raise ValueError for scopes that cannot be sent in a header."""
        self._verifier = verifier
        self._scopes = tuple(dict.fromkeys(scopes))
        self._needed = frozenset(self._scopes)
        self._implied = _closed({} if implies is None else implies)
        for scope in (*self._scopes, *self._implied):
            if not is_scope(scope):
                raise ValueError(f"{scope!r} cannot be a scope: it has a blank, a quote or more")

    # Methods of `Authenticator`

    def refusal(self, request: WebRequest) -> Refusal | None:
        found = request.once(credentials_in)
        return None if isinstance(found, PresentedToken) else self._refuse(found, request)

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | Awaitable[Principal | Refusal]:
        found = request.once(credentials_in)
        if not isinstance(found, PresentedToken):
            return self._refuse(found, request)
        try:
            principal = self._verify(found.token, request, channel)
        except UnavailableError as error:
            return _unavailable(error)
        if isawaitable(principal):
            return self._later(principal, found, request)
        return self._admit(principal, found, request)

    def forbidden(self, scopes: Sequence[str]) -> bytes:
        # 2026-07-28, authorization: one challenge names all scopes that the operation needs
        return self._challenge(
            error="insufficient_scope",
            scope=scope_of((*self._scopes, *scopes)),
            error_description=_LIMITED,
        )

    # Tokens

    def _verify(
        self, token: str, request: WebRequest, channel: ChannelInfo | None
    ) -> Principal | None | Awaitable[Principal | None]:
        return self._verifier.verify(token)

    async def _later(
        self, principal: Awaitable[Principal | None], found: PresentedToken, request: WebRequest
    ) -> Principal | Refusal:
        try:
            return self._admit(await principal, found, request)
        except UnavailableError as error:
            return _unavailable(error)

    def _admit(
        self, principal: Principal | None, found: PresentedToken, request: WebRequest
    ) -> Principal | Refusal:
        if principal is None or not self._is_usable(principal, found, request):
            return self._invalid(found, request)
        if self._implied:
            principal = self._broadened(principal)
        if not self._needed <= principal.scopes:
            error = failure(
                "insufficient_permissions", _LIMITED, era=_era(request), scopes=[*self._scopes]
            )
            return Refusal(403, self.forbidden(()), _body(error))
        return principal

    def _is_usable(self, principal: Principal, found: PresentedToken, request: WebRequest) -> bool:
        return not principal.has_expired and self._is_bound(principal, found, request)

    def _is_bound(self, principal: Principal, found: PresentedToken, request: WebRequest) -> bool:
        """Return whether a token is presented as its binding to a key requires.

        This class does not check proofs of possession, so it accepts only tokens that are not bound
        to a key. Subclasses that check such proofs override this method.
        """
        return found.scheme == "bearer" and not principal.claims.get("cnf")

    def _broadened(self, principal: Principal) -> Principal:
        """Return the principal, with all scopes that its own scopes imply added.

        2026-07-28, authorization: a broader scope implies the narrower scopes that it includes.
        """
        implied = self._implied
        more = [implied[scope] for scope in principal.scopes if scope in implied]
        return replace(principal, scopes=principal.scopes.union(*more)) if more else principal

    # Answers to refused requests

    def _refuse(self, found: MalformedCredentials | None, request: WebRequest) -> Refusal:
        if found is None:
            # RFC 6750, section 3.1: a request without credentials gets no error code
            error = failure("authentication_failed", "A token is needed", era=_era(request))
            return Refusal(401, self._challenge(scope=scope_of(self._scopes)), _body(error))
        malformed = own_error("invalid_request", f"Invalid Request: {found.why}")
        header = self._challenge(error="invalid_request", error_description=found.why)
        return Refusal(400, header, _body(malformed))

    def _invalid(self, found: PresentedToken, request: WebRequest) -> Refusal:
        why = "The token is not valid here"
        error = failure("authentication_failed", why, era=_era(request))
        header = self._challenge(
            found.scheme,
            error="invalid_token",
            error_description=why,
            scope=scope_of(self._scopes),
        )
        return Refusal(401, header, _body(error))

    def _challenge(self, scheme: Scheme = "bearer", **parameters: str) -> bytes:
        """Return the `WWW-Authenticate` line for a client that used `scheme`."""
        return challenge("Bearer", **parameters)


def authenticator_of(auth: Authenticator | Verifier) -> Authenticator:
    """Return `auth` if it is an authenticator, or `BearerAuth` around a verifier.

    Raises TypeError for any other value.
    """
    if isinstance(auth, Verifier):
        return BearerAuth(auth)
    if not callable(getattr(auth, "authenticate", None)):
        raise TypeError(
            f"`auth` is a verifier or an authenticator, not {type(auth).__name__}; for fixed "
            "tokens it is StaticTokens({token: name})"
        )
    return auth


def _closed(implies: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """Return the transitive closure of `implies`.

    The result has, for each scope, all scopes that it implies directly or indirectly.
    """
    direct = {scope: frozenset(implied) for scope, implied in implies.items()}
    closed: dict[str, frozenset[str]] = {}
    for scope in direct:
        reached: set[str] = set()
        ahead = [scope]
        while ahead:
            new = direct.get(ahead.pop(), frozenset()) - reached
            reached |= new
            ahead += new
        closed[scope] = frozenset(reached)
    return closed


def _unavailable(error: UnavailableError) -> Refusal:
    log.warning("tokens cannot be verified: %s", error)
    told = own_error("internal_error", "Tokens cannot be verified at the moment")
    return Refusal(503, _RETRY, _body(told))


def _era(request: WebRequest) -> Era:
    return era(request.fields.get(VERSION, ""))


def _body(error: RpcError) -> bytes:
    return encode_failure(None, error)


def admission(auth: Authenticator | Verifier) -> Admit:
    """Return a callback that authenticates WebSocket handshakes with `auth`.

    The callback stores the caller under `principal` in the `details` of the connection's
    `ChannelInfo`.
    """
    authenticator = authenticator_of(auth)

    def admit(target: str, headers: Mapping[str, str]) -> Verdict | Awaitable[Verdict]:
        result = authenticator.authenticate(_request(target, headers))
        return _later(result) if isawaitable(result) else _verdict(result)

    return admit


def belong_to(peer: Peer, principal: Principal) -> None:
    """Make a principal the caller of all requests on a connection.

    The connection is aborted when the principal's token expires.
    """
    link = peer.call_state[LINK] = DuplexLink(peer)
    link.principal = principal
    if principal.seconds_left is None:
        return
    timer = asyncio.get_running_loop().call_later(principal.seconds_left, peer.abort)

    def changed(state: State, _error: TransportError | None) -> None:
        if state is State.CLOSED:
            timer.cancel()

    peer.observe(changed)


async def _later(result: Awaitable[Principal | Refusal | None]) -> Verdict:
    return _verdict(await result)


def _verdict(result: Principal | Refusal | None) -> Verdict:
    if isinstance(result, Refusal):
        return Reply(result.status, JSON + result.headers, result.body)
    return {"principal": result}


def _request(target: str, headers: Mapping[str, str]) -> WebRequest:
    path, _, query = target.partition("?")
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return WebRequest("GET", unquote(path), "", query, Fields(pairs), 0, False)
