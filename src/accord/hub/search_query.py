"""Full text search: queries, the best matches page by page, and snippets.

Queries consist of words only, letters and digits in quotes, so user input is never interpreted as
query syntax. The score is one SQL expression (`accord.hub.storage.search`): both databases find the
same entries and rank them alike.

A facet is a property of an entry that filters use, such as its status; the index stores it as a
word. SQLite would be slow with facets and prefixes in every query: it reads the whole list of a
facet, which may contain every entry, and for a prefix it merges the lists of all longer words. So
on SQLite a search has two steps:

1. A query with the words alone. If few entries match, their facets are checked one by one.
2. If more entries match, a query with words and facets. A word is searched for as a prefix only if
   the index has longer words that begin with it.

PostgreSQL gets a single query with words, prefixes and facets.

The index returns the newest entries that match, a few thousand at most, so that common words cost
no more than others; only those entries are ranked. If no entry has all words, similarly spelt words
are searched for, then any of the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.hub import search_index
from accord.hub.domain.rules import parse_reference
from accord.hub.search_index import is_reference, words
from accord.hub.storage import search
from accord.hub.storage.search import SEQUENCE_BITS
from accord.operations.context import Database
from accord.store.store import Engine, Row

MAX_WORDS: Final = 16
"""The maximum number of words in a query; all further words are ignored."""


class WordGroup(Struct, frozen=True):
    """One word of a query, or several alternatives."""

    words: tuple[str, ...]
    is_whole: bool = False
    """True if the index is known to have no longer words that begin with these words."""

    @property
    def is_beginning(self) -> bool:
        """True if longer words that begin with the word match too.

        False for single letters, which begin too many words, and for reference ids.
        """
        return not self.is_whole and len(self.words[0]) > 1 and not is_reference(self.words[0])


class UnassignedFilter(Struct, frozen=True):
    """A filter for items without an assignee, as facets of the index.

    The index has no facet that stands for "unassigned". So the filter requires a facet of a kind
    that can be assigned, and excludes all assignee facets.
    """

    kinds: tuple[str, ...]
    """Facets of the kinds that can be assigned."""
    assigned: tuple[str, ...]
    """Facets of all current assignees."""
    others: tuple[str, ...] = ()
    """Facets of the assignees in the filter; items of these people match too."""


class ParsedQuery(Struct, frozen=True, kw_only=True):
    """A parsed query with its filters."""

    groups: tuple[WordGroup, ...]
    facets: tuple[tuple[str, ...], ...]
    """An entry must have at least one facet of each tuple."""
    unassigned: UnassignedFilter | None = None
    every: bool = True
    """True if an entry must have all words; false if one word is enough."""


@lru_cache(256)  # hit by the pages of one query, and by common queries
def groups_of(query: str) -> tuple[WordGroup, ...]:
    """Return the distinct words of a query as groups."""
    return tuple(WordGroup((each,)) for each in list(dict.fromkeys(words(query)))[:MAX_WORDS])


@lru_cache(256)
def match(parsed: ParsedQuery, engine: Engine) -> str:
    """Return a query in the query language of the database: FTS5 or tsquery."""
    return _fts5(parsed) if engine == "sqlite" else _tsquery(parsed)


def _fts5(parsed: ParsedQuery) -> str:
    parts = ["facets : " + _any_term(some, '"{}"', " OR ") for some in parsed.facets]
    if parsed.unassigned is not None:
        parts.append("facets : " + _unassigned(parsed.unassigned, '"{}"', " OR ", "{} NOT {}"))
    if parsed.groups:
        texts = [
            _any_term(each.words, '"{}"' + "*" * each.is_beginning, " OR ")
            for each in parsed.groups
        ]
        parts.append("{title body} : (" + (" AND " if parsed.every else " OR ").join(texts) + ")")
    return " AND ".join(parts)


def _tsquery(parsed: ParsedQuery) -> str:
    parts = [_any_term(some, "'{}'", " | ") for some in parsed.facets]
    if parsed.unassigned is not None:
        parts.append(_unassigned(parsed.unassigned, "'{}'", " | ", "{} & !{}"))
    if parsed.groups:
        texts = [
            _any_term(each.words, "'{}'" + ":*" * each.is_beginning, " | ")
            for each in parsed.groups
        ]
        parts.append("(" + (" & " if parsed.every else " | ").join(texts) + ")")
    return " & ".join(parts)


def _unassigned(unassigned: UnassignedFilter, quoted: str, separator: str, without: str) -> str:
    found = _any_term(unassigned.kinds, quoted, separator)
    if unassigned.assigned:
        found = f"({without.format(found, _any_term(unassigned.assigned, quoted, separator))})"
    if not unassigned.others:
        return f"({found})"
    return f"({found}{separator}{_any_term(unassigned.others, quoted, separator)})"


def _any_term(terms: tuple[str, ...], quoted: str, separator: str) -> str:
    return "(" + separator.join(quoted.format(each) for each in terms) + ")"


MAX_CHECKED: Final = 500
"""The maximum number of entries whose facets are checked one by one.

Up to this number, the checks take less time than reading the list of a common facet."""
MAX_RANKED: Final = 2_000
"""The number of matches that are ranked, the newest first."""
MAX_COMMON: Final = 1_000
"""The number of queries remembered as having many matches."""

_FIRST_CHARACTER: Final = "0"
"""The first character in the order of words; see `words`."""
LAST_POSITION: Final = "\U0010ffff"


class IndexQuery(Struct, frozen=True):
    """A query of the search index."""

    match: str
    most: int
    """The maximum number of entries to return, newest first."""
    facets: tuple[tuple[str, ...], ...] = ()
    """An entry must have one facet of each tuple. The index does not filter by them; the entries
    are checked."""
    unassigned: UnassignedFilter | None = None
    """The filter for items without an assignee, checked in the same way."""


class _Common:
    """A cache of the queries that had many matches when they last ran.

    A query that is missing here costs one more statement, nothing else.
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
    """Return the query for a few entries, which is tried first on SQLite.

    Returns None on PostgreSQL, without words, or for words that are known to have many matches.
    """
    if engine != "sqlite" or not parsed.groups:
        return None
    words = match(replace(parsed, facets=(), unassigned=None), engine)
    if words in _common:
        return None
    return IndexQuery(words, MAX_CHECKED, parsed.facets, parsed.unassigned)


def remember_common(question: IndexQuery) -> None:
    """Remember that a query for a few entries found more than a few."""
    _common.add(question.match)


async def query_for_many(db: Database, engine: Engine, parsed: ParsedQuery) -> IndexQuery:
    """Return the query that is used if there may be many matching entries."""
    if engine == "sqlite":
        parsed = replace(
            parsed,
            groups=tuple([await _without_needless_prefix(db, each) for each in parsed.groups]),
        )
    return IndexQuery(match(parsed, engine), MAX_RANKED)


async def _without_needless_prefix(db: Database, group: WordGroup) -> WordGroup:
    """Return a group without prefix search if the index has no longer words."""
    if not group.is_beginning:
        return group
    for word in group.words:
        if await search.has_term_between(db, word + _FIRST_CHARACTER, word + LAST_POSITION):
            return group
    return replace(group, is_whole=True)


NO_LIMIT: Final = 2**62
MAX_ATTEMPTS: Final = 3
MAX_SEQUENCE: Final = 2**SEQUENCE_BITS - 1


class SearchPosition(Struct, frozen=True):
    """The position in a cursor: the last row of a page, and how the first page was found.

    `score` and `sequence` are those of the last row. `newest` is the highest sequence number at the
    time of the first page, so that newer entries do not shift later pages.
    """

    score: int = NO_LIMIT
    sequence: int = NO_LIMIT
    newest: int = NO_LIMIT
    attempt: int = 0
    """The number of the attempt that found the first page; see `find_best`."""


_FIRST_PAGE: Final = SearchPosition()


class Hit(Struct, frozen=True):
    """A search hit with its score."""

    score: int
    sequence: int
    row: Row
    """A row with the columns of `HIT_COLUMNS`."""


class Matches(Struct, frozen=True):
    """The hits of a page, best first."""

    hits: list[Hit] = []
    total: int = 0
    newest: int = 0
    """The sequence number of the newest entry at the time of the search."""


class BestHits(Struct, frozen=True):
    """The matches, and the query that found them."""

    matches: Matches
    parsed: ParsedQuery
    attempt: int


async def find_best(
    db: Database,
    engine: Engine,
    query: str,
    parsed: ParsedQuery,
    place: SearchPosition | None,
    most: int,
) -> BestHits:
    """Return the best matches, or those after `place`.

    If no entry has all words, search for similarly spelt words, then for any of the words.
    """
    for attempt in range(MAX_ATTEMPTS):
        if place is not None and attempt != place.attempt:
            continue
        tried = await _query_of_attempt(db, parsed, attempt)
        if tried is None:
            continue
        matches = await _best(db, engine, query, tried, place or _FIRST_PAGE, most)
        if matches.hits or not parsed.groups:
            return BestHits(matches, tried, attempt)
    return BestHits(Matches(), parsed, 0)


async def _query_of_attempt(db: Database, parsed: ParsedQuery, attempt: int) -> ParsedQuery | None:
    """Return the query of an attempt; None if it would repeat the previous attempt."""
    if attempt == 0:
        return parsed
    alike = replace(
        parsed, groups=tuple([await _similar_group(db, each) for each in parsed.groups])
    )
    if attempt == 1:
        return None if alike == parsed else alike
    return None if len(parsed.groups) == 1 else replace(alike, every=False)


async def _best(
    db: Database, engine: Engine, query: str, parsed: ParsedQuery, place: SearchPosition, most: int
) -> Matches:
    first = query_for_few(engine, parsed)
    if first is not None:
        matches = await _best_of_few(db, engine, query, parsed, first, place, most)
        if matches is not None:
            return matches
        remember_common(first)
    question = await query_for_many(db, engine, parsed)
    rows = await search.ranked(
        *(db, engine, question.match, _ranking(query, parsed)),
        until=place.newest,
        scored=question.most,
        after=search.Position(place.score, place.sequence),
        limit=most,
    )
    if not rows:
        return Matches()
    hits = [Hit(row["score"], row["sequence"], row) for row in rows]
    hits.sort(key=_rank, reverse=True)
    return Matches(hits, rows[0]["total"], rows[0]["newest"])


async def _best_of_few(
    db: Database,
    engine: Engine,
    query: str,
    parsed: ParsedQuery,
    question: IndexQuery,
    place: SearchPosition,
    most: int,
) -> Matches | None:
    """Return the best matches of a query for a few entries.

    `question` is the query that `query_for_few` made. Returns None if `question.most` entries or
    more match. The matches are sorted here, so the database needs no temporary tables to sort.
    """
    unassigned = question.unassigned
    scored = await search.scores(
        *(db, engine, question.match, _ranking(query, parsed)),
        search.FacetFilter(
            facets=question.facets,
            unassigned_kinds=None if unassigned is None else unassigned.kinds,
            assignees=() if unassigned is None else unassigned.others,
        ),
        until=place.newest,
        scored=question.most,
    )
    if scored is None:
        return None
    found, newest = scored
    found.sort(reverse=True)
    before = (place.score << SEQUENCE_BITS) + place.sequence
    page = (found if place is _FIRST_PAGE else [each for each in found if each < before])[:most]
    if not page:
        return Matches()
    scores = {each & MAX_SEQUENCE: each >> SEQUENCE_BITS for each in page}
    rows = await search.details(db, list(scores))
    hits = [
        Hit(score, sequence, rows[sequence])
        for sequence, score in scores.items()
        if sequence in rows  # unless somebody edited the tables by hand
    ]
    return Matches(hits, len(found), newest)


def _rank(hit: Hit) -> tuple[int, int]:
    return hit.score, hit.sequence


def _ranking(query: str, parsed: ParsedQuery) -> search.RankingQuery:
    reference = parse_reference(query)
    return search.RankingQuery(
        groups=tuple((group.words, group.is_beginning) for group in parsed.groups),
        every=parsed.every,
        reference=None if reference is None else str(reference),
    )


async def _similar_group(db: Database, group: WordGroup) -> WordGroup:
    """Return a group of similarly spelt words, with the original word.

    A word that exists, or that begins an existing word, is not misspelt: it fails only in
    combination with the other words.
    """
    [word] = group.words
    if not search_index.is_correctable(word) or await search.has_word_between(
        db, word, f"{word}{LAST_POSITION}"
    ):
        return group
    keys = search_index.spelling_keys(word, slips=2)
    near = search_index.similar_words(word, await search.spelt_alike(db, keys))
    return WordGroup((*near, word)) if near else group


SNIPPET_LENGTH: Final = 160
"""The approximate length of a snippet."""
SNIPPET_LEAD: Final = 40
"""The number of characters in a snippet before the first mark."""
MAX_SCANNED: Final = 20_000
"""The number of characters that are scanned in a text with accents, since folding is slow."""

_SCANNED_WORD: Final = re.compile(r"[^\W_]+(?:-[0-9]+)?")


class Snippet(Struct, frozen=True):
    """A part of a text, with marks."""

    text: str
    marks: list[list[int]]
    """Start and end of each mark, in characters."""


class Snippets:
    """A maker of snippets, which are parts of a text around the first match of a query.

    The snippet of a text without a match is the beginning of the text.
    """

    def __init__(self, groups: tuple[WordGroup, ...]) -> None:
        self._groups = groups
        self._plain = _plain_pattern(groups)

    def of(self, text: str) -> Snippet:
        """Return the snippet of a text."""
        plain = self._plain
        if plain is None or not text.isascii():
            return self._folded(text)
        lowered = text.lower()
        at = plain.search(lowered)
        begin = 0 if at is None else _snippet_start(text, at.start())
        end = begin + SNIPPET_LENGTH
        dots = 1 if begin else 0
        shown = text[begin:end]
        if shown.isprintable() and "  " not in shown and shown[:1] != " ":
            shown = shown.rstrip()
            marks = _marks(plain, lowered, at, begin - dots, end)
        else:  # collapsing blanks moves the match, so search again
            shown = " ".join(shown.split())
            lowered = shown.lower()
            marks = _marks(plain, lowered, plain.search(lowered), -dots, SNIPPET_LENGTH)
        if dots:
            shown = f"…{shown}"
        return Snippet(f"{shown}…" if end < len(text) else shown, marks)

    def _folded(self, text: str) -> Snippet:
        """Return a snippet of text that needs more folding than letter case (slow path)."""
        begin = _snippet_start(text, _first_match(text, self._groups))
        end = begin + SNIPPET_LENGTH
        shown = " ".join(text[begin:end].split())
        if begin:
            shown = f"…{shown}"
        marks = [[*at.span()] for at in _matching_words(shown, self._groups)]
        return Snippet(f"{shown}…" if end < len(text) else shown, marks)


def _marks(
    plain: re.Pattern[str], text: str, at: re.Match[str] | None, begin: int, end: int
) -> list[list[int]]:
    """Return the positions of a match and of the matches after it up to `end`.

    Positions are relative to the position of the snippet, `begin`.
    """
    marks = []
    while at is not None:
        start, stop = at.span()
        marks.append([start - begin, min(stop, end) - begin])
        at = plain.search(text, stop, end)
    return marks


def _first_match(text: str, groups: tuple[WordGroup, ...]) -> int:
    """Return the position of the first matching word in a text; 0 if there is none."""
    if groups:  # fast path: the word occurs as it was typed
        pattern = "|".join(re.escape(word) for group in groups for word in group.words)
        found = re.search(rf"(?i)\b(?:{pattern})", text)
        if found is not None:
            return found.start()
    return next((at.start() for at in _matching_words(text, groups)), 0)


def _matching_words(text: str, groups: tuple[WordGroup, ...]) -> Iterator[re.Match[str]]:
    """Yield the words of a text that match the query."""
    scanned = _SCANNED_WORD.finditer(text, 0, MAX_SCANNED)
    return (at for at in scanned if _is_match(at[0], groups))


@lru_cache(256)
def _plain_pattern(groups: tuple[WordGroup, ...]) -> re.Pattern[str] | None:
    """Return a pattern for text that needs only case folding.

    None if that is not enough to find the words, as with reference ids.
    """
    terms = [(word, group.is_beginning) for group in groups for word in group.words]
    if not terms or any(is_reference(word) for word, _ in terms):
        return None
    # The literal word first and the lookbehind after it: the regex engine finds literals fast.
    ends = {True: r"[^\W_]*(?:-[0-9]+)?", False: r"(?![^\W_])"}
    escaped = [(re.escape(word), is_beginning) for word, is_beginning in terms]
    return re.compile(
        "|".join(rf"{word}(?<![^\W_]{word}){ends[is_beginning]}" for word, is_beginning in escaped)
    )


def _is_match(word: str, groups: tuple[WordGroup, ...]) -> bool:
    return any(
        folded.startswith(group.words) if group.is_beginning else folded in group.words
        for folded in words(word)
        for group in groups
    )


def _snippet_start(text: str, first: int) -> int:
    """Return the start of a snippet: a word boundary shortly before the first mark."""
    if first <= SNIPPET_LEAD:
        return 0
    place = first - SNIPPET_LEAD
    space = text.find(" ", place, first)
    return place if space < 0 else space + 1
