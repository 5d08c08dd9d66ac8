"""The server side of ASGI for calls in process: requests, responses, lifespan."""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Any

from accord.exposure.response import Response
from accord.exposure.routes import Route
from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.transports.asgi.scope import App, Event, Scope

log = logging.getLogger("accord.exposure")


class Exchange:
    """One request to an application, and its response.

    An exchange belongs to one call and is never used again.
    """

    __slots__ = (
        "_body",
        "_chunks",
        "_headers",
        "_max_bytes",
        "_outcome",
        "_over",
        "_route",
        "_size",
        "_status",
        "_waker",
        "answered",
        "correlation_id",
    )

    def __init__(self, route: Route, body: bytes, *, max_bytes: int) -> None:
        self._route = route
        self._body: bytes | None = body
        self._max_bytes = max_bytes
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        self._size = 0
        self._over = False
        self._waker: asyncio.Event | None = None
        self._outcome: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.answered = False
        """True once the response is complete; the application may still be running."""
        self.correlation_id = ""
        """The id of the log entry about an exception of the application; empty if there was
        none."""

    async def run(self, app: App, scope: Scope) -> None:
        """Run the application on the request.

        An exception of the application is caught, and `response` raises an `RpcError` for it. Only
        CancelledError is raised here.
        """
        try:
            await app(scope, self.receive, self.send)
        except Exception as error:  # noqa: BLE001 - the application may raise anything
            self._failed(error)
        finally:
            if not self._outcome.done():
                self._settle(own_error("internal_error", f"{self._route} ended without an answer"))

    async def response(self) -> Response:
        """Return the application's response.

        Raises `RpcError` if the application fails, takes too long, or exceeds the size limit.
        """
        return await self._outcome

    def time_out(self, seconds: float) -> None:
        """End the exchange with a timeout error."""
        got = f", {self._size:,} bytes of its answer came" if self._status else ""
        self._settle(own_error("timeout", f"{self._route} took longer than {seconds:g} s{got}"))

    def leave(self) -> None:
        """Disconnect from the application: the response is no longer needed."""
        self._over = True
        if self._waker is not None:
            self._waker.set()

    # What the application is called with

    async def receive(self) -> Event:
        if self._body is not None and not self._over:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        if not self._over:
            if self._waker is None:
                self._waker = asyncio.Event()
            await self._waker.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Event) -> None:
        if self._over:
            # ASGI, HTTP since version 2.4: what is sent after the disconnect raises OSError.
            raise OSError("nobody waits for this response")
        match event["type"]:
            case "http.response.start":
                self._start(event)
            case "http.response.body":
                self._take(event)

    def _start(self, event: Event) -> None:
        if self._status:
            raise RuntimeError("http.response.start was sent twice")
        self._status = event["status"]
        self._headers = list(event.get("headers", ()))
        for name, value in self._headers:
            if name == b"content-length" and value.isdigit() and len(value) < 20:
                self._check_size(int(value))

    def _take(self, event: Event) -> None:
        if not self._status:
            raise RuntimeError("http.response.body was sent before http.response.start")
        chunk = bytes(event.get("body", b""))
        self._size += len(chunk)
        self._check_size(self._size)
        self._chunks.append(chunk)
        if not event.get("more_body", False):
            body = chunk if len(self._chunks) == 1 else b"".join(self._chunks)
            self.answered = True
            self._settle(Response(status=self._status, headers=self._headers, body=body))

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            most = self._max_bytes
            what = f"the answer of {self._route} is over the limit of {most:,} bytes"
            self._settle(own_error("content_too_large", what, limit=most))
            raise OSError(what)

    # How it ends

    def _settle(self, outcome: Response | RpcError) -> None:
        self.leave()
        if self._outcome.done():
            return
        if isinstance(outcome, Response):
            self._outcome.set_result(outcome)
        else:
            self._outcome.set_exception(outcome)

    def _failed(self, error: Exception) -> None:
        if self._over and not self.answered:
            log.debug("%s failed after its caller had left", self._route, exc_info=error)
            return
        self.correlation_id = secrets.token_hex(8)
        log.error("%s failed [%s]", self._route, self.correlation_id, exc_info=error)
        failure = own_error("internal_error", None, correlationId=self.correlation_id)
        failure.__cause__ = error
        self._settle(failure)


class Lifespan:
    """The lifespan of an application: start, state for its requests, shutdown."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.state: dict[str, Any] = {}
        self._ending = asyncio.Event()
        self._begun = False
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the application, and wait until it is ready.

        An application that does not support the lifespan protocol is ready at once. Raises
        RuntimeError if the application reports a failure.
        """
        self._task = asyncio.create_task(self._run())
        try:
            await self._started
        except BaseException:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            raise

    async def stop(self) -> None:
        """Shut the application down, and wait until it has ended."""
        if self._task is not None:
            self._ending.set()
            await self._task

    async def _run(self) -> None:
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": self.state,
        }
        try:
            await self._app(scope, self._receive, self._send)
        except Exception as error:
            if self._started.done():
                log.error("the application failed while it started or ended", exc_info=error)
            else:
                # ASGI, lifespan: an application that raises here does not want to be told.
                log.debug("the application does not take part in its lifespan", exc_info=error)
        finally:
            if not self._started.done():
                self._started.set_result(None)

    async def _receive(self) -> Event:
        if not self._begun:
            self._begun = True
            return {"type": "lifespan.startup"}
        await self._ending.wait()
        return {"type": "lifespan.shutdown"}

    async def _send(self, event: Event) -> None:
        match event["type"]:
            case "lifespan.startup.complete" if not self._started.done():
                self._started.set_result(None)
            case "lifespan.startup.failed" if not self._started.done():
                reason = str(event.get("message", "")).strip().rpartition("\n")[2]
                self._started.set_exception(
                    RuntimeError(
                        f"the application did not start: {reason or 'it does not say why'}"
                    )
                )
            case "lifespan.shutdown.failed":
                log.error("the application did not end well: %s", event.get("message", ""))
