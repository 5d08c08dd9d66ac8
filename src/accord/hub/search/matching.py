"""What is asked for, as a query of each database. Pure.

Queries are put together from words alone: letters and digits, quoted. Nothing that somebody types
can be taken for the query language of FTS5 or of tsquery.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2s
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.search.words import is_reference, words
from accord.store.store import Engine

MAX_WORDS: Final = 16
"""Further words of a query are ignored."""

Facet: TypeAlias = Literal["kind", "status", "priority", "assignee", "label", "type", "epic"]


class Group(Struct, frozen=True):
    """One word of a query, or several alternatives."""

    words: tuple[str, ...]
    is_whole: bool = False
    """True if no longer words are known to exist."""

    @property
    def is_beginning(self) -> bool:
        """True if longer words match too; a single letter would match too many."""
        return not self.is_whole and len(self.words[0]) > 1 and not is_reference(self.words[0])


class Unassigned(Struct, frozen=True):
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


class Asked(Struct, frozen=True, kw_only=True):
    """A parsed query with its filters."""

    groups: tuple[Group, ...]
    facets: tuple[tuple[str, ...], ...]
    """One facet of each tuple is required."""
    unassigned: Unassigned | None = None
    every: bool = True
    """True if all words are required, false if one is enough."""


@lru_cache(256)  # hit by the pages of one query, and by common queries
def groups_of(query: str) -> tuple[Group, ...]:
    """Return the distinct words of a query as groups."""
    return tuple(Group((each,)) for each in list(dict.fromkeys(words(query)))[:MAX_WORDS])


@lru_cache(4096)  # many entries share few statuses, types, people and epics
def facet(name: Facet, value: str) -> str:
    """Return the index term of a property.

    It begins with a character that no word has.
    """
    return "=" + blake2s(f"{name}={value}".encode(), digest_size=9).hexdigest()


@lru_cache(256)
def match(asked: Asked, engine: Engine) -> str:
    """Return the query in the language of the database."""
    return _fts5(asked) if engine == "sqlite" else _tsquery(asked)


def _fts5(asked: Asked) -> str:
    parts = ["facets : " + _any(some, '"{}"', " OR ") for some in asked.facets]
    if asked.unassigned is not None:
        parts.append("facets : " + _nobody(asked.unassigned, '"{}"', " OR ", "{} NOT {}"))
    if asked.groups:
        texts = [
            _any(each.words, '"{}"' + "*" * each.is_beginning, " OR ") for each in asked.groups
        ]
        parts.append("{title body} : (" + (" AND " if asked.every else " OR ").join(texts) + ")")
    return " AND ".join(parts)


def _tsquery(asked: Asked) -> str:
    parts = [_any(some, "'{}'", " | ") for some in asked.facets]
    if asked.unassigned is not None:
        parts.append(_nobody(asked.unassigned, "'{}'", " | ", "{} & !{}"))
    if asked.groups:
        texts = [
            _any(each.words, "'{}'" + ":*" * each.is_beginning, " | ") for each in asked.groups
        ]
        parts.append("(" + (" & " if asked.every else " | ").join(texts) + ")")
    return " & ".join(parts)


def _nobody(asked: Unassigned, quoted: str, separator: str, without: str) -> str:
    found = _any(asked.kinds, quoted, separator)
    if asked.assigned:
        found = f"({without.format(found, _any(asked.assigned, quoted, separator))})"
    if not asked.others:
        return f"({found})"
    return f"({found}{separator}{_any(asked.others, quoted, separator)})"


def _any(terms: tuple[str, ...], quoted: str, separator: str) -> str:
    return "(" + separator.join(quoted.format(each) for each in terms) + ")"
