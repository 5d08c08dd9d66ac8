"""Login sessions, stored by a keyed hash of each token, and failed sign-ins.

A session ends when it has not been used for too long.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Final

from accord.operations.accounts.credentials import SESSION_DAYS
from accord.operations.accounts.entities import LoginSession
from accord.operations.accounts.storage.tokens import EQUALS, days_after
from accord.store.store import Engine, Row, Transaction

FIND: Final[dict[Engine, str]] = {
    engine: f"""
SELECT s.hash, s.seen_at, s.expires_at, s.user_id, u.username, u.role, u.active
FROM login_sessions s JOIN users u ON u.id = s.user_id WHERE s.hash {equals}
"""
    for engine, equals in EQUALS.items()
}
INSERT: Final = """
INSERT INTO login_sessions (hash, user_id, client, address, created_at, seen_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $5, $6)
"""
END: Final = "DELETE FROM login_sessions WHERE hash = $1"
END_ALL: Final = "DELETE FROM login_sessions WHERE user_id = $1"
END_OVER: Final = "DELETE FROM login_sessions WHERE expires_at <= $1 OR seen_at <= $2"
END_OLDEST: Final = """
DELETE FROM login_sessions WHERE user_id = $1 AND hash NOT IN (
    SELECT hash FROM login_sessions WHERE user_id = $1 ORDER BY seen_at DESC, hash LIMIT $2
)
"""
LIST: Final = """
SELECT hash, client, address, created_at, seen_at, expires_at FROM login_sessions
WHERE user_id = $1 AND expires_at > $2 AND seen_at > $3 ORDER BY seen_at DESC, hash
"""
END_ONE: Final = "DELETE FROM login_sessions WHERE user_id = $1 AND substr(hash, 1, 16) = $2"
SEEN: Final = "UPDATE login_sessions SET seen_at = $2 WHERE hash = $1"

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
ID_LENGTH: Final = 16
MAX_OF_USER: Final = 50
"""Sessions per user; the one seen least recently makes room."""


def csrf_token(token: str, key: bytes) -> str:
    """Derive the CSRF token of a session, so that it need not be stored."""
    return hmac.digest(key, token.encode(), sha256).hex()[:32]


def session_id(hashed: str) -> str:
    """Return the public id of a session: a part of its hash, which reveals nothing."""
    return hashed[:ID_LENGTH]


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
    """Return the time that a session must have been seen after to be alive."""
    return days_after(now, -IDLE_HOURS / 24)


async def insert(
    db: Transaction, *, hashed: str, user_id: str, client: str, address: str, now: str
) -> str:
    """Begin a session; return the time at which it ends at the latest."""
    ends = days_after(now, SESSION_DAYS)
    await db.execute(END_OVER, now, idle_since(now))
    await db.execute(END_OLDEST, user_id, MAX_OF_USER - 1)
    await db.execute(INSERT, hashed, user_id, client, address, now, ends)
    return ends
