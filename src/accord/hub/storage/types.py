"""Requirement types as rows, and how often types are used."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.operations.work import Database

ALL: Final = """
SELECT name, name_key, description, created_at FROM requirement_types ORDER BY name_key
"""
NAMES: Final = "SELECT name, name_key FROM requirement_types ORDER BY name_key"
REQUIREMENTS: Final = "SELECT COUNT(*) AS used FROM items WHERE type = $1"
RELATIONSHIPS: Final = "SELECT COUNT(*) AS used FROM relationships WHERE type = $1"


class RequirementTypeRow(Struct, frozen=True):
    """One requirement type."""

    name: str
    name_key: str
    description: str
    created_at: str

    def stored(self) -> dict[str, Any]:
        """Return the columns of the table."""
        return {
            "name": self.name,
            "name_key": self.name_key,
            "description": self.description,
            "created_at": self.created_at,
        }


async def all_types(db: Database) -> list[RequirementTypeRow]:
    """Return all requirement types, by name."""
    return [_type(row) for row in await db.fetch(ALL)]


async def names(db: Database) -> dict[str, str]:
    """Return the names of all requirement types by their keys, in order."""
    return {row["name_key"]: row["name"] for row in await db.fetch(NAMES)}


async def requirements_of_type(db: Database, name: str) -> int:
    """Return the number of requirements with this type."""
    used: int = (await db.fetch(REQUIREMENTS, name))[0]["used"]
    return used


async def relationships_of_type(db: Database, name: str) -> int:
    """Return the number of relationships with this type."""
    used: int = (await db.fetch(RELATIONSHIPS, name))[0]["used"]
    return used


def _type(row: Any) -> RequirementTypeRow:
    return RequirementTypeRow(*row)
