"""Authentication of WebSocket connections, once, by the headers of the handshake.

The connection ends when the token that opened it expires.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from urllib.parse import unquote

from accord.jsonrpc.errors import TransportError
from accord.jsonrpc.peer import Peer
from accord.jsonrpc.states import State
from accord.mcp.server.auth.authenticator import Authenticator, Refusal
from accord.mcp.server.auth.bearer import authenticator_of
from accord.mcp.server.auth.verifier import Verifier
from accord.mcp.server.link import LINK, DuplexLink
from accord.mcp.server.principal import Principal
from accord.transports.http.fields import Fields
from accord.transports.http.replies import Reply
from accord.transports.options import Admit, Verdict
from accord.transports.web.app import JSON, WebRequest


def admission(auth: Authenticator | Verifier) -> Admit:
    """Return a callback that authenticates handshakes.

    It stores the caller under `principal` in the details of the connection.
    """
    authenticator = authenticator_of(auth)

    def admit(target: str, headers: Mapping[str, str]) -> Verdict | Awaitable[Verdict]:
        who = authenticator.authenticate(_request(target, headers))
        return _later(who) if isawaitable(who) else _verdict(who)

    return admit


def belong_to(peer: Peer, principal: Principal) -> None:
    """Make all calls of a connection on behalf of `principal`.

    The connection is aborted when the principal's token expires.
    """
    link = peer.call_state[LINK] = DuplexLink(peer)
    link.principal = principal
    if principal.seconds_left is None:
        return
    timer = asyncio.get_running_loop().call_later(principal.seconds_left, peer.abort)

    def changed(state: State, error: TransportError | None) -> None:
        if state is State.CLOSED:
            timer.cancel()

    peer.observe(changed)


async def _later(who: Awaitable[Principal | Refusal | None]) -> Verdict:
    return _verdict(await who)


def _verdict(who: Principal | Refusal | None) -> Verdict:
    if isinstance(who, Refusal):
        return Reply(who.status, JSON + who.headers, who.body)
    return {"principal": who}


def _request(target: str, headers: Mapping[str, str]) -> WebRequest:
    path, _, query = target.partition("?")
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return WebRequest("GET", unquote(path), "", query, Fields(pairs), 0, False)
