"""The whole system, put together and served at one address.

/                                   pages
/api/v1/…                           REST
/api/v1/mcp                         MCP, both eras, and plain JSON-RPC
/rpc, /rpc/openrpc.json, /rpc/explore
/api/v1/webhooks/…                  webhooks that start workflows
/a2a, /.well-known/agent-card.json  workflows as an agent
/healthz, /readyz, /metrics
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from accord import __version__
from accord.a2a.protocol.card import WELL_KNOWN
from accord.app.agent_access import agent_secrets
from accord.app.call_log import log_call
from accord.app.counts import OperationCounts
from accord.app.engine import Engine, EngineError, open_engine
from accord.app.fellows import Worker, among_fellows
from accord.app.local import Local, open_local
from accord.app.plugins import load_plugins
from accord.app.probes import PLACES, Probes
from accord.app.process import Pulse, write_process
from accord.app.protection import ProtectionError, answer_headers, tls_context
from accord.app.server_lock import InUseError, alone_in
from accord.app.settings import Settings
from accord.app.site import Site
from accord.app.store_counts import StorePage
from accord.app.tracing import Spans, spans_for
from accord.app.traffic import Traffic
from accord.entry_points import PluginError
from accord.hub.mcp.server import hub_server
from accord.hub.search.index import IndexMaintenance
from accord.jsonrpc.limits import Limits, ServerLimits
from accord.mcp.server.http.endpoint import McpEndpoint
from accord.mcp.server.http.sessions import SessionLimits
from accord.operations.accounts.addresses import Addresses
from accord.operations.accounts.entities import FirstRun
from accord.operations.audit.record import Result
from accord.operations.caller import Caller
from accord.operations.faces.rest import RestApp
from accord.operations.faces.rpc_app import RpcApp
from accord.operations.faces.tools_caller import TokenAuthenticator
from accord.operations.limiter import Limiter
from accord.operations.operation import Operation
from accord.operations.rates.counted import CountedLimiter, Refusals
from accord.operations.rates.memory import MemoryLimiter
from accord.operations.rates.redis import RedisLimiter
from accord.operations.rates.shared import StoreLimiter
from accord.store import Store
from accord.telemetry.metrics import Exposition, Metrics
from accord.transports.closing import close_listener
from accord.transports.http.server import HttpListener
from accord.transports.options import Options
from accord.transports.web.server import listen_web
from accord.workflows.agent.app import PATH as A2A, WorkflowAgentApp
from accord.workflows.metrics import Backlog
from accord.workflows.operations.run_stream import watch_run
from accord.workflows.triggers.deliveries import Deliveries
from accord.workflows.triggers.webhooks import WebhookApp

TITLE: Final = "Accord"
REST: Final = "/api/v1"
MCP: Final = f"{REST}/mcp"
RPC: Final = "/rpc"
HOOKS: Final = f"{REST}/webhooks"
FACES: Final = {
    "": "web",
    A2A: "a2a",
    WELL_KNOWN: "a2a",
    REST: "rest",
    HOOKS: "webhooks",
    MCP: "mcp",
    RPC: "rpc",
    **{f"/{place}": "probes" for place in PLACES},
}
"""What requests are counted as, by path."""
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class StartError(Exception):
    """The system cannot start; the message says what to do."""


class System(Struct, frozen=True):
    """The system while it is being served."""

    settings: Settings
    local: Local
    listener: HttpListener
    probes: Probes
    site: Site
    _closed: asyncio.Event

    @property
    def url(self) -> str:
        """Where it listens: the real port stands in it."""
        return self.listener.url.rstrip("/")

    async def close(self) -> None:
        """Stop: say so, and answer for a while; then no new connections, what is under way may
        finish, everything is written."""
        if self.probes.stopping:
            await self._closed.wait()
            return
        self.probes.stopping = True
        self.listener.announce_end()
        try:
            await asyncio.sleep(self.settings.notice_seconds)
            await close_listener(self.listener, self.site.close(self.settings.drain_seconds))
        finally:
            self._closed.set()

    async def wait_closed(self) -> None:
        await self._closed.wait()


async def prepare(settings: Settings) -> FirstRun | None:
    """Make the database ready, and an administrator where there is none: what that one begins
    with, which nobody can ask for again. Raises StartError, StoreError and ServerKeyError."""
    check_plugins(settings)
    async with open_local(settings) as local:
        return await local.accounts.first_run()


def check_plugins(settings: Settings) -> None:
    """Raises StartError where a plugin cannot be used that a server must not do without."""
    try:
        load_plugins(settings.plugins).require()
    except PluginError as error:
        raise StartError(str(error)) from None


@asynccontextmanager
async def open_system(
    settings: Settings, *, reuse_port: bool = False, worker: Worker | None = None
) -> AsyncIterator[System]:
    """Make everything ready and listen; `worker` is which of several this is that share a port.
    Raises StartError, StoreError, ServerKeyError,
    ConnectError."""
    check_plugins(settings)
    counts = OperationCounts()
    refusals = Refusals()
    spans = tracing(settings)

    def observe(operation: Operation, caller: Caller, result: Result, seconds: float) -> None:
        counts.observe(operation, caller, result, seconds)
        log_call(operation, caller, result, seconds)
        if spans is not None:
            spans.operation(operation, caller, result, seconds)

    try:
        options = _options(settings, reuse_port)
    except ProtectionError as error:
        raise StartError(str(error)) from None
    with _only_server(settings):
        async with (
            open_local(
                settings,
                limiter=lambda store: _counted(_limiter(settings, store), refusals),
                observe=observe,
            ) as local,
            _engine(settings, local, spans) as engine,
        ):
            metrics = Metrics()
            endpoint = _endpoint(settings, local, _observer(metrics, spans))
            traffic = Traffic(None if spans is None else spans.requests)
            pulse = Pulse()
            written = [
                traffic.write, counts.write, metrics.write, local.events.write,
                local.accounts.expose, refusals.write, local.trail.expose,
                StorePage(local.store).write, pulse.write, write_process,
            ]  # fmt: skip
            if engine is not None:
                written.append(engine.write)
            probes = Probes(local.store, written, engine=engine, backlog=Backlog(local.store))
            site = _site(settings, local, endpoint, probes, traffic, _observer(metrics, spans))
            await site.start()
            try:
                listener = await listen_web(f"{settings.place}/", site, options)
            except BaseException:
                await site.close(0)
                raise
            written.append(partial(_write_open, listener, endpoint))
            system = System(settings, local, listener, probes, site, asyncio.Event())
            async with AsyncExitStack() as stack:
                upkeep = IndexMaintenance(local.store)
                upkeep.start()
                stack.push_async_callback(upkeep.close)
                stack.push_async_callback(system.close)
                stack.enter_context(pulse.beating())
                if worker is not None:
                    probes.fellows = await stack.enter_async_context(
                        among_fellows(worker, probes.families)
                    )
                yield system


@asynccontextmanager
async def _engine(
    settings: Settings, local: Local, spans: Spans | None
) -> AsyncIterator[Engine | None]:
    """What executes runs, where that is done here. Raises StartError."""
    stop = await local.events.watch(local.store)
    try:
        if settings.workflows == "elsewhere":
            yield None
            return
        async with AsyncExitStack() as stack:
            try:
                engine = await stack.enter_async_context(open_engine(settings, local, spans=spans))
            except EngineError as error:
                raise StartError(str(error)) from None
            yield engine
    finally:
        stop()


def _endpoint(settings: Settings, local: Local, observer: Any) -> McpEndpoint:
    server = hub_server(local.runner, codes=settings.error_codes)
    server.strict_versions = settings.strict_versions
    return McpEndpoint(
        server,
        limits=_limits(settings),
        origins=tuple(settings.allowed_origins) or None,
        hosts=_hosts(settings),
        auth=TokenAuthenticator(local.accounts, Addresses(settings.trusted_proxies)),
        plain=True,
        plain_refusals=settings.forbidden_status == 200,
        shared=settings.database_url if settings.is_shared else None,
        session_limits=SessionLimits(max_sessions=settings.max_sessions),
        observer=observer,
    )


def _site(
    settings: Settings,
    local: Local,
    endpoint: McpEndpoint,
    probes: Probes,
    traffic: Traffic,
    observer: Any,
) -> Site:
    # Pages need an extra, which executors and bridges do without.
    from accord.web.app import WebPages
    from accord.web.pages import PAGES

    runner, accounts = local.runner, local.accounts
    web: dict[str, Any] = {
        "title": TITLE,
        "version": __version__,
        "trusted_proxies": settings.trusted_proxies,
        "origins": tuple(settings.allowed_origins) or None,
    }
    url = settings.public_url.rstrip("/")
    agent = WorkflowAgentApp(
        runner,
        accounts,
        local.watch,
        name=TITLE,
        version=__version__,
        url=url and f"{url}{A2A}",
        hosts=settings.allowed_hosts,
        trusted_proxies=settings.trusted_proxies,
    )
    return Site(
        {
            "": WebPages(
                runner,
                accounts,
                PAGES,
                public_url=url,
                trusted_proxies=settings.trusted_proxies,
            ),
            A2A: agent,
            WELL_KNOWN: agent,
            REST: RestApp(
                runner, accounts, root=REST, further=[watch_run(runner, local.watch)], **web
            ),
            HOOKS: WebhookApp(
                Deliveries(
                    local.store,
                    agent_secrets(settings),
                    runner.trail,
                    failed=accounts.failed_attempts.add if accounts.failed_attempts else None,
                ),
                runs=f"{REST}/runs",
                limiter=local.limiter,
                trusted_proxies=settings.trusted_proxies,
            ),
            MCP: endpoint,
            RPC: RpcApp(
                runner,
                accounts,
                path=RPC,
                url=url and f"{url}{RPC}",
                plain_refusals=settings.forbidden_status == 200,
                limits=_limits(settings),
                observer=observer,
                **web,
            ),
            **{f"/{place}": probes for place in PLACES},
        },
        faces=FACES,
        traffic=traffic,
    )


def tracing(settings: Settings) -> Spans | None:
    """What makes spans, where that is wanted. Raises StartError."""
    try:
        return spans_for(settings)
    except ImportError as error:
        raise StartError(f"tracing: {error}") from None


def _observer(metrics: Metrics, spans: Spans | None) -> Any:
    """Who is told of every call over JSON-RPC and MCP."""
    return metrics if spans is None else spans.observer(metrics)


def _write_open(listener: HttpListener, endpoint: McpEndpoint, page: Exposition) -> None:
    """What is open, for Prometheus."""
    for name, about, count in (
        ("accord_http_connections", "Connections that are open.", listener.connections),
        (
            "accord_http_body_bytes",
            "Memory held for bodies of requests, in bytes.",
            listener.buffered_bytes,
        ),
        ("accord_mcp_sessions", "Sessions of MCP that are open.", len(endpoint.sessions)),
    ):
        page.family(name, "gauge", about, [((), count)])


def _counted(limiter: Limiter | None, refusals: Refusals) -> Limiter | None:
    return None if limiter is None else CountedLimiter(limiter, refusals)


def _limiter(settings: Settings, store: Store) -> Limiter | None:
    if not settings.rate_limit:
        return None
    rate, burst = settings.rate_limit / 60, settings.rate_burst
    where = settings.rate_store
    if where == "auto":
        where = "database" if settings.is_shared else "memory"
    if where == "memory":
        return MemoryLimiter(rate, burst)
    if where == "database":
        return StoreLimiter(store, rate, burst)
    if urlsplit(where).scheme in ("redis", "rediss"):
        return RedisLimiter(where, rate, burst)
    raise StartError("rate_store is auto, memory, database or a URL of redis:// or rediss://")


def _limits(settings: Settings) -> Limits:
    queued = max(Limits().max_queued_bytes, settings.max_body)
    return replace(
        Limits(),
        max_message_bytes=settings.max_body,
        max_queued_bytes=queued,
        max_in_flight=10_000,
    )


def _options(settings: Settings, reuse_port: bool) -> Options:
    return Options(
        limits=_limits(settings),
        server_limits=ServerLimits(
            max_connections=settings.max_connections,
            max_buffered_bytes=settings.max_body_memory,
        ),
        tls=tls_context(settings),
        answer_headers=answer_headers(settings),
        reuse_port=reuse_port,
    )


def _hosts(settings: Settings) -> tuple[str, ...] | None:
    """The names that it may be called by, where they are not only its own."""
    public = urlsplit(settings.public_url).hostname
    named = (*settings.allowed_hosts, *((public,) if public else ()))
    return (*named, settings.host, *LOOPBACK) if named else None


@contextmanager
def _only_server(settings: Settings) -> Iterator[None]:
    """SQLite serves one server process. Raises StartError where there is one already."""
    if settings.is_shared:
        yield
        return
    data = Path(settings.data)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(alone_in(data))
        except InUseError as error:
            raise StartError(
                f"{error}: stop it, or give this one another --data; several on the same data need "
                "PostgreSQL (--database)"
            ) from None
        yield
