"""A part of the system as a process of its own: an executor or a bridge, beside servers on the same
database. It answers probes where it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec import Struct

from accord.app.engine import Engine, EngineError, Role, open_engine
from accord.app.local import open_local
from accord.app.probes import PLACES, Probes
from accord.app.process import Pulse, write_process
from accord.app.settings import Settings
from accord.app.site import Site
from accord.app.store_counts import StorePage
from accord.app.system import StartError, check_plugins, tracing
from accord.transports.closing import close_listener
from accord.transports.options import Options
from accord.transports.web.server import listen_web


class Part(Struct, frozen=True):
    """A part while it runs."""

    engine: Engine
    probes_url: str
    """Where it answers probes; empty where it does not."""
    _closed: asyncio.Event

    async def wait_closed(self) -> None:
        await self._closed.wait()


@asynccontextmanager
async def open_part(settings: Settings, role: Role, *, probes: str = "") -> AsyncIterator[Part]:
    """Run an executor or a bridge; `probes` is a URL to answer probes at. Raises StartError,
    StoreError, ServerKeyError and ConnectError."""
    if not settings.is_shared:
        raise StartError(
            f"accord {role} needs PostgreSQL (--database postgresql://…): with SQLite one process, "
            "accord serve, does everything"
        )
    check_plugins(settings)
    async with open_local(settings) as local, AsyncExitStack() as stack:
        try:
            engine = await stack.enter_async_context(
                open_engine(settings, local, role=role, spans=tracing(settings))
            )
        except EngineError as error:
            raise StartError(str(error)) from None
        pulse = Pulse()
        stack.enter_context(pulse.beating())
        counts = [
            engine.write, StorePage(local.store).write, local.trail.expose, pulse.write,
            write_process,
        ]  # fmt: skip
        asked = Probes(local.store, counts, engine=engine)
        url = await stack.enter_async_context(_answering(probes, asked))
        yield Part(engine, url, asyncio.Event())


@asynccontextmanager
async def _answering(url: str, probes: Probes) -> AsyncIterator[str]:
    if not url:
        yield ""
        return
    site = Site({f"/{place}": probes for place in PLACES})
    listener = await listen_web(url, site, Options())
    try:
        yield listener.url.rstrip("/")
    finally:
        probes.stopping = True
        await close_listener(listener, site.close(0))
