"""Types, labels and saved views."""

from __future__ import annotations

import pytest

from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from tests.hub.operations.shop import Shop


async def test_requirement_types_are_listed_for_everybody(shop: Shop) -> None:
    page = await shop.call("list_requirement_types", shop.world.commenter)
    assert [each.name for each in page.items] == [
        *("Business Rule", "Data", "Functional", "Interface", "Non-Functional"),
    ]
    assert (page.total, page.has_more) == (5, False)


async def test_administrators_add_describe_and_delete_requirement_types(shop: Shop) -> None:
    admin = shop.world.admin
    made = await shop.call("create_requirement_type", admin, name="Legal  Duty", description="Law.")
    assert (made.name, made.description) == ("Legal Duty", "Law.")
    with pytest.raises(ConflictError, match="'Legal Duty'"):
        await shop.call("create_requirement_type", admin, name="LEGAL DUTY")
    await shop.call("update_requirement_type", admin, name="legal duty", description="By law.")
    assert (await shop.call("get_requirement_type", name="Legal Duty")).description == "By law."
    same = await shop.outcome(
        "update_requirement_type", admin, name="legal duty", description="By law."
    )
    assert same.effects == ()
    await shop.call("create_requirement", user_story_id="US-001", type="legal duty", title="Keep")
    with pytest.raises(ConflictError, match="1 requirements have the type"):
        await shop.call("delete_requirement_type", admin, name="Legal Duty")
    gone = await shop.call("delete_requirement_type", admin, name="Data")
    assert gone.deleted == "Data"
    with pytest.raises(NotFoundError, match="there are: Business Rule"):
        await shop.call("get_requirement_type", name="Data")
    with pytest.raises(ForbiddenError):
        await shop.call("create_requirement_type", name="Mine")


async def test_relationship_types_are_listed_with_their_rules(shop: Shop) -> None:
    page = await shop.call("list_relationship_types")
    assert {each.name: (each.inverse, each.symmetric, each.acyclic) for each in page.items} == {
        "blocks": ("is_blocked_by", False, True),
        "conflicts_with": ("conflicts_with", True, False),
        "depends_on": ("is_depended_on_by", False, True),
        "derives_from": ("is_source_of", False, True),
        "duplicates": ("is_duplicated_by", False, False),
        "refines": ("is_refined_by", False, True),
        "relates_to": ("relates_to", True, False),
        "satisfies": ("is_satisfied_by", False, False),
        "verifies": ("is_verified_by", False, False),
    }


async def test_administrators_add_and_delete_relationship_types(shop: Shop) -> None:
    admin = shop.world.admin
    await shop.call(
        "create_relationship_type", admin, name="precedes", inverse="follows", acyclic=True
    )
    await shop.call("create_relationship_type", admin, name="resembles", symmetric=True)
    await shop.link("REQ-001", "precedes", "REQ-002")
    with pytest.raises(ConflictError, match="precedes would close a circle"):
        await shop.link("REQ-002", "precedes", "REQ-001")
    with pytest.raises(ConflictError, match="1 relationships have the type 'precedes'"):
        await shop.call("delete_relationship_type", admin, name="precedes")
    await shop.call("delete_relationship_type", admin, name="resembles")
    with pytest.raises(NotFoundError, match="resembles"):
        await shop.call("get_relationship_type", name="resembles")
    assert (await shop.call("get_relationship_type", name="Precedes")).inverse == "follows"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": "Bad name", "inverse": "x"}, InvalidError),
        ({"name": "one_way"}, InvalidError),
        ({"name": "one_way", "inverse": "one_way"}, InvalidError),
        ({"name": "both", "symmetric": True, "acyclic": True}, InvalidError),
        ({"name": "both", "symmetric": True, "inverse": "other"}, InvalidError),
        ({"name": "blocks", "inverse": "x"}, ConflictError),
        ({"name": "x", "inverse": "is_blocked_by"}, ConflictError),
    ],
)
async def test_a_relationship_type_has_a_sense(
    shop: Shop, arguments: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await shop.world.call("create_relationship_type", shop.world.admin, **arguments)


async def test_labels_are_created_renamed_and_put_on_items(shop: Shop) -> None:
    made = await shop.call("create_label", name="Security", colour="#FF0000")
    assert (made.name, made.colour, made.used) == ("Security", "#ff0000", 0)
    await shop.call("label_item", id="REQ-001", label="security")
    again = await shop.outcome("label_item", id="REQ-001", label=made.id)
    assert (again.effects, again.result.labels) == ((), ["Security"])
    await shop.call("update_label", id="security", name="Safety")
    assert (await shop.call("get_requirement", id="REQ-001")).labels == ["Safety"]
    found = await shop.call("get_label", id="Safety")
    assert (found.id, found.used) == (made.id, 1)
    off = await shop.call("unlabel_item", id="REQ-001", label="Safety")
    assert off.labels == []
    assert (await shop.outcome("unlabel_item", id="REQ-001", label="Safety")).effects == ()


async def test_a_label_changes_no_version(shop: Shop) -> None:
    await shop.call("create_label", name="Security")
    await shop.call("label_item", id="REQ-001", label="Security")
    assert (await shop.call("get_requirement", id="REQ-001")).version == 1


async def test_a_wrong_label_is_answered_with_those_there_are(shop: Shop) -> None:
    await shop.call("create_label", name="Security")
    with pytest.raises(NotFoundError, match="no label 'Securty'; there are: Security"):
        await shop.call("label_item", id="REQ-001", label="Securty")
    with pytest.raises(ConflictError, match="'Security' already"):
        await shop.call("create_label", name=" SECURITY ")
    for wrong in ({"name": "  "}, {"name": "x", "colour": "red"}, {"name": "a\nb"}):
        with pytest.raises(InvalidError):
            await shop.world.call("create_label", None, **wrong)
    await shop.call("create_prompt", shop.world.admin, name="p", title="P", content="Do.")
    with pytest.raises(InvalidError, match="PROMPT-001 is a prompt"):
        await shop.call("label_item", id="PROMPT-001", label="Security")


async def test_a_label_is_its_own_name_in_other_letters(shop: Shop) -> None:
    await shop.call("create_label", name="security")
    renamed = await shop.call("update_label", id="security", name="Security", colour="#000000")
    assert (renamed.name, renamed.colour) == ("Security", "#000000")
    same = await shop.outcome("update_label", id="security", name="Security", colour="#000000")
    assert same.effects == ()


async def test_a_label_in_use_is_deleted_by_force_only(shop: Shop) -> None:
    await shop.call("create_label", name="Security")
    await shop.call("label_item", id="REQ-001", label="Security")
    with pytest.raises(ConflictError) as refused:
        await shop.call("delete_label", id="Security")
    assert refused.value.data == {"items": ["REQ-001"], "total": 1}
    with pytest.raises(ForbiddenError):
        await shop.call("delete_label", id="Security", force=True)
    await shop.call("delete_label", shop.world.admin, id="Security", force=True)
    assert (await shop.call("list_labels")).total == 0
    assert (await shop.call("get_requirement", id="REQ-001")).labels == []


async def test_labels_are_listed_page_by_page(shop: Shop) -> None:
    for name in ("b", "C", "a"):
        await shop.call("create_label", name=name)
    first = await shop.call("list_labels", limit=2)
    assert ([each.name for each in first.items], first.total) == (["a", "b"], 3)
    rest = await shop.call("list_labels", limit=2, cursor=first.next_cursor)
    assert ([each.name for each in rest.items], rest.has_more) == (["C"], False)


async def test_views_are_ones_own_or_shared(shop: Shop) -> None:
    mine = await shop.call(
        "create_view", name="Mine", filter={"kind": "requirement"}, sort="-priority"
    )
    ours = await shop.call("create_view", name="Ours", filter={"status": "Active"}, shared=True)
    for_me = await shop.call("list_views")
    assert [(each.name, each.owner) for each in for_me.items] == [("Mine", "uma"), ("Ours", "uma")]
    for_other = await shop.call("list_views", shop.world.other)
    assert ([each.name for each in for_other.items], for_other.total) == (["Ours"], 1)
    assert (await shop.call("get_view", id=mine.id)).filter.kind == "requirement"
    with pytest.raises(NotFoundError):
        await shop.call("get_view", shop.world.other, id=mine.id)
    with pytest.raises(ForbiddenError):
        await shop.call("update_view", shop.world.other, id=ours.id, name="Theirs")
    with pytest.raises(ForbiddenError):
        await shop.call("delete_view", shop.world.other, id=ours.id)


async def test_views_are_changed_and_deleted(shop: Shop) -> None:
    made = await shop.call("create_view", name="Mine", filter={})
    changed = await shop.call(
        "update_view",
        id=made.id,
        name="Open",
        filter={"status": "Draft"},
        sort="title",
        shared=True,
    )
    assert (changed.name, changed.filter.status, changed.sort, changed.shared) == (
        *("Open", "Draft", "title", True),
    )
    same = await shop.outcome("update_view", id=made.id, name="Open", sort="title")
    assert same.effects == ()
    with pytest.raises(ConflictError, match="'Open' already"):
        await shop.call("create_view", name="Open", filter={})
    with pytest.raises(InvalidError, match="filter/colour"):
        await shop.call("create_view", name="Wrong", filter={"colour": "red"})
    assert (await shop.call("delete_view", id=made.id)).deleted == "Open"
    with pytest.raises(NotFoundError):
        await shop.call("get_view", id=made.id)


@pytest.mark.req("H-56")
async def test_views_keep_statuses_that_there_are(shop: Shop) -> None:
    made = await shop.call("create_view", name="Mine", filter={"status": ["draft", "IN_PROGRESS"]})
    assert made.filter.status == ["Draft", "In Progress"]
    with pytest.raises(InvalidError, match="got 'Actve', did you mean Active") as raised:
        await shop.call("update_view", id=made.id, filter={"status": "Actve"})
    assert raised.value.errors[0].pointer == "/filter/status"


async def test_views_are_listed_page_by_page(shop: Shop) -> None:
    for name in ("a", "b", "c"):
        await shop.call("create_view", name=name, filter={})
    first = await shop.call("list_views", limit=2)
    rest = await shop.call("list_views", limit=2, cursor=first.next_cursor)
    assert [each.name for each in (*first.items, *rest.items)] == ["a", "b", "c"]
