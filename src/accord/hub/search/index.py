"""The search index: updated in the transaction of every write, merged in the background.

An entry is the folded text of an item or of a comment. A changed entry is written again after all
others, so the newest entries have the highest sequence numbers.

Every write adds a segment to the index of SQLite, and each search reads all segments. SQLite merges
only segments of one size, so `IndexMaintenance` merges all of them now and then, in steps that are
too small to delay a write. PostgreSQL does this by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from msgspec import Struct

from accord.hub.domain.rules import KINDS
from accord.hub.search.query import Facet, facet
from accord.hub.search.words import BEGINNING, is_correctable, sentence, spelling_keys, words
from accord.hub.storage import items, search
from accord.hub.storage.items import ItemRow
from accord.operations.context import Effect, OperationContext
from accord.operations.operation import RecordedChange
from accord.store.store import Engine, Row, Store, StoreError, Transaction

T = TypeVar("T")

CHUNK: Final = 200
"""Entities read in one statement."""
MAX_NEW_WORDS: Final = 500
"""Words of one entry that are added to the spelling dictionary."""

OWNERS: Final = frozenset({"item_id", "steering_id"})
"""Fields by which labels and links name their item."""


class IndexEntry(Struct, frozen=True):
    """The index entry of an item or a comment."""

    entity_id: str
    item_id: str
    title: list[str]
    body: list[str]
    facets: list[str]


async def index(work: OperationContext, change: RecordedChange) -> None:
    """Update the index after a write; a recorder."""
    deleted = [
        effect.id for effect in work.effects if effect.action == "deleted" and _is_text(effect)
    ]
    for ids in _chunks(deleted):
        await search.remove(work.db, ids, with_comments=True)
    created = {effect.id for effect in work.effects if effect.action == "created"}
    written = dict.fromkeys([each async for each in _written(work)])
    for ids in _chunks(each for each in written if each not in created):
        await search.remove(work.db, ids)
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
    await search.clear(db)
    ids = await search.all_texts(db)
    for number, chunk in enumerate(_chunks(ids)):
        await _write(db, engine, chunk, {}, with_links=True)
        if progress is not None:
            progress(number * CHUNK + len(chunk), len(ids))
    return len(ids)


async def _written(work: OperationContext) -> AsyncIterator[str]:
    """Yield the ids of all items and comments that need a new entry."""
    for effect in work.effects:
        if _is_text(effect):
            if effect.action != "deleted":
                yield effect.id
            if effect.action == "updated" and _is_moved(effect):
                for id in await search.texts_below(work.db, effect.id):
                    yield id
        elif effect.kind == "requirement_type" and effect.action == "updated" and effect.after:
            for id in await search.requirements_of_type(work.db, effect.after["name"]):
                yield id
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
) -> list[IndexEntry]:
    """Return the entries of existing entities, in the order of `ids`."""
    made = {id: _of_item(known[id]) for id in ids if id in known}
    unknown = [id for id in ids if id not in known]
    if unknown:
        made |= {id: _of_item(row) for id, row in (await items.by_ids(db, unknown)).items()}
        if made and with_links:
            for link in await search.linked_facets(db, unknown):
                made[link["item_id"]].facets.append(facet(link["facet"], link["value"]))
        if len(made) < len(ids):
            for comment in await search.comments(db, unknown):
                made[comment["id"]] = _of_comment(comment)
    return [made[id] for id in ids if id in made]


def _of_item(row: ItemRow) -> IndexEntry:
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
    return IndexEntry(row.id, row.id, title, body, facets)


def _of_comment(row: Row) -> IndexEntry:
    facets = [facet("kind", "comment")]
    if row["epic_id"]:
        facets.append(facet("epic", row["epic_id"]))
    return IndexEntry(
        row["id"], row["target_id"], [], words(f"{row['quote']} {row['text']}"), facets
    )


async def _add(db: Transaction, engine: Engine, entry: IndexEntry) -> None:
    terms = list(dict.fromkeys([*entry.title, *entry.body]))
    spelt = list(islice((each for each in terms if is_correctable(each)), MAX_NEW_WORDS))
    values = (
        *(entry.entity_id, entry.item_id),
        *(sentence(entry.title), " ".join(entry.facets), sentence(entry.body)),
    )
    if engine == "postgresql":
        await search.add_later(db, values, [*terms, *entry.facets], spelt, BEGINNING)
        return
    await search.add(db, *values)
    new = await search.add_words(db, spelt) if spelt else []
    if new:
        await search.add_spellings(db, [(key, word) for word in new for key in spelling_keys(word)])


def _chunks(values: Iterable[T]) -> Iterator[list[T]]:
    following = iter(values)
    while chunk := list(islice(following, CHUNK)):
        yield chunk


log = logging.getLogger("accord.hub")

MERGE_INTERVAL: Final = 3_600.0
"""Seconds between two runs; a merge rewrites the whole index."""
INITIAL_DELAY: Final = 1.0
"""Seconds until the first run."""
MERGE_PAUSE: Final = 0.02
"""Seconds between two steps."""
MAX_SEGMENTS: Final = 4
PAGES_PER_MERGE: Final = 100
"""Pages written in one step, about 10 ms of work."""


class IndexMaintenance:
    """A background task that merges index segments, from `start` to `close`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._store.engine == "sqlite":
            self._task = asyncio.create_task(self._run(), name="accord search index")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        seconds = INITIAL_DELAY
        while True:
            await asyncio.sleep(seconds)
            seconds = MERGE_INTERVAL
            try:
                await self.merge()
            except StoreError as error:
                log.warning("the search index could not be put together: %s", error)

    async def merge(self) -> None:
        """Merge all segments if there are many. Raises StoreError."""
        pieces = await search.count_segments(self._store)
        if pieces <= MAX_SEGMENTS:
            return
        log.debug("the %d pieces of the search index are put together", pieces)
        pages = -PAGES_PER_MERGE
        while await self._step(pages):
            pages = PAGES_PER_MERGE
            await asyncio.sleep(MERGE_PAUSE)

    async def _step(self, pages: int) -> bool:
        """Merge some pages; return whether work is left."""

        async def work(transaction: Transaction) -> bool:
            return await search.merge(transaction, pages)

        return await self._store.transact(work)
