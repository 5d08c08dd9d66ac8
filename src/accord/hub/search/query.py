"""Queries in the language of each database, and the entries that match them.

Queries consist of words only, letters and digits in quotes, so user input is never interpreted as
query syntax.

PostgreSQL plans by itself. SQLite walks the whole list of a facet, which may have every entry in
it, and merges the lists of all longer words to find the words with a prefix. So SQLite is asked for
a few entries with the words only, and these are checked one by one. If there are more, it is asked
for facets too, and for longer words only where longer words exist.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2s
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.search.words import is_reference, words
from accord.hub.storage import search
from accord.operations.context import Database
from accord.store.store import Engine

MAX_WORDS: Final = 16
"""Further words of a query are ignored."""

Facet: TypeAlias = Literal["kind", "status", "priority", "assignee", "label", "type", "epic"]


class WordGroup(Struct, frozen=True):
    """One word of a query, or several alternatives."""

    words: tuple[str, ...]
    is_whole: bool = False
    """True if no longer words are known to exist."""

    @property
    def is_beginning(self) -> bool:
        """True if longer words match too; a single letter would match too many."""
        return not self.is_whole and len(self.words[0]) > 1 and not is_reference(self.words[0])


class UnassignedFilter(Struct, frozen=True):
    """A filter for items without an assignee, as facets of the index.

    The index has no facet for such items: they have a kind that can be assigned, and no assignee
    facet.
    """

    kinds: tuple[str, ...]
    """Facets of the kinds that can be assigned."""
    assigned: tuple[str, ...]
    """Facets of all current assignees."""
    others: tuple[str, ...] = ()
    """Facets of assignees with items that match too."""


class ParsedQuery(Struct, frozen=True, kw_only=True):
    """A parsed query with its filters."""

    groups: tuple[WordGroup, ...]
    facets: tuple[tuple[str, ...], ...]
    """One facet of each tuple is required."""
    unassigned: UnassignedFilter | None = None
    every: bool = True
    """True if all words are required, false if one is enough."""


@lru_cache(256)  # hit by the pages of one query, and by common queries
def groups_of(query: str) -> tuple[WordGroup, ...]:
    """Return the distinct words of a query as groups."""
    return tuple(WordGroup((each,)) for each in list(dict.fromkeys(words(query)))[:MAX_WORDS])


@lru_cache(4096)  # many entries share few statuses, types, people and epics
def facet(name: Facet, value: str) -> str:
    """Return the index term of a property.

    It begins with a character that no word has.
    """
    return "=" + blake2s(f"{name}={value}".encode(), digest_size=9).hexdigest()


@lru_cache(256)
def match(parsed: ParsedQuery, engine: Engine) -> str:
    """Return the query in the language of the database."""
    return _fts5(parsed) if engine == "sqlite" else _tsquery(parsed)


def _fts5(parsed: ParsedQuery) -> str:
    parts = ["facets : " + _any(some, '"{}"', " OR ") for some in parsed.facets]
    if parsed.unassigned is not None:
        parts.append("facets : " + _nobody(parsed.unassigned, '"{}"', " OR ", "{} NOT {}"))
    if parsed.groups:
        texts = [
            _any(each.words, '"{}"' + "*" * each.is_beginning, " OR ") for each in parsed.groups
        ]
        parts.append("{title body} : (" + (" AND " if parsed.every else " OR ").join(texts) + ")")
    return " AND ".join(parts)


def _tsquery(parsed: ParsedQuery) -> str:
    parts = [_any(some, "'{}'", " | ") for some in parsed.facets]
    if parsed.unassigned is not None:
        parts.append(_nobody(parsed.unassigned, "'{}'", " | ", "{} & !{}"))
    if parsed.groups:
        texts = [
            _any(each.words, "'{}'" + ":*" * each.is_beginning, " | ") for each in parsed.groups
        ]
        parts.append("(" + (" & " if parsed.every else " | ").join(texts) + ")")
    return " & ".join(parts)


def _nobody(unassigned: UnassignedFilter, quoted: str, separator: str, without: str) -> str:
    found = _any(unassigned.kinds, quoted, separator)
    if unassigned.assigned:
        found = f"({without.format(found, _any(unassigned.assigned, quoted, separator))})"
    if not unassigned.others:
        return f"({found})"
    return f"({found}{separator}{_any(unassigned.others, quoted, separator)})"


def _any(terms: tuple[str, ...], quoted: str, separator: str) -> str:
    return "(" + separator.join(quoted.format(each) for each in terms) + ")"


MAX_CHECKED: Final = 500
"""Checking this many entries one by one takes less time than reading the list of a common facet."""
MAX_RANKED: Final = 2_000
"""The number of matches that are ranked, the newest first."""
MAX_COMMON: Final = 1_000
"""The number of queries remembered as having many matches."""

_FIRST: Final = "0"
"""The first character in the order of words; see `words`."""
LAST_POSITION: Final = "\U0010ffff"


class IndexQuery(Struct, frozen=True):
    """A query of the search index."""

    match: str
    most: int
    """The maximum number of entries to return, newest first."""
    facets: tuple[tuple[str, ...], ...] = ()
    """One of each tuple is required. The index does not filter by them; the entries are checked."""
    unassigned: UnassignedFilter | None = None
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


def query_for_few(engine: Engine, parsed: ParsedQuery) -> IndexQuery | None:
    """Return the first query to try; None if trying a few entries is of no use."""
    if engine != "sqlite" or not parsed.groups:
        return None
    words = match(replace(parsed, facets=(), unassigned=None), engine)
    if words in _common:
        return None
    return IndexQuery(words, MAX_CHECKED, parsed.facets, parsed.unassigned)


def remember_common(question: IndexQuery) -> None:
    """Remember that a query for a few entries returned the maximum: there are more."""
    _common.add(question.match)


async def query_for_many(db: Database, engine: Engine, parsed: ParsedQuery) -> IndexQuery:
    """Return the query for many matching entries."""
    if engine == "sqlite":
        parsed = replace(parsed, groups=tuple([await _known(db, each) for each in parsed.groups]))
    return IndexQuery(match(parsed, engine), MAX_RANKED)


async def _known(db: Database, group: WordGroup) -> WordGroup:
    """Return a group without prefix search if no longer words exist."""
    if not group.is_beginning:
        return group
    for word in group.words:
        if await search.has_term_between(db, word + _FIRST, word + LAST_POSITION):
            return group
    return replace(group, is_whole=True)
