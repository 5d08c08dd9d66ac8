"""What the index of a database is asked for, and what is left to be looked up entry by entry.

PostgreSQL plans by itself. SQLite goes through the whole list of a facet, which may have every
entry in it, and finds all that begins with a word by putting the lists of all longer words
together. So it is asked for a few entries that have the words, and these are looked at. Only where
there are more, it is asked for facets too, and for longer words only where there are any.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.search.matching import Asked, Group, Unassigned, match
from accord.operations.work import Database
from accord.store.store import Engine

FEW: Final = 500
"""So many entries are looked at one by one in less time than the list of a common facet takes."""
MAX_RANKED: Final = 2_000
"""How many matches are ranked, the newest."""
MAX_COMMON: Final = 1_000
"""How many queries are remembered that have more than a few matches."""

LONGER: Final = "SELECT 1 FROM search_vocabulary WHERE term >= $1 AND term < $2 LIMIT 1"
_FIRST: Final = "0"
"""The first of all signs that words have; see `words`."""
LAST: Final = "\U0010ffff"


class Question(Struct, frozen=True):
    """For the index."""

    match: str
    most: int
    """How many entries it gives, the newest."""
    facets: tuple[tuple[str, ...], ...] = ()
    """Of each of these one is needed, and the index is not asked for it."""
    unassigned: Unassigned | None = None
    """The filter for items without an assignee, likewise."""


class _Common:
    """Queries that had more than a few matches when they were asked last. Forgetting one costs a
    question more, and nothing else."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}

    def __contains__(self, words: str) -> bool:
        return words in self._known

    def add(self, words: str) -> None:
        if len(self._known) >= MAX_COMMON:
            self._known.clear()
        self._known[words] = None


_common: Final = _Common()


def few(engine: Engine, asked: Asked) -> Question | None:
    """What to ask for first; None where there is no use in that."""
    if engine != "sqlite" or not asked.groups:
        return None
    words = match(replace(asked, facets=(), unassigned=None), engine)
    if words in _common:
        return None
    return Question(words, FEW, asked.facets, asked.unassigned)


def remember(question: Question) -> None:
    """A question for a few was answered with as many as it may be: there are more."""
    _common.add(question.match)


async def many(db: Database, engine: Engine, asked: Asked) -> Question:
    """What to ask for where many entries match."""
    if engine == "sqlite":
        asked = replace(asked, groups=tuple([await _known(db, each) for each in asked.groups]))
    return Question(match(asked, engine), MAX_RANKED)


async def _known(db: Database, group: Group) -> Group:
    """A group that asks for no longer words where there are none."""
    if not group.is_beginning:
        return group
    for word in group.words:
        if await db.fetch(LONGER, word + _FIRST, word + LAST):
            return group
    return replace(group, is_whole=True)
