"""Saved views as rows."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.operations.errors import NotFoundError
from accord.operations.work import Database, is_uuid

SELECT: Final = """
SELECT v.id, v.owner_id, v.name, v.filter, v.sort, v.shared, v.created_at, v.updated_at,
       owner.username AS owner
FROM saved_views v JOIN users owner ON owner.id = v.owner_id
"""
VISIBLE: Final = "(v.owner_id = $1 OR v.shared = 1)"
BY_ID: Final = SELECT + f"WHERE {VISIBLE} AND v.id = $2"
BY_NAME: Final = SELECT + "WHERE v.owner_id = $1 AND v.name = $2"
PAGE: Final = (
    SELECT + f"WHERE {VISIBLE} AND (v.name, v.id) > ($2, $3) ORDER BY v.name, v.id LIMIT $4"
)
COUNT: Final = f"SELECT COUNT(*) AS total FROM saved_views v WHERE {VISIBLE}"
OWN: Final = "SELECT COUNT(*) AS total FROM saved_views v WHERE v.owner_id = $1"


class ViewRow(Struct, frozen=True):
    """One saved view."""

    id: str
    owner_id: str
    name: str
    filter: str
    sort: str
    shared: int
    created_at: str
    updated_at: str
    owner: str

    def stored(self) -> dict[str, Any]:
        """Return the columns of the table."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "owner"}


async def find(db: Database, user_id: str, id: str) -> ViewRow:
    """Return a view that a user may see: their own, or a shared one.

    Raises NotFoundError.
    """
    rows = await db.fetch(BY_ID, user_id, id.lower()) if is_uuid(id) else []
    if not rows:
        raise NotFoundError(f"there is no saved view {id!r}")
    return _view(rows[0])


async def find_named(db: Database, user_id: str, name: str) -> ViewRow | None:
    """Return a user's own view with this name."""
    rows = await db.fetch(BY_NAME, user_id, name)
    return _view(rows[0]) if rows else None


async def behind(db: Database, user_id: str, name: str, id: str, limit: int) -> list[ViewRow]:
    """Return the views that a user may see after a position, by name."""
    return [_view(row) for row in await db.fetch(PAGE, user_id, name, id, limit)]


async def count(db: Database, user_id: str, *, own: bool = False) -> int:
    """Return the number of views that a user may see, or owns."""
    total: int = (await db.fetch(OWN if own else COUNT, user_id))[0]["total"]
    return total


def _view(row: Any) -> ViewRow:
    return ViewRow(*row)
