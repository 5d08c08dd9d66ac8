"""How credentials get into the requests of an HTTP client, and what happens when they are refused.

The client asks for headers before every request, and tells of every 401 and 403. What stands
behind (a fixed token, OAuth) is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct


class AuthRequest(Struct, frozen=True, kw_only=True):
    """A request that is about to be sent, or was answered 401 or 403."""

    method: str
    url: str
    """The whole URL, with its query."""
    server: str
    """The URL of the server that is being talked to, of whose host `url` is too."""
    attempt: int = 0
    """How often the same request has been challenged already."""
    headers: Mapping[str, str] = {}
    """For `challenged`: what `Auth.headers` gave for it, so that one who has replaced a token in
    the meantime need not do so again."""


class Auth(Protocol):
    """Gives the headers that carry credentials. May be called for several requests at once."""

    async def headers(self, request: AuthRequest) -> Mapping[str, str]:
        """The headers that `request` is to carry."""

    async def challenged(
        self, request: AuthRequest, status: int, headers: Mapping[str, str]
    ) -> bool:
        """The server answered `request` with 401 or 403 and these headers, whose names are in
        lower case: whether to send it again, with new headers. May raise what the caller is
        to see."""


class StaticAuth:
    """The same headers with every request, as a fixed token has them."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)

    @staticmethod
    def bearer(token: str) -> StaticAuth:
        return StaticAuth({"authorization": f"Bearer {token}"})

    async def headers(self, request: AuthRequest) -> Mapping[str, str]:
        return self._headers

    async def challenged(
        self, request: AuthRequest, status: int, headers: Mapping[str, str]
    ) -> bool:
        return False
