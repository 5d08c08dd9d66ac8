"""A route as a function that a router can serve."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Raw

from accord.exposure.in_process import InProcess
from accord.exposure.route import Route
from accord.jsonrpc.context import Context
from accord.transports.asgi.exchange import SCOPE
from accord.transports.http.heads import QUERY


class Exposed:
    """One route of an application, to be added to a router: `router.add(exposed, "users.get")`.

    Takes its arguments by name, whatever the names are. They are passed on as the caller wrote
    them; members of a JSON body are not even decoded. Raises `RegistrationError` for a route
    that cannot be called as it is described.
    """

    def __init__(self, in_process: InProcess, route: Route) -> None:
        in_process.prepare(route)
        self.in_process = in_process
        self.route = route

    def __repr__(self) -> str:
        return f"<Exposed {self.route}>"

    async def __call__(self, context: Context, /, **arguments: Raw) -> Any:
        return await self.in_process.call(
            self.route, arguments, headers=context.headers, scope=_scope(context)
        )


def _scope(context: Context) -> Mapping[str, Any]:
    """The scope of the request that the call came with, or as much of it as is known."""
    scope: Mapping[str, Any] | None = context.state.get(SCOPE)
    if scope is not None:
        return scope
    client = _client(context.channel.address)
    query = context.state.get(QUERY) or _query(context.channel.details.get("target", ""))
    return {"client": client, "query_string": query} if query else {"client": client}


def _query(target: str) -> bytes:
    """Return the query of the request that opened a WebSocket."""
    return target.partition("?")[2].encode("latin-1", "replace")


@lru_cache(maxsize=1024)
def _client(address: str) -> tuple[str, int] | None:
    """Host and port; None where there are none, as in memory."""
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        return None
    return host.removeprefix("[").removesuffix("]"), int(port)
