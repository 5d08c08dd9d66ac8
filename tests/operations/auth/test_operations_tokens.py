"""Tokens: made once, shown once, checked at every request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from accord.operations.auth.credentials import RequestCredentials, make_token
from accord.operations.auth.storage import MAX_USABLE_TOKENS, days_after
from accord.operations.auth.users import AccessToken
from accord.operations.context import Caller
from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnauthenticatedError,
)
from accord.store import open_store
from tests.operations.auth.world import KEY, World

NOW = "2026-11-15T09:30:00.000000Z"


@pytest.mark.req("H-05", "H-15")
async def test_whoever_has_a_token_calls_as_its_owner(world: World) -> None:
    new = await world.call("create_token", "uma", name="laptop")
    caller = await world.caller(new.token)
    assert caller == Caller(
        user_id=world.callers["uma"].user_id,
        username="uma",
        role="User",
        via="token",
        face="rest",
        scopes=frozenset({"read", "comment", "write", "propose", "run"}),
        token_id=new.id,
        address="192.0.2.7",
    )


@pytest.mark.req("H-15")
async def test_a_token_is_shown_once_and_kept_as_a_hash(world: World) -> None:
    world.time = NOW
    new = await world.call("create_token", "uma", name="laptop", scopes=["read"], expires_in=30)
    page = await world.call("list_tokens", "uma")
    assert page.items == [
        AccessToken(
            id=new.id,
            name="laptop",
            user="uma",
            prefix=new.token[:15],
            last_four=new.token[-4:],
            scopes=["read"],
            created_at=NOW,
            expires_at="2026-12-15T09:30:00.000000Z",
            last_used_at=None,
            revoked_at=None,
        )
    ]
    rows = await world.store.fetch("SELECT * FROM tokens")
    assert new.token not in await world.dump("tokens")
    assert new.token not in repr(new)
    assert rows[0]["hash"] != ""
    assert KEY.derive("tokens").hex() not in rows[0]["hash"]


async def _broken(world: World, token: str) -> str:
    return f"{token[:-1]}{'a' if token[-1] != 'a' else 'b'}"


async def _unknown(world: World, token: str) -> str:
    return make_token("pat")


async def _revoked(world: World, token: str) -> str:
    await world.call("revoke_token", "uma", id="laptop")
    return token


async def _expired(world: World, token: str) -> str:
    world.time = days_after(world.now(), 91)
    return token


async def _deactivated(world: World, token: str) -> str:
    await world.call("update_user", id="uma", active=False)
    return token


@pytest.mark.req("H-15", "H-17")
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_broken, "malformed"),
        (_unknown, "unknown"),
        (_revoked, "revoked"),
        (_expired, "expired"),
        (_deactivated, "inactive"),
    ],
)
async def test_whatever_is_wrong_with_a_token_the_answer_is_the_same(
    world: World, spoil: Any, reason: str
) -> None:
    token = await spoil(world, await world.token("uma"))
    with pytest.raises(UnauthenticatedError) as refused:
        await world.caller(token)
    assert (refused.value.message, refused.value.data) == ("a valid token is required", {})
    assert refused.value.__cause__ is None
    record = world.trail.records[-1]
    assert (record.operation, record.outcome, record.error) == (
        "authenticate",
        "unauthenticated",
        reason,
    )
    assert record.address == "192.0.2.7"


async def test_a_request_without_credentials_is_refused_and_on_record(world: World) -> None:
    with pytest.raises(UnauthenticatedError):
        await world.caller(RequestCredentials())
    assert world.trail.told() == [("", "authenticate", "unauthenticated", "missing")]


async def test_a_token_in_a_cookie_is_none(world: World) -> None:
    token = await world.token("uma")
    with pytest.raises(UnauthenticatedError):
        await world.caller(RequestCredentials(cookie=token, safe=True))


async def test_a_token_with_a_wrong_checksum_is_refused_before_the_database_is_asked(
    world: World,
) -> None:
    await world.store.close()
    with pytest.raises(UnauthenticatedError):
        await world.caller("accord_pat_" + "0" * 36)


@pytest.mark.req("H-15")
async def test_a_token_revoked_by_another_process_is_refused_at_once(
    world: World, url: str
) -> None:
    token = await world.token("uma")
    await world.caller(token)
    async with open_store(url) as elsewhere:
        await elsewhere.execute("UPDATE tokens SET revoked_at = $1", world.now())
        with pytest.raises(UnauthenticatedError):
            await world.caller(token)


@pytest.mark.req("H-15")
async def test_a_token_makes_no_tokens(world: World) -> None:
    caller = await world.caller(await world.token("ada"))
    for operation, arguments in (
        ("create_token", {"name": "another"}),
        ("list_tokens", {}),
        ("get_token", {"id": "laptop"}),
        ("revoke_token", {"id": "laptop"}),
        ("change_own_password", {"current_password": "x" * 10, "new_password": "y" * 10}),
        ("sign_out_everywhere", {}),
    ):
        with pytest.raises(ForbiddenError, match="needs you to sign in: no token"):
            await world.call(operation, caller, **arguments)


@pytest.mark.req("H-15")
async def test_a_token_does_what_its_scopes_name(world: World) -> None:
    caller = await world.caller(await world.token("ada", scopes=["read"]))
    await world.call("get_own_user", caller)
    with pytest.raises(ForbiddenError, match="needs a token with the scope 'admin'"):
        await world.call("list_users", caller)


async def test_nobody_gives_away_what_they_may_not_do(world: World) -> None:
    with pytest.raises(InvalidError, match="'admin' is not for the role User; there are read, "):
        await world.token("uma", scopes=["read", "admin"])
    with pytest.raises(InvalidError, match="'write' is not for the role Commenter"):
        await world.token("carl", scopes=["write"])
    with pytest.raises(InvalidError, match="name at least one"):
        await world.token("uma", scopes=[])
    assert (await world.caller(await world.token("uma", scopes=["approve"]))).scopes == {"approve"}


@pytest.mark.parametrize("days", [0, 366, -1, "many"])
async def test_a_token_lives_at_most_a_year(world: World, days: Any) -> None:
    with pytest.raises(InvalidError) as refused:
        await world.token("uma", expires_in=days)
    assert [each.pointer for each in refused.value.errors] == ["/expires_in"]


@pytest.mark.parametrize("name", ["", "a" * 101, "line\nbreak", "nul\0", " blank "])
async def test_a_token_has_a_name_for_people(world: World, name: str) -> None:
    with pytest.raises(InvalidError) as refused:
        await world.token("uma", name)
    assert [each.pointer for each in refused.value.errors] == ["/name"]


async def test_a_name_is_free_again_once_its_token_cannot_be_used(world: World) -> None:
    await world.token("uma")
    with pytest.raises(ConflictError, match="uma has a token 'laptop' already"):
        await world.token("uma")
    await world.token("otto")
    await world.call("revoke_token", "uma", id="laptop")
    await world.token("uma", expires_in=1)
    world.time = days_after(world.now(), 2)
    token = await world.token("uma")
    assert (await world.caller(token)).username == "uma"
    page = await world.call("list_tokens", "uma")
    assert [each.revoked_at is None for each in page.items] == [True, False, False]


async def test_nobody_has_too_many_tokens(world: World) -> None:
    for number in range(MAX_USABLE_TOKENS):
        await world.token("uma", f"token {number}")
    with pytest.raises(ConflictError, match="uma has 100 tokens, which is the limit"):
        await world.token("uma", "one more")


async def test_tokens_are_their_owners_business_and_administrators(world: World) -> None:
    new = await world.call("create_token", "uma", name="laptop")
    with pytest.raises(ForbiddenError):
        await world.call("list_tokens", "otto", user="uma")
    with pytest.raises(ForbiddenError):
        await world.call("list_tokens", "otto", user="nobody")
    for id in (new.id, "laptop"):
        with pytest.raises(NotFoundError):
            await world.call("revoke_token", "otto", id=id)
    with pytest.raises(NotFoundError):
        await world.call("get_token", "otto", id=new.id)
    page = await world.call("list_tokens", "ada", user="uma")
    assert [each.name for each in page.items] == ["laptop"]
    with pytest.raises(ForbiddenError, match="tokens are made by their owners"):
        await world.call("create_token", "ada", user="uma", name="mine")
    await world.call("revoke_token", "ada", id=new.id)
    with pytest.raises(UnauthenticatedError):
        await world.caller(new.token)


async def test_tokens_are_listed_page_by_page(world: World) -> None:
    for number in range(5):
        await world.token("uma", f"token {number}")
    page = await world.call("list_tokens", "uma", limit=2)
    names = [each.name for each in page.items]
    while page.has_more:
        page = await world.call("list_tokens", "uma", limit=2, cursor=page.next_cursor)
        names += [each.name for each in page.items]
    assert (names, page.next_cursor, page.total) == (
        [f"token {number}" for number in (4, 3, 2, 1, 0)],
        None,
        5,
    )


async def test_revoking_twice_is_no_error_and_no_change(world: World) -> None:
    new = await world.call("create_token", "uma", name="laptop")
    first = await world.call("revoke_token", "uma", id=new.id)
    again = await world.outcome("revoke_token", "uma", id=new.id)
    assert (again.result.revoked_at, again.effects) == (first.revoked_at, ())
    with pytest.raises(NotFoundError, match="you have no token 'laptop'"):
        await world.call("revoke_token", "uma", id="laptop")


@pytest.mark.req("H-15")
async def test_when_a_token_was_used_is_written_once_a_minute(world: World) -> None:
    token = await world.token("uma")
    world.time = "2026-11-16T09:30:00.000000Z"
    for _ in range(20):
        await world.caller(token)
    world.time = "2026-11-16T09:30:30.000000Z"
    await world.caller(token)
    assert (await world.call("get_token", "uma", id="laptop")).last_used_at is None
    await world.accounts.flush()
    assert (await world.call("get_token", "uma", id="laptop")).last_used_at == (
        "2026-11-16T09:30:00.000000Z"
    )


async def test_two_who_make_a_token_of_the_same_name_at_once_make_one(world: World) -> None:
    results = await asyncio.gather(
        *(world.call("create_token", "uma", name="ci") for _ in range(8)), return_exceptions=True
    )
    assert sum(isinstance(each, ConflictError) for each in results) == 7
    page = await world.call("list_tokens", "uma")
    assert page.total == 1


async def test_the_effects_of_a_token_have_no_token(world: World) -> None:
    outcome = await world.outcome("create_token", "uma", name="laptop")
    assert outcome.result.token not in str(outcome.effects)
    assert outcome.result.token not in str(replace(outcome, result=None))
