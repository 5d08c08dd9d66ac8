"""What can be done with people. Nobody is deleted: what they did keeps its author."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from accord.operations.accounts.accounts import Accounts
from accord.operations.accounts.entities import User
from accord.operations.accounts.names import (
    Email,
    Name,
    Password,
    Person,
    check_email,
    check_name,
    check_password,
)
from accord.operations.accounts.operations import operations
from accord.operations.accounts.storage import login_sessions, users
from accord.operations.errors import ConflictError, InvalidError, StaleError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, keys_of, page_of
from accord.operations.rights import Role
from accord.operations.work import Effect, Work
from accord.store.store import Row


async def _hash_password(work: Work, arguments: Mapping[str, Any]) -> str:
    password = arguments["password"]
    if password is UNSET:
        return ""
    check_password(password, arguments.get("username", ""), "password")
    return await work.service(Accounts).passwords.hash(password)


@operations.write(
    right="accounts",
    rest=Rest("POST", "/users", status=201, location="/users/{id}"),
    tool=False,
    tag="users",
    prepare=_hash_password,
)
async def create_user(
    work: Work,
    *,
    username: Name,
    role: Role = "User",
    email: Email = "",
    password: Password | UnsetType = UNSET,
) -> User:
    """Add a person. Without a password they cannot sign in, but can have tokens."""
    check_name(username)
    check_email(email)
    if await users.find_row(work.db, username) is not None:
        raise ConflictError(f"there is a user {username!r} already")
    user = await users.insert(
        work.db,
        id=work.new_id(),
        username=username,
        email=email,
        role=role,
        hashed=work.prepared,
        now=work.now,
    )
    work.did(_effect("created", None, user))
    return user


@operations.read(right="admin", rest=Rest("GET", "/users"), tool=False, tag="users")
async def list_users(work: Work, *, limit: Limit = 20, cursor: Cursor | None = None) -> Page[User]:
    """All people by name, those who were deactivated too."""
    [after] = [""] if cursor is None else keys_of(cursor, tuple[str])
    rows = await work.db.fetch(users.LIST, after, limit + 1)
    [count] = await work.db.fetch(users.COUNT)
    return page_of(
        [users.user_of(row) for row in rows],
        limit=limit,
        total=count["total"],
        key=lambda user: (user.username.lower(),),
    )


@operations.read(rest=Rest("GET", "/users/me"), tool=False, tag="users")
async def get_own_user(work: Work) -> User:
    """Who you are."""
    return users.user_of(await users.require_row(work.db, work.caller.user_id))


@operations.write(
    right="session", rest=Rest("PATCH", "/users/me"), tool=False, tag="users", idempotent=True
)
async def update_own_user(work: Work, *, email: Email) -> User:
    """Change how you are reached."""
    check_email(email)
    before = users.user_of(await users.require_row(work.db, work.caller.user_id))
    if email == before.email:
        return before
    await work.db.execute(users.UPDATE, before.id, email, before.role, int(before.active), work.now)
    after = users.user_of(await users.require_row(work.db, before.id))
    work.did(_effect("updated", before, after))
    return after


@operations.read(right="admin", rest=Rest("GET", "/users/{id}"), tool=False, tag="users")
async def get_user(work: Work, *, id: Person) -> User:
    """One person."""
    return users.user_of(await users.require_row(work.db, id))


@operations.write(
    right="accounts",
    rest=(Rest("PUT", "/users/{id}"), Rest("PATCH", "/users/{id}")),
    tool=False,
    tag="users",
    idempotent=True,
)
async def update_user(
    work: Work,
    *,
    id: Person,
    role: Role | UnsetType = UNSET,
    email: Email | UnsetType = UNSET,
    active: bool | UnsetType = UNSET,
    expected_version: int | None = None,
) -> User:
    """Change a person's role or email, or deactivate them, which ends their sessions at once and
    keeps their tokens from being used."""
    before = users.user_of(await users.require_row(work.db, id))
    _check_version(before, expected_version)
    after = User(
        id=before.id,
        username=before.username,
        email=before.email if email is UNSET else email,
        role=before.role if role is UNSET else role,
        active=before.active if active is UNSET else active,
        temporary_password=before.temporary_password,
        version=before.version + 1,
        created_at=before.created_at,
        updated_at=work.now,
    )
    check_email(after.email)
    if users.kept(after) == users.kept(before):
        return before
    await _keep_an_administrator(work, before, after)
    await work.db.execute(
        users.UPDATE, after.id, after.email, after.role, int(after.active), work.now
    )
    if not after.active:
        await work.db.execute(login_sessions.END_ALL, after.id)
    work.did(_effect("updated", before, after))
    return after


@operations.write(
    right="accounts",
    rest=Rest("PUT", "/users/{id}/password"),
    tool=False,
    tag="users",
    prepare=_hash_password,
)
async def set_password(work: Work, *, id: Person, password: Password) -> User:
    """Give a person another password, which ends their sessions. On the pages they are asked to
    choose one of their own."""
    row = await users.require_row(work.db, id)
    check_password(password, row["username"], "password")
    return await _change_password(work, row, temporary=row["id"] != work.caller.user_id)


async def _verify_own_password(work: Work, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Return the verified hash, and the hash of the new password."""
    accounts = work.service(Accounts)
    passwords = accounts.passwords
    row = await users.require_row(work.db, work.caller.user_id)
    check_password(arguments["new_password"], row["username"], "new_password")
    if not await passwords.verify(arguments["current_password"], row["password_hash"]):
        accounts.wrong_own_password(work.caller)
        raise InvalidError("current_password", "is not your password")
    return row["password_hash"], await passwords.hash(arguments["new_password"])


@operations.write(
    right="session",
    rest=Rest("POST", "/users/me/password"),
    tool=False,
    tag="users",
    prepare=_verify_own_password,
    cost=50,
)
async def change_own_password(
    work: Work, *, current_password: Password, new_password: Password
) -> User:
    """Change your password. All your sessions end; sign in again."""
    verified, work.prepared = work.prepared
    row = await users.require_row(work.db, work.caller.user_id)
    if row["password_hash"] != verified:
        raise ConflictError("your password was changed at the same time: try again")
    return await _change_password(work, row, temporary=False)


async def _change_password(work: Work, row: Row, *, temporary: bool) -> User:
    before = users.user_of(row)
    await work.db.execute(users.SET_PASSWORD, before.id, work.prepared, int(temporary), work.now)
    await work.db.execute(login_sessions.END_ALL, before.id)
    after = users.user_of(await users.require_row(work.db, before.id))
    work.did(_effect("updated", before, after))
    return after


def _check_version(user: User, expected: int | None) -> None:
    if expected is not None and expected != user.version:
        raise StaleError(
            f"{user.username} has version {user.version}, not {expected}",
            current=user,
        )


async def _keep_an_administrator(work: Work, before: User, after: User) -> None:
    """Raise ConflictError if no active administrator would remain."""
    was = before.active and before.role == "Administrator"
    stays = after.active and after.role == "Administrator"
    if was and not stays and not await work.db.fetch(users.OTHER_ADMINISTRATORS, before.id):
        raise ConflictError(f"{before.username} is the last active administrator")


def _effect(action: Any, before: User | None, after: User) -> Effect:
    return Effect(
        action=action,
        kind="user",
        id=after.id,
        reference_id=after.username,
        version=after.version,
        before=None if before is None else users.kept(before),
        after=users.kept(after),
    )
