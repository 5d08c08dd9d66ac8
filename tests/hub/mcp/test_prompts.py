"""Prompts of the hub over MCP: from the database, one of them active."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.hub.mcp.prompts import DEFAULT_INSTRUCTIONS, PROPOSING
from tests.hub.mcp.hub import LEGACY, MODERN, PLAIN, WAYS, Hub
from tests.mcp.server.http.service import initialize


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
