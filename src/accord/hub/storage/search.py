"""The search index as statements: entries, words and spellings, ranked matches.

An entry is the folded text of an item or of a comment, with its facets. Knows the tables, not how
a query is read: words and facets come from `accord.hub.search_index`, match expressions from
`accord.hub.search_query`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Struct

from accord.hub.storage.rows import places
from accord.operations.context import Database
from accord.store.store import Engine, Row, Transaction

NEWEST: Final[dict[Engine, str]] = {
    "sqlite": """
SELECT e.* FROM (
    SELECT rowid AS sequence FROM search_texts
    WHERE search_texts MATCH $1 AND rowid <= $2 ORDER BY rowid DESC LIMIT $3
) AS newest CROSS JOIN search_entries e ON e.sequence = newest.sequence
""",
    "postgresql": "SELECT * FROM search_newest($1::text::tsquery, $2, $3)",
}
HIT_COLUMNS: Final = """
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
SELECT {columns}, best.score, (SELECT COUNT(*) FROM found) AS total,
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
SELECT {HIT_COLUMNS} FROM json_each($1) AS best
CROSS JOIN search_entries e ON e.sequence = best.value
CROSS JOIN items i ON i.id = e.item_id LEFT JOIN comments c ON c.id = e.entity_id
"""
IS_UNASSIGNED: Final = "(SELECT assignee_id FROM items WHERE id = e.item_id) IS NULL"
HAS: Final[dict[Engine, str]] = {"sqlite": "instr", "postgresql": "strpos"}

LONGER: Final = "SELECT 1 FROM search_vocabulary WHERE term >= $1 AND term < $2 LIMIT 1"
KNOWN: Final = "SELECT 1 FROM search_words WHERE word >= $1 AND word < $2 LIMIT 1"
SPELT_ALIKE: Final = """
SELECT DISTINCT word FROM search_spellings WHERE key IN ({places}) ORDER BY word LIMIT 1000
"""

COMMENTS: Final = """
SELECT c.id, c.target_id, c.text, c.quote,
       CASE i.kind WHEN 'epic' THEN i.id WHEN 'user_story' THEN i.parent_id
           ELSE parent.parent_id END AS epic_id
FROM comments c JOIN items i ON i.id = c.target_id LEFT JOIN items parent ON parent.id = i.parent_id
WHERE c.id IN ({places})
"""
LINKS: Final = """
SELECT item_id, 'label' AS facet, label_id AS value FROM item_labels WHERE item_id IN ({places})
UNION ALL
SELECT steering_id, 'epic', epic_id FROM steering_links WHERE steering_id IN ({places})
"""
BELOW: Final = """
SELECT id FROM items WHERE parent_id = $1
UNION ALL
SELECT c.id FROM comments c JOIN items i ON i.id = c.target_id WHERE i.parent_id = $1 OR i.id = $1
"""
OF_TYPE: Final = "SELECT id FROM items WHERE type = $1"
ALL: Final = """
SELECT id, updated_at FROM items UNION ALL SELECT id, updated_at FROM comments ORDER BY 2, 1
"""

CLEAR: Final = (
    "DELETE FROM search_entries",
    "DELETE FROM search_words",
    "DELETE FROM search_spellings",
)
REMOVE: Final = "DELETE FROM search_entries WHERE entity_id IN ({places})"
REMOVE_WITH_COMMENTS: Final = """
DELETE FROM search_entries WHERE entity_id IN ({places}) OR item_id IN ({places})
"""
ADD: Final = """
INSERT INTO search_entries (entity_id, item_id, title, facets, body) VALUES ($1, $2, $3, $4, $5)
"""
ADD_WORDS: Final = """
INSERT OR IGNORE INTO search_words (word) SELECT value FROM json_each($1) RETURNING word
"""
ADD_SPELLINGS: Final = """
INSERT OR IGNORE INTO search_spellings (key, word)
SELECT value ->> 0, value ->> 1 FROM json_each($1)
"""
# For PostgreSQL, where every statement is a round trip: these need no answer, so they can be
# sent later. The keys of a new word are those of `spelling_keys`.
ADD_WITH_TERMS: Final = """
INSERT INTO search_entries (entity_id, item_id, title, facets, body, terms)
VALUES ($1, $2, $3, $4, $5, array_to_tsvector($6::text[]))
"""
ADD_NEW_SPELLINGS: Final = """
INSERT INTO search_spellings (key, word)
SELECT left(new.beginning, place - 1) || substr(new.beginning, place + 1), new.word
FROM (
    SELECT given.word, left(given.word, $2) AS beginning FROM unnest($1::text[]) AS given (word)
    WHERE NOT EXISTS (SELECT 1 FROM search_words known WHERE known.word = given.word)
) AS new, generate_series(1, length(new.beginning) + 1) AS place
ON CONFLICT DO NOTHING
"""
ADD_NEW_WORDS: Final = """
INSERT INTO search_words (word) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING
"""

SEGMENTS: Final = "SELECT COUNT(*) AS segments FROM (SELECT DISTINCT segid FROM search_texts_idx)"
# A negative number starts a merge of all segments into one; a positive one continues it.
MERGE: Final = "INSERT INTO search_texts (search_texts, rank) VALUES ('merge', $1)"
ROWS_CHANGED: Final = "SELECT total_changes() AS changes"

EXACT: Final = 1_000
"""The score of an item that the query names by its reference id."""
WHOLE_TITLE: Final = 40
TITLE_BEGINS: Final = 20
WORD_OF_TITLE: Final = 8
BEGINS_WORD_OF_TITLE: Final = 5
ELSEWHERE: Final = 2

SEQUENCE_BITS: Final = 40
"""The number of low bits for the sequence number in a number that combines it with a score."""


class RankingQuery(Struct, frozen=True, kw_only=True):
    """The parts of a query that give an entry its score."""

    groups: Sequence[tuple[tuple[str, ...], bool]]
    """By word of the query: its alternatives, and whether longer words match too."""
    every: bool
    """True if all words are required, false if one is enough."""
    reference: str | None
    """The query itself, if it is a reference id; else None."""


class FacetFilter(Struct, frozen=True, kw_only=True):
    """Filters that are checked for each entry, because the index query lacks them."""

    facets: Sequence[tuple[str, ...]]
    """One facet of each tuple is required."""
    unassigned_kinds: tuple[str, ...] | None
    """Facets of the kinds that match if they have no assignee; None if there is no such filter."""
    assignees: tuple[str, ...]
    """Facets of the assignees in the filter; items of these people match too."""


class Position(Struct, frozen=True):
    """The last row of a page.

    The next page has rows with a lower score, or the same score and a lower sequence number.
    """

    score: int
    sequence: int


# Queries


async def ranked(
    db: Database,
    engine: Engine,
    match: str,
    ranking: RankingQuery,
    *,
    until: int,
    scored: int,
    after: Position,
    limit: int,
) -> list[Row]:
    """Return the best of the newest matching entries.

    Only the newest `scored` entries up to the sequence `until` are ranked.

    Rows have the columns of `HIT_COLUMNS`, then score, total and newest. They are not sorted by
    score.
    """
    values: list[Any] = [match, until, scored, after.score, after.sequence, limit]
    score = _score(ranking, HAS[engine], values)
    statement = BEST.format(score=score, newest=NEWEST[engine], columns=HIT_COLUMNS)
    return await db.fetch(statement, *values)


async def scores(
    db: Database,
    engine: Engine,
    match: str,
    ranking: RankingQuery,
    filter: FacetFilter,
    *,
    until: int,
    scored: int,
) -> tuple[list[int], int] | None:
    """Return the scores of matching entries, and the newest matching sequence.

    Only entries that fit `filter` are scored. A score is combined with the sequence of its entry;
    see `SEQUENCE_BITS`. Return None if `scored` entries or more match. SQLite only.
    """
    values: list[Any] = [match, until, scored]
    score = _score(ranking, HAS[engine], values)
    facets = _facets(filter, HAS[engine], values)
    [found] = await db.fetch(_scored(engine, score, facets), *values)
    listed, count, newest = found
    return None if count >= scored else (msgspec.json.decode(listed), newest)


async def details(db: Database, sequences: Sequence[int]) -> dict[int, Row]:
    """Return rows with the columns of `HIT_COLUMNS` by sequence. SQLite only."""
    return {row[0]: row for row in await db.fetch(DETAILED, _json(sequences))}


async def has_term_between(db: Database, first: str, last: str) -> bool:
    """Return whether the index has a word from `first` up to `last`. SQLite only."""
    return bool(await db.fetch(LONGER, first, last))


async def has_word_between(db: Database, first: str, last: str) -> bool:
    """Return whether the dictionary has a word from `first` up to `last`."""
    return bool(await db.fetch(KNOWN, first, last))


async def spelt_alike(db: Database, keys: Sequence[str]) -> list[str]:
    """Return words of the dictionary that have one of these spelling keys."""
    statement = SPELT_ALIKE.format(places=places(len(keys)))
    return [row["word"] for row in await db.fetch(statement, *keys)]


@lru_cache(256)
def _scored(engine: Engine, score: str, facets: str) -> str:
    return SCORED.format(score=score, newest=NEWEST[engine], facets=facets, bits=SEQUENCE_BITS)


def _facets(filter: FacetFilter, has: str, values: list[Any]) -> str:
    """Return the SQL condition for a filter; add its parameters to `values`."""

    def has_any(some: tuple[str, ...]) -> str:
        first = len(values) + 1
        values.extend(some)
        each = (f"{has}(e.facets, ${place}) > 0" for place in range(first, first + len(some)))
        return f"({' OR '.join(each)})"

    conditions = [has_any(some) for some in filter.facets]
    if filter.unassigned_kinds is not None:
        nobody = f"({has_any(filter.unassigned_kinds)} AND {IS_UNASSIGNED})"
        others = filter.assignees
        conditions.append(f"({nobody} OR {has_any(others)})" if others else nobody)
    return " AND ".join(conditions) or "1 = 1"


def _score(ranking: RankingQuery, has: str, values: list[Any]) -> str:
    """Return the SQL expression of the score; add its parameters to `values`."""
    groups, reference = ranking.groups, ranking.reference
    shape = tuple((len(words), is_beginning) for words, is_beginning in groups)
    expression = _expression(
        shape, has, len(values) + 1, every=ranking.every, has_reference=reference is not None
    )
    for words, is_beginning in groups:
        values += [f" {word} " for word in words]
        if is_beginning:
            values += [f" {word}" for word in words]
    if groups:
        values.append(f" {' '.join([words[0] for words, _ in groups])} ")
    if reference is not None:
        values.append(reference)
    return expression


@lru_cache(256)
def _expression(
    shape: tuple[tuple[int, bool], ...], has: str, first: int, *, every: bool, has_reference: bool
) -> str:
    """Return the SQL expression of the score for word groups of this shape.

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


# What entries are made of


async def texts_below(db: Database, item_id: str) -> list[str]:
    """Return the ids of an item's children and of comments.

    These are the comments on the item and on its children.
    """
    return [row["id"] for row in await db.fetch(BELOW, item_id)]


async def requirements_of_type(db: Database, type: str) -> list[str]:
    """Return the ids of the requirements of a type."""
    return [row["id"] for row in await db.fetch(OF_TYPE, type)]


async def all_texts(db: Database) -> list[str]:
    """Return the ids of all items and comments, the most recently changed last."""
    return [row["id"] for row in await db.fetch(ALL)]


async def linked_facets(db: Database, item_ids: Sequence[str]) -> list[Row]:
    """Return the labels and steered epics of items.

    Rows have the columns `item_id`, `facet` and `value`.
    """
    return await db.fetch(LINKS.format(places=places(len(item_ids))), *item_ids)


async def comments(db: Database, ids: Sequence[str]) -> list[Row]:
    """Return comments with their texts and items, and the epics of these items."""
    return await db.fetch(COMMENTS.format(places=places(len(ids))), *ids)


# Entries


async def clear(db: Transaction) -> None:
    """Delete all entries, words and spellings."""
    for statement in CLEAR:
        await db.execute(statement)


async def remove(db: Transaction, ids: Sequence[str], *, with_comments: bool = False) -> None:
    """Delete the entries of items and comments.

    `with_comments` deletes those of comments on the items too.
    """
    statement = REMOVE_WITH_COMMENTS if with_comments else REMOVE
    await db.execute(statement.format(places=places(len(ids))), *ids)


async def add(db: Transaction, *columns: str) -> None:
    """Add an entry. SQLite only.

    `columns` are its entity, its item, and the title, facets and body as text.
    """
    await db.execute(ADD, *columns)


async def add_words(db: Transaction, words: Sequence[str]) -> list[str]:
    """Add words to the dictionary; return those that are new. SQLite only."""
    return [row["word"] for row in await db.fetch(ADD_WORDS, _json(words))]


async def add_spellings(db: Transaction, spellings: Sequence[tuple[str, str]]) -> None:
    """Add spelling keys with their words. SQLite only."""
    await db.execute(ADD_SPELLINGS, _json(spellings))


async def add_later(
    db: Transaction, columns: Sequence[str], terms: list[str], words: list[str], letters: int
) -> None:
    """Add an entry with its terms, and new words with their spelling keys.

    Spelling keys are made from the first `letters` letters of a word. PostgreSQL only.
    """
    await db.execute_later(ADD_WITH_TERMS, *columns, terms)
    # In this order: spellings are added for words that are not known yet.
    await db.execute_later(ADD_NEW_SPELLINGS, words, letters)
    await db.execute_later(ADD_NEW_WORDS, words)


# Segments of the index of SQLite


async def count_segments(db: Database) -> int:
    """Return the number of segments that a search has to read."""
    count: int = (await db.fetch(SEGMENTS))[0]["segments"]
    return count


async def merge(db: Transaction, pages: int) -> bool:
    """Merge segments, writing some pages; return whether work is left.

    A negative number of pages begins a merge of all segments into one.
    """
    [before] = await db.fetch(ROWS_CHANGED)
    await db.execute(MERGE, pages)
    [after] = await db.fetch(ROWS_CHANGED)
    # The INSERT itself counts as one change; more means that segments were merged.
    return bool(after["changes"] - before["changes"] > 1)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
