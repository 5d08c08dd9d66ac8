"""What arguments of templates could be."""

from __future__ import annotations

import pytest

from tests.hub.mcp.hub import WAYS, Hub

REQUIREMENTS = "requirements://requirements{?status,type,assignee,limit,cursor}"
EPICS = "requirements://epics{?status,assignee,limit,cursor}"


async def completed(hub: Hub, of: str, argument: str, value: str, way: str = "plain") -> list[str]:
    answer = await hub.ask(
        "completion/complete",
        way=way,
        ref={"type": "ref/resource", "uri": of},
        argument={"name": argument, "value": value},
    )
    found: list[str] = answer.json["result"]["completion"]["values"]
    return found


@pytest.mark.parametrize("way", WAYS)
async def test_ids_are_completed_by_what_people_know(hub: Hub, way: str) -> None:
    one = await hub.tool("create_epic", title="Checkout")
    await hub.tool("create_epic", title="50% off_season")
    for typed, expected in (
        ("", ["EP-001", "EP-002"]),
        ("ep-0", ["EP-001", "EP-002"]),
        ("EP-002", ["EP-002"]),
        ("check", ["EP-001"]),
        ("0% off_", ["EP-002"]),
        ("%", ["EP-002"]),
        (one["id"][:30], [one["id"]]),
        ("nothing", []),
        ("a\0b'; --", []),
    ):
        assert await completed(hub, "epic://{id}", "id", typed, way) == expected, typed
    assert await completed(hub, "user-story://{id}", "id", "", way) == []
    assert await completed(hub, "epic://{id}/hierarchy", "id", "ep-001", way) == ["EP-001"]


async def test_prompts_are_completed_by_their_names_too(hub: Hub) -> None:
    await hub.tool("create_prompt", name="be-kind", content="Be kind.")
    assert await completed(hub, "prompt://{id}", "id", "be") == ["PROMPT-001", "be-kind"]


async def test_statuses_types_and_people_are_completed(hub: Hub) -> None:
    assert await completed(hub, REQUIREMENTS, "status", "a") == ["Active"]
    assert await completed(hub, EPICS, "status", "d") == ["Draft", "Done"]
    assert await completed(hub, REQUIREMENTS, "type", "f") == ["Functional"]
    assert await completed(hub, REQUIREMENTS, "assignee", "U") == ["uma"]
    assert await completed(hub, REQUIREMENTS, "assignee", "nobody") == []


async def test_names_are_completed_wherever_they_are_asked_for(hub: Hub) -> None:
    await hub.tool("create_prompt", name="be-kind", content="Be kind.")
    await hub.world.call("create_label", hub.world.admin, name="Risky", colour="#ff0000")
    assert await completed(hub, REQUIREMENTS, "name", "BE") == ["be-kind"]
    assert await completed(hub, REQUIREMENTS, "label", "ris") == ["Risky"]
    assert await completed(hub, REQUIREMENTS, "id", "") == []


async def test_there_is_nothing_to_complete_elsewhere(hub: Hub) -> None:
    ref = {"type": "ref/resource", "uri": "elsewhere://{id}"}
    answer = await hub.ask("completion/complete", ref=ref, argument={"name": "id", "value": ""})
    assert answer.error == (200, -32602, 1)
    ref = {"type": "ref/prompt", "name": "nobody"}
    answer = await hub.ask("completion/complete", ref=ref, argument={"name": "id", "value": ""})
    assert answer.error == (200, -32602, 1)
