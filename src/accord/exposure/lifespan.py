"""The beginning and the end of an ASGI application: the lifespan protocol, from the server's side.

For applications that nobody else starts. One that is mounted, or mounts us, has its server.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from accord.transports.asgi.protocol import App, Event

log = logging.getLogger("accord.exposure")


class Lifespan:
    """Starts an application and ends it; in between its `state` goes along with each request."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.state: dict[str, Any] = {}
        self._ending = asyncio.Event()
        self._begun = False
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Wait until the application is ready. Raises RuntimeError if it says that it is not.

        One that does not know the protocol is ready.
        """
        self._task = asyncio.create_task(self._run())
        try:
            await self._started
        except BaseException:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            raise

    async def stop(self) -> None:
        """Let the application end."""
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
                said = str(event.get("message", "")).strip().rpartition("\n")[2]
                self._started.set_exception(
                    RuntimeError(f"the application did not start: {said or 'it does not say why'}")
                )
            case "lifespan.shutdown.failed":
                log.error("the application did not end well: %s", event.get("message", ""))
