"""Baselines: immutable, and compared with each other and with the present."""

from __future__ import annotations

import msgspec
import pytest

from accord.hub.entities import Difference
from accord.hub.operations.baselines import BaselineDifference, BaselineEntry
from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from accord.store.store import StoreError
from tests.hub.operations.shop import Shop
from tests.hub.world import World


async def test_a_baseline_keeps_what_everything_said(shop: Shop) -> None:
    await shop.call("update_steering_document", id="STD-001", epic_ids=["EP-001"])
    await shop.link("REQ-001", "verifies", "AC-001")
    made = await shop.call("create_baseline", name="Release 1", description="First.")
    assert (made.name, made.author, made.epic_reference_id, made.entries) == (
        *("Release 1", "uma", None, 11),
    )
    await shop.edit("REQ-001", "Something else.")
    found = await shop.call("get_baseline", id="release 1", limit=100)
    assert [each.reference_id for each in found.items] == [
        *(
            "AC-001",
            "EP-001",
            "REQ-001 verifies AC-001",
            "REQ-001",
            "REQ-002",
            "REQ-003",
            "REQ-004",
        ),
        *("STD-001", "STD-001 steers EP-001", "US-001", "US-002"),
    ]
    assert found.items[3] == BaselineEntry(
        reference_id="REQ-001",
        kind="requirement",
        version=1,
        content={
            "title": "Charge",
            "status": "Draft",
            "priority": 3,
            "type": "Functional",
            "parent": "US-001",
        },
    )


async def test_a_baseline_is_exported_with_all_that_is_in_it(shop: Shop) -> None:
    made = await shop.call("create_baseline", name="Release 1", epic_id="EP-001")
    file = await shop.call("export_baseline", id=made.id)
    content = msgspec.json.decode(file.content)
    assert (file.media_type, file.file_name, file.entries) == (
        *("application/json", f"baseline-{made.created_at[:10]}.json", 8),
    )
    assert (content["format"], content["name"], content["epic_reference_id"]) == (
        *("accord-baseline-1", "Release 1", "EP-001"),
    )
    assert [each["reference_id"] for each in content["entries"]] == [
        *("AC-001", "EP-001", "REQ-001", "REQ-002", "REQ-003", "REQ-004", "US-001", "US-002"),
    ]
    assert content["entries"][2]["content"]["title"] == "Charge"


async def test_a_baseline_of_an_epic_keeps_what_belongs_to_it(shop: Shop) -> None:
    await shop.call("create_epic", title="Other")
    await shop.call("create_user_story", epic_id="EP-002", title="Elsewhere")
    await shop.link("US-003", "relates_to", "US-001")
    made = await shop.call("create_baseline", name="Other", epic_id="EP-002")
    assert made.epic_reference_id == "EP-002"
    found = await shop.call("get_baseline", id=made.id)
    assert [each.reference_id for each in found.items] == [
        *("EP-002", "US-003 relates_to US-001", "US-003"),
    ]
    await shop.call("update_epic", id="EP-001", title="Not in it")
    await shop.call("update_epic", id="EP-002", title="In it")
    compared = await shop.call("compare_baselines", a="Other")
    assert [each.reference_id for each in compared.items] == ["EP-002"]


async def test_the_entries_of_a_baseline_come_page_by_page(shop: Shop) -> None:
    await shop.call("create_baseline", name="All")
    found, cursor = [], None
    while True:
        page = await shop.call("get_baseline", id="All", limit=4, cursor=cursor)
        assert page.total == 9
        found += [each.reference_id for each in page.items]
        cursor = page.next_cursor
        if not page.has_more:
            break
    assert len(found) == len(set(found)) == 9


async def test_a_comparison_tells_what_was_added_removed_and_changed(shop: Shop) -> None:
    await shop.link("REQ-001", "blocks", "REQ-003")
    await shop.call("create_baseline", name="Before")
    await shop.call("update_requirement", id="REQ-001", status="Active", title="Charge once")
    await shop.call("delete_requirement", id="REQ-002")
    await shop.call("create_requirement", user_story_id="US-001", type="Data", title="New")
    await shop.call("delete_relationship", source_id="REQ-001", target_id="REQ-003", type="blocks")
    await shop.link("REQ-001", "blocks", "REQ-003")
    await shop.call("create_baseline", name="After")
    expected = [
        BaselineDifference(
            reference_id="REQ-001",
            kind="requirement",
            title="Charge once",
            change="changed",
            differences=[
                Difference(field="title", before="Charge", after="Charge once"),
                Difference(field="status", before="Draft", after="Active"),
            ],
        ),
        BaselineDifference(
            reference_id="REQ-002",
            kind="requirement",
            title="Refund",
            change="removed",
            differences=[],
        ),
        BaselineDifference(
            reference_id="REQ-005",
            kind="requirement",
            title="New",
            change="added",
            differences=[],
        ),
    ]
    for b in ("After", "current"):
        found = await shop.call("compare_baselines", a="Before", b=b)
        assert found.items == expected
        assert (found.added, found.removed, found.changed, found.total) == (1, 1, 1, 3)
    backwards = await shop.call("compare_baselines", a="After", b="Before")
    assert (backwards.added, backwards.removed) == (1, 1)
    assert (await shop.call("compare_baselines", a="After", b="After")).total == 0


async def test_a_long_text_is_compared_line_by_line(shop: Shop) -> None:
    await shop.edit("REQ-001", "one\ntwo\nthree")
    await shop.call("create_baseline", name="Before")
    await shop.edit("REQ-001", "one\n2\nthree")
    found = await shop.call("compare_baselines", a="Before")
    assert found.items[0].differences == [
        Difference(field="description", diff="@@ -1,3 +1,3 @@\n one\n-two\n+2\n three")
    ]


async def test_a_comparison_comes_page_by_page(shop: Shop) -> None:
    await shop.call("create_baseline", name="Before")
    for id in ("REQ-001", "REQ-002", "REQ-003"):
        await shop.edit(id, "Changed.")
    first = await shop.call("compare_baselines", a="Before", limit=2)
    rest = await shop.call("compare_baselines", a="Before", limit=2, cursor=first.next_cursor)
    assert [each.reference_id for each in (*first.items, *rest.items)] == [
        *("REQ-001", "REQ-002", "REQ-003"),
    ]
    assert (first.total, rest.has_more) == (3, False)


async def test_baselines_are_listed_the_newest_first(shop: Shop) -> None:
    for name in ("1", "2", "3"):
        await shop.call("create_baseline", name=name)
    first = await shop.call("list_baselines", limit=2)
    rest = await shop.call("list_baselines", limit=2, cursor=first.next_cursor)
    assert [each.name for each in (*first.items, *rest.items)] == ["3", "2", "1"]


async def test_names_of_baselines_are_taken_once(shop: Shop) -> None:
    await shop.call("create_baseline", name="Release 1")
    with pytest.raises(ConflictError, match="'Release 1' already"):
        await shop.call("create_baseline", name="RELEASE  1")
    with pytest.raises(InvalidError, match="the present"):
        await shop.call("create_baseline", name="Current")
    with pytest.raises(NotFoundError, match="no baseline 'Release 2'; there are: Release 1"):
        await shop.call("get_baseline", id="Release 2")
    with pytest.raises(ForbiddenError):
        await shop.call("create_baseline", shop.world.commenter, name="Mine")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE baselines SET name = 'x'",
        "DELETE FROM baselines",
        "UPDATE baseline_entries SET content = '{}'",
        "DELETE FROM baseline_entries",
    ],
)
async def test_the_database_itself_keeps_baselines(shop: Shop, statement: str) -> None:
    await shop.call("create_baseline", name="Release 1")
    with pytest.raises(StoreError, match="a baseline never changes"):
        await shop.world.store.execute(statement)


async def test_a_dry_run_keeps_no_baseline(shop: Shop) -> None:
    preview = await shop.call("create_baseline", name="Release 1", dry_run=True)
    assert preview.result.entries == 9
    assert (await shop.call("list_baselines")).total == 0


@pytest.mark.req("H-62")
async def test_one_entry_of_a_baseline_is_given_as_it_was_kept(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="As agreed.")
    await world.call("create_baseline", name="R1")
    await world.call("update_epic", id="EP-001", description="Otherwise.")
    entry = await world.call("get_baseline_entry", id="r1", reference_id="ep-1")
    assert (entry.reference_id, entry.version) == ("EP-001", 1)
    assert entry.content["description"] == "As agreed."
    with pytest.raises(NotFoundError, match="EP-002 is not in the baseline 'R1'"):
        await world.call("get_baseline_entry", id="R1", reference_id="EP-002")
