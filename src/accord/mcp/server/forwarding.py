"""Headers of a caller that are forwarded to another server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Final

from accord.mcp.client.auth_hook import Auth, AuthRequest
from accord.mcp.server.context import Context

CREDENTIALS: Final = frozenset(
    ("authorization", "cookie", "dpop", "proxy-authorization", "x-api-key")
)
_OURS: Final = ("mcp-", "content-", "accept")
_OWN: Final = frozenset(
    ("connection", "host", "last-event-id", "origin", "te", "transfer-encoding", "upgrade")
)


class Passing:
    """A request that is being forwarded."""

    __slots__ = ("context", "stopped")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the request asks a question without an answer yet."""


PASSING: ContextVar[Passing | None] = ContextVar("accord_mcp_passing", default=None)
"""The request that the current task forwards."""


class Forwarding:
    """The headers of a forwarded request: the caller's allowed ones and `auth`'s.

    Raises ValueError for headers that must not be forwarded.
    """

    def __init__(self, allowed: Iterable[str], auth: Auth | None) -> None:
        self._allowed = _checked(allowed)
        self._auth = auth

    async def headers(self, request: AuthRequest) -> Mapping[str, str]:
        passing = PASSING.get()
        found = {} if passing is None else passing.context.headers
        passed = {name: found[name] for name in self._allowed if name in found}
        return passed if self._auth is None else {**passed, **await self._auth.headers(request)}

    async def challenged(
        self, request: AuthRequest, status: int, headers: Mapping[str, str]
    ) -> bool:
        if self._auth is None:
            return False
        return await self._auth.challenged(request, status, headers)


def _checked(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ValueError(f"forward is a list of headers, not the string {names!r}")
    lowered = tuple(name.lower() for name in names)
    for name in lowered:
        if name in CREDENTIALS:
            raise ValueError(f"the header {name} carries credentials and is never passed on")
        if name in _OWN or name.startswith(_OURS):
            raise ValueError(f"the header {name} belongs to the request itself")
    return lowered
