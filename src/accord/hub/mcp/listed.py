"""Items as a list of resources, a page at a time, in the order of their kinds and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from accord.hub.domain.kinds import KINDS, Kind
from accord.hub.mcp.resources import MIME_TYPE
from accord.hub.mcp.touched import uri_of
from accord.hub.storage import resources
from accord.mcp.protocol.definitions import Resource
from accord.mcp.server.sources import Listed
from accord.store.store import Reading, Row, Store

PAGE: Final = 100
MAX_TITLE: Final = 120
KINDS_LISTED: Final[tuple[Kind, ...]] = tuple(KINDS)

_PLACE: Final = re.compile(r"([a-z_]{1,32})\.([0-9]{1,18})", re.ASCII)


class ListedItems:
    """All items as resources; implements `ResourceSource`."""

    def __init__(self, store: Store, version: Callable[[], int]) -> None:
        self._store = store
        self._version = version

    @property
    def version(self) -> int:
        return self._version()

    async def page(self, after: str) -> Listed[Resource]:
        kind, number = _parsed(after)

        async def read(db: Reading) -> list[Row]:
            found: list[Row] = []
            behind = number
            for each in KINDS_LISTED[KINDS_LISTED.index(kind) :]:
                found += await resources.page(db, each, behind, PAGE + 1 - len(found))
                behind = 0
                if len(found) > PAGE:
                    break
            return found

        rows = await self._store.read(read)
        last = rows[PAGE - 1] if len(rows) > PAGE else None
        return Listed(
            [_resource(row) for row in rows[:PAGE]],
            "" if last is None else f"{last['kind']}.{last['number']}",
        )


def _parsed(after: str) -> tuple[Kind, int]:
    """Return kind and number of a list position.

    Raises ValueError for a position that no page returned.
    """
    if not after:
        return KINDS_LISTED[0], 0
    found = _PLACE.fullmatch(after)
    if found is None or found[1] not in KINDS:
        raise ValueError(f"{after!r} is no place in a list")
    kind: Any = found[1]
    return kind, int(found[2])


def _resource(row: Row) -> Resource:
    kind: Kind = row["kind"]
    state = row["status"] or ("active" if row["active"] else "")
    return Resource(
        uri=uri_of(kind, row["reference_id"]),
        name=row["reference_id"],
        title=(row["title"] or " ".join(row["summary"].split()))[:MAX_TITLE],
        description=f"{KINDS[kind].title}, {state}" if state else KINDS[kind].title,
        mime_type=MIME_TYPE,
    )
