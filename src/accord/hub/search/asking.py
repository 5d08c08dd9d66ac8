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
from accord.hub.storage import search
from accord.operations.work import Database
from accord.store.store import Engine

FEW: Final = 500
"""Checking this many entries one by one takes less time than reading the list of a common facet."""
MAX_RANKED: Final = 2_000
"""The number of matches that are ranked, the newest first."""
MAX_COMMON: Final = 1_000
"""The number of queries remembered as having many matches."""

_FIRST: Final = "0"
"""The first character in the order of words; see `split_words`."""
LAST: Final = "\U0010ffff"


class Question(Struct, frozen=True):
    """A query of the search index."""

    match: str
    most: int
    """The maximum number of entries to return, newest first."""
    facets: tuple[tuple[str, ...], ...] = ()
    """One of each tuple is required. The index does not filter by them; the entries are checked."""
    unassigned: Unassigned | None = None
    """The filter for items without an assignee, checked in the same way."""


class _Common:
    """Queries with many matches when they last ran.

    Forgetting one costs one more statement, nothing else.
    """

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
    """Return the first query to try; None if trying a few entries is of no use."""
    if engine != "sqlite" or not asked.groups:
        return None
    words = match(replace(asked, facets=(), unassigned=None), engine)
    if words in _common:
        return None
    return Question(words, FEW, asked.facets, asked.unassigned)


def remember(question: Question) -> None:
    """Remember that a query for a few entries returned the maximum: there are more."""
    _common.add(question.match)


async def many(db: Database, engine: Engine, asked: Asked) -> Question:
    """Return the query for many matching entries."""
    if engine == "sqlite":
        asked = replace(asked, groups=tuple([await _known(db, each) for each in asked.groups]))
    return Question(match(asked, engine), MAX_RANKED)


async def _known(db: Database, group: Group) -> Group:
    """Return a group without prefix search if no longer words exist."""
    if not group.is_beginning:
        return group
    for word in group.words:
        if await search.has_term_between(db, word + _FIRST, word + LAST):
            return group
    return replace(group, is_whole=True)
