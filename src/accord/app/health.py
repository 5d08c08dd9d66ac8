"""Health checks and metrics over HTTP, for the process and all workers that share its port.

/healthz   the process answers
/readyz    it can do its work: the database answers and can be written, its lease as an executor
           or worker of runs has not expired, and it is not about to stop
/metrics   metrics, for Prometheus

Any worker process answers for all. Each has a number, and sends its metrics to the others at a Unix
socket with that number, in a folder that only their user may enter. A process that replaces another
one takes over its number. Metrics that begin with `process_` have the same names as those of
Prometheus' own clients, so existing dashboards work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from accord import __version__
from accord.app.engine import Engine
from accord.store.catalog import PING
from accord.store.store import Store, StoreError
from accord.telemetry.metrics import MEDIA_TYPE, Exposition, Family, Histogram, Kind
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply, text_reply
from accord.transports.http.web_app import JSON, SMALL_BODY, BodyLimit, Exchange, Underway, WebApp
from accord.workflows.metrics import Backlog

TICK_SECONDS: Final = 0.25
LATENCY_BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

_STAT: Final = Path("/proc/self/stat")
_BOOT: Final = Path("/proc/stat")
_FDS: Final = Path("/proc/self/fd")
_START, _VSIZE, _RSS = 19, 20, 21
"""Positions of fields in /proc/self/stat, after the name of the program (proc(5))."""


class LoopLatency:
    """A histogram of the delays of the event loop."""

    def __init__(self) -> None:
        self._late = Histogram(LATENCY_BUCKETS)

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Measure the delays of the running event loop inside the `with` block."""
        loop = asyncio.get_running_loop()
        due = loop.time() + TICK_SECONDS
        timer: asyncio.TimerHandle

        def tick() -> None:
            nonlocal timer, due
            self._late.add(max(loop.time() - due, 0.0))
            due = loop.time() + TICK_SECONDS
            timer = loop.call_at(due, tick)

        timer = loop.call_at(due, tick)
        try:
            yield
        finally:
            timer.cancel()

    def write(self, page: Exposition) -> None:
        name = "accord_event_loop_late_seconds"
        page.family(name, "histogram", "How late the event loop was, measured all the time.")
        self._late.write(page, name, ())


def write_process(page: Exposition) -> None:
    """Write the metrics of the process."""
    for name, kind, about, value in _process_families():
        page.family(name, kind, about, [((), value)])
    labels = (("version", __version__), ("python", platform.python_version()))
    page.family("accord_build_info", "gauge", "Which Accord this is.", [(labels, 1)])


def _process_families() -> Iterator[tuple[str, Kind, str, float]]:
    import resource  # POSIX only

    yield (
        "process_cpu_seconds_total",
        "counter",
        "Seconds of processors that were used.",
        time.process_time(),
    )
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield "process_max_fds", "gauge", "Files and connections that may be open.", limit
    if not _STAT.exists():
        return
    stat = _STAT.read_text().rpartition(")")[2].split()
    pages = os.sysconf("SC_PAGE_SIZE")
    yield "process_open_fds", "gauge", "Those that are.", sum(1 for _ in _FDS.iterdir())
    yield (
        "process_resident_memory_bytes",
        "gauge",
        "Memory that is really used.",
        int(stat[_RSS]) * pages,
    )
    yield "process_virtual_memory_bytes", "gauge", "Memory with all maps.", int(stat[_VSIZE])
    yield (
        "process_start_time_seconds",
        "gauge",
        "When it was started, in seconds since 1970.",
        _boot_time() + int(stat[_START]) / os.sysconf("SC_CLK_TCK"),
    )


def _boot_time() -> float:
    for line in _BOOT.read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return time.time() - time.monotonic()


log = logging.getLogger("accord.app")

WORKER_TIMEOUT_SECONDS: Final = 2.0
"""Seconds after which a worker that does not send its metrics is left out."""
MAX_METRICS_BYTES: Final = 64 * 1024 * 1024
WORKER_LABEL: Final = "worker"
WORKER_UP: Final = "accord_worker_up"

Families: TypeAlias = Mapping[str, Family]

_decode_families = msgspec.json.Decoder(dict[str, Family]).decode


class WorkerSocket(Struct, frozen=True):
    """The socket address of one worker."""

    folder: Path
    number: int

    def socket(self, number: int) -> Path:
        """Return the path of the socket of the worker with this number."""
        return self.folder / f"{number}.sock"


class WorkerMetrics:
    """The metrics of all workers, gathered by one of them. Belongs to one event loop."""

    def __init__(self, worker: WorkerSocket, own: Callable[[], Families]) -> None:
        self._worker = worker
        self._own = own

    async def gather(self, page: Exposition) -> None:
        """Write the metrics of all workers, each with its number.

        Metrics of workers that do not answer are left out.
        """
        numbers = sorted(int(each.stem) for each in self._worker.folder.glob("*.sock"))
        answers = await asyncio.gather(*(self._fetch(number) for number in numbers))
        page.family(
            WORKER_UP,
            "gauge",
            "Whether a worker told what it counts.",
            (
                (((WORKER_LABEL, str(number)),), int(each is not None))
                for number, each in zip(numbers, answers, strict=True)
            ),
        )
        for number, families in zip(numbers, answers, strict=True):
            if families is not None:
                page.include(families, (WORKER_LABEL, str(number)))

    async def _fetch(self, number: int) -> Families | None:
        if number == self._worker.number:
            return self._own()
        try:
            async with asyncio.timeout(WORKER_TIMEOUT_SECONDS):
                return _decode_families(await _read_socket(self._worker.socket(number)))
        except (OSError, TimeoutError, msgspec.DecodeError) as error:
            log.warning("worker %d does not tell what it counts: %s", number, error)
            return None


@asynccontextmanager
async def share_worker_metrics(
    worker: WorkerSocket, own: Callable[[], Families]
) -> AsyncIterator[WorkerMetrics]:
    """Serve this worker's metrics to the others; `own` returns them."""
    path = worker.socket(worker.number)

    async def send(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(msgspec.json.encode(own()))
        with suppress(OSError):
            await writer.drain()
        writer.close()

    path.unlink(missing_ok=True)  # left by a killed worker with this number
    server = await asyncio.start_unix_server(send, path)
    try:
        yield WorkerMetrics(worker, own)
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def _read_socket(path: Path) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path, limit=MAX_METRICS_BYTES)
    try:
        return await reader.read()
    finally:
        writer.close()


HEALTH_PATHS: Final = ("healthz", "readyz", "metrics")
READY_SECONDS: Final = 2.0
"""The timeout of the database's health check."""
_NO_STORE: Final = b"cache-control: no-store\r\n"
_METRICS_TYPE: Final = f"content-type: {MEDIA_TYPE}\r\n".encode()

WriteMetrics = Callable[[Exposition], None]
"""A function that writes the metrics of a part of the system."""


class HealthEndpoints(WebApp[str]):
    """A `WebApp` for health checks and metrics."""

    def __init__(
        self,
        store: Store,
        counts: Sequence[WriteMetrics],
        *,
        engine: Engine | None = None,
        backlog: Backlog | None = None,
    ) -> None:
        """Create the checks and metrics of a process.

        `counts` write the metrics of this process, `backlog` those of the installation. `engine`
        executes runs in this process, if any.
        """
        self._store = store
        self._engine = engine
        self._counts = counts
        self._backlog = backlog
        self._underway = Underway()
        self.workers: WorkerMetrics | None = None
        """The metrics of all workers that share the port; None for a single process."""
        self.stopping = False
        """True once the process is about to stop, and is not ready for more work."""

    def judge(self, request: WebRequest) -> Reply | str:
        if request.method not in ("GET", "HEAD"):
            return text_reply(405, "only GET", b"allow: GET, HEAD\r\n")
        name = request.path.strip("/")
        return name if name in HEALTH_PATHS else text_reply(404, "there is nothing here")

    def body_limit(self, judged: str) -> BodyLimit:
        return SMALL_BODY

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return text_reply(413, f"a request may have {most:,} bytes")

    def handle(self, judged: str, body: bytes, exchange: Exchange) -> None:
        if judged == "healthz":
            _reply_status(exchange, 200, status="ok")
        elif judged == "metrics":
            self._underway.begin(self._metrics(exchange))
        else:
            self._underway.begin(self._ready(exchange))

    def families(self) -> Mapping[str, Family]:
        """Return the metrics of this process."""
        page = Exposition()
        for count in self._counts:
            count(page)
        return page.families

    async def _metrics(self, exchange: Exchange) -> None:
        page = Exposition()
        if self.workers is None:
            for count in self._counts:
                count(page)
        else:
            await self.workers.gather(page)
        if self._backlog is not None:
            await self._backlog.refresh()
            self._backlog.write(page)
        exchange.reply(page.encode(), headers=_NO_STORE + _METRICS_TYPE)

    async def _ready(self, exchange: Exchange) -> None:
        if self.stopping:
            _reply_status(exchange, 503, status="stopping")
            return
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._store.fetch(PING)
                fault = await self._store.writing_fault()
        except (StoreError, TimeoutError):
            _reply_status(exchange, 503, status="unavailable", database="does not answer")
            return
        if fault:
            _reply_status(
                exchange, 503, status="unavailable", database=f"cannot be written: {fault}"
            )
            return
        if self._engine is not None and not self._engine.is_alive:
            _reply_status(
                exchange, 503, status="unavailable", workflows="may be executed by others now"
            )
            return
        _reply_status(exchange, 200, status="ready")


def _reply_status(exchange: Exchange, code: int, **members: str) -> None:
    exchange.reply(msgspec.json.encode(members), status=code, headers=_NO_STORE + JSON)
