"""Records and trails to test with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from accord.app.database import MIGRATIONS
from accord.operations.audit.record import Record
from accord.operations.audit.trail import AuditTrail
from accord.operations.context import utc_now
from accord.store import Row, Store, open_store

KEY = b"k" * 32

_numbers = count(1)


def record(**fields: Any) -> Record:
    number = next(_numbers)
    told = {
        "id": f"00000000-0000-4000-8000-{number:012d}",
        "time": utc_now(),
        "actor_id": "00000000-0000-4000-8000-000000000001",
        "actor": "ada",
        "via": "token",
        "face": "mcp",
        "operation": "create_epic",
        "target": f"EP-{number:03d}",
        "correlation_id": f"test-{number}",
    }
    return Record(**{**told, **fields})


@asynccontextmanager
async def migrated(url: str) -> AsyncIterator[Store]:
    async with open_store(url, durable=False) as store:
        await store.migrate("operations", MIGRATIONS["operations"])
        yield store


async def written(store: Store, number: int, head_file: Path | None = None) -> None:
    """Keep so many records, sealed."""
    async with AuditTrail(store, KEY, head_file=head_file) as trail:
        for _ in range(number):
            trail.enqueue(record())


def values(row: Row) -> tuple[Any, ...]:
    return tuple(row[place] for place in range(len(row)))
