"""Tells webhooks what happens to tasks: in order for each task, a few times, and never for long.

Where they are is a client's word, so that every address is judged before it is asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Final

from accord.a2a.client.exchange import AddressGuard, AddressRefusedError, Exchanger
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.errors import CallError
from accord.a2a.protocol.formats import V10
from accord.a2a.protocol.model import ArtifactUpdate, PushConfig, StatusUpdate
from accord.jsonrpc.protocol.errors import ConnectError, InvalidParamsError
from accord.jsonrpc.protocol.messages import encode
from accord.transports.urls import WebAddress, parse_web_address
from accord.transports.web.app import Underway

log = logging.getLogger("accord.a2a")

TIMEOUT_SECONDS: Final = 10.0
RETRY_DELAYS: Final = (0.0, 1.0, 5.0)
"""How long to wait before each try."""
MAX_QUEUED: Final = 1_000
MAX_RESPONSE_BYTES: Final = 64 * 1024
TOKEN_HEADER: Final = "X-A2A-Notification-Token"


class WebhookSender:
    """Delivers events. Belongs to one event loop."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self._exchanger: Exchanger | None = None
        self._queues: dict[str, deque[tuple[PushConfig, bytes]]] = {}
        self._queued = 0
        self._underway = Underway()

    async def check(self, config: PushConfig) -> None:
        """Raise InvalidParamsError for a URL that must not be called."""
        try:
            await AddressGuard(self._policy).resolve(_parse(config.url))
        except (AddressRefusedError, ConnectError) as error:
            raise InvalidParamsError(error.message) from error
        except OSError:
            log.info("the host of the webhook %s is unknown, so far", _parse(config.url))
        if "\r" in config.token + config.credentials or "\n" in config.token + config.credentials:
            raise InvalidParamsError("a token has no line breaks")

    def tell(self, task_id: str, config: PushConfig, event: StatusUpdate | ArtifactUpdate) -> None:
        """Deliver an event, later."""
        if self._queued >= MAX_QUEUED:
            log.warning("too many webhooks wait to be told: %s is not", config.url)
            return
        self._queued += 1
        # 1.0, section 4.3.3: as a stream tells it, whichever format asked for it
        payload = encode(V10.event(event))
        queue = self._queues.get(task_id)
        if queue is not None:
            queue.append((config, payload))
            return
        self._queues[task_id] = deque([(config, payload)])
        self._underway.begin(self._deliver(task_id))

    async def close(self, drain: float) -> None:
        await self._underway.close(drain)
        if self._exchanger is not None:
            self._exchanger.close()

    async def _deliver(self, task_id: str) -> None:
        queue = self._queues[task_id]
        try:
            while queue:
                config, payload = queue.popleft()
                self._queued -= 1
                await self._post(config, payload)
        finally:
            self._queued -= len(queue)
            del self._queues[task_id]

    async def _post(self, config: PushConfig, payload: bytes) -> None:
        headers = {"content-type": "application/a2a+json"}
        if config.token:
            headers[TOKEN_HEADER] = config.token
        if config.scheme:
            headers["authorization"] = f"{config.scheme} {config.credentials}"
        for delay in RETRY_DELAYS:
            await asyncio.sleep(delay)
            try:
                await self._sender().ask("POST", _parse(config.url), headers, payload)
            except CallError as error:
                log.info("the webhook %s was not told: %s", _parse(config.url), error)
            else:
                return

    def _sender(self) -> Exchanger:
        if self._exchanger is None:
            self._exchanger = Exchanger(
                policy=self._policy, tls=None, timeout=TIMEOUT_SECONDS, max_bytes=MAX_RESPONSE_BYTES
            )
        return self._exchanger


def _parse(url: str) -> WebAddress:
    address = parse_web_address(url)
    if address.scheme not in ("http", "https"):
        raise ConnectError(f"webhooks are reached by http or https, not {address.scheme}")
    return address
