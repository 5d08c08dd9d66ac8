"""People, as items name them. Accounts own their table; here it is only read."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.operations.accounts.names import name_key
from accord.operations.errors import InvalidError
from accord.operations.work import Database, is_uuid

MAX_NAMED: Final = 20
"""The number of valid names offered for an unknown one."""

BY_ID: Final = "SELECT id, username, active FROM users WHERE id = $1"
BY_NAME: Final = "SELECT id, username, active FROM users WHERE username_key = $1"
ACTIVE: Final = """
SELECT username, username_key FROM users WHERE active = 1 AND username_key > $1
ORDER BY username_key LIMIT $2
"""
ASSIGNED: Final = """
SELECT id FROM users WHERE EXISTS (SELECT 1 FROM items WHERE assignee_id = users.id) ORDER BY id
"""
COUNT_ACTIVE: Final = "SELECT COUNT(*) AS total FROM users WHERE active = 1"


class Person(Struct, frozen=True):
    """A person with an account."""

    id: str
    username: str


async def find_person(
    db: Database, name: str, field: str, *, also_inactive: bool = False
) -> Person:
    """Return the person with this username or id.

    Raises InvalidError with valid names.
    """
    by_id = is_uuid(name)
    rows = await db.fetch(BY_ID if by_id else BY_NAME, name.lower() if by_id else name_key(name))
    if rows and (rows[0]["active"] or also_inactive):
        return Person(rows[0]["id"], rows[0]["username"])
    valid = await active(db, "", MAX_NAMED)
    raise InvalidError(
        field, f"there is no active user {name!r}; there are: {', '.join(valid)}", valid=valid
    )


async def active(db: Database, behind: str, limit: int) -> list[str]:
    """Return active usernames after a key, in order."""
    return [row["username"] for row in await db.fetch(ACTIVE, behind, limit)]


async def assigned(db: Database) -> list[str]:
    """Return the ids of people with items that are assigned to them."""
    return [row["id"] for row in await db.fetch(ASSIGNED)]


async def count_active(db: Database) -> int:
    total: int = (await db.fetch(COUNT_ACTIVE))[0]["total"]
    return total
