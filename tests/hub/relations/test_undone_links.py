"""Links, labels and rules put aside are taken back like everything else."""

from __future__ import annotations

import pytest

from accord.operations.errors import ConflictError
from tests.hub.relations.shop import Shop


async def test_a_link_is_taken_back_and_comes_back(shop: Shop) -> None:
    made = await shop.outcome(
        "create_relationship", source_id="REQ-001", target_id="REQ-002", type="blocks"
    )
    undone = await shop.outcome("undo", change_id=made.change_id)
    assert (await shop.call("list_relationships")).total == 0
    await shop.call("undo", change_id=undone.change_id)
    assert [each.id for each in (await shop.call("list_relationships")).items] == [made.result.id]


async def test_a_text_that_is_taken_back_makes_its_links_sound_again(shop: Shop) -> None:
    link = await shop.link("REQ-001", "verifies", "REQ-002")
    edited = await shop.outcome("update_requirement", id="REQ-001", description="Else.")
    assert (await shop.call("get_relationship", id=link)).suspect
    await shop.call("undo", change_id=edited.change_id)
    assert not (await shop.call("get_relationship", id=link)).suspect


async def test_a_confirmation_that_is_taken_back_leaves_the_link_suspect(shop: Shop) -> None:
    link = await shop.link("REQ-001", "verifies", "REQ-002")
    await shop.edit("REQ-001", "Else.")
    confirmed = await shop.outcome("confirm_relationship", id=link, reason="Read.")
    await shop.call("undo", change_id=confirmed.change_id)
    found = await shop.call("get_relationship", id=link)
    assert (found.suspect, found.changed) == (True, ["REQ-001"])


async def test_labels_types_views_and_suppressions_are_taken_back(shop: Shop) -> None:
    await shop.call("create_label", name="Security")
    for name, arguments in (
        ("label_item", {"id": "REQ-001", "label": "Security"}),
        ("create_label", {"name": "Safety"}),
        ("create_view", {"name": "Mine", "filter": {}}),
        ("suppress_lint", {"id": "REQ-001", "rule": "passive", "reason": "Law."}),
    ):
        made = await shop.world.outcome(name, None, **arguments)
        await shop.call("undo", change_id=made.change_id)
    assert (await shop.call("get_requirement", id="REQ-001")).labels == []
    assert [each.name for each in (await shop.call("list_labels")).items] == ["Security"]
    assert (await shop.call("list_views")).total == 0
    assert (await shop.call("lint_requirement", id="REQ-001")).suppressed == []
    admin = shop.world.admin
    made = await shop.outcome("create_requirement_type", admin, name="Legal")
    await shop.call("undo", admin, change_id=made.change_id)
    assert (await shop.call("list_requirement_types")).total == 5


async def test_a_baseline_is_not_taken_back(shop: Shop) -> None:
    made = await shop.outcome("create_baseline", name="Release 1")
    with pytest.raises(ConflictError, match="baseline cannot be undone"):
        await shop.call("undo", change_id=made.change_id)


async def test_a_link_that_would_close_a_circle_by_now_does_not_come_back(shop: Shop) -> None:
    await shop.link("REQ-001", "blocks", "REQ-002")
    gone = await shop.outcome(
        "delete_relationship", source_id="REQ-001", target_id="REQ-002", type="blocks"
    )
    await shop.link("REQ-002", "blocks", "REQ-001")
    with pytest.raises(ConflictError, match="circle"):
        await shop.call("undo", change_id=gone.change_id)
