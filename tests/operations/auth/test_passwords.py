"""Passwords: Argon2id, and never too many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from argon2 import PasswordHasher

from accord.operations.auth.passwords import (
    MAX_WAITING,
    Passwords,
    _unmatchable_hash,
    random_password,
)
from accord.operations.errors import ServiceUnavailableError
from tests.effort import growth


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    found = Passwords()
    yield found
    found.close()


@pytest.mark.req("H-14")
async def test_a_password_is_kept_as_an_argon2id_hash(passwords: Passwords) -> None:
    hashed = await passwords.hash("correct horse")
    assert hashed.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert await passwords.verify("correct horse", hashed)
    assert not await passwords.verify("correct house", hashed)
    assert await passwords.hash("correct horse") != hashed


async def test_nobodys_password_is_never_right_and_takes_as_long(passwords: Passwords) -> None:
    hashed = await passwords.hash("correct horse")

    def verify(of: str) -> Callable[[], object]:
        return lambda: passwords._verify("another horse", of)

    assert not await passwords.verify("another horse", "")
    assert growth(verify(hashed), verify(_unmatchable_hash())) > 1 / 3


async def test_a_broken_hash_is_of_no_password(passwords: Passwords) -> None:
    assert not await passwords.verify("correct horse", "$argon2id$broken")


async def test_a_hash_with_other_figures_is_outdated(passwords: Passwords) -> None:
    weak = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash("correct horse")
    assert passwords.is_outdated(weak)
    assert await passwords.verify("correct horse", weak)
    assert not passwords.is_outdated(await passwords.hash("correct horse"))


async def test_no_more_than_so_many_wait_for_their_turn(passwords: Passwords) -> None:
    results = await asyncio.gather(
        *(passwords.hash("correct horse") for _ in range(MAX_WAITING + 3)), return_exceptions=True
    )
    refused = [each for each in results if isinstance(each, ServiceUnavailableError)]
    assert (len(refused), len(results)) == (3, MAX_WAITING + 3)
    assert await passwords.hash("and on it goes")


def test_random_passwords_differ() -> None:
    made = {random_password() for _ in range(100)}
    assert (len(made), {len(each) for each in made}) == (100, {20})
