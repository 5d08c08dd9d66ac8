"""Tables of users, access tokens, login sessions and failed sign-ins.

Tokens and sessions are stored by a keyed hash of their text. A session ends when it has not been
used for too long. The administrator of a new installation is created once, however many processes
start at once.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from accord.operations.auth.credentials import (
    DEFAULT_TOKEN_DAYS,
    SESSION_DAYS,
    SHOWN_LENGTH,
    make_token,
    shown_prefix,
    token_hash,
)
from accord.operations.auth.users import (
    AccessToken,
    FirstRun,
    LoginSession,
    NewToken,
    User,
    is_username,
    username_key,
)
from accord.operations.context import ASSISTANT_SCOPES, SCOPES, Caller, Database, Scope, is_uuid
from accord.operations.errors import NotFoundError
from accord.operations.storage import FIND_SETTING, INSERT_SETTING
from accord.store.store import Engine, Row, Transaction

HASH_CONDITION: Final[dict[Engine, str]] = {"sqlite": "= $1", "postgresql": "= ANY($1::text[])"}
"""The condition of a statement that selects by hash; see `BatchedLookup`."""

TOKEN_COLUMNS: Final = """
t.id, t.name, t.user_id, u.username, t.prefix, t.last_four, t.scopes, t.created_at, t.expires_at,
t.last_used_at, t.revoked_at
"""
FIND_TOKENS: Final[dict[Engine, str]] = {
    engine: f"""
SELECT t.id, t.hash, t.scopes, t.expires_at, t.revoked_at, t.user_id, u.username, u.role, u.active
FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash {equals}
"""
    for engine, equals in HASH_CONDITION.items()
}
TOKEN_BY_ID: Final = (
    f"SELECT {TOKEN_COLUMNS} FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.id = $1"
)
TOKEN_BY_NAME: Final = f"""
SELECT {TOKEN_COLUMNS} FROM tokens t JOIN users u ON u.id = t.user_id
WHERE t.user_id = $1 AND t.name = $2 AND t.revoked_at IS NULL
"""
LIST_TOKENS: Final = f"""
SELECT {TOKEN_COLUMNS} FROM tokens t JOIN users u ON u.id = t.user_id
WHERE t.user_id = $1 AND (t.created_at < $2 OR (t.created_at = $2 AND t.id < $3))
ORDER BY t.created_at DESC, t.id DESC LIMIT $4
"""
COUNT_TOKENS: Final = "SELECT COUNT(*) AS total FROM tokens WHERE user_id = $1"
COUNT_USABLE_TOKENS: Final = """
SELECT COUNT(*) AS total FROM tokens
WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2
"""
INSERT_TOKEN: Final = """
INSERT INTO tokens
    (id, user_id, name, prefix, last_four, hash, scopes, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
REVOKE_TOKEN: Final = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL"
REVOKED_TOKENS: Final = "SELECT id FROM tokens WHERE revoked_at IS NOT NULL AND id IN ({places})"
TOKEN_REVOKED_AT: Final = "SELECT revoked_at FROM tokens WHERE id = $1"
TOUCH_TOKEN: Final = "UPDATE tokens SET last_used_at = $2 WHERE id = $1"

MAX_USABLE_TOKENS: Final = 100
"""Maximum number of usable tokens per user."""


def token_of(row: Row) -> AccessToken:
    return AccessToken(
        id=row["id"],
        name=row["name"],
        user=row["username"],
        prefix=row["prefix"],
        last_four=row["last_four"],
        scopes=scopes_in(row["scopes"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
    )


@lru_cache(1024)  # few distinct values, read on every request
def scope_set(text: str) -> frozenset[Scope]:
    return frozenset(scopes_in(text))


def scopes_in(text: str) -> list[Scope]:
    words = text.split(" ")
    return [scope for scope in SCOPES if scope in words]


def token_effect_fields(token: AccessToken) -> dict[str, object]:
    """Return the fields of a token that effects contain."""
    return {
        "name": token.name,
        "user": token.user,
        "scopes": token.scopes,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }


def days_after(now: str, days: float) -> str:
    """Return a time some days after `now`, in its stored form."""
    then = datetime.fromisoformat(now) + timedelta(days=days)
    return then.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def insert_token(
    db: Transaction,
    *,
    id: str,
    user_id: str,
    username: str,
    name: str,
    scopes: Iterable[Scope],
    days: int,
    key: bytes,
    now: str,
) -> NewToken:
    """Create a token, whose name must be free."""
    token = make_token("pat")
    chosen = frozenset(scopes)
    new = NewToken(
        id=id,
        name=name,
        user=username,
        prefix=shown_prefix(token),
        last_four=token[-SHOWN_LENGTH:],
        scopes=[scope for scope in SCOPES if scope in chosen],
        created_at=now,
        expires_at=days_after(now, days),
        last_used_at=None,
        revoked_at=None,
        token=token,
    )
    await db.execute(
        INSERT_TOKEN,
        *(id, user_id, name, new.prefix, new.last_four, token_hash(token, key)),
        *(" ".join(new.scopes), now, new.expires_at),
    )
    return new


USER_COLUMNS: Final = """
id, username, email, role, active, temporary_password, version, created_at, updated_at
"""
USER_BY_ID: Final = f"SELECT {USER_COLUMNS}, password_hash FROM users WHERE id = $1"
USER_BY_NAME: Final = f"SELECT {USER_COLUMNS}, password_hash FROM users WHERE username_key = $1"
LIST_USERS: Final = f"""
SELECT {USER_COLUMNS} FROM users WHERE username_key > $1 ORDER BY username_key LIMIT $2
"""
COUNT_USERS: Final = "SELECT COUNT(*) AS total FROM users"
INSERT_USER: Final = """
INSERT INTO users
    (id, username, username_key, email, role, password_hash, temporary_password, created_at,
    updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
"""
UPDATE_USER: Final = """
UPDATE users SET email = $2, role = $3, active = $4, version = version + 1, updated_at = $5
WHERE id = $1
"""
SET_PASSWORD: Final = """
UPDATE users
SET password_hash = $2, temporary_password = $3, version = version + 1, updated_at = $4
WHERE id = $1
"""
REHASH_PASSWORD: Final = "UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2"
OTHER_ADMINISTRATORS: Final = """
SELECT id FROM users WHERE role = 'Administrator' AND active = 1 AND id <> $1 LIMIT 1
"""
ANY_ADMINISTRATOR: Final = "SELECT id FROM users WHERE role = 'Administrator' LIMIT 1"
FIRST_ADMINISTRATOR: Final = """
SELECT username FROM users WHERE role = 'Administrator' AND active = 1
ORDER BY created_at, id LIMIT 1
"""
INACTIVE_USERS: Final = "SELECT id FROM users WHERE active = 0 AND id IN ({places})"
LIST_USERNAMES: Final = "SELECT username FROM users ORDER BY username_key LIMIT 20"


def user_of(row: Row) -> User:
    return User(
        id=row["id"],
        username=row["username"],
        email=row["email"],
        role=row["role"],
        active=bool(row["active"]),
        temporary_password=bool(row["temporary_password"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def user_effect_fields(user: User) -> dict[str, Any]:
    """Return the fields of a user that effects contain."""
    return {
        "username": user.username,
        "email": user.email,
        "role": user.role,
        "active": user.active,
    }


async def find_user_row(db: Database, name: str) -> Row | None:
    """Return the row of a username or id, also of an inactive user."""
    if is_uuid(name):
        rows = await db.fetch(USER_BY_ID, name.lower())
    elif is_username(name):
        rows = await db.fetch(USER_BY_NAME, username_key(name))
    else:
        return None
    return rows[0] if rows else None


async def require_user_row(db: Database, name: str) -> Row:
    """Return the row of a username or id.

    Raises NotFoundError, which lists all usernames, for an unknown user.
    """
    row = await find_user_row(db, name)
    if row is None:
        names = [each["username"] for each in await db.fetch(LIST_USERNAMES)]
        raise NotFoundError(f"there is no user {name!r}; there are {', '.join(names)}", valid=names)
    return row


async def insert_user(
    db: Transaction, *, id: str, username: str, email: str, role: str, hashed: str, now: str
) -> User:
    """Create a user, whose name must be free.

    A password given here is temporary, as the user did not choose it.
    """
    temporary = int(bool(hashed))
    await db.execute(
        INSERT_USER, id, username, username_key(username), email, role, hashed, temporary, now
    )
    [row] = await db.fetch(USER_BY_ID, id)
    return user_of(row)


FIND_SESSIONS: Final[dict[Engine, str]] = {
    engine: f"""
SELECT s.hash, s.seen_at, s.expires_at, s.user_id, u.username, u.role, u.active
FROM login_sessions s JOIN users u ON u.id = s.user_id WHERE s.hash {equals}
"""
    for engine, equals in HASH_CONDITION.items()
}
INSERT_SESSION: Final = """
INSERT INTO login_sessions (hash, user_id, client, address, created_at, seen_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $5, $6)
"""
END_SESSION: Final = "DELETE FROM login_sessions WHERE hash = $1"
END_SESSIONS: Final = "DELETE FROM login_sessions WHERE user_id = $1"
END_EXPIRED_SESSIONS: Final = "DELETE FROM login_sessions WHERE expires_at <= $1 OR seen_at <= $2"
END_OLDEST_SESSIONS: Final = """
DELETE FROM login_sessions WHERE user_id = $1 AND hash NOT IN (
    SELECT hash FROM login_sessions WHERE user_id = $1 ORDER BY seen_at DESC, hash LIMIT $2
)
"""
LIST_SESSIONS: Final = """
SELECT hash, client, address, created_at, seen_at, expires_at FROM login_sessions
WHERE user_id = $1 AND expires_at > $2 AND seen_at > $3 ORDER BY seen_at DESC, hash
"""
END_SESSION_BY_ID: Final = (
    "DELETE FROM login_sessions WHERE user_id = $1 AND substr(hash, 1, 16) = $2"
)
TOUCH_SESSION: Final = "UPDATE login_sessions SET seen_at = $2 WHERE hash = $1"

FIND_FAILURES: Final = """
SELECT {now} AS now, f.key, f.count, f.last
FROM (SELECT 1 AS one) AS always LEFT JOIN sign_in_failures f ON f.key IN ($1, $2, $3)
"""
SET_FAILURES: Final = """
INSERT INTO sign_in_failures (key, count, last) VALUES ($1, $2, $3)
ON CONFLICT (key) DO UPDATE SET count = excluded.count, last = excluded.last
"""
DELETE_FAILURES: Final = "DELETE FROM sign_in_failures WHERE key = $1"
SWEEP_FAILURES: Final = """
DELETE FROM sign_in_failures
WHERE key IN (SELECT key FROM sign_in_failures WHERE last < $1 ORDER BY last LIMIT $2)
"""

IDLE_HOURS: Final = 12
SESSION_ID_LENGTH: Final = 16
MAX_SESSIONS_OF_USER: Final = 50
"""Maximum number of sessions per user; a new one replaces the one seen least recently."""


def csrf_token(token: str, key: bytes) -> str:
    """Derive the CSRF token of a session, so that it need not be stored."""
    return hmac.digest(key, token.encode(), sha256).hex()[:32]


def session_id(hashed: str) -> str:
    """Return the public id of a session: a part of its hash, which reveals nothing."""
    return hashed[:SESSION_ID_LENGTH]


def session_of(row: Row) -> LoginSession:
    return LoginSession(
        id=session_id(row["hash"]),
        client=row["client"],
        address=row["address"],
        created_at=row["created_at"],
        seen_at=row["seen_at"],
        expires_at=row["expires_at"],
    )


def idle_since(now: str) -> str:
    """Return the time after which a session must have been used, or it has expired."""
    return days_after(now, -IDLE_HOURS / 24)


async def insert_session(
    db: Transaction, *, hashed: str, user_id: str, client: str, address: str, now: str
) -> str:
    """Begin a session; return the time at which it ends at the latest."""
    ends = days_after(now, SESSION_DAYS)
    await db.execute(END_EXPIRED_SESSIONS, now, idle_since(now))
    await db.execute(END_OLDEST_SESSIONS, user_id, MAX_SESSIONS_OF_USER - 1)
    await db.execute(INSERT_SESSION, hashed, user_id, client, address, now, ends)
    return ends


MAX_IDS: Final = 500
"""Maximum number of ids in one statement."""


class RevokedCallers:
    """Revoked tokens and deactivated users."""

    def __init__(self, ids: frozenset[str]) -> None:
        self._ids = ids

    def __contains__(self, caller: Caller | None) -> bool:
        return caller is not None and not self._ids.isdisjoint((caller.token_id, caller.user_id))


async def find_revoked(db: Database, callers: Iterable[Caller | None]) -> RevokedCallers:
    """Return the callers whose token is revoked or whose user is deactivated."""
    known = [caller for caller in callers if caller is not None]
    tokens = await _ids_among(
        db, REVOKED_TOKENS, {each.token_id for each in known if each.token_id}
    )
    people = await _ids_among(db, INACTIVE_USERS, {each.user_id for each in known if each.user_id})
    return RevokedCallers(frozenset(tokens | people))


async def _ids_among(db: Database, statement: str, ids: set[str]) -> set[str]:
    every, found = sorted(ids), set[str]()
    for start in range(0, len(every), MAX_IDS):
        some = every[start : start + MAX_IDS]
        places = ", ".join(f"${place}" for place in range(1, len(some) + 1))
        found |= {row["id"] for row in await db.fetch(statement.format(places=places), *some)}
    return found


FIRST_USERNAME: Final = "admin"
FIRST_TOKEN_NAME: Final = "first run"

FIRST_RUN_SETTING: Final = "first_run"


async def needs_first_run(db: Database) -> bool:
    """Return True if there has never been an administrator."""
    return not await db.fetch(FIND_SETTING, FIRST_RUN_SETTING) and not await db.fetch(
        ANY_ADMINISTRATOR
    )


async def first_token_id(db: Database, user_id: str) -> str:
    """Return the id of the token that the first run created for this user."""
    [row] = await db.fetch(TOKEN_BY_NAME, user_id, FIRST_TOKEN_NAME)
    return str(row["id"])


async def insert_first_administrator(
    db: Transaction, *, password: str, hashed: str, key: bytes, new_id: Callable[[], str], now: str
) -> tuple[FirstRun, User]:
    """Insert the first administrator, and a token with the scopes of an assistant."""
    username = FIRST_USERNAME
    while await find_user_row(db, username) is not None:  # created by hand, with another role
        username = f"{FIRST_USERNAME}-{secrets.token_hex(3)}"
    user = await insert_user(
        db, id=new_id(), username=username, email="", role="Administrator", hashed=hashed, now=now
    )
    token = await insert_token(
        db,
        id=new_id(),
        user_id=user.id,
        username=username,
        name=FIRST_TOKEN_NAME,
        scopes=ASSISTANT_SCOPES,
        days=DEFAULT_TOKEN_DAYS,
        key=key,
        now=now,
    )
    await db.execute(INSERT_SETTING, FIRST_RUN_SETTING, now)
    assert isinstance(token.token, str)
    return FirstRun(username=username, password=password, token=token.token), user
