"""What the index of a database is asked for, and what is left to be looked up entry by entry.

PostgreSQL plans by itself. SQLite finds all that begins with a word by putting the lists of all
longer words together, and goes through the whole list of a facet, which may have every entry in
it. Both are spared where a look at the index says that they can be: where no longer word is known,
and where few entries have the words at all.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.search.matching import Asked, Group, match
from accord.operations.work import Database
from accord.store.store import Engine

FEW: Final = 500
"""So many entries are looked at one by one in less time than the list of a common facet takes."""

LONGER: Final = "SELECT 1 FROM search_vocabulary WHERE term >= $1 AND term < $2 LIMIT 1"
COUNT: Final = """
SELECT COUNT(*) AS count FROM (SELECT 1 FROM search_texts WHERE search_texts MATCH $1 LIMIT $2)
"""
_FIRST: Final = "0"
"""The first of all signs that words have; see `words`."""
_LAST: Final = "\U0010ffff"


class Question(Struct, frozen=True):
    """For the index."""

    match: str
    facets: tuple[tuple[str, ...], ...] = ()
    """Of each of these one is needed, and the index was not asked for it."""


async def question(db: Database, engine: Engine, asked: Asked) -> Question:
    """The cheapest way to ask."""
    if engine == "postgresql" or not asked.groups:
        return Question(match(asked, engine))
    asked = replace(asked, groups=tuple([await _known(db, each) for each in asked.groups]))
    words = match(replace(asked, facets=()), engine)
    if asked.facets and await _are_few(db, words):
        return Question(words, asked.facets)
    return Question(match(asked, engine))


async def _known(db: Database, group: Group) -> Group:
    """A group that asks for no longer words where there are none."""
    if not group.is_beginning:
        return group
    for word in group.words:
        if await db.fetch(LONGER, word + _FIRST, word + _LAST):
            return group
    return replace(group, is_whole=True)


async def _are_few(db: Database, words: str) -> bool:
    [row] = await db.fetch(COUNT, words, FEW)
    return bool(row["count"] < FEW)
