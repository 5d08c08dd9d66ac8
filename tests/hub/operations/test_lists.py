"""Lists of items, and their limits."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from typing import Any

import pytest

from accord.hub.operations.baselines import MAX_BASELINES
from accord.hub.operations.reference_data import MAX_LABELS, MAX_TYPES
from accord.hub.operations.search import MAX_VIEWS
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.store import Transaction
from tests.hub.world import World


async def shop(world: World) -> None:
    """Create two epics with two stories each; those of EP-001 have two requirements each."""
    for epic in ("EP-001", "EP-002"):
        await world.call("create_epic", title=f"About {epic}")
        for number in range(2):
            await world.call(
                "create_user_story", epic_id=epic, title=f"Story {number}", priority=number + 1
            )
    for story in ("US-001", "US-002"):
        await world.call("create_acceptance_criteria", user_story_id=story, description="It works.")
        for type in ("Functional", "Data"):
            await world.call(
                "create_requirement",
                world.other,
                user_story_id=story,
                title=f"{type} {story}",
                type=type,
            )
    await world.call(
        "update_requirement", id="REQ-001", status="Active", acceptance_criteria_id="AC-001"
    )
    await world.call("create_label", name="Later")
    await world.call("label_item", id="REQ-004", label="Later")


@pytest.mark.req("H-57")
@pytest.mark.parametrize(
    ("operation", "arguments", "expected"),
    [
        ("list_requirements", {"status": ["Active", "Obsolete"]}, ["REQ-001", "REQ-002"]),
        ("list_requirements", {"status": ["active"]}, ["REQ-001"]),
        (
            "list_requirements",
            {"type": ["data", "Functional"], "label": ["later", "no"]},
            ["REQ-004"],
        ),
        ("list_requirements", {"creator": ["uma", "otto"], "status": "Active"}, ["REQ-001"]),
        ("list_requirements", {"assignee": "unassigned"}, ["REQ-003"]),
        ("list_requirements", {"assignee": ["Unassigned", "uma"]}, ["REQ-003", "REQ-004"]),
        ("list_requirements", {"assignee": ["uma", "ada"]}, ["REQ-004"]),
        ("list_user_stories", {"priority": [2, 4], "epic_id": "EP-002"}, ["US-004"]),
        ("list_user_stories", {"status": ["Done", "Draft"], "assignee": "unassigned"}, []),
        ("list_epics", {"assignee": ["unassigned"], "status": ["Backlog", "Done"]}, ["EP-002"]),
        ("list_acceptance_criteria", {"creator": ["uma", "ada"], "label": ["x", "y"]}, []),
        ("list_steering_documents", {"creator": ["uma", "ada"]}, []),
    ],
)
async def test_filters_take_several_values_and_find_the_unassigned(
    world: World, operation: str, arguments: dict[str, Any], expected: list[str]
) -> None:
    await shop(world)
    await world.call("update_requirement", id="REQ-002", status="Obsolete")
    await world.call("update_requirement", id="REQ-003", assignee=None)
    await world.call("update_requirement", id="REQ-004", assignee="uma")
    await world.call("update_epic", id="EP-002", assignee=None)
    found = await world.call(operation, world.commenter, **arguments)
    assert [each.reference_id for each in found.items] == expected
    assert found.total == len(expected)


@pytest.mark.req("H-57")
async def test_a_cursor_fits_the_same_values_in_any_order(world: World) -> None:
    await shop(world)
    first = await world.call("list_requirements", type=["Functional", "Data"], limit=3)
    given = {"limit": 3, "cursor": first.next_cursor}
    last = await world.call("list_requirements", type=["data", "functional", "data"], **given)
    assert [each.reference_id for each in last.items] == ["REQ-004"]
    for other in ("Data", ["Data", "Interface"]):
        with pytest.raises(InvalidError, match="cursor"):
            await world.call("list_requirements", type=other, **given)


@pytest.mark.parametrize(
    ("operation", "arguments", "expected"),
    [
        ("list_epics", {}, ["EP-001", "EP-002"]),
        ("list_epics", {"sort": "-reference_id"}, ["EP-002", "EP-001"]),
        ("list_user_stories", {"epic_id": "ep-2"}, ["US-003", "US-004"]),
        ("list_user_stories", {"priority": 2}, ["US-002", "US-004"]),
        ("list_user_stories", {"sort": "-priority", "limit": 2}, ["US-004", "US-002"]),
        ("list_acceptance_criteria", {"user_story_id": "US-002"}, ["AC-002"]),
        ("list_acceptance_criteria", {"epic_id": "EP-001"}, ["AC-001", "AC-002"]),
        ("list_requirements", {"epic_id": "EP-001"}, ["REQ-001", "REQ-002", "REQ-003", "REQ-004"]),
        ("list_requirements", {"epic_id": "EP-002"}, []),
        ("list_requirements", {"user_story_id": "US-002"}, ["REQ-003", "REQ-004"]),
        ("list_requirements", {"acceptance_criteria_id": "AC-001"}, ["REQ-001"]),
        ("list_requirements", {"status": "Active"}, ["REQ-001"]),
        ("list_requirements", {"type": "data", "user_story_id": "US-001"}, ["REQ-002"]),
        ("list_requirements", {"creator": "otto", "assignee": "OTTO", "limit": 1}, ["REQ-001"]),
        ("list_requirements", {"creator": "uma"}, []),
        ("list_requirements", {"label": "later"}, ["REQ-004"]),
        ("list_requirements", {"label": "never"}, []),
        ("list_requirements", {"updated_since": "2020-01-01", "limit": 1}, ["REQ-001"]),
        ("list_requirements", {"updated_since": "2999-01-01T00:00:00Z"}, []),
    ],
)
async def test_lists_have_what_was_asked_for(
    world: World, operation: str, arguments: dict[str, Any], expected: list[str]
) -> None:
    await shop(world)
    found = await world.call(operation, world.commenter, **arguments)
    assert [each.reference_id for each in found.items] == expected


async def test_a_page_says_how_many_there_are_and_whether_more_come(world: World) -> None:
    await shop(world)
    first = await world.call("list_requirements", limit=3)
    assert (len(first.items), first.total, first.has_more) == (3, 4, True)
    last = await world.call("list_requirements", limit=3, cursor=first.next_cursor)
    assert (
        [each.reference_id for each in last.items],
        last.next_cursor,
        last.has_more,
        last.total,
    ) == (*(["REQ-004"], None, False, 4),)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"epic_id": "EP-099"}, NotFoundError),
        ({"epic_id": "US-001"}, NotFoundError),
        ({"assignee": "nobody"}, InvalidError),
        ({"assignee": ["unassigned", "nobody"]}, InvalidError),
        ({"creator": "unassigned"}, InvalidError),
        ({"status": []}, InvalidError),
        ({"status": ["Draft"] * 21}, InvalidError),
        ({"status": ["Draft", "Done"]}, InvalidError),
        ({"priority": [1, 5]}, InvalidError),
        ({"type": "Wish"}, InvalidError),
        ({"updated_since": "yesterday"}, InvalidError),
        ({"updated_since": "2020-01-01T00:00:00+02:00"}, InvalidError),
        ({"sort": "colour"}, InvalidError),
        ({"limit": 0}, InvalidError),
        ({"limit": 101}, InvalidError),
        ({"status": "Done"}, InvalidError),
    ],
)
async def test_what_cannot_be_asked_for_is_refused(
    world: World, arguments: dict[str, Any], error: type[Exception]
) -> None:
    await shop(world)
    with pytest.raises(error):
        await world.call("list_requirements", **arguments)


def cursor(text: str) -> str:
    return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "x",
        "ä",
        "=" * 10,
        cursor("{}"),
        cursor("[]"),
        cursor("null"),
        cursor('["x"]'),
        cursor('["000000000000",1,"x"]'),
        cursor("[" * 900),
    ],
)
async def test_a_cursor_that_no_list_gave_is_refused(world: World, bad: str) -> None:
    with pytest.raises(InvalidError) as refused:
        await world.call("list_epics", cursor=bad)
    assert refused.value.errors[0].pointer == "/cursor"


@pytest.mark.parametrize(
    "value", ["9223372036854775808", "-1e400", '"\\u0000"', "1.5", "3000000000"]
)
async def test_a_cursor_with_other_values_is_refused_or_harmless(world: World, value: str) -> None:
    for _ in range(2):
        await world.call("create_epic", title="x")
    given = await world.call("list_epics", limit=1, sort="priority")
    inside = urlsafe_b64decode(given.next_cursor + "==").decode()
    tampered = cursor(inside.replace(",3,", f",{value},"))
    assert tampered != given.next_cursor
    with suppress(InvalidError):
        found = await world.call("list_epics", sort="priority", cursor=tampered)
        assert found.items == []


async def test_a_cursor_of_another_list_filter_or_order_is_refused(world: World) -> None:
    await shop(world)
    given = (await world.call("list_requirements", limit=1)).next_cursor
    for operation, arguments in (
        ("list_user_stories", {}),
        ("list_requirements", {"status": "Draft"}),
        ("list_requirements", {"sort": "-reference_id"}),
    ):
        with pytest.raises(InvalidError, match="belongs to another list"):
            await world.call(operation, None, cursor=given, **arguments)


LABEL = "INSERT INTO labels (id, name, name_key, colour, created_at) VALUES ($1, $1, $1, '', '')"
TYPE = "INSERT INTO requirement_types (name, name_key, created_at) VALUES ($1, $1, '')"
LINK_TYPE = (
    "INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ($1, $1, 1, 0)"
)
VIEW = (
    "INSERT INTO saved_views (id, owner_id, name, filter, created_at, updated_at) "
    "SELECT $1, id, $1, '{}', '', '' FROM users WHERE username = 'ada'"
)
BASELINE = (
    "INSERT INTO baselines (id, name, name_key, author_id, created_at) "
    "SELECT $1, $1, $1, id, '' FROM users WHERE username = 'ada'"
)


@pytest.mark.parametrize(
    ("statement", "number", "operation", "arguments"),
    [
        (LABEL, MAX_LABELS, "create_label", {"name": "One more"}),
        (TYPE, MAX_TYPES, "create_requirement_type", {"name": "One more"}),
        (LINK_TYPE, MAX_TYPES, "create_relationship_type", {"name": "one_more", "symmetric": True}),
        (VIEW, MAX_VIEWS, "create_view", {"name": "One more", "filter": {}}),
        (BASELINE, MAX_BASELINES, "create_baseline", {"name": "One more"}),
    ],
)
async def test_there_is_an_end_to_everything(
    world: World, statement: str, number: int, operation: str, arguments: dict[str, Any]
) -> None:
    async def fill(transaction: Transaction) -> None:
        for each in range(number):
            await transaction.execute(statement, f"n{each}")

    await world.store.transact(fill)
    with pytest.raises(ConflictError, match="already"):
        await world.call(operation, world.admin, **arguments)
