"""Login sessions: signing in and out, and pages that ask for somebody else's site."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from accord.operations.auth.accounts import SignInError
from accord.operations.auth.credentials import RequestCredentials, bearer
from accord.operations.auth.storage import MAX_SESSIONS_OF_USER, days_after, insert_session
from accord.operations.errors import (
    ForbiddenError,
    NotFoundError,
    RateLimitedError,
    UnauthenticatedError,
)
from accord.store import Transaction
from tests.operations.auth.world import PASSWORD, World

NOW = "2026-11-15T09:30:00.000000Z"


@pytest.fixture
async def signed(world: World) -> World:
    """A world in which uma has a password."""
    await world.call("set_password", id="uma", password=PASSWORD)
    world.trail.records.clear()
    return world


async def test_whoever_signs_in_calls_as_themselves(signed: World) -> None:
    signed.time = NOW
    session = await signed.sign_in("UMA")
    assert (session.user.username, session.expires_at) == ("uma", "2026-12-15T09:30:00.000000Z")
    caller = await signed.caller(session.token)
    assert (caller.username, caller.role, caller.via, caller.token_id) == (
        "uma",
        "User",
        "session",
        "",
    )
    assert (await signed.call("create_token", caller, name="laptop")).user == "uma"


@pytest.mark.req("H-18")
async def test_a_session_is_kept_as_a_hash_and_does_not_show_itself(signed: World) -> None:
    session = await signed.sign_in("uma")
    kept = await signed.dump("login_sessions")
    for secret in (session.token, session.csrf_token, PASSWORD):
        assert secret not in kept
        assert secret not in repr(session)


@pytest.mark.req("H-14", "H-17")
@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("uma", "wrong"),
        ("uma", ""),
        ("uma", PASSWORD + "x" * 1000),
        ("nobody", PASSWORD),
        ("carl", ""),  # has no password
        ("", PASSWORD),
        ("\0", PASSWORD),
        ("x" * 10_000, PASSWORD),
    ],
)
async def test_a_wrong_name_and_a_wrong_password_are_answered_alike(
    signed: World, name: str, password: str
) -> None:
    with pytest.raises(SignInError) as refused:
        await signed.sign_in(name, password)
    assert (refused.value.message, refused.value.data) == (
        "the username or the password is wrong",
        {},
    )
    known = name in ("uma", "carl")
    reason = "wrong_password" if known else "unknown_user"
    assert signed.trail.told() == [("", "sign_in", "unauthenticated", reason)]
    assert signed.trail.records[0].target == (name if known else "")


async def test_whoever_is_not_active_cannot_sign_in(signed: World) -> None:
    await signed.call("update_user", id="uma", active=False)
    with pytest.raises(SignInError):
        await signed.sign_in("uma")
    record = signed.trail.records[-1]
    assert (record.operation, record.error, record.target) == ("sign_in", "inactive", "uma")


async def test_after_five_wrong_passwords_one_has_to_wait_and_others_have_not(
    signed: World,
) -> None:
    for _ in range(5):
        with pytest.raises(SignInError):
            await signed.sign_in("uma", "wrong password")
    with pytest.raises(RateLimitedError) as refused:
        await signed.sign_in("uma")
    assert 0 < refused.value.retry_after <= 1.0
    elsewhere = await signed.accounts.sign_in("uma", PASSWORD, address="198.51.100.1")
    assert elsewhere.user.username == "uma"


async def test_signing_in_again_gives_another_token_and_ends_the_last_one(signed: World) -> None:
    first = await signed.sign_in("uma")
    second = await signed.sign_in("uma", previous=RequestCredentials(cookie=first.token))
    assert first.token != second.token
    assert (await signed.caller(second.token)).username == "uma"
    with pytest.raises(UnauthenticatedError):
        await signed.caller(first.token)


async def test_signing_out_ends_this_session_only(signed: World) -> None:
    first, second = await signed.sign_in("uma"), await signed.sign_in("uma")
    credentials = bearer(first.token)
    await signed.accounts.sign_out(credentials, await signed.caller(credentials))
    with pytest.raises(UnauthenticatedError):
        await signed.caller(first.token)
    assert (await signed.caller(second.token)).username == "uma"
    assert [each[1] for each in signed.trail.told()] == [
        *("sign_in", "sign_in", "sign_out", "authenticate"),
    ]


async def test_signing_out_everywhere_ends_all_of_ones_own(signed: World) -> None:
    await signed.call("set_password", id="otto", password=PASSWORD)
    first, second = await signed.sign_in("uma"), await signed.sign_in("uma")
    others = await signed.sign_in("otto")
    ended = await signed.call("sign_out_everywhere", await signed.caller(first.token))
    assert ended.ended == 2
    with pytest.raises(UnauthenticatedError):
        await signed.caller(second.token)
    assert (await signed.caller(others.token)).username == "otto"


async def test_another_password_ends_all_sessions(signed: World) -> None:
    session = await signed.sign_in("uma")
    await signed.call(
        "change_own_password",
        await signed.caller(session.token),
        current_password=PASSWORD,
        new_password="another one!",
    )
    with pytest.raises(UnauthenticatedError):
        await signed.caller(session.token)


async def test_a_session_ends_when_it_is_left_alone_for_twelve_hours(signed: World) -> None:
    signed.time = NOW
    used, left = await signed.sign_in("uma"), await signed.sign_in("uma")
    signed.time = days_after(NOW, 11 / 24)
    await signed.caller(used.token)
    await signed.accounts.flush()
    signed.time = days_after(NOW, 13 / 24)
    assert (await signed.caller(used.token)).username == "uma"
    with pytest.raises(UnauthenticatedError):
        await signed.caller(left.token)


async def test_a_session_ends_after_thirty_days_however_much_it_is_used(signed: World) -> None:
    signed.time = NOW
    session = await signed.sign_in("uma")
    await signed.store.execute("UPDATE login_sessions SET seen_at = $1", days_after(NOW, 30))
    signed.time = days_after(NOW, 29.9)
    assert (await signed.caller(session.token)).username == "uma"
    signed.time = days_after(NOW, 30)
    with pytest.raises(UnauthenticatedError):
        await signed.caller(session.token)


async def test_sessions_that_are_over_are_swept(signed: World) -> None:
    signed.time = NOW
    await signed.sign_in("uma")
    signed.time = days_after(NOW, 1)
    await signed.sign_in("uma")
    [row] = await signed.store.fetch("SELECT created_at FROM login_sessions")
    assert row["created_at"] == signed.time


async def test_nobody_has_too_many_sessions(signed: World) -> None:
    async def fill(transaction: Transaction) -> None:
        for number in range(MAX_SESSIONS_OF_USER + 5):
            await insert_session(
                transaction,
                hashed=f"hash {number}",
                user_id=signed.callers["uma"].user_id,
                client="",
                address="",
                now=NOW,
            )

    signed.time = NOW
    await signed.store.transact(fill)
    last = await signed.sign_in("uma")
    [row] = await signed.store.fetch("SELECT COUNT(*) AS total FROM login_sessions")
    assert row["total"] == MAX_SESSIONS_OF_USER
    assert (await signed.caller(last.token)).username == "uma"


async def test_a_page_that_changes_something_repeats_the_token_of_its_session(
    signed: World,
) -> None:
    mine, other = await signed.sign_in("uma"), await signed.sign_in("uma")
    read = RequestCredentials(cookie=mine.token, safe=True)
    assert (await signed.caller(read)).username == "uma"
    assert signed.accounts.csrf_token(read) == mine.csrf_token
    write = RequestCredentials(cookie=mine.token, csrf=mine.csrf_token)
    assert (await signed.caller(write)).username == "uma"
    for wrong in ("", other.csrf_token, "é"):
        with pytest.raises(ForbiddenError, match="X-CSRF-Token"):
            await signed.caller(RequestCredentials(cookie=mine.token, csrf=wrong))


async def test_a_bearer_token_decides_where_there_is_a_cookie_too(signed: World) -> None:
    session = await signed.sign_in("uma")
    token = await signed.token("otto")
    both = RequestCredentials(bearer=token, cookie=session.token)
    assert (await signed.caller(both)).username == "otto"
    with pytest.raises(UnauthenticatedError):
        await signed.caller(
            RequestCredentials(bearer="Basic YTpi", cookie=session.token, safe=True)
        )


async def test_a_hash_with_older_figures_is_made_anew_when_its_owner_signs_in(
    signed: World,
) -> None:
    weak = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD)
    await signed.store.execute(
        "UPDATE users SET password_hash = $1 WHERE username = $2", weak, "uma"
    )
    await signed.sign_in("uma")
    [row] = await signed.store.fetch("SELECT password_hash FROM users WHERE username = $1", "uma")
    assert row["password_hash"].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    await signed.sign_in("uma")


async def test_people_see_their_own_sessions_and_end_one_of_them(signed: World) -> None:
    await signed.call("set_password", id="otto", password=PASSWORD)
    signed.time = NOW
    first = await signed.sign_in("uma")
    signed.time = "2026-11-15T09:31:00.000000Z"
    second = await signed.sign_in("uma")
    await signed.sign_in("otto")
    caller = await signed.caller(second.token)
    sessions = (await signed.call("list_sessions", caller)).items
    ids = [signed.accounts.session_id(bearer(each.token)) for each in (second, first)]
    assert [each.id for each in sessions] == ids
    assert [each.created_at for each in sessions] == [signed.time, NOW]
    assert (await signed.call("end_session", caller, id=ids[1])).ended == 1
    with pytest.raises(UnauthenticatedError):
        await signed.caller(first.token)
    assert [each.id for each in (await signed.call("list_sessions", caller)).items] == ids[:1]


async def test_nobody_ends_the_session_of_somebody_else(signed: World) -> None:
    session = await signed.sign_in("uma")
    other = signed.accounts.session_id(bearer(session.token))
    with pytest.raises(NotFoundError, match="you have no such session"):
        await signed.call("end_session", "otto", id=other)
    assert (await signed.caller(session.token)).username == "uma"
