"""Round trips: an exported project imports unchanged, in every format and on both databases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import UNSET
from msgspec.structs import replace

from accord.hub.exchange.exporter import read_project
from accord.hub.exchange.formats import FORMATS, FormatName
from accord.hub.exchange.importer import Importer
from accord.hub.exchange.project import Item, Link, Numbered, Origin, Project
from accord.store.store import Transaction
from tests.hub.exchange.projects import projects
from tests.hub.world import World

LOST: dict[FormatName, dict[type, tuple[str, ...]]] = {
    "json": {},
    "csv": {Link: ("id", "creator", "created_at")},
    "markdown": {
        Item: ("id", "creator", "created_at"),
        Link: ("id", "creator", "created_at"),
    },
    "reqif": {Link: ("creator", "created_at")},
}
"""By format: the fields it does not keep. Only JSON has comments, labels and types of their own."""


class _TakenBack(Exception):  # noqa: N818 - takes a transaction back
    pass


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(project=projects())
def test_a_text_is_read_as_it_was_written(format: FormatName, project: Project) -> None:
    text = FORMATS[format].write(project)
    assert _seen(FORMATS[format].read(text), project) == _kept(format, project)


@pytest.mark.parametrize("format", FORMATS)
async def test_a_project_comes_back_from_the_database(world: World, format: FormatName) -> None:
    """Collect the examples first, because hypothesis does not run in an event loop."""
    examples: list[Project] = []

    @settings(
        max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(project=projects())
    def collect(project: Project) -> None:
        examples.append(project)

    collect()
    for project in examples:
        text = FORMATS[format].write(project)
        again = await _placed(world, FORMATS[format].read(text))
        assert _seen(FORMATS[format].read(FORMATS[format].write(again)), again) == _kept(
            format, project
        )


async def _placed(world: World, rows: Iterable[Numbered]) -> Project:
    """Import rows into an empty hub, return its project, and empty the hub again."""
    gathered: list[Project] = []

    async def place(transaction: Transaction) -> None:
        work = world.runner.work(transaction, world.admin)
        done = (await Importer(work, partial=False).import_rows(rows)).rows
        assert [row for row in done if row.action == "failed"] == []
        gathered.append(await read_project(transaction))
        raise _TakenBack

    with pytest.raises(_TakenBack):
        await world.store.transact(place)
    return gathered[-1]


def _seen(rows: Iterable[Numbered], project: Project) -> list[Any]:
    """Return the records that were read, with names in place of UUIDs.

    Records for information only, such as the source of the file, are left out.
    """
    names = {item.id: item.reference_id for item in project.items}
    found: list[Any] = []
    for numbered in rows:
        record = numbered.record
        match record:
            case Origin():
                continue
            case Item():
                parent = names.get(record.parent, record.parent)
                record = replace(record, parent=parent, updated_at=UNSET, version=UNSET)
            case Link():
                record = replace(
                    record,
                    source=names.get(record.source, record.source),
                    target=names.get(record.target, record.target),
                )
        found.append(record)
    return found


def _kept(format: FormatName, project: Project) -> list[Any]:
    """Return the part of a project that a format keeps."""
    whole = [*project.types, *project.labels] if format == "json" else []
    whole += [_without(format, record) for record in (*project.items, *project.relationships)]
    return [*whole, *project.comments] if format == "json" else whole


def _without(format: FormatName, record: Any) -> Any:
    lost = list(LOST[format].get(type(record), ()))
    if format == "markdown" and isinstance(record, Item):
        # A document to read does not tell what something has not.
        told = ("labels", "epics", "acceptance_criteria", "active")
        lost += [name for name in told if not getattr(record, name)]
    return replace(record, **dict.fromkeys(lost, UNSET))
