"""The hub's MCP server: rights, records, completions and notifications.

Subscribers are notified of changes by this process and by others.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import msgspec
import pytest

from accord.hub.mcp import server
from accord.hub.recorders import CHANNEL
from tests.app.served import Served, accord, serving
from tests.hub.mcp.hub import INFO, LEGACY, MODERN, WAYS, Hub
from tests.mcp.server.http.service import PATIENCE, Listening, initialize, request, with_meta

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


Call: TypeAlias = Callable[..., Awaitable[Any]]


@pytest.fixture
def call(hub: Hub) -> Call:
    async def call(operation: str, /, **given: Any) -> Any:
        return await hub.tool(operation, **given)

    return call


@pytest.fixture
async def elsewhere(hub: Hub, url: str) -> AsyncIterator[Call]:
    """Run operations in another process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.hub.mcp.writer", url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def call(operation: str, /, **given: Any) -> Any:
        stdin.write(msgspec.json.encode({"operation": operation, "arguments": given}) + b"\n")
        async with asyncio.timeout(PATIENCE):
            return msgspec.json.decode(await stdout.readline())

    yield call
    stdin.close()
    async with asyncio.timeout(PATIENCE):
        await process.wait()


class Ears:
    """A client that collects notifications."""

    def __init__(self, listening: Listening) -> None:
        self._listening = listening

    async def until(self, *wanted: str) -> set[str]:
        """Return the notifications by URI or method, once all that are `wanted` have arrived."""
        heard: set[str] = set()
        while not heard >= set(wanted):
            message = await self._listening.message()
            heard.add(message["params"].get("uri") or message["method"])
        return heard


@asynccontextmanager
async def listening(hub: Hub, way: str, *uris: str) -> AsyncIterator[Ears]:
    token = {"authorization": "Bearer uma"}
    if way == MODERN:
        wanted = {"resourceSubscriptions": list(uris), "promptsListChanged": True}
        params = with_meta({"notifications": wanted, "_meta": INFO})
        headers = {"mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen", **token}
        body = request("subscriptions/listen", params)
        async with hub.site.open("POST", body, **headers) as stream:
            acknowledged = await stream.message()
            assert acknowledged["params"]["notifications"]["resourceSubscriptions"] == list(uris)
            yield Ears(stream)
        return
    session = await hub.site.session(way, **token)
    for uri in uris:
        assert (await session.request("resources/subscribe", uri=uri)).status == 200
    async with session.listening() as stream:
        yield Ears(stream)


@pytest.mark.req("H-06")
@pytest.mark.parametrize("way", [LEGACY, MODERN])
async def test_an_item_and_what_it_stands_in_are_told(hub: Hub, call: Call, way: str) -> None:
    epic = await call("create_epic", title="Checkout")
    await call("create_user_story", epic_id="EP-001", title="Pay")
    wanted = (
        "epic://EP-001/hierarchy",
        f"epic://{epic['id']}/hierarchy",
        "user-story://US-001/requirements",
        "requirements://requirements",
    )
    async with listening(hub, way, *wanted, "epic://EP-001") as ears:
        await call("create_requirement", user_story_id="US-001", title="R", type="Functional")
        heard = await ears.until(*wanted)
        assert "epic://EP-001" not in heard
        await call("update_epic", id="EP-001", title="Till")
        await ears.until("epic://EP-001", "epic://EP-001/hierarchy")


@pytest.mark.parametrize("way", [LEGACY, MODERN])
async def test_relationships_are_told_to_both_ends(hub: Hub, call: Call, way: str) -> None:
    await call("create_epic", title="E")
    await call("create_user_story", epic_id="EP-001", title="U")
    for title in ("One", "Two"):
        await call("create_requirement", user_story_id="US-001", title=title, type="Functional")
    wanted = tuple(f"requirement://REQ-00{number}/relationships" for number in (1, 2))
    async with listening(hub, way, *wanted) as ears:
        await call("create_relationship", source_id="REQ-001", target_id="REQ-002", type="blocks")
        assert await ears.until(*wanted) == set(wanted)


@pytest.mark.parametrize("way", [LEGACY, MODERN])
async def test_other_spellings_are_told_too(hub: Hub, call: Call, way: str) -> None:
    await call("create_epic", title="E")
    async with listening(hub, way, "epic://ep-1") as ears:
        await call("update_epic", id="EP-001", title="F")
        await ears.until("epic://ep-1")


@pytest.mark.req("H-07")
@pytest.mark.parametrize("way", [LEGACY, MODERN])
async def test_prompts_that_change_are_told(hub: Hub, call: Call, way: str) -> None:
    await call("create_prompt", name="one", content="1")
    active = "requirements://prompts/active"
    async with listening(hub, way, active, "prompt://PROMPT-001") as ears:
        await call("activate_prompt", id="one")
        heard = await ears.until(active, "prompt://PROMPT-001")
        assert "notifications/prompts/list_changed" not in heard
        await call("create_prompt", name="two", content="2")
        await ears.until("notifications/prompts/list_changed")


async def test_what_a_dry_run_would_do_is_not_told(hub: Hub, call: Call) -> None:
    await call("create_epic", title="E")
    async with listening(hub, MODERN, "epic://EP-001", "requirements://epics") as ears:
        await call("update_epic", id="EP-001", title="F", dry_run=True)
        await call("create_epic", title="G")
        assert await ears.until("requirements://epics") == {"requirements://epics"}


async def test_who_listens_later_is_not_told_of_a_change_that_was_heard_of_early(
    hub: Hub, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    await call("list_epics")  # with the first request it begins to hear
    begun, gate = asyncio.Event(), asyncio.Event()
    store = hub.world.runner.store
    read = store.read

    async def held(work: Any) -> Any:
        if work is server._last_mark:
            begun.set()
            await gate.wait()
        return await read(work)

    monkeypatch.setattr(store, "read", held)
    await store.notify(CHANNEL)  # as the wake of a commit may come before the commit is known of
    await asyncio.wait_for(begun.wait(), PATIENCE)
    await call("create_epic", title="E")
    async with listening(hub, MODERN, "epic://EP-001", "epic://EP-002") as ears:
        gate.set()
        await call("create_epic", title="G")
        assert await ears.until("epic://EP-002") == {"epic://EP-002"}


@pytest.mark.req("H-02")
@pytest.mark.parametrize("way", [LEGACY, MODERN])
async def test_changes_of_another_process_are_told(hub: Hub, elsewhere: Call, way: str) -> None:
    await hub.tool("create_epic", title="Checkout")
    async with listening(hub, way, "epic://EP-001", "epic://EP-001/user-stories") as ears:
        await elsewhere("update_epic", id="EP-001", title="Till")
        await ears.until("epic://EP-001")
        await elsewhere("create_user_story", epic_id="EP-001", title="Pay")
        await ears.until("epic://EP-001/user-stories")
        await elsewhere("create_prompt", name="new", content="x")
        await ears.until("notifications/prompts/list_changed")
        listed = (await hub.ask("prompts/list")).json["result"]["prompts"]
        assert [each["name"] for each in listed] == ["new"]
        await elsewhere("activate_prompt", id="new")
