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
    """Why nobody is let in with these credentials."""

    status: int = 401
    headers: bytes = b""
    """Header lines, each with its line end, such as `www-authenticate`."""
    body: bytes = b""
    """JSON."""


class Authenticator(Protocol):
    """Tells who sends a request. Subclasses say how.

    Two more members are used where there are any: `repeatable`, which is true where a request may
    be authenticated twice, once before its body is read; and `answer_lines(principal)`, which
    gives further header lines of the answers to somebody.
    """

    def page(self, request: WebRequest) -> Reply | None:
        """What is answered to anybody who asks, such as metadata; None for everything else."""
        return None

    def refusal(self, request: WebRequest) -> Refusal | None:
        """Why a request is refused by its head alone, before its body is read. Equal heads are
        refused alike; None where more is to be known."""
        return None

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | None | Awaitable[Principal | Refusal | None]:
        """On whose behalf a request is made; None for nobody in particular. `channel` is what is
        known of the other end, where there is a connection already."""

    def forbidden(self, scopes: Sequence[str]) -> bytes:
        """Header lines of a 403 for somebody who lacks one of `scopes`."""
