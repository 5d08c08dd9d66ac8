"""Epics, stories, criteria, requirements and steering documents come, change and go."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    StaleError,
)
from tests.hub.world import World


async def tree(world: World) -> None:
    """EP-001 with US-001 with REQ-001, all of uma's."""
    await world.call("create_epic", title="Checkout")
    await world.call("create_user_story", epic_id="EP-001", title="Pay by card")
    await world.call("create_requirement", user_story_id="US-001", title="Cards are checked")


@pytest.mark.req("H-01")
async def test_a_new_epic_has_what_was_not_said_by_default(world: World) -> None:
    epic = await world.call("create_epic", title="Checkout")
    found = to_builtins(await world.call("get_epic", id="EP-001"))
    assert found == {
        "id": epic.id,
        "reference_id": "EP-001",
        "version": 1,
        "title": "Checkout",
        "description": "",
        "status": "Backlog",
        "priority": 3,
        "creator": "uma",
        "assignee": "uma",
        "labels": [],
        "created_at": epic.created_at,
        "updated_at": epic.created_at,
    }


@pytest.mark.req("H-01")
async def test_everything_is_found_by_uuid_and_by_reference_id_in_any_letter_case(
    world: World,
) -> None:
    epic = await world.call("create_epic", title="Checkout")
    for name in (epic.id, epic.id.upper(), "EP-001", "ep-001", "Ep-1", " EP-0001 "):
        assert (await world.call("get_epic", id=name)).id == epic.id


@pytest.mark.parametrize("name", ["EP-999", "EP-", "nobody", "EP-001; DROP TABLE items", "US-001"])
async def test_what_is_not_there_is_not_found(world: World, name: str) -> None:
    await world.call("create_epic", title="Checkout")
    with pytest.raises(NotFoundError):
        await world.call("get_epic", id=name)


async def test_an_id_of_another_kind_is_named_as_what_it_is(world: World) -> None:
    await tree(world)
    with pytest.raises(NotFoundError, match="REQ-001 is not an epic, it is a requirement"):
        await world.call("get_epic", id="REQ-001")


async def test_numbers_are_given_once_and_grow_beyond_three_digits(world: World) -> None:
    await world.store.execute("UPDATE counters SET last = 998 WHERE kind = 'epic'")
    made = [await world.call("create_epic", title="An epic") for _ in range(2)]
    await world.call("delete_epic", id="EP-1000")
    made.append(await world.call("create_epic", title="An epic"))
    assert [each.reference_id for each in made] == ["EP-999", "EP-1000", "EP-1001"]


async def test_an_update_changes_what_was_given_and_counts_the_version(world: World) -> None:
    await tree(world)
    story = await world.call("update_user_story", id="us-1", status="Draft", assignee="otto")
    assert (story.title, story.status, story.assignee, story.version) == (
        *("Pay by card", "Draft", "otto", 2),
    )
    assert (await world.call("update_user_story", id="US-001", assignee=None)).assignee is None


async def test_an_update_that_changes_nothing_has_no_effect(world: World) -> None:
    await tree(world)
    outcome = await world.outcome("update_epic", id="EP-001", title="Checkout", expected_version=1)
    assert (outcome.effects, outcome.change_id, outcome.result.version) == ((), "", 1)


async def test_a_status_follows_only_where_the_table_says_so(world: World) -> None:
    await tree(world)
    with pytest.raises(InvalidError, match="'Done' does not follow on 'Backlog'; allowed: Draft"):
        await world.call("update_epic", id="EP-001", status="Done")
    await world.call("update_epic", id="EP-001", status="In Progress")
    assert (await world.call("update_epic", id="EP-001", status="Done")).status == "Done"


async def test_a_stale_update_gets_the_differences_and_changes_nothing(world: World) -> None:
    await tree(world)
    await world.call("update_requirement", id="REQ-001", title="Cards are charged", priority=1)
    await world.call("update_requirement", id="REQ-001", priority=2)
    with pytest.raises(StaleError) as refused:
        await world.call("update_requirement", id="REQ-001", title="Lost", expected_version=1)
    assert to_builtins(refused.value.data) == {
        "current_version": 3,
        "differences": [
            {"field": "title", "before": "Cards are checked", "after": "Cards are charged"},
            {"field": "priority", "before": 3, "after": 2},
        ],
    }
    assert (await world.call("get_requirement", id="REQ-001")).title == "Cards are charged"


async def test_a_version_that_is_not_there_yet_is_refused(world: World) -> None:
    await tree(world)
    with pytest.raises(InvalidError, match="expected_version: EP-001 has only version 1 as yet"):
        await world.call("update_epic", id="EP-001", title="Later", expected_version=2)


async def test_a_wrong_assignee_is_answered_with_the_people_there_are(world: World) -> None:
    with pytest.raises(InvalidError) as refused:
        await world.call("create_epic", title="Checkout", assignee="nobody")
    assert refused.value.message == (
        "assignee: there is no active user 'nobody'; there are: ada, carl, otto, uma"
    )
    assert refused.value.data == {"valid": ["ada", "carl", "otto", "uma"]}


async def test_a_wrong_type_is_answered_with_the_types_there_are(world: World) -> None:
    await tree(world)
    with pytest.raises(InvalidError, match=r"type: there is no requirement type 'Wish'; there are"):
        await world.call("update_requirement", id="REQ-001", type="Wish")
    requirement = await world.call("update_requirement", id="REQ-001", type="business RULE")
    assert requirement.type == "Business Rule"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("title", "a\nb"),
        ("title", "\x00"),
        ("title", "   "),
        ("title", "\u2028x"),
        ("description", "a\x00b"),
        ("description", "a\x1bb"),
        ("description", "a\rb"),
        ("description", "\x85"),
        ("description", "\ud800"),
    ],
)
async def test_characters_that_are_no_text_are_refused(world: World, field: str, text: str) -> None:
    arguments: dict[str, Any] = {"title": "Checkout", field: text}
    with pytest.raises(InvalidError) as refused:
        await world.call("create_epic", **arguments)
    assert refused.value.errors[0].pointer == f"/{field}"


async def test_markdown_is_kept_as_it_is(world: World) -> None:
    text = "# Zahlung\r\n\n\t- <b>fett</b> '; DROP TABLE items; -- $1 %s {x} 🙂 \u202e" * 100
    await world.call("create_epic", title="Checkout", description=text)
    assert (await world.call("get_epic", id="EP-001")).description == text


@pytest.mark.parametrize("field", ["title", "description"])
async def test_lengths_are_counted_in_characters(world: World, field: str) -> None:
    longest = {"title": 500, "description": 50_000}[field]
    just: dict[str, Any] = {"title": "x", field: "🙂" * longest}
    await world.call("create_epic", **just)
    over: dict[str, Any] = {"title": "x", field: "🙂" * (longest + 1)}
    with pytest.raises(InvalidError) as refused:
        await world.call("create_epic", **over)
    assert refused.value.errors[0].pointer == f"/{field}"


async def test_what_has_children_is_not_deleted_and_they_are_named(world: World) -> None:
    await tree(world)
    with pytest.raises(ConflictError) as refused:
        await world.call("delete_epic", id="EP-001")
    assert refused.value.message == "EP-001 has children or links: US-001"
    assert refused.value.data == {"children": ["US-001"], "links": [], "total": 1}


async def test_force_takes_everything_below_with_it(world: World) -> None:
    await tree(world)
    deleted = await world.call("delete_epic", world.admin, id="EP-001", force=True)
    assert (deleted.deleted, deleted.also_deleted) == ("EP-001", ["REQ-001", "US-001"])
    assert await world.store.fetch("SELECT id FROM items") == []


@pytest.mark.parametrize(
    ("who", "arguments", "is_allowed"),
    [
        ("user", {}, True),
        ("other", {}, False),
        ("user", {"force": True}, False),
        ("commenter", {}, False),
        ("admin", {}, True),
        ("admin", {"force": True}, True),
    ],
)
@pytest.mark.req("H-14")
async def test_users_delete_their_own_and_administrators_all(
    world: World, who: str, arguments: dict[str, Any], is_allowed: bool
) -> None:
    await world.call("create_epic", title="Checkout")
    call = world.call("delete_epic", getattr(world, who), id="EP-001", **arguments)
    if is_allowed:
        assert (await call).deleted == "EP-001"
    else:
        with pytest.raises(ForbiddenError):
            await call


async def test_concise_answers_leave_long_texts_out_and_fields_choose(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="x" * 1000)
    concise = to_builtins(await world.call("get_epic", id="EP-001", detail="concise"))
    assert "description" not in concise
    assert concise["title"] == "Checkout"
    [listed] = (await world.call("list_epics")).items
    assert listed.description == "x" * 1000
    [told] = (await world.call("list_epics", replace(world.user, face="mcp"))).items
    assert told.description is UNSET
    chosen = to_builtins(await world.call("get_epic", id="EP-001", fields=["title"]))
    assert list(chosen) == ["id", "reference_id", "version", "title"]
    with pytest.raises(InvalidError, match="fields: there is no field 'titel'; there are: title"):
        await world.call("get_epic", id="EP-001", fields=["titel"])
