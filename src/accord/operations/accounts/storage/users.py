"""How people are kept: statements, and rows as values."""

from __future__ import annotations

from typing import Any, Final

from accord.operations.accounts.entities import User
from accord.operations.accounts.names import is_name, name_key
from accord.operations.errors import NotFoundError
from accord.operations.work import Database, is_uuid
from accord.store.store import Row, Transaction

COLUMNS: Final = """
id, username, email, role, active, temporary_password, version, created_at, updated_at
"""
BY_ID: Final = f"SELECT {COLUMNS}, password_hash FROM users WHERE id = $1"
BY_NAME: Final = f"SELECT {COLUMNS}, password_hash FROM users WHERE username_key = $1"
LIST: Final = f"""
SELECT {COLUMNS} FROM users WHERE username_key > $1 ORDER BY username_key LIMIT $2
"""
COUNT: Final = "SELECT COUNT(*) AS total FROM users"
INSERT: Final = """
INSERT INTO users
    (id, username, username_key, email, role, password_hash, temporary_password, created_at,
    updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
"""
UPDATE: Final = """
UPDATE users SET email = $2, role = $3, active = $4, version = version + 1, updated_at = $5
WHERE id = $1
"""
SET_PASSWORD: Final = """
UPDATE users
SET password_hash = $2, temporary_password = $3, version = version + 1, updated_at = $4
WHERE id = $1
"""
REHASH: Final = "UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2"
OTHER_ADMINISTRATORS: Final = """
SELECT id FROM users WHERE role = 'Administrator' AND active = 1 AND id <> $1 LIMIT 1
"""
ANY_ADMINISTRATOR: Final = "SELECT id FROM users WHERE role = 'Administrator' LIMIT 1"
FIRST_ADMINISTRATOR: Final = """
SELECT username FROM users WHERE role = 'Administrator' AND active = 1
ORDER BY created_at, id LIMIT 1
"""
INACTIVE_AMONG: Final = "SELECT id FROM users WHERE active = 0 AND id IN ({places})"
NAMES: Final = "SELECT username FROM users ORDER BY username_key LIMIT 20"


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


def kept(user: User) -> dict[str, Any]:
    """Return the fields of a user that effects report."""
    return {
        "username": user.username,
        "email": user.email,
        "role": user.role,
        "active": user.active,
    }


async def find_row(db: Database, name: str) -> Row | None:
    """Return the row of a username or id, also of an inactive user."""
    if is_uuid(name):
        rows = await db.fetch(BY_ID, name.lower())
    elif is_name(name):
        rows = await db.fetch(BY_NAME, name_key(name))
    else:
        return None
    return rows[0] if rows else None


async def require_row(db: Database, name: str) -> Row:
    """Return the row of a username or id; raise NotFoundError with the known names."""
    row = await find_row(db, name)
    if row is None:
        names = [each["username"] for each in await db.fetch(NAMES)]
        raise NotFoundError(f"there is no user {name!r}; there are {', '.join(names)}", valid=names)
    return row


async def insert(
    db: Transaction, *, id: str, username: str, email: str, role: str, hashed: str, now: str
) -> User:
    """Create a user, whose name must be free.

    A password given here is temporary, as somebody else chose it.
    """
    temporary = int(bool(hashed))
    await db.execute(INSERT, id, username, name_key(username), email, role, hashed, temporary, now)
    [row] = await db.fetch(BY_ID, id)
    return user_of(row)
