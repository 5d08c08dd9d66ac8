"""The best of the newest matches, page by page.

The index gives the newest entries that match, a few thousand at most, so that the commonest word
costs no more than others; those are ranked. Where nothing has all words, words that are spelt
almost like them are tried, and then whatever has one of them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import compress, count
from typing import Any, Final

from msgspec import Struct, json
from msgspec.structs import replace

from accord.hub.domain.kinds import parse_reference
from accord.hub.search import spelling
from accord.hub.search.asking import Question, few, many, remember
from accord.hub.search.matching import Asked, Group
from accord.hub.storage.rows import places
from accord.operations.work import Database
from accord.store.store import Engine, Row

NO_LIMIT: Final = 2**62
ATTEMPTS: Final = 3

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
# Of SQLite. Three lists rather than rows, each of which Python goes back and forth for.
SCORED: Final = """
SELECT json_group_array(sequence), json_group_array(score), json_group_array(fits)
FROM (SELECT e.sequence, {score} AS score, {facets} AS fits FROM ({newest}) AS e)
"""
DETAILED: Final = f"""
SELECT {DETAILS} FROM json_each($1) AS best
CROSS JOIN search_entries e ON e.sequence = best.value
CROSS JOIN items i ON i.id = e.item_id LEFT JOIN comments c ON c.id = e.entity_id
"""
SPELT_ALIKE: Final = """
SELECT DISTINCT word FROM search_spellings WHERE key IN ({places}) ORDER BY word LIMIT 1000
"""

EXACT: Final = 1_000
"""For what the query names by its reference id."""
WHOLE_TITLE: Final = 40
TITLE_BEGINS: Final = 20
WORD_OF_TITLE: Final = 8
BEGINS_WORD_OF_TITLE: Final = 5
ELSEWHERE: Final = 2

HAS: Final[dict[Engine, str]] = {"sqlite": "instr", "postgresql": "strpos"}


class Place(Struct, frozen=True):
    """Behind which row a page begins, and what there was to see when the first one was asked
    for."""

    score: int = NO_LIMIT
    sequence: int = NO_LIMIT
    newest: int = NO_LIMIT
    attempt: int = 0
    """Which attempt found the first page."""


class Hit(Struct, frozen=True):
    """One that was found."""

    score: int
    sequence: int
    row: Row
    """What `DETAILS` names."""


class Matches(Struct, frozen=True):
    """What was found of a page, the best first."""

    hits: list[Hit] = []
    total: int = 0
    newest: int = 0
    """The newest entry that there was to see."""


class Best(Struct, frozen=True):
    """What was found, and by what."""

    matches: Matches
    asked: Asked
    attempt: int


async def find_best(
    db: Database, engine: Engine, query: str, asked: Asked, place: Place | None, most: int
) -> Best:
    """What is asked for, or what follows behind `place`. Where nothing has all words, what is
    spelt alike, and then what has some of them."""
    for attempt in range(ATTEMPTS):
        if place is not None and attempt != place.attempt:
            continue
        tried = await _tried(db, asked, attempt)
        if tried is None:
            continue
        matches = await _best(db, engine, query, tried, place or Place(), most)
        if matches.hits or not asked.groups:
            return Best(matches, tried, attempt)
    return Best(Matches(), asked, 0)


async def _tried(db: Database, asked: Asked, attempt: int) -> Asked | None:
    """What is looked for in an attempt; None where that is the same as before."""
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
    """The same where few entries have the words, without the tables that a database sorts in; None
    where they are not few."""
    values: list[Any] = [question.match, place.newest, question.most]
    score = _score(query, asked, HAS[engine], values)
    facets = _facets(question, HAS[engine], values)
    statement = SCORED.format(score=score, newest=NEWEST[engine], facets=facets)
    [lists] = await db.fetch(statement, *values)
    sequences, scores, fitting = map(json.decode, lists)
    if len(sequences) >= question.most:
        return None
    found = list(compress(zip(scores, sequences, strict=True), fitting))
    before = (place.score, place.sequence)
    page = sorted([each for each in found if each < before], reverse=True)[:most]
    if not page:
        return Matches()
    asked_for = json.encode([sequence for _, sequence in page]).decode()
    detailed = await db.fetch(DETAILED, asked_for)
    by_sequence = {row[0]: row for row in detailed}
    # One that was changed just now has another place by now.
    hits = [
        Hit(score, sequence, by_sequence[sequence])
        for score, sequence in page
        if sequence in by_sequence
    ]
    return Matches(hits, len(found), max(sequences))


def _rank(hit: Hit) -> tuple[int, int]:
    return hit.score, hit.sequence


def _facets(question: Question, has: str, values: list[Any]) -> str:
    """The condition for what the index was not asked for; what it needs is added to `values`."""
    conditions = []
    for some in question.facets:
        first = len(values) + 1
        values += some
        each = (f"{has}(e.facets, ${place}) > 0" for place in range(first, first + len(some)))
        conditions.append(f"({' OR '.join(each)})")
    return " AND ".join(conditions) or "1 = 1"


def _score(query: str, asked: Asked, has: str, values: list[Any]) -> str:
    """The expression; what it compares with is added to `values`."""
    groups, reference = asked.groups, parse_reference(query)
    shape = tuple((len(group.words), group.is_beginning) for group in groups)
    expression = _expression(
        shape, has, len(values) + 1, every=asked.every, has_reference=reference is not None
    )
    for group in groups:
        whole = [f" {word} " for word in group.words]
        begins = [f" {word}" for word in group.words] if group.is_beginning else whole
        values += whole
        if group.is_beginning:
            values += begins
        if not asked.every:
            values += begins
    if groups:
        values.append(f" {' '.join([group.words[0] for group in groups])} ")
    if reference is not None:
        values.append(str(reference))
    return expression


@lru_cache(256)
def _expression(
    shape: tuple[tuple[int, bool], ...], has: str, first: int, *, every: bool, has_reference: bool
) -> str:
    """What scores are computed by, for groups with so many words, longer ones among them or not.
    The first value is that of `$first`."""
    numbers = count(first)

    def has_any(column: str, some: int) -> str:
        each = (f"{has}(e.{column}, ${next(numbers)}) > 0" for _ in range(some))
        return " OR ".join(each)

    parts = ["0"]
    for some, is_beginning in shape:
        cases = [f"WHEN {has_any('title', some)} THEN {WORD_OF_TITLE}"]
        if is_beginning:
            cases.append(f"WHEN {has_any('title', some)} THEN {BEGINS_WORD_OF_TITLE}")
        if not every:
            cases.append(f"WHEN NOT ({has_any('body', some)}) THEN 0")
        parts.append(f"CASE {' '.join(cases)} ELSE {ELSEWHERE} END")
    if shape:
        phrase = f"${next(numbers)}"
        parts.append(
            f"CASE WHEN e.title = {phrase} THEN {WHOLE_TITLE} "
            f"WHEN {has}(e.title, {phrase}) = 1 THEN {TITLE_BEGINS} ELSE 0 END"
        )
    if has_reference:
        named = f"(SELECT id FROM items WHERE reference_id = ${next(numbers)})"
        parts.append(f"CASE WHEN e.entity_id = {named} THEN {EXACT} ELSE 0 END")
    return " + ".join(parts)


async def _alike(db: Database, group: Group) -> Group:
    """The words that one which may be misspelt stands for, itself among them."""
    [word] = group.words
    if not spelling.is_spelt(word):
        return group
    keys = spelling.keys(word, slips=2)
    rows = await db.fetch(SPELT_ALIKE.format(places=places(len(keys))), *keys)
    near = spelling.meant(word, (row["word"] for row in rows))
    return Group((*near, word)) if near else group
