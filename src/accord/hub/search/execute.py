"""The best of the newest matches, page by page.

The index gives the newest entries that match, a few thousand at most, so that the commonest word
costs no more than others; those are ranked. Where nothing has all words, words that are spelt
almost like them are tried, and then whatever has one of them.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.domain.rules import parse_reference
from accord.hub.search import words
from accord.hub.search.query import (
    LAST_POSITION,
    IndexQuery,
    ParsedQuery,
    WordGroup,
    query_for_few,
    query_for_many,
    remember_common,
)
from accord.hub.storage import search
from accord.hub.storage.search import SEQUENCE_BITS
from accord.operations.context import Database
from accord.store.store import Engine, Row

NO_LIMIT: Final = 2**62
ATTEMPTS: Final = 3
MAX_SEQUENCE: Final = 2**SEQUENCE_BITS - 1


class SearchPosition(Struct, frozen=True):
    """A cursor position: the last row of a page, and the state of the first page."""

    score: int = NO_LIMIT
    sequence: int = NO_LIMIT
    newest: int = NO_LIMIT
    attempt: int = 0
    """The attempt that found the first page."""


_FIRST: Final = SearchPosition()


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
    """The newest entry at the time of the search."""


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

    If nothing has all words, search for similarly spelt words, then for any of the words.
    """
    for attempt in range(ATTEMPTS):
        if place is not None and attempt != place.attempt:
            continue
        tried = await _query_of_attempt(db, parsed, attempt)
        if tried is None:
            continue
        matches = await _best(db, engine, query, tried, place or _FIRST, most)
        if matches.hits or not parsed.groups:
            return BestHits(matches, tried, attempt)
    return BestHits(Matches(), parsed, 0)


async def _query_of_attempt(db: Database, parsed: ParsedQuery, attempt: int) -> ParsedQuery | None:
    """Return the query of an attempt; None if it equals the one before."""
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
    """Return the best of a few entries; None if there are more than a few.

    This avoids the temporary tables in which a database sorts.
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
    page = (found if place is _FIRST else [each for each in found if each < before])[:most]
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
    if not words.is_correctable(word) or await search.has_word_between(
        db, word, f"{word}{LAST_POSITION}"
    ):
        return group
    keys = words.spelling_keys(word, slips=2)
    near = words.similar_words(word, await search.spelt_alike(db, keys))
    return WordGroup((*near, word)) if near else group
