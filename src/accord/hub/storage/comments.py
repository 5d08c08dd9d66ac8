"""Comments as rows. Knows the tables, not the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from accord.hub.entities import ItemComment
from accord.hub.storage import provenance, rows
from accord.operations.context import Database, is_uuid
from accord.operations.errors import NotFoundError
from accord.operations.pages import Page, page_of

SELECT: Final = """
SELECT c.id, c.target_id, c.reply_to, c.author_id, c.text, c.quote, c.quote_position, c.resolved,
       c.resolved_by AS resolver_id, c.version, c.created_at, c.updated_at,
       author.username AS author, resolver.username AS resolver,
       target.reference_id AS target_reference_id
FROM comments c
JOIN users author ON author.id = c.author_id
LEFT JOIN users resolver ON resolver.id = c.resolved_by
JOIN items target ON target.id = c.target_id
"""
# CROSS JOIN fixes SQLite's table order: a person may have all items, but few open comments exist.
COUNT_FOR_ASSIGNEE: Final = """
SELECT COUNT(*) AS total FROM comments c CROSS JOIN items target
WHERE c.resolved = 0 AND c.author_id <> $1 AND target.id = c.target_id AND target.assignee_id = $1
"""
OPEN_FOR_ASSIGNEE: Final = (
    SELECT.replace("JOIN items target ON target.id = c.target_id", "CROSS JOIN items target")
    + """
WHERE c.resolved = 0 AND c.author_id <> $1 AND target.id = c.target_id AND target.assignee_id = $1
    AND (c.created_at, c.id) > ($2, $3)
ORDER BY c.created_at, c.id LIMIT $4
"""
)
ALL: Final = SELECT + "ORDER BY c.created_at, c.id"
COUNT_OF_ITEM: Final = """
SELECT COUNT(*) AS total,
       COALESCE(SUM(CASE WHEN resolved = 0 AND reply_to IS NULL THEN 1 ELSE 0 END), 0) AS unresolved
FROM comments WHERE target_id = $1
"""
ANSWERS: Final = SELECT + "WHERE c.reply_to = $1 ORDER BY c.created_at, c.id"


class CommentRow(Struct, frozen=True):
    """One comment: its columns, and the names of the rows it refers to."""

    id: str
    target_id: str
    reply_to: str | None
    author_id: str
    text: str
    quote: str
    quote_position: int | None
    resolved: int
    resolved_by: str | None
    version: int
    created_at: str
    updated_at: str
    author: str
    resolver: str | None
    target_reference_id: str

    def stored(self) -> dict[str, Any]:
        """Return the columns of the comments table, as effects record them."""
        values = asdict(self)
        for name in ("author", "resolver", "target_reference_id"):
            del values[name]
        return values

    def shown(self) -> ItemComment:
        """Convert the row to the entity that callers get."""
        return ItemComment(
            id=self.id,
            target_id=self.target_id,
            target_reference_id=self.target_reference_id,
            reply_to=self.reply_to,
            author=self.author,
            text=self.text,
            quote=self.quote,
            quote_position=self.quote_position,
            resolved=bool(self.resolved),
            resolved_by=self.resolver,
            version=self.version,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )


async def find(db: Database, id: str) -> CommentRow:
    """Return the comment with this id.

    Raises NotFoundError if there is none.
    """
    found = await db.fetch(SELECT + "WHERE c.id = $1", id.lower()) if is_uuid(id) else []
    if not found:
        raise NotFoundError(f"there is no comment {id!r}")
    return _row(found[0])


async def all_comments(db: Database) -> list[CommentRow]:
    """Return all comments, oldest first."""
    return [_row(each) for each in await db.fetch(ALL)]


async def count_of_item(db: Database, item_id: str) -> tuple[int, int]:
    """Return the numbers of comments on an item, and of open comments among them.

    A comment is open if it is not resolved and is not a reply.
    """
    [row] = await db.fetch(COUNT_OF_ITEM, item_id)
    return row["total"], int(row["unresolved"])


async def with_provenance(db: Database, found: Sequence[CommentRow]) -> list[ItemComment]:
    """Return comments with the programs that wrote and resolved them."""
    written = await provenance.of_creation(db, [row.id for row in found])
    settled = [row.id for row in found if row.resolved]
    resolved = await provenance.of_resolution(db, settled) if settled else {}
    made = [row.shown() for row in found]
    for each in made:
        each.provenance = written.get(each.id, UNSET)
        each.resolved_with = resolved.get(each.id, UNSET)
    return made


async def thread(db: Database, row: CommentRow) -> list[CommentRow]:
    """Return a comment with all replies below it, each after its parent."""
    found = [row]
    for each in found:
        found += [_row(answer) for answer in await db.fetch(ANSWERS, each.id)]
    return found


async def page(
    db: Database, target_id: str | None, resolved: bool | None, limit: int, cursor: str | None
) -> Page[ItemComment]:
    """Return a page of comments, oldest first."""
    clauses, values = ["1 = 1"], []
    for column, value in (
        ("c.target_id", target_id),
        ("c.resolved", None if resolved is None else int(resolved)),
    ):
        if value is not None:
            values.append(value)
            clauses.append(f"{column} = ${len(values)}")
    count = f"SELECT COUNT(*) AS total FROM comments c WHERE {' AND '.join(clauses)}"
    total = await rows.total(db, count, *values)
    query = rows.query_hash("comments", target_id, resolved)
    if cursor is not None:
        clauses.append(f"(c.created_at, c.id) > (${len(values) + 1}, ${len(values) + 2})")
        values += rows.cursor_values(cursor, query, str, str)
    found = await db.fetch(
        f"{SELECT} WHERE {' AND '.join(clauses)} ORDER BY c.created_at, c.id LIMIT {limit + 1}",
        *values,
    )
    return page_of(
        await with_provenance(db, [_row(each) for each in found]),
        limit=limit,
        total=total,
        key=lambda comment: (query, comment.created_at, comment.id),
    )


async def for_assignee(
    db: Database, assignee_id: str, limit: int, cursor: str | None
) -> Page[ItemComment]:
    """Return a page of open comments by others on a person's items, oldest first."""
    total = await rows.total(db, COUNT_FOR_ASSIGNEE, assignee_id)
    query = rows.query_hash("comments for", assignee_id)
    place = ("", "") if cursor is None else rows.cursor_values(cursor, query, str, str)
    found = await db.fetch(OPEN_FOR_ASSIGNEE, assignee_id, *place, limit + 1)
    return page_of(
        await with_provenance(db, [_row(each) for each in found]),
        limit=limit,
        total=total,
        key=lambda comment: (query, comment.created_at, comment.id),
    )


def _row(row: Any) -> CommentRow:
    return CommentRow(*row)
