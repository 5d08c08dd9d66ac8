"""Keeps the search index, in the transaction of every change.

An entry is the folded text of an item or of a comment. One that changes is written anew, behind all
others: the order of entries is the order in which they were changed last.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from accord.hub.domain.kinds import KINDS
from accord.hub.search import spelling
from accord.hub.search.matching import Facet, facet
from accord.hub.search.words import sentence, words
from accord.hub.storage import items
from accord.hub.storage.items import ItemRow
from accord.hub.storage.rows import places
from accord.operations.outcome import Change
from accord.operations.work import Effect, Work
from accord.store.store import Engine, Row, Transaction

T = TypeVar("T")

CHUNK: Final = 200
"""Entities read in one statement."""
MAX_NEW_WORDS: Final = 500
"""Words of one entry that are added to the spelling dictionary."""

OWNERS: Final = frozenset({"item_id", "steering_id"})
"""Fields by which labels and links name their item."""

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


class Entry(Struct, frozen=True):
    """The index entry of an item or a comment."""

    entity_id: str
    item_id: str
    title: list[str]
    body: list[str]
    facets: list[str]


async def index(work: Work, change: Change) -> None:
    """Update the index after a write; a recorder."""
    deleted = [
        effect.id for effect in work.effects if effect.action == "deleted" and _is_text(effect)
    ]
    for ids in _chunks(deleted):
        await work.db.execute(REMOVE_WITH_COMMENTS.format(places=places(len(ids))), *ids)
    created = {effect.id for effect in work.effects if effect.action == "created"}
    written = dict.fromkeys([each async for each in _written(work)])
    for ids in _chunks(each for each in written if each not in created):
        await work.db.execute(REMOVE.format(places=places(len(ids))), *ids)
    # New items have neither labels nor links, unless the same write added them.
    are_new = all(effect.action == "created" and _is_text(effect) for effect in work.effects)
    known = work.known if are_new else {}
    await _write(work.db, work.engine, written, known, with_links=not are_new)


async def rebuild(
    db: Transaction, engine: Engine, *, progress: Callable[[int, int], None] | None = None
) -> int:
    """Rebuild the whole index; return the number of entries.

    `progress` is called with the number of written entries and of all entries.
    """
    for statement in CLEAR:
        await db.execute(statement)
    ids = [row["id"] for row in await db.fetch(ALL)]
    for number, chunk in enumerate(_chunks(ids)):
        await _write(db, engine, chunk, {}, with_links=True)
        if progress is not None:
            progress(number * CHUNK + len(chunk), len(ids))
    return len(ids)


async def _written(work: Work) -> AsyncIterator[str]:
    """Yield the ids of all items and comments that need a new entry."""
    for effect in work.effects:
        if _is_text(effect):
            if effect.action != "deleted":
                yield effect.id
            if effect.action == "updated" and _is_moved(effect):
                for row in await work.db.fetch(BELOW, effect.id):
                    yield row["id"]
        elif effect.kind == "requirement_type" and effect.action == "updated" and effect.after:
            for row in await work.db.fetch(OF_TYPE, effect.after["name"]):
                yield row["id"]
        else:
            for fields in (effect.before or {}, effect.after or {}):
                for name in OWNERS & fields.keys():
                    yield fields[name]


def _is_text(effect: Effect) -> bool:
    return effect.kind in KINDS or effect.kind == "comment"


def _is_moved(effect: Effect) -> bool:
    before, after = effect.before or {}, effect.after or {}
    return before.get("parent_id") != after.get("parent_id")


async def _write(
    db: Transaction,
    engine: Engine,
    ids: Iterable[str],
    known: Mapping[str, ItemRow],
    *,
    with_links: bool,
) -> None:
    for chunk in _chunks(ids):
        for entry in await _entries(db, chunk, known, with_links=with_links):
            await _add(db, engine, entry)


async def _entries(
    db: Transaction, ids: Sequence[str], known: Mapping[str, ItemRow], *, with_links: bool
) -> list[Entry]:
    """Return the entries of existing entities, in the order of `ids`."""
    made = {id: _of_item(known[id]) for id in ids if id in known}
    unknown = [id for id in ids if id not in known]
    if unknown:
        listed = places(len(unknown))
        for row in await items.select(db, f"WHERE i.id IN ({listed})", *unknown):
            made[row.id] = _of_item(row)
        if made and with_links:
            for link in await db.fetch(LINKS.format(places=listed), *unknown):
                made[link["item_id"]].facets.append(facet(link["facet"], link["value"]))
        if len(made) < len(ids):
            for comment in await db.fetch(COMMENTS.format(places=listed), *unknown):
                made[comment["id"]] = _of_comment(comment)
    return [made[id] for id in ids if id in made]


def _of_item(row: ItemRow) -> Entry:
    title = words(f"{row.name} {row.title}" if row.name else row.title)
    body = words(f"{row.reference_id} {row.description} {row.content}")
    told: tuple[tuple[Facet, str | int | None], ...] = (
        ("kind", row.kind),
        ("status", row.status),
        ("priority", row.priority),
        ("type", row.type),
        ("assignee", row.assignee_id),
        ("epic", row.epic_id),
    )
    facets = [facet(name, str(value)) for name, value in told if value]
    return Entry(row.id, row.id, title, body, facets)


def _of_comment(row: Row) -> Entry:
    facets = [facet("kind", "comment")]
    if row["epic_id"]:
        facets.append(facet("epic", row["epic_id"]))
    return Entry(row["id"], row["target_id"], [], words(f"{row['quote']} {row['text']}"), facets)


async def _add(db: Transaction, engine: Engine, entry: Entry) -> None:
    terms = list(dict.fromkeys([*entry.title, *entry.body]))
    spelt = list(islice((each for each in terms if spelling.is_spelt(each)), MAX_NEW_WORDS))
    values = (
        *(entry.entity_id, entry.item_id),
        *(sentence(entry.title), " ".join(entry.facets), sentence(entry.body)),
    )
    if engine == "postgresql":
        await db.execute_later(ADD_WITH_TERMS, *values, [*terms, *entry.facets])
        # In this order: spellings are added for words that are not known yet.
        await db.execute_later(ADD_NEW_SPELLINGS, spelt, spelling.BEGINNING)
        await db.execute_later(ADD_NEW_WORDS, spelt)
        return
    await db.execute(ADD, *values)
    new = await db.fetch(ADD_WORDS, _json(spelt)) if spelt else []
    if new:
        spellings = [(key, row["word"]) for row in new for key in spelling.keys(row["word"])]
        await db.execute(ADD_SPELLINGS, _json(spellings))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _chunks(values: Iterable[T]) -> Iterator[list[T]]:
    following = iter(values)
    while chunk := list(islice(following, CHUNK)):
        yield chunk
