"""A hub without faces: its operations on a database, called by people of each role."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from itertools import count
from typing import Any

from msgspec.structs import replace

from accord.hub.domain.rules import AcceptancePolicy
from accord.hub.exchange.formats import Formats
from accord.hub.recorders import add_hints, announce, record
from accord.hub.registry import hub_operations
from accord.hub.search_index import index
from accord.operations.arguments import convert
from accord.operations.audit.record import Record
from accord.operations.context import Caller, Role, utc_now
from accord.operations.operation import Outcome
from accord.operations.runner import Recorder, Runner
from accord.store import Store, open_store

RECORDERS: tuple[Recorder, ...] = (record, index, add_hints, announce)
"""What the hub keeps of every change."""


class Trail:
    """Records, in a list."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    async def write(self, transaction: Any, record: Record) -> None:
        self.records.append(record)

    def enqueue(self, record: Record) -> None:
        self.records.append(record)


class World:
    """A hub with an administrator, two users and a commenter."""

    def __init__(self, store: Store) -> None:
        self.trail = Trail()
        self.store = store
        self.set_policy(AcceptancePolicy())
        self._numbers = count(1)
        self.admin = _caller("ada", "Administrator", 1)
        self.user = _caller("uma", "User", 2)
        self.other = _caller("otto", "User", 3)
        self.commenter = _caller("carl", "Commenter", 4)

    def set_policy(self, policy: AcceptancePolicy) -> None:
        """Have proposals accepted by another policy from now on."""
        self.policy = policy
        self.runner = Runner(
            hub_operations(),
            self.store,
            self.trail,
            services=(Formats(), policy),
            recorders=RECORDERS,
        )

    async def call(self, name: str, /, caller: Caller | None = None, **arguments: Any) -> Any:
        """The result of an operation, as `user` calls it unless somebody else does."""
        return (await self.outcome(name, caller, **arguments)).result

    async def outcome(
        self, name: str, /, caller: Caller | None = None, **arguments: Any
    ) -> Outcome:
        operation = self.runner.registry[name]
        caller = replace(caller or self.user, correlation_id=f"test-{next(self._numbers)}")
        return await self.runner.run(operation, convert(operation, arguments), caller)


@asynccontextmanager
async def world_at(url: str) -> AsyncIterator[World]:
    """A world on an empty database."""
    async with open_store(url, durable=False) as store:
        await store.migrate("operations", files("accord.operations") / "migrations")
        await store.migrate("hub", files("accord.hub") / "migrations")
        world = World(store)
        for caller in (world.admin, world.user, world.other, world.commenter):
            now = utc_now()
            await store.execute(
                "INSERT INTO users (id, username, username_key, role, created_at, updated_at) "
                "VALUES ($1, $2, $2, $3, $4, $4)",
                *(caller.user_id, caller.username, caller.role, now),
            )
        yield world


def _caller(name: str, role: Role, number: int) -> Caller:
    return Caller(
        user_id=f"00000000-0000-4000-8000-{number:012d}",
        username=name,
        role=role,
        via="session",
        face="rest",
    )
