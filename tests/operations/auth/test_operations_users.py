"""People: who administrates them, and what cannot be done to them."""

from __future__ import annotations

from typing import Any

import pytest

from accord.operations.auth.users import User
from accord.operations.context import LOCAL
from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    StaleError,
    UnauthenticatedError,
)
from accord.operations.operation import Preview
from tests.operations.auth.world import PASSWORD, World


@pytest.mark.req("H-13", "H-14")
async def test_an_administrator_adds_somebody(world: World) -> None:
    world.time = "2026-11-15T09:30:00.000000Z"
    outcome = await world.outcome(
        "create_user", "ada", username="Bob", role="Commenter", email="bob@example.org"
    )
    user = outcome.result
    assert user == User(
        change_id=outcome.change_id,
        id=user.id,
        username="Bob",
        email="bob@example.org",
        role="Commenter",
        active=True,
        temporary_password=False,
        version=1,
        created_at=world.time,
        updated_at=world.time,
    )
    assert await world.call("get_user", "ada", id="bOB") == await world.call(
        "get_user", "ada", id=user.id.upper()
    )
    [effect] = outcome.effects
    assert (effect.action, effect.kind, effect.reference_id) == ("created", "user", "Bob")
    assert effect.after == {
        "username": "Bob",
        "email": "bob@example.org",
        "role": "Commenter",
        "active": True,
    }


async def test_names_that_differ_in_letter_case_are_one(world: World) -> None:
    with pytest.raises(ConflictError, match="there is a user 'ADA' already"):
        await world.call("create_user", username="ADA")


@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        ({"username": "ab"}, "/username"),
        ({"username": "a" * 51}, "/username"),
        ({"username": "a b c"}, "/username"),
        ({"username": "-abc"}, "/username"),
        ({"username": "аdа-in-cyrillic"}, "/username"),
        ({"username": "nul\0"}, "/username"),
        ({"username": "00000000-0000-4000-8000-000000000001"}, "/username"),
        ({"username": "bob", "role": "Root"}, "/role"),
        ({"username": "bob", "email": "nobody"}, "/email"),
        ({"username": "bob", "email": "a@b\r\nBcc: c@d"}, "/email"),
        ({"username": "bob", "password": "short"}, "/password"),
        ({"username": "bob", "password": "a" * 257}, "/password"),
        ({"username": "bob", "password": "abababababab"}, "/password"),
        ({"username": "bobby-tables", "password": "Bobby-Tables1"}, "/password"),
        ({"username": "bob", "is_admin": True}, "/is_admin"),
    ],
)
async def test_what_a_user_cannot_be_is_refused_and_named(
    world: World, arguments: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(InvalidError) as refused:
        await world.call("create_user", **arguments)
    assert [each.pointer for each in refused.value.errors] == [pointer]


async def test_people_are_listed_by_name_page_by_page(world: World) -> None:
    await world.call("create_user", username="Bob")
    page = await world.call("list_users", "ada", limit=2)
    assert ([each.username for each in page.items], page.has_more, page.total) == (
        ["ada", "Bob"],
        True,
        5,
    )
    rest = await world.call("list_users", "ada", limit=5, cursor=page.next_cursor)
    assert [each.username for each in rest.items] == ["carl", "otto", "uma"]
    assert (rest.next_cursor, rest.has_more, rest.total) == (None, False, 5)


@pytest.mark.parametrize("cursor", ["", "x", "WyJcdTAwMDAiXQ", "WzFd", "W10", "é"])
async def test_a_cursor_that_no_list_gave_is_refused(world: World, cursor: str) -> None:
    with pytest.raises(InvalidError, match="cursor"):
        await world.call("list_users", "ada", cursor=cursor)


async def test_a_name_that_is_nobodys_is_answered_with_those_that_there_are(world: World) -> None:
    with pytest.raises(
        NotFoundError, match="there is no user 'eve'; there are ada, carl, otto, uma"
    ):
        await world.call("get_user", "ada", id="eve")


async def test_everybody_may_know_who_they_are(world: World) -> None:
    user = await world.call("get_own_user", "carl")
    assert (user.username, user.role) == ("carl", "Commenter")


async def test_an_update_changes_what_is_named_and_nothing_else(world: World) -> None:
    outcome = await world.outcome("update_user", "ada", id="uma", email="uma@example.org")
    assert (outcome.result.email, outcome.result.role, outcome.result.version) == (
        "uma@example.org",
        "User",
        2,
    )
    again = await world.outcome("update_user", "ada", id="uma", email="uma@example.org")
    assert (again.result.version, again.effects, again.change_id) == (2, (), "")


async def test_an_update_of_an_older_version_is_refused(world: World) -> None:
    await world.call("update_user", "ada", id="uma", role="Commenter", expected_version=1)
    with pytest.raises(StaleError, match="uma has version 2, not 1") as refused:
        await world.call("update_user", "ada", id="uma", role="User", expected_version=1)
    assert refused.value.data["current"].role == "Commenter"


@pytest.mark.parametrize("change", [{"active": False}, {"role": "User"}])
async def test_the_last_active_administrator_stays(world: World, change: dict[str, Any]) -> None:
    with pytest.raises(ConflictError, match="ada is the last active administrator"):
        await world.call("update_user", id="ada", **change)
    await world.call("update_user", id="uma", role="Administrator")
    assert (await world.call("update_user", id="ada", **change)).version == 2
    with pytest.raises(ConflictError, match="uma is the last active administrator"):
        await world.call("update_user", id="uma", **change)


@pytest.mark.req("H-05", "H-14")
@pytest.mark.parametrize("name", ["uma", "carl"])
async def test_only_administrators_administrate(world: World, name: str) -> None:
    for operation, arguments in (
        ("create_user", {"username": "bob"}),
        ("list_users", {}),
        ("get_user", {"id": "ada"}),
        ("update_user", {"id": name, "role": "Administrator"}),
        ("set_password", {"id": "ada", "password": PASSWORD}),
    ):
        with pytest.raises(ForbiddenError, match="needs the role Administrator"):
            await world.call(operation, name, **arguments)


async def test_a_role_that_is_taken_away_is_gone_at_once(world: World) -> None:
    token = await world.token("uma")
    await world.call("update_user", "ada", id="uma", role="Commenter")
    caller = await world.caller(token)
    assert (caller.role, caller.may("write"), caller.may("comment")) == ("Commenter", False, True)


async def test_whoever_is_deactivated_is_let_in_no_longer(world: World) -> None:
    await world.call("set_password", id="uma", password=PASSWORD)
    token = await world.token("uma")
    session = await world.sign_in("uma")
    await world.call("update_user", "ada", id="uma", active=False)
    for secret in (token, session.token):
        with pytest.raises(UnauthenticatedError):
            await world.caller(secret)
    with pytest.raises(ConflictError, match="uma is not active"):
        await world.call("create_token", user="uma", name="another")
    await world.call("update_user", "ada", id="uma", active=True)
    assert (await world.caller(token)).username == "uma"


async def test_a_dry_run_says_what_would_change(world: World) -> None:
    preview = await world.call("update_user", "ada", id="uma", role="Commenter", dry_run=True)
    assert isinstance(preview, Preview)
    assert preview.changes[0].after == {
        "username": "uma",
        "email": "",
        "role": "Commenter",
        "active": True,
    }
    assert (await world.call("get_user", "ada", id="uma")).role == "User"


@pytest.mark.req("H-17")
async def test_what_is_done_to_accounts_is_on_record(world: World) -> None:
    await world.call("create_user", LOCAL, username="bob", password=PASSWORD)
    await world.call("update_user", "ada", id="bob", role="Commenter")
    with pytest.raises(ForbiddenError):
        await world.call("update_user", "uma", id="uma", role="Administrator")
    assert world.trail.told() == [
        ("local", "create_user", "done", ""),
        ("ada", "update_user", "done", ""),
        ("uma", "update_user", "denied", "insufficient_permissions"),
    ]


async def test_a_password_is_changed_by_whoever_knows_it(world: World) -> None:
    await world.call("set_password", id="uma", password=PASSWORD)
    await world.sign_in("uma")
    with pytest.raises(InvalidError, match="current_password: is not your password"):
        await world.call(
            "change_own_password",
            "uma",
            current_password="wrong password",
            new_password="another one!",
        )
    await world.call(
        "change_own_password", "uma", current_password=PASSWORD, new_password="another one!"
    )
    assert (await world.sign_in("uma", "another one!")).user.username == "uma"
    with pytest.raises(Exception, match="the username or the password is wrong"):
        await world.sign_in("uma", PASSWORD)


@pytest.mark.req("H-18")
async def test_nothing_secret_is_kept_of_a_call_with_an_idempotency_key(world: World) -> None:
    for _ in range(2):
        await world.call("create_user", username="bob", password=PASSWORD, idempotency_key="k")
    new = await world.call("create_token", "uma", name="ci", idempotency_key="k")
    again = await world.call("create_token", "uma", name="ci", idempotency_key="k")
    assert (again["id"], "token" in again) == (new.id, False)
    kept = await world.dump("idempotency")
    assert new.token not in kept
    assert PASSWORD not in kept


async def test_a_password_that_somebody_else_chose_is_marked_until_its_owner_chooses(
    world: World,
) -> None:
    bob = await world.call("create_user", "ada", username="bob", password=PASSWORD)
    assert bob.temporary_password
    changed = await world.call(
        "change_own_password",
        await world.caller((await world.sign_in("bob")).token),
        current_password=PASSWORD,
        new_password="another one!",
    )
    assert not changed.temporary_password
    again = await world.call("set_password", "ada", id="bob", password=PASSWORD)
    assert again.temporary_password
    own = await world.call("set_password", "ada", id="ada", password=PASSWORD)
    assert not own.temporary_password
    kept = await world.call("update_user", "ada", id="bob", email="bob@example.org")
    assert kept.temporary_password


async def test_people_change_how_they_are_reached_and_nothing_else_about_them(
    world: World,
) -> None:
    outcome = await world.outcome("update_own_user", "uma", email="uma@example.org")
    assert (outcome.result.email, outcome.result.role) == ("uma@example.org", "User")
    assert [effect.reference_id for effect in outcome.effects] == ["uma"]
    assert (await world.outcome("update_own_user", "uma", email="uma@example.org")).effects == ()
    with pytest.raises(InvalidError, match="must be an address"):
        await world.call("update_own_user", "uma", email="no address")
