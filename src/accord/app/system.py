"""The whole system, put together and served at one address; and executors and bridges alone.

/                                   pages
/api/v1/…                           REST
/api/v1/mcp                         MCP, both eras, and plain JSON-RPC
/rpc, /rpc/openrpc.json, /rpc/explore
/api/v1/webhooks/…                  webhooks that start workflows
/a2a, /.well-known/agent-card.json  workflows as an agent
/healthz, /readyz, /metrics

An executor or a bridge is a process of its own, beside servers on the same database; it answers
health checks if it is given an address for them.
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
from accord.app.composition import load_plugins
from accord.app.database import InUseError, StoreMetrics, lock_data_directory
from accord.app.engine import Engine, EngineError, Role, open_engine
from accord.app.health import (
    HEALTH_PATHS,
    HealthEndpoints,
    LoopLatency,
    WorkerSocket,
    share_worker_metrics,
    write_process,
)
from accord.app.observers import (
    OperationMetrics,
    SpanMakers,
    Traffic,
    call_observer,
    make_span_makers,
)
from accord.app.runtime import Runtime, agent_secrets, open_runtime
from accord.app.settings import Settings
from accord.app.site import CertificateError, SystemSite, answer_headers, tls_context
from accord.entry_points import PluginError
from accord.hub.mcp.server import hub_server
from accord.hub.search_index import IndexMaintenance
from accord.jsonrpc.protocol.channel import Limits, ServerLimits
from accord.mcp.server.http.endpoint import McpEndpoint
from accord.mcp.server.http.sessions import SessionLimits
from accord.operations.adapters.mcp_tools import TokenAuthenticator
from accord.operations.adapters.rest import RestApp
from accord.operations.adapters.rpc import RpcApp
from accord.operations.auth.credentials import Addresses
from accord.operations.auth.users import FirstRun
from accord.operations.errors import Limiter
from accord.operations.ratelimit.bucket import (
    CountedLimiter,
    MemoryLimiter,
    RefusalCounts,
    StoreLimiter,
)
from accord.store import Store
from accord.telemetry.metrics import Exposition, Metrics
from accord.transports.http.server import HttpListener, listen_web
from accord.transports.options import Options
from accord.transports.sockets import close_listener
from accord.workflows.agent.app import PATH as A2A, WorkflowAgentApp
from accord.workflows.metrics import Backlog
from accord.workflows.operations.run_stream import watch_run
from accord.workflows.triggers.webhooks import Deliveries, WebhookApp

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
    **{f"/{place}": "probes" for place in HEALTH_PATHS},
}
"""The names under which requests are counted in metrics, by path."""
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class StartError(Exception):
    """The system cannot start; the message says what to do."""


class System(Struct, frozen=True):
    """The system while it is being served."""

    settings: Settings
    runtime: Runtime
    listener: HttpListener
    probes: HealthEndpoints
    site: SystemSite
    _closed: asyncio.Event

    @property
    def url(self) -> str:
        """Return the URL, with the real port."""
        return self.listener.url.rstrip("/")

    async def close(self) -> None:
        """Stop gracefully.

        Announce the end and answer for a while; then refuse new connections, finish what is in
        flight, and write everything.
        """
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
    """Migrate the database and create the first administrator if there is none.

    Returns the administrator's credentials, which are shown only once. Raises StartError,
    StoreError and ServerKeyError.
    """
    check_plugins(settings)
    _check_rate_store(settings)
    async with open_runtime(settings) as runtime:
        return await runtime.accounts.first_run()


def check_plugins(settings: Settings) -> None:
    """Raise StartError if a plugin that a server needs cannot be used."""
    try:
        load_plugins(settings.plugins).require()
    except PluginError as error:
        raise StartError(str(error)) from None


@asynccontextmanager
async def open_system(
    settings: Settings, *, reuse_port: bool = False, worker: WorkerSocket | None = None
) -> AsyncIterator[System]:
    """Open everything and listen.

    `worker` identifies this process among workers that share a port. Raises StartError,
    StoreError, ServerKeyError and ConnectError.
    """
    check_plugins(settings)
    counts = OperationMetrics()
    refusals = RefusalCounts()
    spans = tracing(settings)

    try:
        options = _options(settings, reuse_port)
    except CertificateError as error:
        raise StartError(str(error)) from None
    with _only_server(settings):
        async with (
            open_runtime(
                settings,
                limiter=lambda store: _count_refusals(_limiter(settings, store), refusals),
                observe=call_observer(counts, spans),
            ) as runtime,
            _engine(settings, runtime, spans) as engine,
        ):
            metrics = Metrics()
            endpoint = _endpoint(settings, runtime, _observer(metrics, spans))
            traffic = Traffic(None if spans is None else spans.requests)
            latency = LoopLatency()
            written = [
                traffic.write, counts.write, metrics.write, runtime.events.write,
                runtime.accounts.expose, refusals.write, runtime.trail.expose,
                StoreMetrics(runtime.store).write, latency.write, write_process,
            ]  # fmt: skip
            if engine is not None:
                written.append(engine.write)
            probes = HealthEndpoints(
                runtime.store, written, engine=engine, backlog=Backlog(runtime.store)
            )
            site = _site(settings, runtime, endpoint, probes, traffic, _observer(metrics, spans))
            await site.start()
            try:
                listener = await listen_web(f"{settings.place}/", site, options)
            except BaseException:
                await site.close(0)
                raise
            written.append(partial(_write_open, listener, endpoint))
            system = System(settings, runtime, listener, probes, site, asyncio.Event())
            async with AsyncExitStack() as stack:
                upkeep = IndexMaintenance(runtime.store)
                upkeep.start()
                stack.push_async_callback(upkeep.close)
                stack.push_async_callback(system.close)
                stack.enter_context(latency.measuring())
                if worker is not None:
                    probes.workers = await stack.enter_async_context(
                        share_worker_metrics(worker, probes.families)
                    )
                yield system


@asynccontextmanager
async def _engine(
    settings: Settings, runtime: Runtime, spans: SpanMakers | None
) -> AsyncIterator[Engine | None]:
    """Open the engine, if this process executes runs.

    Raises StartError if the engine cannot run.
    """
    stop = await runtime.events.watch(runtime.store)
    try:
        if settings.workflows == "elsewhere":
            yield None
            return
        async with AsyncExitStack() as stack:
            try:
                engine = await stack.enter_async_context(
                    open_engine(settings, runtime, spans=spans)
                )
            except EngineError as error:
                raise StartError(str(error)) from None
            yield engine
    finally:
        stop()


def _endpoint(settings: Settings, runtime: Runtime, observer: Any) -> McpEndpoint:
    server = hub_server(runtime.runner, codes=settings.error_codes)
    server.strict_versions = settings.strict_versions
    return McpEndpoint(
        server,
        limits=_limits(settings),
        origins=tuple(settings.allowed_origins) or None,
        hosts=_hosts(settings),
        auth=TokenAuthenticator(runtime.accounts, Addresses(settings.trusted_proxies)),
        plain=True,
        plain_refusals=settings.forbidden_status == 200,
        shared=settings.database_url if settings.is_shared else None,
        session_limits=SessionLimits(max_sessions=settings.max_sessions),
        observer=observer,
    )


def _site(
    settings: Settings,
    runtime: Runtime,
    endpoint: McpEndpoint,
    probes: HealthEndpoints,
    traffic: Traffic,
    observer: Any,
) -> SystemSite:
    # Pages need an extra, which executors and bridges do without.
    from accord.web.app import WebPages
    from accord.web.pages import PAGES

    runner, accounts = runtime.runner, runtime.accounts
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
        runtime.watch,
        name=TITLE,
        version=__version__,
        url=url and f"{url}{A2A}",
        hosts=settings.allowed_hosts,
        trusted_proxies=settings.trusted_proxies,
    )
    return SystemSite(
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
                runner, accounts, root=REST, further=[watch_run(runner, runtime.watch)], **web
            ),
            HOOKS: WebhookApp(
                Deliveries(
                    runtime.store,
                    agent_secrets(settings),
                    runner.trail,
                    failed=accounts.failed_attempts.add if accounts.failed_attempts else None,
                ),
                runs=f"{REST}/runs",
                limiter=runtime.limiter,
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
            **{f"/{place}": probes for place in HEALTH_PATHS},
        },
        faces=FACES,
        traffic=traffic,
    )


def tracing(settings: Settings) -> SpanMakers | None:
    """Return the span makers if tracing is on.

    Raises StartError if tracing is on but cannot be used.
    """
    try:
        return make_span_makers(settings)
    except ImportError as error:
        raise StartError(f"tracing: {error}") from None


def _observer(metrics: Metrics, spans: SpanMakers | None) -> Any:
    """Return the observer of JSON-RPC and MCP calls."""
    return metrics if spans is None else spans.observer(metrics)


def _write_open(listener: HttpListener, endpoint: McpEndpoint, page: Exposition) -> None:
    """Write the gauges of open connections and sessions."""
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


def _count_refusals(limiter: Limiter | None, refusals: RefusalCounts) -> Limiter | None:
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
    return _redis_limiter(where, rate, burst)


def _check_rate_store(settings: Settings) -> None:
    """Raise StartError if the setting `rate_store` is unusable.

    The check does not open the database.
    """
    if settings.rate_limit and settings.rate_store not in ("auto", "memory", "database"):
        _redis_limiter(settings.rate_store, 1, 1)


def _redis_limiter(url: str, rate: float, burst: int) -> Limiter:
    if urlsplit(url).scheme not in ("redis", "rediss"):
        raise StartError("rate_store is auto, memory, database or a URL of redis:// or rediss://")
    try:
        # Imported lazily: the package redis takes 70 ms and 20 MB.
        from accord.operations.ratelimit.redis import RedisLimiter
    except ModuleNotFoundError as error:
        raise StartError("rate_store: Redis needs redis: pip install 'accord[redis]'") from error
    try:
        return RedisLimiter(url, rate, burst)
    except ValueError as error:
        raise StartError(f"rate_store: {error}") from None


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
    """Return the allowed host names; None if only the server's own are allowed."""
    public = urlsplit(settings.public_url).hostname
    named = (*settings.allowed_hosts, *((public,) if public else ()))
    return (*named, settings.host, *LOOPBACK) if named else None


@contextmanager
def _only_server(settings: Settings) -> Iterator[None]:
    """Lock the data directory of SQLite, so that no other server can use it.

    Raises StartError if another server uses it already. On PostgreSQL nothing is locked.
    """
    if settings.is_shared:
        yield
        return
    data = Path(settings.data)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_data_directory(data))
        except InUseError as error:
            raise StartError(
                f"{error}: stop it, or give this one another --data; several on the same data need "
                "PostgreSQL (--database)"
            ) from None
        yield


class Subsystem(Struct, frozen=True):
    """A running executor or bridge."""

    engine: Engine
    probes_url: str
    """The URL of the health checks; empty without them."""
    _closed: asyncio.Event

    async def wait_closed(self) -> None:
        await self._closed.wait()


@asynccontextmanager
async def open_subsystem(
    settings: Settings, role: Role, *, probes: str = ""
) -> AsyncIterator[Subsystem]:
    """Run an executor or a bridge; `probes` is a URL for health checks.

    Raises StartError, StoreError, ServerKeyError and ConnectError.
    """
    if not settings.is_shared:
        raise StartError(
            f"accord {role} needs PostgreSQL (--database postgresql://…): with SQLite one process, "
            "accord serve, does everything"
        )
    check_plugins(settings)
    async with open_runtime(settings) as runtime, AsyncExitStack() as stack:
        try:
            engine = await stack.enter_async_context(
                open_engine(settings, runtime, role=role, spans=tracing(settings))
            )
        except EngineError as error:
            raise StartError(str(error)) from None
        latency = LoopLatency()
        stack.enter_context(latency.measuring())
        counts = [
            engine.write, StoreMetrics(runtime.store).write, runtime.trail.expose, latency.write,
            write_process,
        ]  # fmt: skip
        endpoints = HealthEndpoints(runtime.store, counts, engine=engine)
        url = await stack.enter_async_context(_health_listener(probes, endpoints))
        yield Subsystem(engine, url, asyncio.Event())


@asynccontextmanager
async def _health_listener(url: str, probes: HealthEndpoints) -> AsyncIterator[str]:
    if not url:
        yield ""
        return
    site = SystemSite({f"/{place}": probes for place in HEALTH_PATHS})
    listener = await listen_web(url, site, Options())
    try:
        yield listener.url.rstrip("/")
    finally:
        probes.stopping = True
        await close_listener(listener, site.close(0))
