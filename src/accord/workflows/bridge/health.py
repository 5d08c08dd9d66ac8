"""How agents are: each is asked for its card now and then, or, where it has none, for anything."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Final

from msgspec import Struct

from accord.a2a.client.client import Client
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.card import encode_card
from accord.a2a.protocol.errors import CallError
from accord.operations.identifiers import utc_now
from accord.operations.logs.redaction import redact
from accord.store.store import Store, StoreError
from accord.workflows.bridge.lines import Lines
from accord.workflows.bridge.secrets import Secrets
from accord.workflows.storage.agents import ALL_ACTIVE, SET_HEALTH, AgentRow, Health, agent_of
from accord.workflows.storage.leases import Lease

log = logging.getLogger("accord.bridge")

EVERY_SECONDS: Final = 60.0
AT_ONCE: Final = 16
MAX_DETAIL: Final = 500
"""Characters of what is wrong."""


class Checked(Struct, frozen=True):
    """How an agent is, why, and its card as it is now."""

    health: Health
    detail: str = ""
    card: str | None = None
    """JSON."""


async def check_agent(agent: AgentRow, policy: AddressPolicy, secrets: Secrets) -> Checked:
    """How an agent is now; raises nothing."""
    lines = Lines(policy, secrets)
    try:
        client = (await lines.take(agent)).client
        if isinstance(client, Client):
            card = await client.card()
            return Checked("healthy", card=encode_card(card).decode())
        await client.ping()
        return Checked("healthy")
    except CallError as error:
        return _judged(agent, error)
    finally:
        await lines.close()


def _judged(agent: AgentRow, error: CallError) -> Checked:
    # One that is called without its card need not have any, and what takes tasks by POST only may
    # refuse to be asked in another way: somebody is there.
    if agent.wire != "auto" and error.code in ("http_404", "http_405"):
        return Checked("healthy", "it answers, and has no card")
    return Checked("unhealthy", redact(f"{error.message} ({error.code})")[:MAX_DETAIL])


async def store_check(store: Store, agent: AgentRow, checked: Checked) -> None:
    """Keep how an agent is, with its row. Raises StoreError."""
    row = (agent.id, checked.health, checked.detail, utc_now(), checked.card)
    await store.write(SET_HEALTH, *row)


class HealthChecks:
    """Checks all agents every minute, in one process of all that have it."""

    def __init__(
        self,
        store: Store,
        policy: AddressPolicy,
        secrets: Secrets,
        *,
        every: float = EVERY_SECONDS,
    ) -> None:
        self._store = store
        self._policy = policy
        self._secrets = secrets
        self._every = every
        self._lease = Lease(store, "agent_health", seconds=every * 1.5)
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        with suppress(StoreError):  # it will be over by itself
            await self._lease.release()

    async def _run(self) -> None:
        while True:
            try:
                if await self._lease.take():
                    await self._check_all()
            except StoreError as error:
                log.warning("agents cannot be checked: %s", error)
            except Exception:
                log.exception("checking agents failed")
            await asyncio.sleep(self._every)

    async def _check_all(self) -> None:
        agents = [agent_of(row) for row in await self._store.fetch(ALL_ACTIVE)]
        for begin in range(0, len(agents), AT_ONCE):
            await asyncio.gather(*map(self._check, agents[begin : begin + AT_ONCE]))

    async def _check(self, agent: AgentRow) -> None:
        checked = await check_agent(agent, self._policy, self._secrets)
        if checked.health != agent.health:
            log.info("agent %s is %s: %s", agent.name, checked.health, checked.detail)
        await store_check(self._store, agent, checked)
