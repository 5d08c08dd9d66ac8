"""The client: starts runs over REST, and keeps what the server acknowledged.

It asks again and again with the same idempotency key until it has an answer, as clients do that
must not lose anything.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import httpx
from msgspec import Struct

from chaos.workflow import signal_payload

AGAIN_SECONDS: Final = 0.1
LOOK_SECONDS: Final = 0.05
"""How often it is looked whether a run has ended."""
ENDED: Final = ("completed", "failed", "cancelled")


class RefusedError(Exception):
    """The server answered, and will not."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Acknowledged(Struct):
    """A run that the server said it has."""

    key: str
    number: int
    workflow: str
    id: str
    cancelled: bool = False
    """Whether somebody wanted it to end before."""
    retried: bool = False
    """Whether it is brought to its end by retries, whatever becomes of it in between."""

    @property
    def least(self) -> int:
        """How often each thing in it happened at least."""
        return 0 if self.cancelled else 1


class Client:
    """Calls one server, which may be away for a while."""

    def __init__(self, url: str, token: str) -> None:
        self._http = httpx.AsyncClient(
            base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=10.0
        )
        self.acknowledged = 0
        self.unanswered = 0
        """Requests that nobody answered, or that were answered by 503."""
        self.retries = 0
        """Of runs, that the server accepted."""

    async def close(self) -> None:
        await self._http.aclose()

    async def start_run(
        self, workflow: str, key: str, number: int, *, fails: int = 0
    ) -> Acknowledged:
        input = {"key": key, "number": number, "fails": fails}
        body = {"input": input, "idempotency_key": key}
        run = await self.ask("POST", f"/workflows/{workflow}/runs", body)
        self.acknowledged += 1
        return Acknowledged(key, number, workflow, run["id"])

    async def signal(self, run: Acknowledged) -> None:
        """Send a run its signal; one that has ended and is to be retried hears it after that."""
        body = {"name": "go", "id": f"go-{run.key}", "payload": signal_payload(run.key)}
        if not run.retried:
            await self.ask("POST", f"/runs/{run.id}/signal", body)
            return
        while not await self._command(run, "signal", body):
            await self.retry(run)
            await asyncio.sleep(LOOK_SECONDS)

    async def cancel(self, run: Acknowledged) -> None:
        await self._command(run, "cancel")

    async def until_ended(self, run: Acknowledged) -> str:
        """The state in which a run has ended."""
        while True:
            state: str = (await self.ask("GET", f"/runs/{run.id}"))["state"]
            if state in ENDED:
                return state
            await asyncio.sleep(LOOK_SECONDS)

    async def retry(self, run: Acknowledged) -> None:
        self.retries += await self._command(run, "retry")

    async def bring_to_end(self, run: Acknowledged) -> None:
        """Retry a run until it has completed."""
        while await self.until_ended(run) != "completed":
            await self.retry(run)
            await asyncio.sleep(LOOK_SECONDS)

    async def _command(self, run: Acknowledged, verb: str, body: Any = None) -> bool:
        """Whether a run took it; one that has ended or goes on meanwhile does not."""
        try:
            await self.ask("POST", f"/runs/{run.id}/{verb}", body)
        except RefusedError as error:
            if error.status != 409:
                raise
            return False
        return True

    async def ask(self, verb: str, path: str, body: Any = None) -> Any:
        """What the server answers, when it does. Raises RefusedError."""
        while True:
            try:
                answer = await self._http.request(verb, path, json=body)
            except httpx.TransportError:
                pass
            else:
                if answer.status_code < 300:
                    return answer.json()
                if answer.status_code != 503:
                    told = f"{verb} {path}: {answer.status_code} {answer.text}"
                    raise RefusedError(told, answer.status_code)
            self.unanswered += 1
            await asyncio.sleep(AGAIN_SECONDS)
