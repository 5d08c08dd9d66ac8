"""The interface between HTTP clients and credentials.

The client asks for headers before every request, and reports every 401 and 403. The interface does
not depend on the kind of credentials, such as a fixed token or OAuth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct


class AuthRequest(Struct, frozen=True, kw_only=True):
    """A request that is about to be sent, or was answered with 401 or 403."""

    method: str
    url: str
    """The complete URL, with its query."""
    server: str
    """The URL of the MCP server; `url` has the same host."""
    attempt: int = 0
    """Number of times that this request was challenged before."""
    headers: Mapping[str, str] = {}
    """For `challenged`: the headers that `Auth.headers` returned for this request.

    An implementation can compare them with its current token, and skip the renewal if another
    request has already replaced it.
    """


class Auth(Protocol):
    """A source of credential headers. May be called for several requests at once."""

    async def headers(self, request: AuthRequest) -> Mapping[str, str]:
        """Return the headers to send with `request`."""

    async def challenged(
        self, request: AuthRequest, status: int, headers: Mapping[str, str]
    ) -> bool:
        """Return whether to send `request` again, with new headers.

        `status` (401 or 403) and `headers` are those of the server's answer; names of headers are
        in lower case. Exceptions reach the caller of the request.
        """


class StaticAuth:
    """Fixed headers, such as a bearer token, on every request."""

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
