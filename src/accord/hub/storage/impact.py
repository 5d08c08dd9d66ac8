"""What leads from items to those that they affect, as statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.hub.domain.impact import Link, Step, steps
from accord.hub.storage import rows
from accord.operations.work import Database

LINKS: Final = """
SELECT r.source_id, r.target_id, r.type, t.inverse, t.is_symmetric
FROM relationships r JOIN relationship_types t ON t.name = r.type
WHERE r.source_id IN ({places}) OR r.target_id IN ({places})
ORDER BY r.created_at, r.id
"""
BELOW: Final = """
SELECT parent_id AS above, id AS below, 'has' AS label, kind, position, number FROM items
WHERE parent_id IN ({places})
UNION ALL
SELECT criteria_id, id, 'has', kind, position, number FROM items WHERE criteria_id IN ({places})
UNION ALL
SELECT l.steering_id, l.epic_id, 'steers', e.kind, e.position, e.number
FROM steering_links l JOIN items e ON e.id = l.epic_id WHERE l.steering_id IN ({places})
ORDER BY 4, 5, 6
"""


async def steps_from(db: Database, ids: Sequence[str], types: frozenset[str] | None) -> list[Step]:
    """Return all steps from items to the items they affect.

    Steps follow links of `types`, or all links, and the hierarchy downwards.
    """
    found: list[Step] = []
    for chunk in rows.chunks(ids):
        places = rows.places(len(chunk))
        wanted = set(chunk)
        found += [
            Step(row["above"], row["below"], row["label"])
            for row in await db.fetch(BELOW.format(places=places), *chunk)
        ]
        for row in await db.fetch(LINKS.format(places=places), *chunk):
            if types is not None and row["type"] not in types:
                continue
            link = Link(
                row["source_id"],
                row["target_id"],
                row["type"],
                row["inverse"],
                bool(row["is_symmetric"]),
            )
            found += [step for step in steps(link) if step.start in wanted]
    return found
