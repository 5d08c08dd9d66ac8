"""The same file again: nothing is refused, nothing is created twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accord.hub.demo.loading import demo_operation
from accord.hub.exchange.formats import FORMATS
from accord.operations.arguments import convert
from tests.hub.world import World, world_at


@pytest.fixture
async def elsewhere(tmp_path: Path) -> AsyncIterator[World]:
    """A hub with the sample project, whose people nobody else knows."""
    async with world_at(f"sqlite://{tmp_path}/elsewhere.db") as found:
        operation = demo_operation()
        await found.runner.run(operation, convert(operation, {}), found.admin)
        yield found


async def take(world: World, content: str, format: str, **options: Any) -> Any:
    return await world.call("import_items", world.admin, format=format, content=content, **options)


@pytest.mark.req("H-24")
@pytest.mark.parametrize("format", FORMATS)
async def test_a_project_of_people_who_are_not_known_here_can_be_imported_twice(
    world: World, elsewhere: World, format: str
) -> None:
    content = (await elsewhere.call("export_items", format=format)).content
    first = await take(world, content, format)
    assert (first.updated, first.failed) == (0, 0)
    assert any("is not known here" in note for row in first.rows for note in row.notes)
    second = await take(world, content, format)
    assert (second.created, second.updated, second.failed) == (0, 0, 0)
    assert second.unchanged == first.created + first.unchanged


@pytest.mark.req("H-24")
@pytest.mark.parametrize("format", FORMATS)
async def test_a_project_comes_back_into_its_own_hub_unchanged(
    elsewhere: World, format: str
) -> None:
    content = (await elsewhere.call("export_items", format=format)).content
    report = await take(elsewhere, content, format)
    assert (report.created, report.updated, report.failed) == (0, 0, 0)
    assert [row.notes for row in report.rows if row.notes] == []
    assert (report.sources, report.not_kept) == ([], [])


@pytest.mark.req("H-24")
async def test_an_assignee_who_is_not_known_takes_nothing_from_anybody(world: World) -> None:
    epic = await world.call("create_epic", title="One", assignee="otto")
    content = f"id,kind,title,assignee\n{epic.id},epic,Two,zoe\n"
    for action in ("updated", "unchanged"):
        report = await take(world, content, "csv")
        assert [(row.action, row.notes) for row in report.rows] == [
            (action, ["assignee: 'zoe' is not known here, otto stays"]),
        ]
    found = await world.call("get_epic", id=epic.id)
    assert (found.title, found.assignee) == ("Two", "otto")
    # Nobody is somebody else.
    report = await take(world, f"id,kind,assignee\n{epic.id},epic,\n", "csv")
    assert report.updated == 1
    assert (await world.call("get_epic", id=epic.id)).assignee is None


@pytest.mark.req("H-24")
async def test_what_is_unchanged_makes_no_change(world: World, elsewhere: World) -> None:
    content = (await elsewhere.call("export_items", format="json")).content
    await take(world, content, "json")
    latest = (await world.call("list_changes", limit=1)).items
    await take(world, content, "json")
    assert (await world.call("list_changes", limit=1)).items == latest


@pytest.mark.req("H-24")
async def test_a_status_that_went_on_here_stays(world: World) -> None:
    content = "kind,reference_id,title,status\nepic,EP-001,One,Draft\n"
    await take(world, content, "csv")
    await world.call("update_epic", id="EP-001", status="In Progress")
    report = await take(world, content.replace("One", "Two"), "csv", on_conflict="update")
    assert [row.action for row in report.rows] == ["updated"]
    assert any(note.startswith("status stays In Progress: ") for note in report.rows[0].notes)
    epic = await world.call("get_epic", id="EP-001")
    assert (epic.title, epic.status) == ("Two", "In Progress")
    report = await take(world, content.replace("Draft", "Nonsense"), "csv", partial=True)
    assert report.failed == 1


@pytest.mark.req("H-24")
@pytest.mark.parametrize("format", FORMATS)
async def test_spaces_around_a_title_are_no_change(world: World, format: str) -> None:
    await world.call("create_epic", title=" One ")
    content = (await world.call("export_items", format=format)).content
    report = await take(world, content, format)
    assert [(row.action, row.notes) for row in report.rows if row.kind == "epic"] == [
        ("unchanged", []),
    ]
