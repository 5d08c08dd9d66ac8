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

    async def close(self) -> None:
        await self._http.aclose()

    async def start_run(self, workflow: str, key: str, number: int) -> Acknowledged:
        body = {"input": {"key": key, "number": number}, "idempotency_key": key}
        run = await self.ask("POST", f"/workflows/{workflow}/runs", body)
        self.acknowledged += 1
        return Acknowledged(key, number, workflow, run["id"])

    async def signal(self, run: Acknowledged) -> None:
        body = {"name": "go", "id": f"go-{run.key}", "payload": signal_payload(run.key)}
        await self.ask("POST", f"/runs/{run.id}/signal", body)

    async def cancel(self, run: Acknowledged) -> None:
        run.cancelled = True
        try:
            await self.ask("POST", f"/runs/{run.id}/cancel")
        except RefusedError as error:
            if error.status != 409:  # it has ended already
                raise

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
