"""MCP resources of the hub, the URIs that a change affects, and prompts.

Prompts come from the database; one of them is active.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from accord.hub.mcp.resources import (
    DEFAULT_INSTRUCTIONS,
    PROPOSING,
    RESOURCE_ROWS,
    ChangedEntity,
    ItemPlace,
    canonical,
    changes_items,
    changes_prompts,
    uris_of,
)
from accord.hub.registry import hub_operations
from tests.hub.mcp.hub import LEGACY, MODERN, PLAIN, WAYS, Hub
from tests.mcp.server.http.service import initialize


def contents(answer: Any) -> Any:
    """Return the decoded contents of a resource."""
    return msgspec.json.decode(answer.json["result"]["contents"][0]["text"])


async def story(hub: Hub) -> dict[str, Any]:
    """Create a small project; return its items by kind."""
    epic = await hub.tool("create_epic", title="Checkout")
    us = await hub.tool("create_user_story", epic_id="EP-001", title="Pay by card")
    ac = await hub.tool("create_acceptance_criteria", user_story_id="US-001", description="It pays")
    req = await hub.tool(
        "create_requirement", user_story_id="US-001", title="Cards", type="Functional"
    )
    return {"epic": epic, "user-story": us, "acceptance-criteria": ac, "requirement": req}


def test_all_resources_are_read_by_operations_that_there_are() -> None:
    known = {operation.name for operation in hub_operations()}
    assert {row.operation for row in RESOURCE_ROWS} - known == set()


@pytest.mark.req("H-06")
@pytest.mark.parametrize("way", WAYS)
async def test_entities_are_read_by_either_id(hub: Hub, way: str) -> None:
    for scheme, item in (await story(hub)).items():
        for name in (item["reference_id"], item["reference_id"].lower(), item["id"]):
            answer = await hub.read(f"{scheme}://{name}", way=way)
            found = answer.json["result"]["contents"][0]
            assert {key: found[key] for key in found if key != "text"} == {
                "uri": f"{scheme}://{name}",
                "mimeType": "application/json",
                "name": item["reference_id"],
                "description": item.get("title")
                or "Acceptance criteria by UUID or reference id, such as AC-001.",
            }
            assert contents(answer)["id"] == item["id"]


@pytest.mark.req("H-06")
async def test_trees_and_lists_are_below_entities(hub: Hub) -> None:
    items = await story(hub)
    second = await hub.tool(
        "create_requirement", user_story_id="US-001", title="Coins", type="Functional"
    )
    await hub.tool(
        "create_relationship",
        source_id="REQ-001",
        target_id=second["reference_id"],
        type="depends_on",
    )
    for uri in ("epic://EP-001/hierarchy", "user-story://US-001/hierarchy"):
        text = (await hub.read(uri)).json["result"]["contents"][0]["text"]
        assert all(name in text for name in ("US-001", "AC-001", "REQ-001")), uri
    for uri, expected in (
        ("epic://EP-001/user-stories", ["US-001"]),
        ("user-story://US-001/requirements", ["REQ-001", "REQ-002"]),
        ("user-story://US-001/acceptance-criteria", ["AC-001"]),
    ):
        page = contents(await hub.read(uri))
        assert [each["reference_id"] for each in page["items"]] == expected
        assert (page["total"], page["has_more"]) == (len(expected), False)
    for name in ("REQ-001", items["requirement"]["id"]):
        links = contents(await hub.read(f"requirement://{name}/relationships"))["items"]
        assert [each["target_reference_id"] for each in links] == ["REQ-002"]


@pytest.mark.req("H-06", "H-07")
async def test_lists_of_everything_are_resources(hub: Hub) -> None:
    await story(hub)
    await hub.tool("create_prompt", name="be-kind", content="Be kind.")
    for plural, expected in (
        ("epics", ["EP-001"]),
        ("user-stories", ["US-001"]),
        ("requirements", ["REQ-001"]),
        ("acceptance-criteria", ["AC-001"]),
        ("prompts", ["PROMPT-001"]),
    ):
        page = contents(await hub.read(f"requirements://{plural}"))
        assert [each["reference_id"] for each in page["items"]] == expected
    types = contents(await hub.read("requirements://requirement-types"))
    assert "Functional" in [each["name"] for each in types["items"]]
    some = contents(await hub.read("requirements://requirements?status=Active&limit=5"))
    assert some["items"] == []


@pytest.mark.req("H-07")
async def test_the_active_prompt_is_a_resource(hub: Hub) -> None:
    assert (await hub.read("requirements://prompts/active")).error == (200, -32002, 1)
    await hub.tool("create_prompt", name="be-kind", content="Be kind.")
    await hub.tool("activate_prompt", id="be-kind")
    found = contents(await hub.read("requirements://prompts/active"))
    assert (found["name"], found["content"], found["active"]) == ("be-kind", "Be kind.", True)


@pytest.mark.req("H-06")
@pytest.mark.parametrize(("way", "code"), [(PLAIN, -32002), (LEGACY, -32002), (MODERN, -32602)])
@pytest.mark.parametrize(
    "uri",
    [
        "epic://EP-404",
        "epic://US-001",
        "epic://00000000-0000-4000-8000-000000000404",
        "epic://nonsense/hierarchy",
        "user-story://EP-001/requirements",
        "requirement://" + "9" * 200,
        "prompt://nobody",
        "elsewhere://EP-001",
    ],
)
async def test_what_is_not_there_is_an_error_with_its_uri(
    hub: Hub, way: str, code: int, uri: str
) -> None:
    await hub.tool("create_epic", title="Checkout")
    answer = await hub.read(uri, way=way)
    assert answer.error == (200, code, 1)
    assert answer.json["error"]["data"]["uri"] == uri
    assert answer.json["error"]["data"]["reason"] == "resource_not_found"


async def test_a_cursor_of_another_list_is_refused(hub: Hub) -> None:
    answer = await hub.read("requirements://epics?cursor=nonsense")
    assert answer.error == (200, -32602, 1)


@pytest.mark.req("H-06")
@pytest.mark.parametrize("way", WAYS)
async def test_what_there_is_is_listed_page_by_page(hub: Hub, way: str) -> None:
    await story(hub)
    for number in range(130):
        await hub.world.call("create_epic", title=f"Epic {number}")
    listed: list[Any] = []
    cursor: dict[str, str] = {}
    pages = 0
    while True:
        page = (await hub.ask("resources/list", way=way, **cursor)).json["result"]
        listed += page["resources"]
        pages += 1
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    uris = [each["uri"] for each in listed]
    assert pages == 2
    assert len(uris) == len(set(uris)) == 8 + 131 + 3
    assert uris[:2] == ["requirements://epics", "requirements://user-stories"]
    assert uris[-3:] == [
        "user-story://US-001",
        "acceptance-criteria://AC-001",
        "requirement://REQ-001",
    ]
    assert listed[-1] == {
        "uri": "requirement://REQ-001",
        "name": "REQ-001",
        "title": "Cards",
        "description": "Requirement, Draft",
        "mimeType": "application/json",
    }
    bad = await hub.ask("resources/list", way=way, cursor="epic.x")
    assert bad.error == (200, -32602, 1)


@pytest.mark.req("H-06")
async def test_templates_are_listed(hub: Hub) -> None:
    found = (await hub.ask("resources/templates/list")).json["result"]["resourceTemplates"]
    templates = {each["uriTemplate"] for each in found}
    assert templates >= {
        "epic://{id}",
        "epic://{id}/hierarchy",
        "epic://{id}/user-stories",
        "user-story://{id}",
        "user-story://{id}/hierarchy",
        "user-story://{id}/requirements",
        "user-story://{id}/acceptance-criteria",
        "acceptance-criteria://{id}",
        "requirement://{id}",
        "requirement://{id}/relationships",
        "prompt://{id}",
    }
    assert all(each["name"] and each["description"] and each["mimeType"] for each in found)


async def test_lists_are_new_as_soon_as_something_was_written(hub: Hub) -> None:
    for number in range(1, 4):
        await hub.tool("create_epic", title="Epic")
        page = (await hub.ask("resources/list")).json["result"]["resources"]
        assert page[-1]["uri"] == f"epic://EP-{number:03d}"


@pytest.mark.req("H-05")
async def test_who_may_not_read_finds_nothing(hub: Hub) -> None:
    await hub.tool("create_epic", title="Checkout")
    token = "uma:comment"
    assert (await hub.read("epic://EP-001", token)).error == (403, -32055, 1)
    assert (await hub.read("requirements://prompts", token)).error == (403, -32002, 1)
    assert (await hub.read("epic://EP-001", token, MODERN)).error == (403, -32600, 1)
    for method in ("resources/list", "prompts/list"):
        assert (await hub.ask(method, token)).error == (403, -32055, 1)
        assert hub.world.trail.records[-1].outcome == "denied"


PLACES = {
    place.id: place
    for place in (
        ItemPlace("epic", "e1", "EP-001"),
        ItemPlace("epic", "e2", "EP-002"),
        ItemPlace("user_story", "s1", "US-001", "e1"),
        ItemPlace("requirement", "r1", "REQ-001", "s1"),
        ItemPlace("requirement", "r2", "REQ-002", "s1"),
    )
}
UUID = "00000000-0000-4000-8000-0000000000AB"


def revision(
    kind: str, id: str, reference: str, action: str = "updated", **values: object
) -> ChangedEntity:
    return ChangedEntity(kind, id, reference, action, {}, values)


def by_reference(uris: set[str]) -> list[str]:
    """Return the URIs with reference ids; each has a second URI with the UUID."""
    return sorted(uri for uri in uris if uri.partition("://")[2][:1].isupper() or "s://" in uri)


def test_a_requirement_concerns_its_story_and_epic() -> None:
    assert by_reference(uris_of(revision("requirement", "r1", "REQ-001"), PLACES)) == [
        "epic://EP-001/hierarchy",
        "requirement://REQ-001",
        "requirement://REQ-001/relationships",
        "requirements://requirements",
        "user-story://US-001/hierarchy",
        "user-story://US-001/requirements",
    ]


def test_each_is_told_by_its_id_too() -> None:
    assert uris_of(revision("epic", "e1", "EP-001"), PLACES) == {
        "requirements://epics",
        *("epic://EP-001", "epic://EP-001/hierarchy", "epic://e1", "epic://e1/hierarchy"),
    }


def test_a_story_that_moves_concerns_both_epics() -> None:
    moved = ChangedEntity("user_story", "s1", "US-001", "updated", {"parent_id": "e2"}, {})
    found = uris_of(moved, PLACES)
    assert {f"epic://EP-00{number}/user-stories" for number in (1, 2)} <= found


def test_what_was_deleted_concerns_where_it_stood() -> None:
    gone = ChangedEntity("requirement", "r9", "REQ-009", "deleted", {"parent_id": "s1"}, {})
    found = uris_of(gone, PLACES)
    assert {"requirement://REQ-009", "user-story://US-001/requirements"} <= found


def test_a_relationship_concerns_both_ends() -> None:
    made = revision("relationship", "l1", "", "created", source_id="r1", target_id="r2")
    assert by_reference(uris_of(made, PLACES)) == [
        "requirement://REQ-001/relationships",
        "requirement://REQ-002/relationships",
    ]


def test_labels_concern_what_has_them() -> None:
    assert "requirement://REQ-001" in uris_of(revision("item_label", "r1:l1", ""), PLACES)


def test_types_and_prompts_concern_their_lists() -> None:
    assert uris_of(revision("requirement_type", "Data", ""), {}) == {
        "requirements://requirement-types"
    }
    found = uris_of(revision("prompt", "p1", "PROMPT-001"), {})
    assert {"requirements://prompts", "requirements://prompts/active"} <= found


def test_comments_concern_no_resource() -> None:
    assert uris_of(revision("comment", "c1", "", "created", target_id="r1"), PLACES) == set()


def test_lists_change_where_something_comes_goes_or_is_renamed() -> None:
    assert changes_prompts(revision("prompt", "p1", "", "created"))
    assert changes_prompts(revision("prompt", "p1", "", name="new"))
    assert not changes_prompts(revision("prompt", "p1", "", content="new"))
    assert changes_items(revision("epic", "e1", "", "deleted"))
    assert not changes_items(revision("epic", "e1", ""))
    assert not changes_items(revision("comment", "c1", "", "created"))


@pytest.mark.parametrize(
    ("spelled", "known"),
    [
        ("epic://ep-1", "epic://EP-001"),
        ("epic://EP-0001/hierarchy", "epic://EP-001/hierarchy"),
        (f"epic://{UUID}", f"epic://{UUID.lower()}"),
        ("prompt://be-kind", "prompt://be-kind"),
        ("requirements://epics", "requirements://epics"),
        ("nonsense", "nonsense"),
    ],
)
def test_every_spelling_is_known(spelled: str, known: str) -> None:
    assert canonical(spelled) == known


async def instructions(hub: Hub, way: str, who: str = "uma") -> str:
    """Return the server instructions that a client gets when it connects."""
    if way == MODERN:
        answer = await hub.ask("server/discover", who, MODERN)
    else:
        answer = await hub.site.post(initialize(), authorization=f"Bearer {who}")
    found: str = answer.json["result"]["instructions"]
    return found


@pytest.mark.req("H-10")
@pytest.mark.parametrize("way", WAYS)
async def test_prompts_come_from_the_database(hub: Hub, way: str) -> None:
    await hub.tool("create_prompt", name="be-kind", content="Be kind.", description="On tone")
    await hub.tool("create_prompt", name="be-short", content="Be short.", role="assistant")
    listed = (await hub.ask("prompts/list", "carl", way)).json["result"]["prompts"]
    assert listed == [
        {"name": "be-kind", "title": "be-kind", "description": "On tone"},
        {"name": "be-short", "title": "be-short"},
    ]
    got = (await hub.ask("prompts/get", "carl", way, name="be-short")).json["result"]
    assert got["messages"] == [
        {"role": "assistant", "content": {"type": "text", "text": "Be short."}}
    ]


@pytest.mark.req("H-10")
@pytest.mark.parametrize("way", WAYS)
async def test_unknown_prompts_are_an_error(hub: Hub, way: str) -> None:
    answer = await hub.ask("prompts/get", way=way, name="nobody")
    assert answer.error == (200, -32602, 1)
    assert answer.json["error"]["data"]["reason"] == "prompt_not_found"


async def test_a_name_that_no_database_takes_is_unknown(hub: Hub) -> None:
    assert (await hub.ask("prompts/get", name="a\0b")).error == (200, -32602, 1)


@pytest.mark.req("H-05")
@pytest.mark.parametrize(("way", "code"), [(PLAIN, -32002), (MODERN, -32600)])
async def test_who_may_not_read_gets_no_prompt(hub: Hub, way: str, code: int) -> None:
    await hub.tool("create_prompt", name="be-kind", content="Be kind.")
    answer = await hub.ask("prompts/get", "uma:comment", way, name="be-kind")
    assert answer.error == (403, code, 1)


@pytest.mark.req("H-10")
async def test_what_was_renamed_or_deleted_is_gone_at_once(hub: Hub) -> None:
    await hub.tool("create_prompt", name="one", content="1")
    await hub.tool("update_prompt", id="one", name="uno")
    assert (await hub.ask("prompts/get", name="one")).error == (200, -32602, 1)
    listed = (await hub.ask("prompts/list")).json["result"]["prompts"]
    assert [each["name"] for each in listed] == ["uno"]
    await hub.tool("delete_prompt", id="uno")
    assert (await hub.ask("prompts/list")).json["result"]["prompts"] == []


async def test_many_prompts_are_listed_page_by_page(hub: Hub) -> None:
    for number in range(101):
        await hub.world.call("create_prompt", hub.world.admin, name=f"p{number}", content="x")
    first = (await hub.ask("prompts/list")).json["result"]
    second = (await hub.ask("prompts/list", cursor=first["nextCursor"])).json["result"]
    assert (len(first["prompts"]), [each["name"] for each in second["prompts"]]) == (100, ["p100"])
    assert (await hub.ask("prompts/list", cursor="x")).error == (200, -32602, 1)


@pytest.mark.req("H-07")
@pytest.mark.parametrize("way", [LEGACY, MODERN])
async def test_the_active_prompt_is_the_instructions(hub: Hub, way: str) -> None:
    assert await instructions(hub, way) == DEFAULT_INSTRUCTIONS
    await hub.tool("create_prompt", name="be-kind", content="Be kind.\nAlways.")
    await hub.tool("create_prompt", name="be-short", content="Be short.")
    assert await instructions(hub, way) == DEFAULT_INSTRUCTIONS
    await hub.tool("activate_prompt", id="be-kind")
    assert await instructions(hub, way) == "Be kind.\nAlways."
    await hub.tool("activate_prompt", id="PROMPT-002")
    assert await instructions(hub, way) == "Be short."
    await hub.tool("update_prompt", id="be-short", content="Be brief.")
    assert await instructions(hub, way) == "Be brief."
    assert await instructions(hub, way, "uma:comment") == DEFAULT_INSTRUCTIONS


@pytest.mark.req("H-07")
@pytest.mark.parametrize("way", [LEGACY, MODERN])
async def test_instructions_of_who_may_only_propose_say_how(hub: Hub, way: str) -> None:
    await hub.tool("create_prompt", name="be-kind", content="Be kind.")
    await hub.tool("activate_prompt", id="be-kind")
    assert await instructions(hub, way, "uma:read,propose") == f"Be kind.\n\n{PROPOSING}"
    assert await instructions(hub, way, "uma:read") == "Be kind."
    assert await instructions(hub, way, "uma") == "Be kind."
    assert PROPOSING in DEFAULT_INSTRUCTIONS


@pytest.mark.req("H-54")
@pytest.mark.parametrize("way", [LEGACY, MODERN])
async def test_a_session_leaves_no_refusal_where_no_prompt_is_active(hub: Hub, way: str) -> None:
    assert await instructions(hub, way) == DEFAULT_INSTRUCTIONS
    assert {each.outcome for each in hub.world.trail.records} == {"done"}


@pytest.mark.req("H-11")
async def test_one_prompt_is_active_however_many_activate(hub: Hub) -> None:
    for number in range(8):
        await hub.tool("create_prompt", name=f"p{number}", content=f"{number}")
    await asyncio.gather(
        *(hub.tool("activate_prompt", id=f"p{number % 8}") for number in range(32))
    )
    page = await hub.tool("list_prompts", limit=100)
    assert sum(each["active"] for each in page["items"]) == 1
    active = await hub.tool("get_active_prompt")
    assert [each["name"] for each in page["items"] if each["active"]] == [active["name"]]


@pytest.mark.req("H-05", "H-08")
@pytest.mark.parametrize(("way", "code"), [(PLAIN, -32002), (LEGACY, -32002), (MODERN, -32600)])
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("create_prompt", {"name": "x", "content": "y"}),
        ("update_prompt", {"id": "be-kind", "content": "y"}),
        ("delete_prompt", {"id": "be-kind"}),
        ("activate_prompt", {"id": "be-kind"}),
    ],
)
async def test_only_administrators_write_prompts(
    hub: Hub, way: str, code: int, tool: str, given: dict[str, Any]
) -> None:
    await hub.tool("create_prompt", name="be-kind", content="Be kind.")
    answer = await hub.ask("tools/call", "uma", way, name=tool, arguments=given)
    assert answer.error == (403, code, 1)
    assert (await hub.tool("get_prompt", "carl", id="be-kind"))["content"] == "Be kind."
