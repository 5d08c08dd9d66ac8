"""Imports that take long keep nobody waiting: neither those who are served nor those who write."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from accord.hub.exchange.formats import FORMATS, Formats
from accord.hub.exchange.project import Numbered
from accord.hub.operations.exchange import IMPORTED
from accord.hub.registry import hub_operations
from accord.operations.runner import Runner
from tests.hub.world import RECORDERS, World
from tests.patience import PATIENCE

TABLE = """\
kind,reference_id,parent,title,priority,labels,links
epic,EP-007,,Boarding,High,harbour; safety,
user_story,US-003,EP-007,Scan a ticket,2,,
requirement,REQ-010,US-003,Scan quickly,1,,depends_on REQ-004
requirement,REQ-004,US-003,Scan,,,
"""


@pytest.mark.req("F-43")
@pytest.mark.parametrize("dry_run", [True, False])
async def test_others_write_while_a_text_is_read(world: World, dry_run: bool) -> None:
    begun, written = threading.Event(), threading.Event()

    def read(text: str) -> Iterator[Numbered]:
        begun.set()
        assert written.wait(PATIENCE)
        return FORMATS["csv"].read(text)

    slow = replace(FORMATS["csv"], read=read)
    services = (Formats([slow]), world.policy)
    world.runner = Runner(
        hub_operations(), world.store, world.trail, services=services, recorders=RECORDERS
    )
    importing = asyncio.create_task(
        world.call("import_items", format="csv", content=TABLE, dry_run=dry_run)
    )
    async with asyncio.timeout(PATIENCE):
        await asyncio.to_thread(begun.wait)
        epic = await world.call("create_epic", title="Meanwhile")
        written.set()
        report = await importing
    found = report.result if dry_run else report
    assert (epic.reference_id, found.created, found.failed) == ("EP-001", 5, 0)


@pytest.mark.req("F-43")
async def test_a_dry_run_tells_what_the_import_then_does(world: World) -> None:
    changed = TABLE.replace("Boarding", "Embarking").replace("Scan quickly", "Scan in a second")
    for content in (TABLE, TABLE, changed):
        before = await rows(world)
        options: dict[str, Any] = {
            "format": "csv",
            "content": content,
            "on_conflict": "update",
        }
        preview = await world.call("import_items", **options, dry_run=True)
        assert await rows(world) == before
        report = await world.call("import_items", **options)
        assert [(row.row, row.action, row.reference_id) for row in preview.result.rows] == [
            (row.row, row.action, row.reference_id) for row in report.rows
        ]


@pytest.mark.req("F-43")
async def test_an_import_writes_to_no_table_but_those_it_is_rehearsed_on(world: World) -> None:
    if world.store.engine == "postgresql":
        pytest.skip("only on SQLite, which tells of all tables alike")
    tables = await world.store.fetch(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "AND name NOT LIKE 'search_texts%' AND name <> 'search_vocabulary'"
    )
    names = [row["name"] for row in tables]

    async def contents() -> dict[str, list[tuple[object, ...]]]:
        return {
            name: [tuple(row) for row in await world.store.fetch(f'SELECT * FROM "{name}"')]
            for name in names
        }

    before = await contents()
    await world.call("import_items", format="csv", content=TABLE)
    changed = TABLE.replace("Boarding", "Embarking")
    await world.call("import_items", format="csv", content=changed, on_conflict="update")
    after = await contents()
    written = {name for name in names if before[name] != after[name]}
    assert {"items", "changes", "revisions", "relationships", "counters"} <= written
    assert written <= set(IMPORTED)


async def rows(world: World) -> list[object]:
    """What there is of everything that an import changes."""
    counts = [f"SELECT count(*) AS total FROM {table}" for table in IMPORTED]
    return [[row["total"] for row in await world.store.fetch(count)] for count in counts]
