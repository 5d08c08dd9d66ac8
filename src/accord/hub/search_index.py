"""The search index: words and spellings, updated with every write.

Folding a word removes letter case and accents. It is done here, not by the database. A word is a
run of letters and digits. Each ideograph is a word of its own, and so is a reference id such as
`REQ-12`.

A spelling key is the beginning of a word, complete or with some letters left out. A misspelt word
and the correct word have a key in common: both without the letters in which they differ. So every
indexed word is stored with its spelling keys, and similar words are found by comparing keys.

An entry is the folded text of an item or of a comment. A changed entry is written again after all
others, so the newest entries have the highest sequence numbers.

Every write adds a segment to the index of SQLite, and each search reads all segments. SQLite merges
only segments of one size, so `IndexMaintenance` merges all of them now and then, in steps that are
too small to delay a write. PostgreSQL does this by itself.
"""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2s
from itertools import combinations, islice
from typing import Final, Literal, TypeAlias, TypeVar

from msgspec import Struct

from accord.hub.domain.rules import KINDS
from accord.hub.storage import items, search
from accord.hub.storage.items import ItemRow
from accord.operations.context import Effect, OperationContext
from accord.operations.operation import RecordedChange
from accord.store.store import Engine, Row, Store, StoreError, Transaction

MAX_INDEXED_TEXT: Final = 100_000
"""The number of characters of a text that are folded and indexed."""
MAX_WORD: Final = 64
"""The maximum length of an indexed word; longer words are cut."""

_PREFIXES: Final = "|".join(each.prefix.lower() for each in KINDS.values())
_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD: Final = re.compile(
    rf"\b(?P<prefix>{_PREFIXES})-0*(?P<number>[1-9][0-9]{{0,11}})?\b"
    rf"|[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+"
)
_REFERENCE: Final = re.compile(rf"(?:{_PREFIXES})[1-9][0-9]*", re.ASCII)
_ACCENTS: Final = dict.fromkeys(range(0x300, 0x370))
# Letters with a stroke, and ligatures: no Unicode normal form decomposes them.
_STROKES: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i"}
)


def fold(text: str) -> str:
    """Return the beginning of a text, without letter case and accents.

    Texts are cut after `MAX_INDEXED_TEXT` characters.
    """
    if text.isascii():
        return text[:MAX_INDEXED_TEXT].lower()
    decomposed = unicodedata.normalize("NFKD", text[:MAX_INDEXED_TEXT].casefold())[
        :MAX_INDEXED_TEXT
    ]
    plain = decomposed.translate(_ACCENTS).translate(_STROKES)
    return unicodedata.normalize("NFC", plain).casefold()


def words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return [_word(match) for match in _WORD.finditer(fold(text))]


def stored_words(found: list[str]) -> str:
    """Return words in their stored form: a space before and after each."""
    return f" {' '.join(found)} " if found else ""


def is_reference(word: str) -> bool:
    """Return whether a word is the folded form of a reference id."""
    return _REFERENCE.fullmatch(word) is not None


def _word(match: re.Match[str]) -> str:
    if match["prefix"]:
        return match["prefix"] + (match["number"] or "")
    return match[0][:MAX_WORD]


Facet: TypeAlias = Literal["kind", "status", "priority", "assignee", "label", "type", "epic"]


@lru_cache(4096)  # many entries share few statuses, types, people and epics
def facet(name: Facet, value: str) -> str:
    """Return the index term for a property of an item, such as its status.

    The term begins with a character that no word has.
    """
    return "=" + blake2s(f"{name}={value}".encode(), digest_size=9).hexdigest()


MIN_CORRECTED: Final = 4
"""The minimum length of corrected words. A slip in a shorter word often gives another real word."""
MAX_CORRECTED: Final = 32
MAX_SIMILAR_WORDS: Final = 5
"""The maximum number of suggestions for a misspelt word."""

BEGINNING: Final = 7
"""The number of letters, from the beginning of a word, that its spelling keys are made from."""
_TWO_SLIPS: Final = 8
"""The minimum length of words in which two slips are corrected; one slip in shorter words."""


def is_correctable(word: str) -> bool:
    """Return whether a word can be misspelt: numbers and ids cannot."""
    return MIN_CORRECTED <= len(word) <= MAX_CORRECTED and word.isalpha()


def spelling_keys(word: str, slips: int = 1) -> list[str]:
    """Return the beginning of a word in all forms with up to `slips` letters less."""
    beginning = word[:BEGINNING]
    found = {beginning: None}
    for count in range(1, slips + 1):
        for kept in combinations(beginning, len(beginning) - count):
            found["".join(kept)] = None
    return list(found)


def similar_words(word: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates closest to `word`, closest first.

    Only the beginning of a candidate has to be similar.
    """
    allowed = 2 if len(word) >= _TWO_SLIPS else 1
    measured = ((distance(word, each, allowed), each) for each in candidates if each != word)
    near = sorted(
        (slips, abs(len(each) - len(word)), each)
        for slips, each in measured
        if 0 < slips <= allowed
    )
    return [each for slips, _, each in near if slips == near[0][0]][:MAX_SIMILAR_WORDS]


def distance(word: str, other: str, most: int) -> int:
    """Return the number of slips between `word` and the closest prefix of `other`.

    A slip is a missing, extra or wrong letter, or two swapped letters (Damerau-Levenshtein). For
    distances above `most`, returns a number above `most`.
    """
    other = other[: len(word) + most]
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(word, 1):
        oldest, before, row = before, row, [place]
        for at, letter_there in enumerate(other, 1):
            slips = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != letter_there))
            if place > 1 and at > 1 and (letter, word[place - 2]) == (other[at - 2], letter_there):
                slips = min(slips, oldest[at - 2] + 1)
            row.append(slips)
        if min(row) > most:
            return most + 1
    return min(row)


T = TypeVar("T")

CHUNK: Final = 200
"""The number of entries read in one statement."""
MAX_NEW_WORDS: Final = 500
"""The maximum number of words of one entry that are added to the spelling dictionary."""

ITEM_FIELDS: Final = frozenset({"item_id", "steering_id"})
"""Fields by which labels and links name their item."""


class IndexEntry(Struct, frozen=True):
    """The index entry of an item or a comment."""

    entity_id: str
    item_id: str
    title: list[str]
    body: list[str]
    facets: list[str]


async def index(work: OperationContext, _change: RecordedChange) -> None:
    """Update the search index after a write. A recorder."""
    deleted = [
        effect.id for effect in work.effects if effect.action == "deleted" and _is_text(effect)
    ]
    for ids in _chunks(deleted):
        await search.remove(work.db, ids, with_comments=True)
    created = {effect.id for effect in work.effects if effect.action == "created"}
    written = dict.fromkeys([each async for each in _affected_texts(work)])
    for ids in _chunks(each for each in written if each not in created):
        await search.remove(work.db, ids)
    # New items have neither labels nor links, unless the same write added them.
    are_new = all(effect.action == "created" and _is_text(effect) for effect in work.effects)
    known = work.known if are_new else {}
    await _write_entries(work.db, work.engine, written, known, with_links=not are_new)


async def rebuild(
    db: Transaction, engine: Engine, *, progress: Callable[[int, int], None] | None = None
) -> int:
    """Rebuild the whole index; return the number of entries.

    `progress` is called with the number of written entries and of all entries.
    """
    await search.clear(db)
    ids = await search.all_texts(db)
    for number, chunk in enumerate(_chunks(ids)):
        await _write_entries(db, engine, chunk, {}, with_links=True)
        if progress is not None:
            progress(number * CHUNK + len(chunk), len(ids))
    return len(ids)


async def _affected_texts(work: OperationContext) -> AsyncIterator[str]:
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
                for name in ITEM_FIELDS & fields.keys():
                    yield fields[name]


def _is_text(effect: Effect) -> bool:
    return effect.kind in KINDS or effect.kind == "comment"


def _is_moved(effect: Effect) -> bool:
    before, after = effect.before or {}, effect.after or {}
    return before.get("parent_id") != after.get("parent_id")


async def _write_entries(
    db: Transaction,
    engine: Engine,
    ids: Iterable[str],
    known: Mapping[str, ItemRow],
    *,
    with_links: bool,
) -> None:
    for chunk in _chunks(ids):
        for entry in await _entries(db, chunk, known, with_links=with_links):
            await _add_entry(db, engine, entry)


async def _entries(
    db: Transaction, ids: Sequence[str], known: Mapping[str, ItemRow], *, with_links: bool
) -> list[IndexEntry]:
    """Return the entries of the items and comments that exist, in the order of `ids`."""
    made = {id: _item_entry(known[id]) for id in ids if id in known}
    unknown = [id for id in ids if id not in known]
    if unknown:
        made |= {id: _item_entry(row) for id, row in (await items.by_ids(db, unknown)).items()}
        if made and with_links:
            for link in await search.linked_facets(db, unknown):
                made[link["item_id"]].facets.append(facet(link["facet"], link["value"]))
        if len(made) < len(ids):
            for comment in await search.comments(db, unknown):
                made[comment["id"]] = _comment_entry(comment)
    return [made[id] for id in ids if id in made]


def _item_entry(row: ItemRow) -> IndexEntry:
    title = words(f"{row.name} {row.title}" if row.name else row.title)
    body = words(f"{row.reference_id} {row.description} {row.content}")
    properties: tuple[tuple[Facet, str | int | None], ...] = (
        ("kind", row.kind),
        ("status", row.status),
        ("priority", row.priority),
        ("type", row.type),
        ("assignee", row.assignee_id),
        ("epic", row.epic_id),
    )
    facets = [facet(name, str(value)) for name, value in properties if value]
    return IndexEntry(row.id, row.id, title, body, facets)


def _comment_entry(row: Row) -> IndexEntry:
    facets = [facet("kind", "comment")]
    if row["epic_id"]:
        facets.append(facet("epic", row["epic_id"]))
    return IndexEntry(
        row["id"], row["target_id"], [], words(f"{row['quote']} {row['text']}"), facets
    )


async def _add_entry(db: Transaction, engine: Engine, entry: IndexEntry) -> None:
    terms = list(dict.fromkeys([*entry.title, *entry.body]))
    correctable = list(islice((each for each in terms if is_correctable(each)), MAX_NEW_WORDS))
    values = (
        *(entry.entity_id, entry.item_id),
        *(stored_words(entry.title), " ".join(entry.facets), stored_words(entry.body)),
    )
    if engine == "postgresql":
        await search.add_later(db, values, [*terms, *entry.facets], correctable, BEGINNING)
        return
    await search.add(db, *values)
    new = await search.add_words(db, correctable) if correctable else []
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
"""Seconds between two steps of a merge."""
MAX_SEGMENTS: Final = 4
PAGES_PER_MERGE: Final = 100
"""The maximum number of index pages that one step of a merge writes (about 10 ms)."""


class IndexMaintenance:
    """A background task that merges index segments, from `start` to `close`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task; PostgreSQL needs none."""
        if self._store.engine == "sqlite":
            self._task = asyncio.create_task(self._run(), name="accord search index")

    async def close(self) -> None:
        """Stop the task."""
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
        """Merge all segments of the index if there are many.

        Raises StoreError if the database fails.
        """
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
