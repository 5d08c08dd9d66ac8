"""The best of the newest matches, page by page.

The index gives the newest entries that match, a few thousand at most, so that the commonest word
costs no more than others; those are ranked. Where nothing has all words, words that are spelt
almost like them are tried, and then whatever has one of them.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.domain.kinds import parse_reference
from accord.hub.search import words
from accord.hub.search.query import (
    LAST_POSITION,
    IndexQuery,
    ParsedQuery,
    WordGroup,
    few,
    many,
    remember,
)
from accord.hub.storage import search
from accord.hub.storage.search import SEQUENCE_BITS
from accord.operations.work import Database
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
    asked: ParsedQuery
    attempt: int


async def find_best(
    db: Database,
    engine: Engine,
    query: str,
    asked: ParsedQuery,
    place: SearchPosition | None,
    most: int,
) -> BestHits:
    """Return the best matches, or those after `place`.

    If nothing has all words, search for similarly spelt words, then for any of the words.
    """
    for attempt in range(ATTEMPTS):
        if place is not None and attempt != place.attempt:
            continue
        tried = await _tried(db, asked, attempt)
        if tried is None:
            continue
        matches = await _best(db, engine, query, tried, place or _FIRST, most)
        if matches.hits or not asked.groups:
            return BestHits(matches, tried, attempt)
    return BestHits(Matches(), asked, 0)


async def _tried(db: Database, asked: ParsedQuery, attempt: int) -> ParsedQuery | None:
    """Return the query of an attempt; None if it equals the one before."""
    if attempt == 0:
        return asked
    alike = replace(asked, groups=tuple([await _alike(db, each) for each in asked.groups]))
    if attempt == 1:
        return None if alike == asked else alike
    return None if len(asked.groups) == 1 else replace(alike, every=False)


async def _best(
    db: Database, engine: Engine, query: str, asked: ParsedQuery, place: SearchPosition, most: int
) -> Matches:
    first = few(engine, asked)
    if first is not None:
        matches = await _best_of_few(db, engine, query, asked, first, place, most)
        if matches is not None:
            return matches
        remember(first)
    question = await many(db, engine, asked)
    rows = await search.ranked(
        *(db, engine, question.match, _ranking(query, asked)),
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
    asked: ParsedQuery,
    question: IndexQuery,
    place: SearchPosition,
    most: int,
) -> Matches | None:
    """Return the best of a few entries; None if there are more than a few.

    This avoids the temporary tables in which a database sorts.
    """
    unassigned = question.unassigned
    scored = await search.scores(
        *(db, engine, question.match, _ranking(query, asked)),
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


def _ranking(query: str, asked: ParsedQuery) -> search.RankingQuery:
    reference = parse_reference(query)
    return search.RankingQuery(
        groups=tuple((group.words, group.is_beginning) for group in asked.groups),
        every=asked.every,
        reference=None if reference is None else str(reference),
    )


async def _alike(db: Database, group: WordGroup) -> WordGroup:
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
