"""People, as those see them who work with them: by name, to be assigned something."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.hub.storage import people
from accord.operations.accounts.names import name_key
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, keys_of, page_of
from accord.operations.registry import Registry
from accord.operations.work import Work

operations: Final = Registry()


class PersonSummary(Struct, kw_only=True):
    username: str


@operations.read(rest=Rest("GET", "/people"), tag="hierarchy", tool=False)
async def list_people(
    work: Work, *, limit: Limit = 100, cursor: Cursor | None = None
) -> Page[PersonSummary]:
    """List those who can be assigned something, by name."""
    [behind] = [""] if cursor is None else keys_of(cursor, tuple[str])
    return page_of(
        [PersonSummary(username=name) for name in await people.active(work.db, behind, limit + 1)],
        limit=limit,
        total=await people.count_active(work.db),
        key=lambda person: (name_key(person.username),),
    )
