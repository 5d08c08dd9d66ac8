"""Health checks and metrics over HTTP.

/healthz   the process answers
/readyz    it can do its work: the database answers and can be written, the membership is current,
           and it is not about to stop
/metrics   metrics, for Prometheus
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from accord.app.engine import Engine
from accord.app.worker_metrics import WorkerMetrics
from accord.store.catalog import PING
from accord.store.store import Store, StoreError
from accord.telemetry.metrics import MEDIA_TYPE, Exposition, Family
from accord.transports.http.replies import Reply, text_reply
from accord.transports.web.app import (
    JSON,
    SMALL_BODY,
    BodyLimit,
    Exchange,
    Underway,
    WebApp,
    WebRequest,
)
from accord.workflows.metrics import Backlog

HEALTH_PATHS: Final = ("healthz", "readyz", "metrics")
READY_SECONDS: Final = 2.0
"""The timeout of the database's health check."""
_NO_STORE: Final = b"cache-control: no-store\r\n"
_TEXT: Final = f"content-type: {MEDIA_TYPE}\r\n".encode()

WriteMetrics = Callable[[Exposition], None]
"""Writes the metrics of a part of the system."""


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
        """Report the metrics `counts` of this process and `backlog` of the installation.

        `engine` executes runs in this process, if any.
        """
        self._store = store
        self._engine = engine
        self._counts = counts
        self._backlog = backlog
        self._underway = Underway()
        self.workers: WorkerMetrics | None = None
        """The other workers at the same port."""
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
        exchange.reply(page.encode(), headers=_NO_STORE + _TEXT)

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


def _reply_status(exchange: Exchange, code: int, **said: str) -> None:
    exchange.reply(msgspec.json.encode(said), status=code, headers=_NO_STORE + JSON)
