"""Proposals as rows."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.hub.storage import rows
from accord.operations.context import Database, is_uuid
from accord.operations.errors import NotFoundError
from accord.operations.pages import Page, page_of
from accord.store.store import Row

SELECT: Final = """
SELECT p.id, p.author_id, p.reason, p.steps, p.preview, p.state, p.decided_by AS decider_id,
       p.decided_at, p.decision_reason, p.created_at,
       author.username AS author, decider.username AS decider, changes.id AS change_id,
       p.via, p.face, p.client, p.token_id, p.run_id, tokens.name AS token
FROM proposals p
JOIN users author ON author.id = p.author_id
LEFT JOIN users decider ON decider.id = p.decided_by
LEFT JOIN changes ON changes.proposal_id = p.id
LEFT JOIN tokens ON tokens.id = p.token_id
"""
OPEN_OF: Final = "SELECT COUNT(*) AS total FROM proposals WHERE author_id = $1 AND state = 'open'"

COUNT: Final = "SELECT COUNT(*) AS total FROM proposals p"

STORED: Final = (
    *("id", "author_id", "reason", "state", "decided_by", "decided_at", "decision_reason"),
    *("created_at", "via", "face", "client", "token_id", "run_id"),
)


class ProposalRow(Struct, frozen=True):
    """One proposal: its columns, and the names of the rows it refers to."""

    id: str
    author_id: str
    reason: str
    steps: str
    preview: str
    state: str
    decided_by: str | None
    decided_at: str | None
    decision_reason: str
    created_at: str
    author: str
    decider: str | None
    change_id: str | None
    via: str
    """The author's access: `token`, `session` or `local`.

    Empty for proposals made before this column existed."""
    face: str
    client: str
    """The program that made the proposal, by its own name."""
    token_id: str
    run_id: str
    token: str | None
    """The name of the token."""

    def stored(self) -> dict[str, Any]:
        """Return the columns that effects record: all but the steps and the preview."""
        return {name: getattr(self, name) for name in STORED}


async def find(db: Database, id: str) -> ProposalRow:
    """Return the proposal with this id.

    Raises NotFoundError if there is none.
    """
    found = await db.fetch(f"{SELECT} WHERE p.id = $1", id.lower()) if is_uuid(id) else []
    if not found:
        raise NotFoundError(f"there is no proposal {id!r}")
    return _proposal(found[0])


async def count_open(db: Database, author_id: str) -> int:
    """Return the number of open proposals of an author."""
    return await rows.total(db, OPEN_OF, author_id)


async def oldest(
    db: Database, state: str | None, limit: int, cursor: str | None
) -> Page[ProposalRow]:
    """Return a page of all proposals, or of those in a state, oldest first."""
    query = rows.query_hash("proposals", state)
    where = "1 = 1" if state is None else "p.state = $1"
    return await _page(db, _Order("p.created_at", ">", "ASC"), where, state, limit, cursor, query)


async def last_decided(
    db: Database, state: str | None, limit: int, cursor: str | None
) -> Page[ProposalRow]:
    """Return a page of decided proposals, those decided last first.

    With `state`, only proposals in this state are returned.
    """
    query = rows.query_hash("decided proposals", state)
    where = "p.state <> 'open'" if state is None else "p.state = $1"
    return await _page(db, _Order("p.decided_at", "<", "DESC"), where, state, limit, cursor, query)


class _Order(Struct, frozen=True):
    """A sort order of proposals: by a time, ascending or descending."""

    column: str
    comparison: str
    direction: str

    def place(self, last: ProposalRow) -> tuple[str, str]:
        time = last.created_at if self.column == "p.created_at" else str(last.decided_at)
        return time, last.id


async def _page(
    db: Database,
    order: _Order,
    where: str,
    state: str | None,
    limit: int,
    cursor: str | None,
    query: str,
) -> Page[ProposalRow]:
    values: list[Any] = [] if state is None else [state]
    total = await rows.total(db, f"{COUNT} WHERE {where}", *values)
    if cursor is not None:
        places = f"(${len(values) + 1}, ${len(values) + 2})"
        where += f" AND ({order.column}, p.id) {order.comparison} {places}"
        values += rows.cursor_values(cursor, query, str, str)
    sorted_by = f"{order.column} {order.direction}, p.id {order.direction}"
    found = await db.fetch(
        f"{SELECT} WHERE {where} ORDER BY {sorted_by} LIMIT {limit + 1}", *values
    )
    return page_of(
        [_proposal(row) for row in found],
        limit=limit,
        total=total,
        key=lambda row: (query, *order.place(row)),
    )


def _proposal(row: Row) -> ProposalRow:
    return ProposalRow(*row)
