"""Listens for the requests of an application on one address."""

from __future__ import annotations

from typing import Any

from accord.transports.arrivals import listen
from accord.transports.http.server import HttpListener
from accord.transports.options import Options
from accord.transports.web.app import WebApp
from accord.transports.web.connection import WebConnection, WebSite
from accord.transports.web_address import WebAddress, parse_served


async def listen_web(url: str, app: WebApp[Any], options: Options) -> HttpListener:
    """Serve `app` at `url`, such as `http://127.0.0.1:8000/mcp`; port 0 picks a free one.

    The application is asked about other paths of the same address too. Whoever closes the
    listener closes the application with it, or waits for streams that nobody ends. Raises
    ConnectError when that cannot be.
    """

    def make(at: WebAddress) -> HttpListener:
        site = WebSite(at, app, options)
        return HttpListener(at, site, lambda: WebConnection(site), options)

    return await listen(parse_served(url), options, make)
