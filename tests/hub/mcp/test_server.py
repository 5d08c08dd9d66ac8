"""The hub's MCP server: rights, records and completions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.served import Served, accord, serving
from tests.hub.mcp.hub import WAYS, Hub
from tests.mcp.server.http.service import initialize, request

PATH = "/api/v1/mcp"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path / "data") as found:
        yield found


async def post(
    served: Served, body: Any, token: str | None = None, **headers: str
) -> httpx.Response:
    async with served.client(token) as client:
        if isinstance(body, bytes):
            return await client.post(PATH, content=body, headers={**JSON, **headers})
        return await client.post(PATH, json=body, headers=headers)


async def token_of(served: Served, name: str, role: str) -> str:
    data = str(served.data)
    await accord("user", "create", name, "--role", role, "--data", data)
    made = await accord("token", "create", "--user", name, "--name", "t", "--data", data)
    return made[1].strip()


@pytest.mark.req("H-03")
async def test_a_token_is_required_and_every_wrong_one_is_answered_alike(served: Served) -> None:
    listing = request("tools/list")
    good = await post(served, listing)
    assert good.status_code == 200
    valid = served.token
    answers = [
        await post(served, listing, wrong)
        for wrong in ("nonsense", valid[:-1] + ("a" if valid[-1] != "a" else "b"), valid[:-6])
    ]
    answers.append(await post(served, listing, await revoked(served)))
    for answer in answers:
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert len({answer.content for answer in answers}) == 1
    nobody = await post(served, listing, "")
    assert nobody.status_code == 401
    assert nobody.headers["www-authenticate"].startswith("Bearer")


async def revoked(served: Served) -> str:
    token = await token_of(served, "gone", "user")
    assert (await post(served, request("tools/list"), token)).status_code == 200
    await accord("token", "revoke", "t", "--user", "gone", "--data", str(served.data))
    return token


@pytest.mark.req("H-03")
async def test_it_speaks_plain_json_rpc_and_mcp_at_one_place(served: Served) -> None:
    plain = await post(
        served, request("tools/call", {"name": "create_epic", "arguments": {"title": "Till"}})
    )
    assert plain.json()["result"]["structuredContent"]["reference_id"] == "EP-001"
    assert "mcp-session-id" not in plain.headers
    begun = await post(served, initialize(), Accept="application/json, text/event-stream")
    assert begun.json()["result"]["serverInfo"]["name"] == "accord-hub"
    assert "mcp-session-id" in begun.headers
    batch = await post(
        served,
        [request("tools/call", {"name": "get_epic", "arguments": {"id": "ep-1"}}, id=7)],
    )
    assert batch.json()[0]["result"]["structuredContent"]["title"] == "Till"


@pytest.mark.req("H-03")
async def test_a_session_belongs_to_its_token(served: Served) -> None:
    both = "application/json, text/event-stream"
    begun = await post(served, initialize(), Accept=both)
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Accept": both}
    other = await token_of(served, "uma", "user")
    assert (await post(served, request("ping"), **session)).status_code == 200
    assert (await post(served, request("ping"), other, **session)).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.0.2.7"])
async def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    assert (await post(served, request("tools/list"))).status_code == 200
    for foreign in ({"Host": host}, {"Host": host, "Origin": f"http://{host}"}):
        answer = await post(served, request("tools/list"), **foreign)
        assert answer.status_code == 403
        assert "host" in answer.json()["error"]["message"]


MALFORMED = (b"", b"{", b'{"a":1}x', b"\xff", b"[1,", b'{"jsonrpc":"2.0"')
INVALID: tuple[Any, ...] = (
    {},
    [],
    "text",
    1,
    {"jsonrpc": "1.0", "id": 1, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1},
    {"jsonrpc": "2.0", "id": [], "method": "ping"},
    {"jsonrpc": "2.0", "id": 1, "method": 1},
    {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 1},
)


@pytest.mark.req("H-04")
async def test_what_is_no_message_is_a_bad_request(served: Served) -> None:
    for body in MALFORMED:
        answer = await post(served, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700), body
        assert answer.json()["id"] is None
    for message in INVALID:
        answer = await post(served, message)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600), message


@pytest.mark.req("H-05")
async def test_a_call_runs_as_the_owner_of_its_token(served: Served) -> None:
    uma = await token_of(served, "uma", "user")
    carl = await token_of(served, "carl", "commenter")
    call = request("tools/call", {"name": "create_epic", "arguments": {"title": "Till"}})
    made = await post(served, call, uma)
    assert made.json()["result"]["structuredContent"]["creator"] == "uma"
    refused = await post(served, call, carl)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, -32055)
    assert refused.json()["error"]["data"]["reason"] == "insufficient_permissions"
    administrative = request(
        "tools/call", {"name": "create_prompt", "arguments": {"name": "x", "content": "y"}}
    )
    prompts = await post(served, administrative, uma)
    assert (prompts.status_code, prompts.json()["error"]["code"]) == (403, -32002)


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
