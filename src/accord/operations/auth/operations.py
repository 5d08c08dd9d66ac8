"""Operations on users, tokens and login sessions, on every adapter except MCP.

Users are never deleted, so their work keeps its author. Creating a token needs a login session: no
token can create tokens. Signing in and out are not operations: see `Accounts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from accord.operations.auth import storage
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.credentials import DEFAULT_TOKEN_DAYS, MAX_TOKEN_DAYS
from accord.operations.auth.users import (
    AccessToken,
    Email,
    LoginSession,
    NewToken,
    Password,
    SessionsEnded,
    TokenName,
    User,
    Username,
    UserReference,
    check_email,
    check_password,
    check_token_name,
    check_username,
)
from accord.operations.context import (
    RULES,
    SCOPES,
    Effect,
    OperationContext,
    Role,
    Scope,
    default_scopes,
    is_uuid,
)
from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    StaleError,
)
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, page_of
from accord.operations.registry import Registry
from accord.store.store import Row

operations = Registry()


async def _hash_password(work: OperationContext, arguments: Mapping[str, Any]) -> str:
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
    work: OperationContext,
    *,
    username: Username,
    role: Role = "User",
    email: Email = "",
    password: Password | UnsetType = UNSET,
) -> User:
    """Add a person. Without a password they cannot sign in, but can have tokens."""
    check_username(username)
    check_email(email)
    if await storage.find_user_row(work.db, username) is not None:
        raise ConflictError(f"there is a user {username!r} already")
    user = await storage.insert_user(
        work.db,
        id=work.new_id(),
        username=username,
        email=email,
        role=role,
        hashed=work.prepared,
        now=work.now,
    )
    work.record(_user_effect("created", None, user))
    return user


@operations.read(right="admin", rest=Rest("GET", "/users"), tool=False, tag="users")
async def list_users(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[User]:
    """All people by name, those who were deactivated too."""
    [after] = [""] if cursor is None else cursor_keys(cursor, tuple[str])
    rows = await work.db.fetch(storage.LIST_USERS, after, limit + 1)
    [count] = await work.db.fetch(storage.COUNT_USERS)
    return page_of(
        [storage.user_of(row) for row in rows],
        limit=limit,
        total=count["total"],
        key=lambda user: (user.username.lower(),),
    )


@operations.read(rest=Rest("GET", "/users/me"), tool=False, tag="users")
async def get_own_user(work: OperationContext) -> User:
    """Who you are."""
    return storage.user_of(await storage.require_user_row(work.db, work.caller.user_id))


@operations.write(
    right="session", rest=Rest("PATCH", "/users/me"), tool=False, tag="users", idempotent=True
)
async def update_own_user(work: OperationContext, *, email: Email) -> User:
    """Change how you are reached."""
    check_email(email)
    before = storage.user_of(await storage.require_user_row(work.db, work.caller.user_id))
    if email == before.email:
        return before
    await work.db.execute(
        storage.UPDATE_USER, before.id, email, before.role, int(before.active), work.now
    )
    after = storage.user_of(await storage.require_user_row(work.db, before.id))
    work.record(_user_effect("updated", before, after))
    return after


@operations.read(right="admin", rest=Rest("GET", "/users/{id}"), tool=False, tag="users")
async def get_user(work: OperationContext, *, id: UserReference) -> User:
    """One person."""
    return storage.user_of(await storage.require_user_row(work.db, id))


@operations.write(
    right="accounts",
    rest=(Rest("PUT", "/users/{id}"), Rest("PATCH", "/users/{id}")),
    tool=False,
    tag="users",
    idempotent=True,
)
async def update_user(
    work: OperationContext,
    *,
    id: UserReference,
    role: Role | UnsetType = UNSET,
    email: Email | UnsetType = UNSET,
    active: bool | UnsetType = UNSET,
    expected_version: int | None = None,
) -> User:
    """Change a person's role or email, or deactivate them, which ends their sessions at once and
    keeps their tokens from being used."""
    before = storage.user_of(await storage.require_user_row(work.db, id))
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
    if storage.user_effect_fields(after) == storage.user_effect_fields(before):
        return before
    await _keep_an_administrator(work, before, after)
    await work.db.execute(
        storage.UPDATE_USER, after.id, after.email, after.role, int(after.active), work.now
    )
    if not after.active:
        await work.db.execute(storage.END_SESSIONS, after.id)
    work.record(_user_effect("updated", before, after))
    return after


@operations.write(
    right="accounts",
    rest=Rest("PUT", "/users/{id}/password"),
    tool=False,
    tag="users",
    prepare=_hash_password,
)
async def set_password(work: OperationContext, *, id: UserReference, password: Password) -> User:
    """Give a person another password, which ends their sessions. On the pages they are asked to
    choose one of their own."""
    row = await storage.require_user_row(work.db, id)
    check_password(password, row["username"], "password")
    return await _change_password(work, row, temporary=row["id"] != work.caller.user_id)


async def _verify_own_password(
    work: OperationContext, arguments: Mapping[str, Any]
) -> tuple[str, str]:
    """Verify the current password; return its hash and that of the new password."""
    accounts = work.service(Accounts)
    passwords = accounts.passwords
    row = await storage.require_user_row(work.db, work.caller.user_id)
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
    work: OperationContext, *, current_password: Password, new_password: Password
) -> User:
    """Change your password. All your sessions end; sign in again."""
    verified, work.prepared = work.prepared
    row = await storage.require_user_row(work.db, work.caller.user_id)
    if row["password_hash"] != verified:
        raise ConflictError("your password was changed at the same time: try again")
    return await _change_password(work, row, temporary=False)


async def _change_password(work: OperationContext, row: Row, *, temporary: bool) -> User:
    before = storage.user_of(row)
    await work.db.execute(storage.SET_PASSWORD, before.id, work.prepared, int(temporary), work.now)
    await work.db.execute(storage.END_SESSIONS, before.id)
    after = storage.user_of(await storage.require_user_row(work.db, before.id))
    work.record(_user_effect("updated", before, after))
    return after


def _check_version(user: User, expected: int | None) -> None:
    if expected is not None and expected != user.version:
        raise StaleError(
            f"{user.username} has version {user.version}, not {expected}",
            current=user,
        )


async def _keep_an_administrator(work: OperationContext, before: User, after: User) -> None:
    """Raise ConflictError if no active administrator would remain."""
    was = before.active and before.role == "Administrator"
    stays = after.active and after.role == "Administrator"
    if was and not stays and not await work.db.fetch(storage.OTHER_ADMINISTRATORS, before.id):
        raise ConflictError(f"{before.username} is the last active administrator")


def _user_effect(action: Any, before: User | None, after: User) -> Effect:
    return Effect(
        action=action,
        kind="user",
        id=after.id,
        reference_id=after.username,
        version=after.version,
        before=None if before is None else storage.user_effect_fields(before),
        after=storage.user_effect_fields(after),
    )


SessionId: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


@operations.read(right="session", rest=Rest("GET", "/sessions"), tool=False, tag="sessions")
async def list_sessions(work: OperationContext) -> Page[LoginSession]:
    """Your login sessions, the one seen last first. There are never many."""
    idle = storage.idle_since(work.now)
    rows = await work.db.fetch(storage.LIST_SESSIONS, work.caller.user_id, work.now, idle)
    found = [storage.session_of(row) for row in rows]
    return Page(items=found, next_cursor=None, has_more=False, total=len(found))


@operations.write(
    right="session",
    rest=Rest("DELETE", "/sessions/{id}"),
    tool=False,
    tag="sessions",
    destructive=True,
)
async def end_session(work: OperationContext, *, id: SessionId) -> SessionsEnded:
    """End one of your login sessions, by its id in the list of them."""
    ended = await work.db.execute(storage.END_SESSION_BY_ID, work.caller.user_id, id)
    if not ended:
        raise NotFoundError("you have no such session")
    return SessionsEnded(ended=ended)


@operations.write(
    right="session", rest=Rest("DELETE", "/sessions"), tool=False, tag="sessions", idempotent=True
)
async def sign_out_everywhere(work: OperationContext) -> SessionsEnded:
    """End all your login sessions, this one too."""
    ended = await work.db.execute(storage.END_SESSIONS, work.caller.user_id)
    return SessionsEnded(ended=ended)


Days: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_TOKEN_DAYS, description="In days.")]

_FIRST_PAGE: Final = ("9999", "")
"""The cursor before the first token, for the first page."""


@operations.write(
    right="session",
    rest=Rest("POST", "/tokens", status=201, location="/tokens/{id}"),
    tool=False,
    tag="tokens",
)
async def create_token(
    work: OperationContext,
    *,
    name: TokenName,
    scopes: list[Scope] | None = None,
    expires_in: Days = DEFAULT_TOKEN_DAYS,
    user: UserReference | None = None,
) -> NewToken:
    """Make a token for a program that acts for you; it is shown this once. Without scopes it may
    do all that your role allows, but for approving."""
    check_token_name(name)
    owner = await _token_owner(work, user)
    if owner["id"] != work.caller.user_id and work.caller.via != "local":
        raise ForbiddenError("tokens are made by their owners, who sign in for it")
    if not owner["active"]:
        raise ConflictError(f"{owner['username']} is not active")
    await _make_room(work, owner, name)
    new = await storage.insert_token(
        work.db,
        id=work.new_id(),
        user_id=owner["id"],
        username=owner["username"],
        name=name,
        scopes=_checked_scopes(scopes, owner["role"]),
        days=expires_in,
        key=work.service(Accounts).token_key,
        now=work.now,
    )
    work.record(_token_effect("created", None, new))
    return new


@operations.read(right="session", rest=Rest("GET", "/tokens"), tool=False, tag="tokens")
async def list_tokens(
    work: OperationContext,
    *,
    user: UserReference | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[AccessToken]:
    """Your tokens, the newest first; administrators may name another user."""
    owner = await _token_owner(work, user)
    work.caller.require_own(owner["id"], "these tokens")
    after = _FIRST_PAGE if cursor is None else cursor_keys(cursor, tuple[str, str])
    rows = await work.db.fetch(storage.LIST_TOKENS, owner["id"], *after, limit + 1)
    [count] = await work.db.fetch(storage.COUNT_TOKENS, owner["id"])
    return page_of(
        [storage.token_of(row) for row in rows],
        limit=limit,
        total=count["total"],
        key=lambda token: (token.created_at, token.id),
    )


@operations.read(right="session", rest=Rest("GET", "/tokens/{id}"), tool=False, tag="tokens")
async def get_token(
    work: OperationContext, *, id: TokenName, user: UserReference | None = None
) -> AccessToken:
    """One token, by its id or name, without the token itself."""
    return storage.token_of(await _find_token(work, id, user))


@operations.write(
    right="session",
    rest=Rest("DELETE", "/tokens/{id}", status=204),
    tool=False,
    tag="tokens",
    destructive=True,
    idempotent=True,
)
async def revoke_token(
    work: OperationContext, *, id: TokenName, user: UserReference | None = None
) -> AccessToken:
    """Have a token refused from now on, by its id or name. Administrators may revoke all."""
    before = storage.token_of(await _find_token(work, id, user))
    if before.revoked_at is not None:
        return before
    await work.db.execute(storage.REVOKE_TOKEN, before.id, work.now)
    [row] = await work.db.fetch(storage.TOKEN_BY_ID, before.id)
    after = storage.token_of(row)
    work.record(_token_effect("updated", before, after))
    return after


async def _token_owner(work: OperationContext, user: str | None) -> Row:
    """Return the user whose tokens are requested: the caller, unless `user` is given.

    Raises InvalidError if the caller has no account and `user` is missing. If `user` is unknown,
    raises NotFoundError for administrators and ForbiddenError for other callers.
    """
    if user is None and not work.caller.user_id:
        raise InvalidError("user", "is required: whose token is it?")
    row = await storage.find_user_row(work.db, work.caller.user_id if user is None else user)
    if row is None and not work.caller.is_administrator:
        raise ForbiddenError("these tokens belong to somebody else")
    return await storage.require_user_row(work.db, user or "") if row is None else row


async def _find_token(work: OperationContext, id: str, user: str | None) -> Row:
    """Return a token that the caller may see.

    Raises NotFoundError, also for tokens of other users.
    """
    if is_uuid(id):
        rows: list[Row] = await work.db.fetch(storage.TOKEN_BY_ID, id.lower())
    else:
        owner = await _token_owner(work, user)
        rows = await work.db.fetch(storage.TOKEN_BY_NAME, owner["id"], id)
    if not rows or not (work.caller.is_administrator or rows[0]["user_id"] == work.caller.user_id):
        raise NotFoundError(f"you have no token {id!r}")
    return rows[0]


def _checked_scopes(scopes: list[Scope] | None, role: Role) -> frozenset[Scope]:
    """Raise InvalidError for a scope that the role of the owner does not allow."""
    if scopes is None:
        return default_scopes(role)
    if not scopes:
        raise InvalidError("scopes", "name at least one, or leave it out")
    allowed = {rule.scope for rule in RULES.values() if role in rule.roles}
    beyond = [scope for scope in scopes if scope not in allowed]
    if beyond:
        valid = [scope for scope in SCOPES if scope in allowed]
        raise InvalidError(
            "scopes", f"{beyond[0]!r} is not for the role {role}; there are {', '.join(valid)}"
        )
    return frozenset(scopes)


async def _make_room(work: OperationContext, owner: Row, name: str) -> None:
    """Check that the owner can have another token, with this name.

    An expired token with the name is revoked, which frees the name. Raises ConflictError if a
    usable token has the name, or if the owner has as many usable tokens as allowed.
    """
    for row in await work.db.fetch(storage.TOKEN_BY_NAME, owner["id"], name):
        if row["expires_at"] > work.now:
            raise ConflictError(f"{owner['username']} has a token {name!r} already")
        await work.db.execute(storage.REVOKE_TOKEN, row["id"], work.now)
        [revoked] = await work.db.fetch(storage.TOKEN_BY_ID, row["id"])
        work.record(_token_effect("updated", storage.token_of(row), storage.token_of(revoked)))
    [count] = await work.db.fetch(storage.COUNT_USABLE_TOKENS, owner["id"], work.now)
    if count["total"] >= storage.MAX_USABLE_TOKENS:
        raise ConflictError(
            f"{owner['username']} has {storage.MAX_USABLE_TOKENS} tokens, which is the limit: "
            "revoke some"
        )


def _token_effect(action: Any, before: AccessToken | None, after: AccessToken) -> Effect:
    return Effect(
        action=action,
        kind="token",
        id=after.id,
        reference_id=after.name,
        before=None if before is None else storage.token_effect_fields(before),
        after=storage.token_effect_fields(after),
    )
