"""Proposals as rows."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.operations.errors import NotFoundError
from accord.operations.work import Database, is_uuid

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
    """`token`, `session` or `local`; empty for proposals made before this column existed."""
    face: str
    client: str
    """The program that made the proposal, by its own name."""
    token_id: str
    run_id: str
    token: str | None
    """The name of the token."""

    def stored(self) -> dict[str, Any]:
        """Return the columns for effects; steps and preview stay in the table only."""
        return {name: getattr(self, name) for name in STORED}


async def find(db: Database, id: str) -> ProposalRow:
    """Return the proposal with this id. Raises NotFoundError."""
    found = await db.fetch(f"{SELECT} WHERE p.id = $1", id.lower()) if is_uuid(id) else []
    if not found:
        raise NotFoundError(f"there is no proposal {id!r}")
    return proposal_row(found[0])


def proposal_row(row: Any) -> ProposalRow:
    """Return a row of `SELECT_PROPOSALS` as a `ProposalRow`."""
    return ProposalRow(*row)
