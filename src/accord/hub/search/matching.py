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
"""How many words of a query count."""

Facet: TypeAlias = Literal["kind", "status", "priority", "assignee", "label", "type", "epic"]


class Group(Struct, frozen=True):
    """One word of a query, or several of which one is enough."""

    words: tuple[str, ...]
    is_whole: bool = False
    """Whether it is known that there are no longer words."""

    @property
    def is_beginning(self) -> bool:
        """Whether longer words count too. A single letter begins too many."""
        return not self.is_whole and len(self.words[0]) > 1 and not is_reference(self.words[0])


class Unassigned(Struct, frozen=True):
    """A filter for items without an assignee, as facets of the index.

    The index has no facet for them: they have a kind that can be assigned, and no assignee.
    """

    kinds: tuple[str, ...]
    """Facets of the kinds that can be assigned."""
    assigned: tuple[str, ...]
    """Facets of all current assignees."""
    others: tuple[str, ...] = ()
    """Facets of assignees whose items match too."""


class Asked(Struct, frozen=True, kw_only=True):
    """What is looked for."""

    groups: tuple[Group, ...]
    facets: tuple[tuple[str, ...], ...]
    """Of each of these, one is needed."""
    unassigned: Unassigned | None = None
    every: bool = True
    """Whether all words are needed, or one is enough."""


@lru_cache(256)  # the pages of one query, and queries of many
def groups_of(query: str) -> tuple[Group, ...]:
    """The words of a query, each once."""
    return tuple(Group((each,)) for each in list(dict.fromkeys(words(query)))[:MAX_WORDS])


@lru_cache(4096)  # of few statuses, types, people and epics there are many entries
def facet(name: Facet, value: str) -> str:
    """What stands in the index for a property of an entry. It begins with a sign that no word
    has."""
    return "=" + blake2s(f"{name}={value}".encode(), digest_size=9).hexdigest()


@lru_cache(256)
def match(asked: Asked, engine: Engine) -> str:
    """The query, in the language of the database."""
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
