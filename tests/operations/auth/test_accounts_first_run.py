"""The first run makes an administrator, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib.resources import files

import pytest

from accord.operations.auth.accounts import Accounts
from accord.operations.auth.credentials import bearer
from accord.operations.context import RULES
from accord.store import Store, open_store
from tests.operations.auth.world import KEY, Trail, World


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url, durable=False) as found:
        await found.migrate("operations", files("accord.operations") / "migrations")
        yield found


@pytest.mark.req("H-33")
async def test_the_first_run_makes_an_administrator_and_a_token_that_proposes(store: Store) -> None:
    trail = Trail()
    accounts = Accounts(store, KEY, trail=trail)
    made = await accounts.first_run()
    assert made is not None
    assert made.username == "admin"
    caller = await accounts.caller(bearer(made.token))
    assert (caller.username, caller.role) == ("admin", "Administrator")
    assert {right for right in RULES if caller.may(right)} == {"read", "propose"}
    assert (await accounts.sign_in("admin", made.password)).user.role == "Administrator"
    assert await accounts.first_run() is None
    assert trail.told()[0] == ("accord", "first_run", "done", "")
    for secret in (made.password, made.token):
        assert secret not in repr(made)
    await accounts.close()


async def test_processes_that_start_at_once_make_one(store: Store, url: str) -> None:
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(open_store(url)) for _ in range(4)]
        all_accounts = [Accounts(each, KEY) for each in stores]
        made = await asyncio.gather(
            *(accounts.first_run() for accounts in all_accounts for _ in range(3))
        )
        for accounts in all_accounts:
            await accounts.close()
    assert sum(each is not None for each in made) == 1
    [row] = await store.fetch("SELECT COUNT(*) AS total FROM users")
    assert row["total"] == 1


async def test_where_there_is_an_administrator_nobody_is_made(world: World) -> None:
    assert await world.accounts.first_run() is None


async def test_a_name_that_is_taken_is_left_to_whoever_has_it(store: Store) -> None:
    world = World(store)
    await world.add("admin", "Commenter")
    made = await world.accounts.first_run()
    assert made is not None
    assert made.username.startswith("admin-")
    await world.accounts.close()
