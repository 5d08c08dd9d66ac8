"""The membership of a process among the executors or workers of an installation.

A process renews a lease by the clock of the database. Once the lease has expired, others may take
over its work without asking; so all of its writes are guarded by fences.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import suppress
from typing import Final, Literal, TypeAlias
from uuid import uuid4

from accord.store.store import Store, StoreError
from accord.workflows.storage.leases import ANY_MEMBER, DELETE_MEMBER, DELETE_MEMBERS, RENEW_MEMBER

log = logging.getLogger("accord.workflows")

MemberKind: TypeAlias = Literal["executor", "bridge"]

WAKE: Final = "members"
"""The notification channel for members that join or leave."""
LEASE: Final = 10.0
"""The duration of a lease in seconds."""

_RENEWALS: Final = 3
"""The number of renewals within the duration of a lease."""


async def is_alive(store: Store, kind: MemberKind) -> bool:
    """Return True if any process of a kind is alive."""
    return bool(await store.fetch(ANY_MEMBER[store.engine], kind))


async def forget_members(store: Store) -> None:
    """Delete members that are known to be gone, instead of waiting for their leases to expire.

    Raise StoreError.
    """
    await store.write(DELETE_MEMBERS)


class Membership:
    """The membership of one process of one kind.

    `lost` is set while its lease may have expired; the next successful renewal clears it.
    """

    def __init__(self, store: Store, kind: MemberKind, *, lease: float = LEASE) -> None:
        self.id = str(uuid4())
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.kind = kind
        self.lease = lease
        self.lost = asyncio.Event()
        self._store = store
        self._say = RENEW_MEMBER[store.engine]
        self._over: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start renewing the lease. Raise StoreError if the database is unreachable."""
        await self._renew()
        await self._store.notify(WAKE)
        self._renewing = asyncio.create_task(self._keep_renewing())

    async def close(self) -> None:
        """Leave, so others need not wait until the lease expires."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if self._over is not None:
            self._over.cancel()
        self.lost.set()
        with suppress(StoreError):  # its lease will be over by itself
            await self._store.write(DELETE_MEMBER, self.id)
            await self._store.notify(WAKE)

    async def _keep_renewing(self) -> None:
        pause = self.lease / _RENEWALS
        while True:
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(self.lease):
                    await self._renew()
                pause = self.lease / _RENEWALS
            except (StoreError, TimeoutError) as error:
                log.warning("%s %s cannot renew its lease: %s", self.kind, self.name, error)
                pause = self.lease / _RENEWALS**2

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        asked = loop.time()
        await self._store.write(self._say, self.id, self.kind, self.name, self.lease)
        if self._over is not None:
            self._over.cancel()
        # From when it was asked: the database began to count at that time or later.
        self._over = loop.call_at(asked + self.lease, self.lost.set)
        self.lost.clear()
