"""Rows of access tokens, found by a keyed hash of each."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Final

from accord.operations.accounts.entities import NewToken, Token
from accord.operations.accounts.token_text import SHOWN, make_token, shown_prefix
from accord.operations.rights import SCOPES, Scope
from accord.store.store import Engine, Row, Transaction

EQUALS: Final[dict[Engine, str]] = {"sqlite": "= $1", "postgresql": "= ANY($1::text[])"}
"""The condition of a statement that names the hashes to find; see `Lookups`."""

COLUMNS: Final = """
t.id, t.name, t.user_id, u.username, t.prefix, t.last_four, t.scopes, t.created_at, t.expires_at,
t.last_used_at, t.revoked_at
"""
FIND: Final[dict[Engine, str]] = {
    engine: f"""
SELECT t.id, t.hash, t.scopes, t.expires_at, t.revoked_at, t.user_id, u.username, u.role, u.active
FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash {equals}
"""
    for engine, equals in EQUALS.items()
}
BY_ID: Final = f"SELECT {COLUMNS} FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.id = $1"
BY_NAME: Final = f"""
SELECT {COLUMNS} FROM tokens t JOIN users u ON u.id = t.user_id
WHERE t.user_id = $1 AND t.name = $2 AND t.revoked_at IS NULL
"""
LIST: Final = f"""
SELECT {COLUMNS} FROM tokens t JOIN users u ON u.id = t.user_id
WHERE t.user_id = $1 AND (t.created_at < $2 OR (t.created_at = $2 AND t.id < $3))
ORDER BY t.created_at DESC, t.id DESC LIMIT $4
"""
COUNT: Final = "SELECT COUNT(*) AS total FROM tokens WHERE user_id = $1"
COUNT_USABLE: Final = """
SELECT COUNT(*) AS total FROM tokens
WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2
"""
INSERT: Final = """
INSERT INTO tokens
    (id, user_id, name, prefix, last_four, hash, scopes, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
REVOKE: Final = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL"
REVOKED_AMONG: Final = "SELECT id FROM tokens WHERE revoked_at IS NOT NULL AND id IN ({places})"
REVOKED_AT: Final = "SELECT revoked_at FROM tokens WHERE id = $1"
USED: Final = "UPDATE tokens SET last_used_at = $2 WHERE id = $1"

MAX_USABLE: Final = 100
"""Usable tokens per user."""


def token_hash(token: str, key: bytes) -> str:
    """Return the keyed hash under which a token is stored."""
    # Not hmac.digest: it releases the GIL, and waiting for it again costs more than the hash.
    return hmac.new(key, token.encode(), sha256).hexdigest()


def token_of(row: Row) -> Token:
    return Token(
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


def kept(token: Token) -> dict[str, object]:
    """Return the fields of a token that effects report."""
    return {
        "name": token.name,
        "user": token.user,
        "scopes": token.scopes,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }


def days_after(now: str, days: float) -> str:
    """Return the stored form of a time some days after another."""
    then = datetime.fromisoformat(now) + timedelta(days=days)
    return then.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def insert(
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
    wanted = frozenset(scopes)
    new = NewToken(
        id=id,
        name=name,
        user=username,
        prefix=shown_prefix(token),
        last_four=token[-SHOWN:],
        scopes=[scope for scope in SCOPES if scope in wanted],
        created_at=now,
        expires_at=days_after(now, days),
        last_used_at=None,
        revoked_at=None,
        token=token,
    )
    await db.execute(
        INSERT,
        *(id, user_id, name, new.prefix, new.last_four, token_hash(token, key)),
        *(" ".join(new.scopes), now, new.expires_at),
    )
    return new
