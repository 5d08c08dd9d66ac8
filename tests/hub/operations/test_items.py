"""Items: create, get, update and delete; criteria of requirements; rights."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from accord.hub.operations import (
    changes,
    comments,
    context,
    documents,
    hierarchy,
    items,
    proposals,
    texts,
)
from accord.operations.context import Scope
from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServiceError,
    StaleError,
)
from tests.hub.world import World


async def tree(world: World) -> None:
    """Create EP-001 with US-001 with REQ-001, all by uma."""
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


async def stories(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    for number in range(2):
        await world.call("create_user_story", epic_id="EP-001", title=f"Story {number}")
    await world.call("create_acceptance_criteria", user_story_id="US-001", description="It works.")


async def test_criteria_have_an_author_and_a_story(world: World) -> None:
    await stories(world)
    found = to_builtins(await world.call("get_acceptance_criteria", id="ac-1"))
    story = await world.call("get_user_story", id="US-001")
    assert found == {
        "id": found["id"],
        "reference_id": "AC-001",
        "version": 1,
        "created_at": found["created_at"],
        "updated_at": found["created_at"],
        "user_story_id": story.id,
        "user_story_reference_id": "US-001",
        "summary": "It works.",
        "description": "It works.",
        "author": "uma",
        "labels": [],
    }


async def test_a_requirement_belongs_to_criteria_of_its_own_story(world: World) -> None:
    await stories(world)
    with pytest.raises(InvalidError) as refused:
        await world.call(
            "create_requirement", user_story_id="US-002", title="x", acceptance_criteria_id="AC-001"
        )
    assert refused.value.errors[0].pointer == "/acceptance_criteria_id"
    with pytest.raises(NotFoundError, match="US-001 is not acceptance criteria"):
        await world.call(
            "create_requirement", user_story_id="US-001", title="x", acceptance_criteria_id="US-001"
        )
    made = await world.call(
        "create_requirement", user_story_id="US-001", title="x", acceptance_criteria_id="AC-001"
    )
    assert made.acceptance_criteria_reference_id == "AC-001"
    loose = await world.call("update_requirement", id="REQ-001", acceptance_criteria_id=None)
    assert loose.acceptance_criteria_id is None


async def test_requirements_survive_their_criteria(world: World) -> None:
    await stories(world)
    await world.call(
        "create_requirement", user_story_id="US-001", title="x", acceptance_criteria_id="AC-001"
    )
    with pytest.raises(ConflictError, match="AC-001 has children or links: REQ-001"):
        await world.call("delete_acceptance_criteria", id="AC-001")
    await world.call("delete_acceptance_criteria", world.admin, id="AC-001", force=True)
    left = await world.call("get_requirement", id="REQ-001")
    assert (left.acceptance_criteria_id, left.version) == (None, 2)


async def test_a_steering_document_is_linked_to_epics(world: World) -> None:
    for title in ("Checkout", "Shipping"):
        await world.call("create_epic", title=title)
    made = await world.call("create_steering_document", title="Law", epic_ids=["ep-2", "EP-001"])
    assert made.epics == ["EP-001", "EP-002"]
    outcome = await world.outcome("update_steering_document", id="STD-001", epic_ids=["EP-002"])
    assert (outcome.result.epics, outcome.result.version) == (["EP-002"], 1)
    assert [(each.action, each.kind) for each in outcome.effects] == [("deleted", "steering_link")]
    found = await world.call("list_steering_documents", epic_id="EP-002")
    assert [each.reference_id for each in found.items] == ["STD-001"]
    with pytest.raises(ConflictError, match="EP-002 has children or links: STD-001 steers EP-002"):
        await world.call("delete_epic", id="EP-002")
    with pytest.raises(NotFoundError):
        await world.call("update_steering_document", id="STD-001", epic_ids=["EP-099"])


STEP = {"operation": "create_epic", "arguments": {"title": "x"}}
NOBODY = "00000000-0000-4000-8000-999999999999"

CASES: list[tuple[str, dict[str, Any], str, Scope]] = [
    *((f"create_{kind}", arguments, "AU", "write") for kind, arguments in (
        ("epic", {"title": "x"}),
        ("user_story", {"epic_id": "EP-001", "title": "x"}),
        ("acceptance_criteria", {"user_story_id": "US-001", "description": "x"}),
        ("requirement", {"user_story_id": "US-001", "title": "x"}),
        ("steering_document", {"title": "x"}),
    )),
    *((f"get_{kind}", {"id": "EP-001"}, "AUC", "read") for kind in ("epic", "user_story", "acceptance_criteria", "requirement", "steering_document", "prompt")),
    *((f"list_{kind}", {}, "AUC", "read") for kind in ("epics", "user_stories", "acceptance_criteria", "requirements", "steering_documents", "prompts", "comments", "proposals", "changes")),
    *((f"update_{kind}", {"id": "EP-001"}, "AU", "write") for kind in ("epic", "user_story", "acceptance_criteria", "requirement", "steering_document")),
    *((f"delete_{kind}", {"id": "EP-001"}, "AU", "write") for kind in ("epic", "user_story", "acceptance_criteria", "requirement", "steering_document")),
    ("create_prompt", {"name": "x", "content": "x"}, "A", "admin"),
    ("update_prompt", {"id": "x"}, "A", "admin"),
    ("delete_prompt", {"id": "x"}, "A", "admin"),
    ("activate_prompt", {"id": "x"}, "A", "admin"),
    ("deactivate_prompt", {"id": "x"}, "A", "admin"),
    ("get_active_prompt", {}, "AUC", "read"),
    ("add_comment", {"target_id": "EP-001", "text": "x"}, "AUC", "comment"),
    ("get_comment", {"id": NOBODY}, "AUC", "read"),
    ("update_comment", {"id": NOBODY, "text": "x"}, "AUC", "comment"),
    ("delete_comment", {"id": NOBODY}, "AUC", "comment"),
    ("resolve_comment", {"id": NOBODY}, "AUC", "comment"),
    ("edit_text", {"id": "EP-001", "old": "x", "new": "y"}, "AU", "write"),
    ("append_text", {"id": "EP-001", "text": "x"}, "AU", "write"),
    ("get_hierarchy", {}, "AUC", "read"),
    ("get_context", {"id": "EP-001"}, "AUC", "read"),
    ("move_item", {"id": "EP-001"}, "AU", "write"),
    ("history", {"id": "EP-001"}, "AUC", "read"),
    ("get_change", {"change_id": NOBODY}, "AUC", "read"),
    ("undo", {"change_id": NOBODY}, "AU", "write"),
    ("apply_changes", {"steps": [STEP]}, "AU", "write"),
    ("propose_changes", {"steps": [STEP], "reason": "x"}, "AU", "propose"),
    ("get_proposal", {"id": NOBODY}, "AUC", "read"),
    ("list_decided_proposals", {}, "AUC", "read"),
    ("check_proposal", {"id": NOBODY}, "AU", "write"),
    ("accept_proposal", {"id": NOBODY}, "AU", "write"),
    ("reject_proposal", {"id": NOBODY, "reason": "x"}, "AU", "write"),
]  # fmt: skip
SCOPES: tuple[Scope, ...] = ("read", "comment", "write", "propose", "run", "approve", "admin")


@pytest.mark.req("H-05", "H-14")
async def test_roles_and_scopes_allow_what_the_table_says_and_no_more(world: World) -> None:
    roles = {"A": world.admin, "U": world.user, "C": world.commenter}
    await world.call("create_epic", world.admin, title="Checkout")
    for operation, arguments, allowed, scope in CASES:
        for letter, caller in roles.items():
            assert await may(world, operation, caller, arguments) == (letter in allowed), operation
            for each in SCOPES:
                by_token = replace(caller, via="token", scopes=frozenset({each}))
                expected = letter in allowed and each == scope
                assert await may(world, operation, by_token, arguments) == expected, (
                    operation,
                    each,
                )


async def may(world: World, operation: str, caller: Any, arguments: dict[str, Any]) -> bool:
    """Return whether the caller has the right for a dry run of an operation.

    Missing items and items of other people are no refusals of the right.
    """
    found = world.runner.registry[operation]
    given = arguments | ({"dry_run": True} if found.writes else {})
    try:
        await world.outcome(operation, caller, **given)
    except ForbiddenError as error:
        return "needs" not in error.message
    except ServiceError:
        return True
    return True


def test_the_table_has_every_operation_of_its_modules() -> None:
    registries = (
        *(items.epics.operations, items.user_stories.operations),
        *(items.acceptance_criteria.operations, items.requirements.operations),
        *(changes.operations, comments.operations, context.operations, hierarchy.operations),
        *(documents.prompt_operations, documents.document_operations),
        *(proposals.operations, texts.text_operations),
    )
    known = {operation.name for each in registries for operation in each}
    assert {name for name, *_ in CASES} == known
