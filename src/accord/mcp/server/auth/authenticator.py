"""What an endpoint asks about the requests that it gets: who sends them."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from msgspec import Struct

from accord.jsonrpc.channel import ChannelInfo
from accord.mcp.server.principal import Principal
from accord.transports.http.replies import Reply
from accord.transports.web.app import WebRequest


class Refusal(Struct, frozen=True):
    """The answer to a request with invalid or missing credentials."""

    status: int = 401
    headers: bytes = b""
    """Header lines, each with its line end, such as `www-authenticate`."""
    body: bytes = b""
    """JSON."""


class Authenticator(Protocol):
    """The authentication of requests, implemented by subclasses.

    Two more members are used if present: `repeatable`, true if a request may be authenticated
    twice, once before its body is read; and `answer_lines(principal)`, which returns further header
    lines for the answers to a principal.
    """

    def page(self, request: WebRequest) -> Reply | None:
        """Return a public page such as metadata; None for other requests."""
        return None

    def refusal(self, request: WebRequest) -> Refusal | None:
        """Refuse a request by its head alone, before its body is read.

        Equal heads are refused alike. None if more data is needed to decide.
        """
        return None

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | None | Awaitable[Principal | Refusal | None]:
        """Return the principal of a request, or a refusal.

        None means an anonymous caller. `channel` describes the connection, if one exists already.
        """

    def forbidden(self, scopes: Sequence[str]) -> bytes:
        """Return the header lines of a 403 for a caller that lacks one of `scopes`."""
