"""Listens for JSON-RPC over HTTP on one path of one address."""

from __future__ import annotations

import socket
from collections.abc import Callable

from accord.transports.arrivals import Arrivals, listen
from accord.transports.http.calls import CallConnection
from accord.transports.http.connection import HttpConnection
from accord.transports.http.dispatch import Dispatch
from accord.transports.http.site import CallSite, Site
from accord.transports.options import Options
from accord.transports.web_address import WebAddress, parse_served


async def listen_http(url: str, dispatch: Dispatch, options: Options) -> HttpListener:
    """Serve `dispatch` at `url`, such as `http://127.0.0.1:8000/rpc`; port 0 picks a free one.

    Raises ConnectError when that cannot be.
    """
    address = parse_served(url)

    def make(at: WebAddress) -> HttpListener:
        site = CallSite(at.scheme, at.path, dispatch, options)
        return HttpListener(at, site, lambda: CallConnection(site), options)

    return await listen(address, options, make)


class HttpListener:
    """A listening HTTP server. `close` ends it together with its connections."""

    def __init__(
        self,
        address: WebAddress,
        site: Site,
        connection: Callable[[], HttpConnection],
        options: Options,
    ) -> None:
        self.url = str(address)
        self._site = site
        self._arrivals = Arrivals(
            address,
            connection,
            options,
            has_room=lambda: self._site.has_room_for(self._arrivals.under_way),
        )

    async def start(self, sockets: list[socket.socket]) -> None:
        await self._arrivals.start(sockets)

    @property
    def connections(self) -> int:
        return len(self._site.connections)

    @property
    def buffered_bytes(self) -> int:
        """How much memory is held for bodies of requests."""
        return self._site.budget.all.held

    def announce_end(self) -> None:
        """Go on as before, but for answers, each of which ends its connection and says so: clients
        who keep their connections go elsewhere, and none has to find out by an error."""
        self._site.leaving = True

    async def close(self) -> None:
        """Stop accepting, let requests that are under way be answered, then end.

        A connection belongs to nobody but its listener, so this waits until the last one is
        gone. Cancelled, it cuts those that are left.
        """
        await self._arrivals.close()
        await self._site.close()
