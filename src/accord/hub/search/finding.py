"""The best of the newest matches, page by page.

The index gives the newest entries that match, a few thousand at most, so that the commonest word
costs no more than others; those are ranked. Where nothing has all words, words that are spelt
almost like them are tried, and then whatever has one of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from msgspec import Struct, json
from msgspec.structs import replace

from accord.hub.domain.kinds import parse_reference
from accord.hub.search import spelling
from accord.hub.search.asking import LAST, Question, few, many, remember
from accord.hub.search.matching import Asked, Group
from accord.hub.storage.rows import places
from accord.operations.work import Database
from accord.store.store import Engine, Row

NO_LIMIT: Final = 2**62
ATTEMPTS: Final = 3
SEQUENCE_BITS: Final = 40
"""The bits of a combined number that hold the sequence; the score is above them."""
MAX_SEQUENCE: Final = 2**SEQUENCE_BITS - 1

NEWEST: Final[dict[Engine, str]] = {
    "sqlite": """
SELECT e.* FROM (
    SELECT rowid AS sequence FROM search_texts
    WHERE search_texts MATCH $1 AND rowid <= $2 ORDER BY rowid DESC LIMIT $3
) AS newest CROSS JOIN search_entries e ON e.sequence = newest.sequence
""",
    "postgresql": "SELECT * FROM search_newest($1::text::tsquery, $2, $3)",
}
DETAILS: Final = """
e.sequence, i.id, i.kind, i.reference_id, i.title, i.description, i.content, i.status,
c.id AS comment_id, c.text
"""
BEST: Final = """
WITH found AS MATERIALIZED (
    SELECT e.sequence, {score} AS score FROM ({newest}) AS e
), best AS MATERIALIZED (
    SELECT sequence, score FROM found
    WHERE score < CAST($4 AS bigint) OR (score = CAST($4 AS bigint) AND sequence < $5)
    ORDER BY score DESC, sequence DESC LIMIT $6
)
SELECT {details}, best.score, (SELECT COUNT(*) FROM found) AS total,
       (SELECT MAX(sequence) FROM search_entries) AS newest
FROM best JOIN search_entries e ON e.sequence = best.sequence
JOIN items i ON i.id = e.item_id LEFT JOIN comments c ON c.id = e.entity_id
"""
# For SQLite: one JSON list of numbers instead of rows, since each row costs a call from Python.
SCORED: Final = """
SELECT json_group_array((score << {bits}) + sequence) FILTER (WHERE fits), COUNT(*), MAX(sequence)
FROM (SELECT e.sequence, {score} AS score, {facets} AS fits FROM ({newest}) AS e)
"""
DETAILED: Final = f"""
SELECT {DETAILS} FROM json_each($1) AS best
CROSS JOIN search_entries e ON e.sequence = best.value
CROSS JOIN items i ON i.id = e.item_id LEFT JOIN comments c ON c.id = e.entity_id
"""
IS_UNASSIGNED: Final = "(SELECT assignee_id FROM items WHERE id = e.item_id) IS NULL"
SPELT_ALIKE: Final = """
SELECT DISTINCT word FROM search_spellings WHERE key IN ({places}) ORDER BY word LIMIT 1000
"""

KNOWN: Final = "SELECT 1 FROM search_words WHERE word >= $1 AND word < $2 LIMIT 1"

EXACT: Final = 1_000
"""The score of an item that the query names by its reference id."""
WHOLE_TITLE: Final = 40
TITLE_BEGINS: Final = 20
WORD_OF_TITLE: Final = 8
BEGINS_WORD_OF_TITLE: Final = 5
ELSEWHERE: Final = 2

HAS: Final[dict[Engine, str]] = {"sqlite": "instr", "postgresql": "strpos"}


class Place(Struct, frozen=True):
    """A cursor position: the last row of a page, and the state of the first page."""

    score: int = NO_LIMIT
    sequence: int = NO_LIMIT
    newest: int = NO_LIMIT
    attempt: int = 0
    """The attempt that found the first page."""


_FIRST: Final = Place()


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


class Best(Struct, frozen=True):
    """The matches, and the query that found them."""

    matches: Matches
    asked: Asked
    attempt: int


async def find_best(
    db: Database, engine: Engine, query: str, asked: Asked, place: Place | None, most: int
) -> Best:
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
            return Best(matches, tried, attempt)
    return Best(Matches(), asked, 0)


async def _tried(db: Database, asked: Asked, attempt: int) -> Asked | None:
    """Return the query of an attempt; None if it equals the one before."""
    if attempt == 0:
        return asked
    alike = replace(asked, groups=tuple([await _alike(db, each) for each in asked.groups]))
    if attempt == 1:
        return None if alike == asked else alike
    return None if len(asked.groups) == 1 else replace(alike, every=False)


async def _best(
    db: Database, engine: Engine, query: str, asked: Asked, place: Place, most: int
) -> Matches:
    first = few(engine, asked)
    if first is not None:
        matches = await _best_of_few(db, engine, query, asked, first, place, most)
        if matches is not None:
            return matches
        remember(first)
    question = await many(db, engine, asked)
    values: list[Any] = [
        *(question.match, place.newest, question.most),
        *(place.score, place.sequence, most),
    ]
    score = _score(query, asked, HAS[engine], values)
    statement = BEST.format(score=score, newest=NEWEST[engine], details=DETAILS)
    rows = await db.fetch(statement, *values)
    if not rows:
        return Matches()
    hits = [Hit(row["score"], row["sequence"], row) for row in rows]
    hits.sort(key=_rank, reverse=True)
    return Matches(hits, rows[0]["total"], rows[0]["newest"])


async def _best_of_few(
    db: Database,
    engine: Engine,
    query: str,
    asked: Asked,
    question: Question,
    place: Place,
    most: int,
) -> Matches | None:
    """Return the best of a few entries; None if there are more than a few.

    This avoids the temporary tables in which a database sorts.
    """
    values: list[Any] = [question.match, place.newest, question.most]
    score = _score(query, asked, HAS[engine], values)
    facets = _facets(question, HAS[engine], values)
    [scored] = await db.fetch(_scored(engine, score, facets), *values)
    listed, count, newest = scored
    if count >= question.most:
        return None
    found: list[int] = json.decode(listed)
    found.sort(reverse=True)
    before = (place.score << SEQUENCE_BITS) + place.sequence
    page = (found if place is _FIRST else [each for each in found if each < before])[:most]
    if not page:
        return Matches()
    scores = {each & MAX_SEQUENCE: each >> SEQUENCE_BITS for each in page}
    detailed = await db.fetch(DETAILED, json.encode(list(scores)).decode())
    rows = {row[0]: row for row in detailed}
    hits = [
        Hit(score, sequence, rows[sequence])
        for sequence, score in scores.items()
        if sequence in rows  # unless somebody edited the tables by hand
    ]
    return Matches(hits, len(found), newest)


@lru_cache(256)
def _scored(engine: Engine, score: str, facets: str) -> str:
    return SCORED.format(score=score, newest=NEWEST[engine], facets=facets, bits=SEQUENCE_BITS)


def _rank(hit: Hit) -> tuple[int, int]:
    return hit.score, hit.sequence


def _facets(question: Question, has: str, values: list[Any]) -> str:
    """Return the condition for unindexed filters; add its parameters to `values`."""

    def has_any(some: tuple[str, ...]) -> str:
        first = len(values) + 1
        values.extend(some)
        each = (f"{has}(e.facets, ${place}) > 0" for place in range(first, first + len(some)))
        return f"({' OR '.join(each)})"

    conditions = [has_any(some) for some in question.facets]
    if question.unassigned is not None:
        nobody = f"({has_any(question.unassigned.kinds)} AND {IS_UNASSIGNED})"
        others = question.unassigned.others
        conditions.append(f"({nobody} OR {has_any(others)})" if others else nobody)
    return " AND ".join(conditions) or "1 = 1"


def _score(query: str, asked: Asked, has: str, values: list[Any]) -> str:
    """Return the score expression; add its parameters to `values`."""
    groups, reference = asked.groups, parse_reference(query)
    shape = tuple((len(group.words), group.is_beginning) for group in groups)
    expression = _expression(
        shape, has, len(values) + 1, every=asked.every, has_reference=reference is not None
    )
    for group in groups:
        values += [f" {word} " for word in group.words]
        if group.is_beginning:
            values += [f" {word}" for word in group.words]
    if groups:
        values.append(f" {' '.join([group.words[0] for group in groups])} ")
    if reference is not None:
        values.append(str(reference))
    return expression


@lru_cache(256)
def _expression(
    shape: tuple[tuple[int, bool], ...], has: str, first: int, *, every: bool, has_reference: bool
) -> str:
    """Return the score expression for word groups of this shape.

    `shape` has, for each group, the number of words and whether longer words count. Parameters
    begin at `$first`. Conditions that few entries meet are tested first.
    """

    def has_any(column: str, begin: int, some: int) -> str:
        each = (f"{has}(e.{column}, ${place}) > 0" for place in range(begin, begin + some))
        return " OR ".join(each)

    phrase = first + sum(2 * some if is_beginning else some for some, is_beginning in shape)
    # The phrase begins with the first word, so only titles with that word are checked for it.
    bonus = (
        f" + CASE WHEN {has}(e.title, ${phrase}) <> 1 THEN 0 "
        f"WHEN e.title = ${phrase} THEN {WHOLE_TITLE} ELSE {TITLE_BEGINS} END"
    )
    parts = ["0"]
    place = first
    for some, is_beginning in shape:
        whole = begins = place
        place += some
        if is_beginning:
            begins = place
            place += some
        elsewhere = str(ELSEWHERE)
        if not every:
            elsewhere = f"CASE WHEN {has_any('body', begins, some)} THEN {ELSEWHERE} ELSE 0 END"
        cases = [
            f"WHEN NOT ({has_any('title', begins, some)}) THEN {elsewhere}",
            f"WHEN {has_any('title', whole, some)} THEN {WORD_OF_TITLE}{bonus}",
        ]
        parts.append(f"CASE {' '.join(cases)} ELSE {BEGINS_WORD_OF_TITLE} END")
        bonus = ""
    if has_reference:
        named = f"(SELECT id FROM items WHERE reference_id = ${phrase + bool(shape)})"
        parts.append(f"CASE WHEN e.entity_id = {named} THEN {EXACT} ELSE 0 END")
    return " + ".join(parts)


async def _alike(db: Database, group: Group) -> Group:
    """Return a group of similarly spelt words, with the original word.

    A word that exists, or that begins an existing word, is not misspelt: it fails only in
    combination with the other words.
    """
    [word] = group.words
    if not spelling.is_spelt(word) or await db.fetch(KNOWN, word, f"{word}{LAST}"):
        return group
    keys = spelling.keys(word, slips=2)
    rows = await db.fetch(SPELT_ALIKE.format(places=places(len(keys))), *keys)
    near = spelling.meant(word, (row["word"] for row in rows))
    return Group((*near, word)) if near else group
