"""What an argument of a resource template could be: ids, statuses, types, usernames, names."""

from __future__ import annotations

from typing import Final

from accord.hub.domain.kinds import KINDS, Kind
from accord.hub.domain.statuses import TRANSITIONS
from accord.hub.entities import UNASSIGNED
from accord.mcp.protocol.results import Completion
from accord.mcp.server.completions import matching
from accord.mcp.server.server import Server
from accord.store.store import Store

MOST: Final = 100
MAX_TYPED: Final = 200

REFERENCES: Final = """
SELECT reference_id AS value FROM items WHERE kind = $1
AND (reference_id LIKE $2 ESCAPE '!' OR lower(title) LIKE $3 ESCAPE '!') ORDER BY number LIMIT $4
"""
IDS: Final = "SELECT id AS value FROM items WHERE kind = $1 AND id LIKE $2 ESCAPE '!' LIMIT $3"
PROMPTS: Final = """
SELECT name AS value FROM items WHERE kind = 'prompt' AND lower(name) LIKE $1 ESCAPE '!'
ORDER BY number LIMIT $2
"""
TYPES: Final = "SELECT name AS value FROM requirement_types ORDER BY name_key LIMIT $1"
PEOPLE: Final = """
SELECT username AS value FROM users WHERE active = 1 AND username_key LIKE $1 ESCAPE '!'
ORDER BY username_key LIMIT $2
"""
LABELS: Final = """
SELECT name AS value FROM labels WHERE name_key LIKE $1 ESCAPE '!' ORDER BY name_key LIMIT $2
"""


def add_completions(server: Server, store: Store) -> None:
    """Register completions for the arguments of the hub's resource templates."""
    hub = _Completions(store)
    for argument, function in (
        ("id", hub.id),
        ("status", hub.status),
        ("type", hub.type),
        ("assignee", hub.assignee),
        ("creator", hub.person),
        ("label", hub.label),
        ("name", hub.prompt),
    ):
        server.completions.add(function, argument=argument)


class _Completions:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def id(self, value: str, of: str) -> Completion:
        """Complete reference ids, by prefix or by a part of the title.

        Text that looks like the beginning of a UUID is completed to ids; prompts are also completed
        by name.
        """
        kind = _kind_of(of)
        if kind is None:
            return _completed([])
        typed = _plain(value)
        found = await self._found(
            REFERENCES, kind, _beginning(typed.upper()), f"%{_beginning(typed.lower())}", MOST + 1
        )
        if typed and not found:
            found = await self._found(IDS, kind, _beginning(typed.lower()), MOST + 1)
        if kind == "prompt":
            found += await self._found(PROMPTS, _beginning(typed.lower()), MOST + 1)
        return _completed(found)

    async def prompt(self, value: str) -> Completion:
        return await self._beginning_with(PROMPTS, value)

    async def person(self, value: str) -> Completion:
        return await self._beginning_with(PEOPLE, value)

    async def assignee(self, value: str) -> Completion:
        """Complete usernames, and `unassigned` from its second letter on."""
        found = await self._found(PEOPLE, _beginning(_plain(value).casefold()), MOST + 1)
        return _completed([*matching(value, [UNASSIGNED] if len(value) > 1 else []), *found])

    async def label(self, value: str) -> Completion:
        return await self._beginning_with(LABELS, value)

    async def type(self, value: str) -> Completion:
        return _completed(matching(value, await self._found(TYPES, MOST)))

    async def status(self, value: str, of: str) -> Completion:
        every = {
            kind: list(statuses)
            for kind, statuses in TRANSITIONS.items()
            if of.startswith(f"requirements://{KINDS[kind].plural}")
        } or {kind: list(statuses) for kind, statuses in TRANSITIONS.items()}
        names = list(dict.fromkeys(name for statuses in every.values() for name in statuses))
        return _completed(matching(value, names))

    async def _beginning_with(self, sql: str, value: str) -> Completion:
        return _completed(await self._found(sql, _beginning(_plain(value).casefold()), MOST + 1))

    async def _found(self, sql: str, *arguments: str | int) -> list[str]:
        return [row["value"] for row in await self._store.fetch(sql, *arguments)]


def _kind_of(template: str) -> Kind | None:
    scheme = template.partition("://")[0]
    return next((each.kind for each in KINDS.values() if each.scheme == scheme), None)


def _plain(value: str) -> str:
    """Return the typed text without NUL, which no database accepts."""
    return value.replace("\0", "")[:MAX_TYPED]


def _beginning(text: str) -> str:
    """Return a LIKE pattern for a prefix, with wildcards escaped."""
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"{escaped}%"


def _completed(values: list[str]) -> Completion:
    return Completion(values=values[:MOST], has_more=len(values) > MOST)
