"""Listens for JSON-RPC over HTTP on one path of one address."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

from accord.transports.http.connection import HttpConnection
from accord.transports.http.dispatch import Dispatch
from accord.transports.http.site import Site
from accord.transports.options import Options

_PATH = re.compile(r"/[\x21\x22\x24-\x3e\x40-\x7e]*")  # printable ASCII without # and ?


class HttpListener:
    """A listening HTTP server. `close` ends it together with its connections."""

    def __init__(self, server: asyncio.Server, site: Site, url: str) -> None:
        self._server = server
        self._site = site
        self._url = url

    @property
    def url(self) -> str:
        return self._url

    @property
    def connections(self) -> int:
        return len(self._site.connections)

    async def close(self) -> None:
        """Stop accepting, let requests that are under way be answered, then end.

        A connection belongs to nobody but its listener, so this waits until the last one is
        gone. Cancelled, it cuts those that are left.
        """
        self._server.close()
        await self._site.close()


async def listen_http(url: str, dispatch: Dispatch, options: Options) -> HttpListener:
    """Serve `dispatch` at `url`, such as `http://127.0.0.1:8000/rpc`; port 0 picks one.

    Raises ValueError for a URL that cannot be listened on and OSError for an address that is
    taken or not ours.
    """
    parts = urlsplit(url)
    host, path = parts.hostname, parts.path or "/"
    if parts.scheme not in ("http", "https") or host is None or _PATH.fullmatch(path) is None:
        raise ValueError(f"{url!r} is no address of the form http://host:port/path")
    if parts.query or parts.fragment or parts.username is not None:
        raise ValueError(f"{url!r} has more than scheme, host, port and path")
    if parts.scheme == "https" and options.tls is None:
        raise ValueError(f"{url!r} needs a certificate: give options.tls")
    secure = parts.scheme == "https"
    site = Site(parts.scheme, path, dispatch, options)
    server = await asyncio.get_running_loop().create_server(
        lambda: HttpConnection(site),
        host,
        (443 if secure else 80) if parts.port is None else parts.port,
        ssl=options.tls if secure else None,
        ssl_handshake_timeout=options.server_limits.header_seconds if secure else None,
        backlog=options.backlog,
        reuse_port=options.reuse_port or None,
    )
    port = server.sockets[0].getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return HttpListener(server, site, f"{parts.scheme}://{shown}:{port}{path}")
