"""Items as MCP lists, completes and announces them: a page of resources, of prompts, of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from accord.hub.domain.rules import Kind
from accord.hub.storage.rows import chunks, places
from accord.operations.context import Database
from accord.store.store import Row

Named: TypeAlias = Literal["prompt", "person", "label"]

RESOURCES: Final = """
SELECT kind, number, reference_id, title, status, active, substr(description, 1, 120) AS summary
FROM items WHERE kind = $1 AND number > $2 ORDER BY number LIMIT $3
"""
PROMPTS: Final = """
SELECT number, name, title, description FROM items
WHERE kind = 'prompt' AND number > $1 ORDER BY number LIMIT $2
"""
PROMPT_NAMED: Final = """
SELECT name, title, description FROM items WHERE kind = 'prompt' AND lower(name) = $1
"""
PLACES: Final = """
SELECT i.id, i.kind, i.reference_id, i.parent_id, p.id AS p_id, p.kind AS p_kind,
       p.reference_id AS p_reference_id, p.parent_id AS p_parent_id, g.id AS g_id, g.kind AS g_kind,
       g.reference_id AS g_reference_id, g.parent_id AS g_parent_id
FROM items i LEFT JOIN items p ON p.id = i.parent_id LEFT JOIN items g ON g.id = p.parent_id
WHERE i.id IN ({ids})
"""
REFERENCES: Final = """
SELECT reference_id AS value FROM items WHERE kind = $1
AND (reference_id LIKE $2 ESCAPE '!' OR lower(title) LIKE $3 ESCAPE '!') ORDER BY number LIMIT $4
"""
IDS: Final = "SELECT id AS value FROM items WHERE kind = $1 AND id LIKE $2 ESCAPE '!' LIMIT $3"
TYPES: Final = "SELECT name AS value FROM requirement_types ORDER BY name_key LIMIT $1"
NAMES: Final[dict[Named, str]] = {
    "prompt": """
SELECT name AS value FROM items WHERE kind = 'prompt' AND lower(name) LIKE $1 ESCAPE '!'
ORDER BY number LIMIT $2
""",
    "person": """
SELECT username AS value FROM users WHERE active = 1 AND username_key LIKE $1 ESCAPE '!'
ORDER BY username_key LIMIT $2
""",
    "label": """
SELECT name AS value FROM labels WHERE name_key LIKE $1 ESCAPE '!' ORDER BY name_key LIMIT $2
""",
}


async def page(db: Database, kind: Kind, behind: int, limit: int) -> list[Row]:
    """Return items of a kind after a number, by number, with the beginnings of their texts."""
    return await db.fetch(RESOURCES, kind, behind, limit)


async def prompts(db: Database, behind: int, limit: int) -> list[Row]:
    """Return prompts after a number, by number."""
    return await db.fetch(PROMPTS, behind, limit)


async def prompt_named(db: Database, name: str) -> Row | None:
    """Return the prompt with this name, ignoring letter case."""
    found = await db.fetch(PROMPT_NAMED, name.lower())
    return found[0] if found else None


async def places_of(db: Database, ids: Sequence[str]) -> list[Row]:
    """Return items with their parents (`p_…`) and grandparents (`g_…`)."""
    found: list[Row] = []
    for some in chunks(ids):
        found += await db.fetch(PLACES.format(ids=places(len(some))), *some)
    return found


async def references(db: Database, kind: Kind, typed: str, limit: int) -> list[str]:
    """Return reference ids of items that begin with a text, or have it in their titles."""
    like = (_beginning(typed.upper()), f"%{_beginning(typed.lower())}")
    return [row["value"] for row in await db.fetch(REFERENCES, kind, *like, limit)]


async def ids(db: Database, kind: Kind, typed: str, limit: int) -> list[str]:
    """Return ids of items that begin with a text."""
    return [row["value"] for row in await db.fetch(IDS, kind, _beginning(typed.lower()), limit)]


async def names(db: Database, of: Named, beginning: str, limit: int) -> list[str]:
    """Return names that begin with a folded text."""
    return [row["value"] for row in await db.fetch(NAMES[of], _beginning(beginning), limit)]


async def types(db: Database, limit: int) -> list[str]:
    """Return the names of requirement types."""
    return [row["value"] for row in await db.fetch(TYPES, limit)]


def _beginning(text: str) -> str:
    """Return a LIKE pattern for a prefix, with wildcards escaped."""
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"{escaped}%"
