"""What an argument of a resource template could be: ids, statuses, types, usernames, names."""

from __future__ import annotations

from typing import Final

from accord.hub.domain.kinds import KINDS, Kind
from accord.hub.domain.statuses import TRANSITIONS
from accord.hub.entities import UNASSIGNED
from accord.hub.storage import resources
from accord.hub.storage.resources import Named
from accord.mcp.protocol.results import Completion
from accord.mcp.server.completions import matching
from accord.mcp.server.server import Server
from accord.store.store import Store

MOST: Final = 100
MAX_TYPED: Final = 200


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
        found = await resources.references(self._store, kind, typed, MOST + 1)
        if typed and not found:
            found = await resources.ids(self._store, kind, typed, MOST + 1)
        if kind == "prompt":
            found += await resources.names(self._store, "prompt", typed.lower(), MOST + 1)
        return _completed(found)

    async def prompt(self, value: str) -> Completion:
        return await self._beginning_with("prompt", value)

    async def person(self, value: str) -> Completion:
        return await self._beginning_with("person", value)

    async def assignee(self, value: str) -> Completion:
        """Complete usernames, and `unassigned` from its second letter on."""
        found = await self._names("person", value)
        return _completed([*matching(value, [UNASSIGNED] if len(value) > 1 else []), *found])

    async def label(self, value: str) -> Completion:
        return await self._beginning_with("label", value)

    async def type(self, value: str) -> Completion:
        return _completed(matching(value, await resources.types(self._store, MOST)))

    async def status(self, value: str, of: str) -> Completion:
        every = {
            kind: list(statuses)
            for kind, statuses in TRANSITIONS.items()
            if of.startswith(f"requirements://{KINDS[kind].plural}")
        } or {kind: list(statuses) for kind, statuses in TRANSITIONS.items()}
        names = list(dict.fromkeys(name for statuses in every.values() for name in statuses))
        return _completed(matching(value, names))

    async def _beginning_with(self, of: Named, value: str) -> Completion:
        return _completed(await self._names(of, value))

    async def _names(self, of: Named, value: str) -> list[str]:
        return await resources.names(self._store, of, _plain(value).casefold(), MOST + 1)


def _kind_of(template: str) -> Kind | None:
    scheme = template.partition("://")[0]
    return next((each.kind for each in KINDS.values() if each.scheme == scheme), None)


def _plain(value: str) -> str:
    """Return the typed text without NUL, which no database accepts."""
    return value.replace("\0", "")[:MAX_TYPED]


def _completed(values: list[str]) -> Completion:
    return Completion(values=values[:MOST], has_more=len(values) > MOST)
