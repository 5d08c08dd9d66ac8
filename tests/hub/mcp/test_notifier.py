"""Subscribers are notified of changes by this process and by others."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import msgspec
import pytest

from accord.hub.mcp import notifier
from accord.hub.recorders import CHANNEL
from tests.hub.mcp.hub import INFO, LEGACY, MODERN, Hub
from tests.mcp.server.http.service import PATIENCE, Listening, request, with_meta

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
        if work is notifier._last:
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
