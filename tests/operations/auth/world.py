"""Accounts without faces: their operations on a database, called by people of each role."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from msgspec.structs import replace

from accord.operations.arguments import convert
from accord.operations.audit.record import Record
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.credentials import RequestCredentials, bearer
from accord.operations.auth.operations import operations
from accord.operations.auth.server_key import ServerKey
from accord.operations.auth.users import NewToken, SignedIn
from accord.operations.context import LOCAL, Caller, Role, utc_now
from accord.operations.operation import Outcome
from accord.operations.runner import Runner
from accord.store import Store, open_store

PASSWORD = "correct horse battery"
KEY = ServerKey(bytes(range(32)))


class Trail:
    """Records, in a list."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    async def write(self, transaction: Any, record: Record) -> None:
        self.records.append(record)

    def enqueue(self, record: Record) -> None:
        self.records.append(record)

    def told(self) -> list[tuple[str, str, str, str]]:
        """Who did what, and what came of it."""
        return [(each.actor, each.operation, each.outcome, each.error) for each in self.records]


class World:
    """Accounts with somebody of each role: ada, uma, otto and carl."""

    def __init__(self, store: Store) -> None:
        self.trail = Trail()
        self.store = store
        self.time = ""
        """What the clock says; empty for the real time."""
        self.accounts = Accounts(store, KEY, trail=self.trail, now=self.now)
        self.runner = Runner(operations, store, self.trail, services=(self.accounts,), now=self.now)
        self.callers: dict[str, Caller] = {}

    def now(self) -> str:
        return self.time or utc_now()

    async def call(self, name: str, caller: Caller | str = LOCAL, /, **arguments: Any) -> Any:
        return (await self.outcome(name, caller, **arguments)).result

    async def outcome(
        self, name: str, caller: Caller | str = LOCAL, /, **arguments: Any
    ) -> Outcome:
        operation = self.runner.registry[name]
        if isinstance(caller, str):
            caller = self.callers[caller]
        return await self.runner.run(operation, lambda: convert(operation, arguments), caller)

    async def add(self, username: str, role: Role, **more: Any) -> Caller:
        user = await self.call("create_user", username=username, role=role, **more)
        caller = Caller(user_id=user.id, username=username, role=role, via="session", face="rest")
        self.callers[username] = caller
        return caller

    async def token(self, username: str, name: str = "laptop", **more: Any) -> str:
        """A new token of somebody."""
        new: NewToken = await self.call("create_token", self.callers[username], name=name, **more)
        assert isinstance(new.token, str)
        return new.token

    async def caller(self, token: str | RequestCredentials) -> Caller:
        credentials = bearer(token) if isinstance(token, str) else token
        caller = await self.accounts.caller(replace(credentials, address="192.0.2.7"))
        return replace(caller, expires_at="")

    async def dump(self, table: str) -> str:
        """All that a table holds, as text."""
        rows = await self.store.fetch(f"SELECT * FROM {table}")
        assert rows
        return str([[row[place] for place in range(len(row))] for row in rows])

    async def sign_in(self, username: str, password: str = PASSWORD, **more: Any) -> SignedIn:
        return await self.accounts.sign_in(username, password, address="192.0.2.7", **more)


@asynccontextmanager
async def world_at(url: str) -> AsyncIterator[World]:
    """A world on an empty database."""
    async with open_store(url, durable=False) as store:
        await store.migrate("operations", files("accord.operations") / "migrations")
        world = World(store)
        try:
            await world.add("ada", "Administrator")
            await world.add("uma", "User")
            await world.add("otto", "User")
            await world.add("carl", "Commenter")
            world.trail.records.clear()
            yield world
        finally:
            await world.accounts.close()
