"""Serving an agent at an address, with a graceful shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Final, Protocol, Unpack

from accord.a2a.server.app import AgentApp
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.runtime.peer import DEFAULT_DRAIN
from accord.transports.http.server import listen_web
from accord.transports.options import ChannelOptions, Listener, Options, check_options
from accord.transports.serve import run_until_stopped
from accord.transports.sockets import close_listener
from accord.transports.urls import parse_served_address

LIMITS: Final = Limits(max_message_bytes=8 * 1024 * 1024)
"""Limits of messages, which may contain files."""


class Servable(Protocol):
    """An object that can be served, such as an `Agent`."""

    def app(self, *, url: str = "", scheme: str = "http", path: str = "/") -> AgentApp: ...


class Serving:
    """A running server of an agent."""

    def __init__(self, app: AgentApp, listener: Listener, drain: float) -> None:
        self._app = app
        self._listener = listener
        self._drain = drain
        self._closed = asyncio.Event()

    @property
    def url(self) -> str:
        """Return the agent's URL, with the real port even when 0 was asked for."""
        return self._listener.url

    async def close(self) -> None:
        """Stop listening, wait a while for tasks to end, then cancel them."""
        try:
            await close_listener(self._listener, self._app.close(self._drain))
        finally:
            self._closed.set()

    async def wait_closed(self) -> None:
        await self._closed.wait()


class AgentServeOptions(ChannelOptions, total=False):
    """Keyword options of `serve`."""

    public_url: str
    drain: float


class serve:  # noqa: N801 - reads as the verb it is: `async with serve(agent, url)`
    """Serve `agent` at `url`: use it as `async with serve(…) as serving`, or await it.

    `public_url` is the URL for clients, which the card names; by default the card names the address
    at which its request arrived. `options` are those of the listener. Raises ConnectError if the
    server cannot listen at `url`.
    """

    def __init__(
        self,
        agent: Servable,
        url: str,
        *,
        public_url: str = "",
        drain: float = DEFAULT_DRAIN,
        **options: Unpack[ChannelOptions],
    ) -> None:
        check_options(type(self), options, ChannelOptions.__annotations__)
        address = parse_served_address(url)
        self._url = url
        self._app = agent.app(url=public_url, scheme=address.scheme, path=address.path)
        self._drain = drain
        options.setdefault("limits", LIMITS)
        self._options = Options(**options)
        self._serving: Serving

    def __await__(self) -> Generator[Any, None, Serving]:
        return self._serve().__await__()

    async def _serve(self) -> Serving:
        listener = await listen_web(self._url, self._app, self._options)
        return Serving(self._app, listener, self._drain)

    async def __aenter__(self) -> Serving:
        self._serving = await self._serve()
        return self._serving

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._serving.close()


def run(
    agent: Servable,
    url: str,
    *,
    on_listen: Callable[[Serving], None] | None,
    **options: Unpack[AgentServeOptions],
) -> None:
    """Serve until SIGINT or SIGTERM. Uses uvloop if installed."""
    run_until_stopped(lambda: serve(agent, url, **options), on_listen)
