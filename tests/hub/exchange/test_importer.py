"""Imports: rows, limits, long texts, and repeated imports."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from accord.hub.demo_project import demo_operation
from accord.hub.exchange.formats import FORMATS, Formats
from accord.hub.exchange.matching import MAX_NUMBER
from accord.hub.exchange.project import Numbered
from accord.hub.operations.exchange import IMPORTED
from accord.hub.registry import hub_operations
from accord.operations.arguments import convert
from accord.operations.errors import ForbiddenError, InvalidError
from accord.operations.runner import Runner
from tests.hub.world import RECORDERS, World, world_at
from tests.patience import PATIENCE

TABLE = """\
kind,reference_id,parent,title,priority,labels,links
epic,EP-007,,Boarding,High,harbour; safety,
user_story,US-003,EP-007,Scan a ticket,2,,
requirement,REQ-010,US-003,Scan quickly,1,,depends_on REQ-004
requirement,REQ-004,US-003,Scan,,,
"""


def told(report: Any) -> list[tuple[int, str, str]]:
    return [(row.row, row.action, row.reference_id) for row in report.rows]


async def test_rows_are_created_with_the_names_they_bring(world: World) -> None:
    report = await world.call("import_items", format="csv", content=TABLE)
    assert told(report) == [
        (2, "created", "EP-007"),
        (3, "created", "US-003"),
        (4, "created", "REQ-010"),
        (4, "created", "REQ-010 depends_on REQ-004"),
        (5, "created", "REQ-004"),
    ]
    assert [row.title for row in report.rows][::3] == ["Boarding", "REQ-010 depends_on REQ-004"]
    epic = await world.call("get_epic", id="ep-7")
    assert (epic.title, epic.priority, epic.labels, epic.creator, epic.assignee) == (
        *("Boarding", 2, ["harbour", "safety"], "uma", "uma"),
    )
    following = await world.call("create_requirement", user_story_id="US-003", title="Next")
    assert following.reference_id == "REQ-011"


async def test_what_is_there_is_changed_to_what_a_row_says_and_the_rest_stays(
    world: World,
) -> None:
    await world.call("import_items", format="csv", content=TABLE)
    content = "reference_id,title,labels\nep-7,Boarding,safety\nREQ-4,Scan each ticket,\n"
    report = await world.call(
        "import_items", world.other, format="csv", content=content, on_conflict="update"
    )
    assert told(report) == [(2, "updated", "EP-007"), (3, "updated", "REQ-004")]
    epic = await world.call("get_epic", id="EP-007")
    assert (epic.labels, epic.priority, epic.version) == (["safety"], 2, 1)
    requirement = await world.call("get_requirement", id="REQ-004")
    assert (requirement.title, requirement.version) == ("Scan each ticket", 2)
    again = await world.call("import_items", format="csv", content=content)
    assert told(again) == [(2, "unchanged", "EP-007"), (3, "unchanged", "REQ-004")]


async def test_one_row_that_cannot_be_imported_keeps_all_others_out(world: World) -> None:
    content = "kind,title,priority\nepic,One,1\nepic,Two,urgent\nepic,,1\n"
    with pytest.raises(InvalidError) as refusal:
        await world.call("import_items", format="csv", content=content)
    assert refusal.value.message == (
        "content: 2 of 3 rows cannot be imported, so nothing was; row 3: priority: there is no "
        "priority 'urgent'; there are: Critical, High, Medium, Low"
    )
    assert [(row.row, row.errors[0].partition(":")[0]) for row in refusal.value.data["rows"]] == [
        *((3, "priority"), (4, "title")),
    ]
    assert (await world.call("list_epics")).total == 0


async def test_a_partial_import_leaves_out_what_cannot_be_imported(world: World) -> None:
    content = (
        "kind,reference_id,parent,title,status,links\n"
        "epic,EP-001,,One,Nonsense,\n"
        "epic,EP-002,,Two,,relates_to EP-003\n"
        "user_story,US-001,EP-001,Lost,,\n"
        "user_story,US-002,EP-002,Kept,,relates_to EP-002\n"
    )
    report = await world.call("import_items", format="csv", content=content, partial=True)
    assert (report.created, report.failed) == (3, 3)
    assert told(report) == [
        (2, "failed", ""),
        (3, "created", "EP-002"),
        (3, "failed", ""),
        (4, "failed", ""),
        (5, "created", "US-002"),
        (5, "created", "US-002 relates_to EP-002"),
    ]
    assert (await world.call("search_global", query="two kept lost one")).total == 2


async def test_a_row_that_contradicts_the_database_fails_alone_where_that_is_wanted(
    world: World,
) -> None:
    await world.call("create_prompt", world.admin, name="helper", content="Help.")
    content = "kind,name,content\nprompt,helper,Help more.\nprompt,other,Help others.\n"
    report = await world.call(
        "import_items", world.admin, format="csv", content=content, partial=True
    )
    assert [row.action for row in report.rows] == ["failed", "created"]


async def test_a_dry_run_only_tells(world: World) -> None:
    preview = await world.call("import_items", format="csv", content=TABLE, dry_run=True)
    assert preview.result.created == 5
    assert (await world.call("list_epics")).total == 0


async def test_an_import_is_one_change_that_can_be_undone(world: World) -> None:
    report = await world.call("import_items", format="csv", content=TABLE)
    await world.call("undo", change_id=report.change_id)
    assert (await world.call("search_global", query="*")).total == 0


async def test_another_project_with_the_same_names_gets_names_of_its_own(world: World) -> None:
    await world.call("import_items", format="csv", content=TABLE)
    other = (
        "kind,reference_id,parent,title,links,id\n"
        "epic,EP-007,,Other,,a0000000-0000-4000-8000-000000000001\n"
        "user_story,US-003,EP-007,Its story,relates_to EP-007,a0000000-0000-4000-8000-000000000002\n"
    )
    report = await world.call("import_items", format="csv", content=other)
    assert told(report) == [
        (2, "created", "EP-008"),
        (3, "created", "US-004"),
        (3, "created", "US-004 relates_to EP-008"),
    ]
    assert report.rows[0].notes == ["EP-007 is something else here"]
    story = await world.call("get_user_story", id="US-004")
    assert story.epic_reference_id == "EP-008"


async def test_only_an_administrator_keeps_who_made_things_and_when(world: World) -> None:
    content = "kind,title,creator,created_at\nepic,One,otto,2020-01-01T00:00:00.000000Z\n"
    await world.call("import_items", format="csv", content=content)
    await world.call("import_items", world.admin, format="csv", content=content)
    first, second = [await world.call("get_epic", id=name) for name in ("EP-001", "EP-002")]
    assert (first.creator, first.created_at > "2026") == ("uma", True)
    assert (second.creator, second.created_at) == ("otto", "2020-01-01T00:00:00.000000Z")


async def test_people_who_are_not_known_are_told(world: World) -> None:
    content = "kind,title,creator,assignee\nepic,One,zoe,yan\n"
    report = await world.call("import_items", world.admin, format="csv", content=content)
    assert report.rows[0].notes == [
        "assignee: 'yan' is not known here",
        "'zoe' is not known here: it belongs to you",
    ]
    assert (await world.call("get_epic", id="EP-001")).assignee is None


SENSELESS = {
    "EP-001,REQ-001,epic,,,T": "id: 'EP-001' is no UUID",
    f",EP-{MAX_NUMBER + 1},epic,,,T": "reference_id: 'EP-10000000' is no name of epic",
    ",REQ-001,epic,,,T": "reference_id: 'REQ-001' is no name of epic",
    "not-a-uuid,,epic,,,T": "id: 'not-a-uuid' is no UUID",
    ",,epic,2999-01-01T00:00:00.000000Z,,T": "created_at: '2999-01-01T00:00:00.000000Z' is no time "
    "of the past",
    ",,epic,yesterday,,T": "created_at: 'yesterday' is no time of the past",
    ",,epic,,EP-001,T": "parent: Epic has no such field",
    ",,user_story,,EP-404,T": "there is no item 'EP-404'",
    ",,user_story,,,T": "epic_id: is required",
    f",,epic,,,{'x' * 501}": "title: expected `str` of length <= 500",
    ",,epic,,,T,more": "7 cells for 6 columns",
}


async def test_rows_that_make_no_sense_fail_with_a_reason(world: World) -> None:
    for row, reason in SENSELESS.items():
        content = f"id,reference_id,kind,created_at,parent,title\n{row}\n"
        with pytest.raises(InvalidError, match="1 of 1 rows") as refusal:
            await world.call("import_items", world.admin, format="csv", content=content)
        assert refusal.value.data["rows"][0].errors == [reason]


FORMLESS = (
    ("json", "[]"),
    ("json", "{"),
    ("json", '{"format": "accord-hub", "version": 2}'),
    ("json", '{"format": "accord-hub", "version": 1, "more": []}'),
    ("json", "[" * 100_000),
    ("csv", "kind,colour\nepic,red\n"),
    ("csv", "kind,kind\nepic,epic\n"),
    ("csv", 'kind,title\nepic,"open\n'),
    ("csv", "\n"),
    ("markdown", "nothing of ours"),
    ("reqif", "<a>"),
    ("reqif", "nothing"),
    ("reqif", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
    ("reqif", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'),
    ("reqif", "<a>" * 101 + "</a>" * 101),
)


async def test_texts_that_are_of_no_format_are_refused(world: World) -> None:
    for format, content in FORMLESS:
        with pytest.raises(InvalidError, match="content: "):
            await world.call("import_items", format=format, content=content)


async def test_a_fault_in_one_record_of_json_is_told_by_its_row(world: World) -> None:
    content = """{"format": "accord-hub", "version": 1, "items": [
        {"kind": "epic", "title": "One"}, {"kind": "epic", "titel": "Two"}]}"""
    report = await world.call("import_items", format="json", content=content, partial=True)
    assert [(row.row, row.action) for row in report.rows] == [(1, "created"), (2, "failed")]
    assert "unknown field `titel`" in report.rows[1].errors[0]


async def test_too_many_rows_are_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.hub.exchange.importer.MAX_ROWS", 3)
    with pytest.raises(InvalidError, match="more than 3 rows"):
        await world.call("import_items", format="csv", content=TABLE)


async def test_a_commenter_imports_nothing_and_a_user_no_prompts(world: World) -> None:
    with pytest.raises(ForbiddenError):
        await world.call("import_items", world.commenter, format="csv", content=TABLE)
    content = "kind,name,content\nprompt,helper,Help.\n"
    with pytest.raises(InvalidError, match="needs the role Administrator"):
        await world.call("import_items", format="csv", content=content)


async def test_a_document_for_people_can_bring_new_things(world: World) -> None:
    content = """\
Notes from the workshop.

## EP: Boarding
- Priority: high
- Labels: harbour

How people come aboard.

### US: Scan a ticket

As a steward I want to scan tickets so that the queue moves.

#### AC

It beeps.

#### REQ: Scan quickly
- Type: non-functional
- relates_to: EP-001

When a ticket is scanned, the scanner shall show the result within 1 s.
"""
    report = await world.call("import_items", format="markdown", content=content)
    assert told(report) == [
        (1, "created", "EP-001"),
        (2, "created", "US-001"),
        (3, "created", "AC-001"),
        (4, "created", "REQ-001"),
        (4, "created", "REQ-001 relates_to EP-001"),
    ]
    requirement = await world.call("get_requirement", id="REQ-001")
    assert (requirement.type, requirement.user_story_reference_id) == ("Non-Functional", "US-001")


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
    """Return the row counts of all tables that an import changes."""
    counts = [f"SELECT count(*) AS total FROM {table}" for table in IMPORTED]
    return [[row["total"] for row in await world.store.fetch(count)] for count in counts]


@pytest.fixture
async def elsewhere(tmp_path: Path) -> AsyncIterator[World]:
    """Return a hub with the sample project, including people that no other hub has."""
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
