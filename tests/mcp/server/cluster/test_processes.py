"""Two processes behind one port serve the same clients."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.server.cluster.processes import Held, Workers, text
from tests.mcp.server.http.service import (
    PATIENCE,
    Listening,
    Shaken,
    initialize,
    modern_headers,
    notification,
    request,
    with_meta,
)

pytestmark = pytest.mark.req("M-18")

ELICITATION: Any = {"elicitation": {"form": {}, "url": {}}}


async def begin(workers: Workers, **capabilities: Any) -> Shaken:
    """A session that began at one worker, and whose handshake was completed at the other."""
    site = await workers.at(0)
    answer = await site.post(initialize("2025-11-25", **capabilities))
    shaken = Shaken(site, answer.headers["mcp-session-id"], "2025-11-25", {})
    other = await workers.move(shaken, 1)
    done = await other.post(notification("notifications/initialized"))
    assert done.status == 202
    return shaken


async def answer(shaken: Shaken, asked: Any, content: Any) -> None:
    result = {"action": "accept", "content": content}
    done = await shaken.post({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    assert done.status == 202


async def until(listening: Listening, method: str) -> Any:
    """The next message of that method."""
    while (message := await listening.message()).get("method") != method:
        pass
    return message


async def test_a_session_is_served_by_all(workers: Workers) -> None:
    at_first = await begin(workers)
    at_second = await workers.move(at_first, 1)
    assert [int(text(await it.call("who"))) for it in (at_first, at_second)] == workers.pids


async def test_nothing_is_served_anywhere_before_the_handshake_is_complete(
    workers: Workers,
) -> None:
    site = await workers.at(0)
    id = (await site.post(initialize())).headers["mcp-session-id"]
    at_first = Shaken(site, id, "2025-11-25", {})
    at_second = await workers.move(at_first, 1)
    assert "error" in (await at_second.call("who")).json
    await at_first.post(notification("notifications/initialized"))
    assert int(text(await at_second.call("who"))) == workers.pids[1]


async def test_what_one_changes_the_other_knows(workers: Workers) -> None:
    at_first = await begin(workers)
    at_second = await workers.move(at_first, 1)
    assert (await at_second.request("logging/setLevel", level="debug")).status == 200
    async with at_first.calling("debug") as calling:
        assert (await until(calling, "notifications/message"))["params"]["data"] == "in detail"
    assert (await at_first.request("logging/setLevel", level="error")).status == 200
    assert text(await at_second.call("debug")) == "done"


async def test_a_session_that_ends_at_one_is_over_at_the_other(workers: Workers) -> None:
    at_first = await begin(workers)
    at_second = await workers.move(at_first, 1)
    async with (await workers.move(at_first, 1)).listening() as listening:
        assert (await listening.event()).data == b""
        assert (await at_first.end()).status == 204
        assert await listening.rest() == []
    assert (await at_second.call("who")).status == 404
    assert (await at_first.call("who")).status == 404


async def test_the_answer_of_a_client_finds_who_waits_for_it(workers: Workers) -> None:
    at_first = await begin(workers, **ELICITATION)
    at_second = await workers.move(at_first, 1)
    async with at_first.calling("ask_name", id=7) as calling:
        asked = await until(calling, "elicitation/create")
        await answer(at_second, asked, {"value": "Ada"})
        result = await calling.message()
    assert result["id"] == 7
    assert result["result"]["content"][0]["text"] == f"{workers.pids[0]} heard Ada"


async def test_both_ask_at_the_same_time_without_mistaking_answers(workers: Workers) -> None:
    at_first = await begin(workers, **ELICITATION)
    at_second = await workers.move(at_first, 1)
    answers = await workers.move(at_first, 1)
    async with (
        at_first.calling("ask_name", id=1) as one,
        at_second.calling("ask_name", id=2) as two,
    ):
        asked = [await until(it, "elicitation/create") for it in (one, two)]
        assert asked[0]["id"] != asked[1]["id"]
        for question, name in zip(asked, ("Ada", "Bob"), strict=True):
            await answer(answers, question, {"value": name})
        results = [(await it.message())["result"]["content"][0]["text"] for it in (one, two)]
    first, second = workers.pids
    assert results == [f"{first} heard Ada", f"{second} heard Bob"]


async def test_a_request_is_cancelled_from_anywhere(workers: Workers, tmp_path: Path) -> None:
    at_first = await begin(workers)
    at_second = await workers.move(at_first, 1)
    held = Held(tmp_path)
    async with at_first.calling("hold", id=9, file=held.file) as calling:
        await until(calling, "notifications/message")
        gone = await at_second.post(notification("notifications/cancelled", {"requestId": 9}))
        assert gone.status == 202
        assert await calling.rest() == []
    held.release()


async def test_those_who_subscribed_hear_of_updates_wherever_they_happen(
    workers: Workers,
) -> None:
    at_first = await begin(workers)
    at_second = await workers.move(at_first, 1)
    assert (await at_first.request("resources/subscribe", uri="note://a")).status == 200
    async with (await workers.move(at_first, 1)).listening() as listening:
        await at_first.call("update", uri="note://b")
        heard = []
        for shaken in (at_first, at_second):  # what changes twice at the same time is told once
            await shaken.call("update", uri="note://a")
            heard.append(await listening.message())
        await at_first.call("grow", name="at_first")
        heard.append(await listening.message())
    updated = {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"uri": "note://a"},
    }
    assert heard == [updated, updated, notification("notifications/tools/list_changed", {})]


async def test_clients_of_the_stateless_era_hear_of_updates_too(workers: Workers) -> None:
    site = await workers.at(0)
    params = with_meta({"notifications": {"resourceSubscriptions": ["note://a"]}})
    body = request("subscriptions/listen", params)
    headers = modern_headers("subscriptions/listen", params)
    async with site.open("POST", body, **headers) as listening:
        await until(listening, "notifications/subscriptions/acknowledged")
        await (await workers.at(1)).call_modern("update", uri="note://a")
        heard = await listening.message()
    assert heard["params"]["uri"] == "note://a"


async def test_the_state_of_a_request_is_opened_by_all(workers: Workers) -> None:
    capabilities: Any = {"elicitation": {"form": {}}}
    meta = {"_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}}
    first, second = await workers.at(0), await workers.at(1)
    asked = (await first.modern("tools/call", name="ask_name", arguments={}, **meta)).json["result"]
    [key] = asked["inputRequests"]
    again = {
        "inputResponses": {key: {"action": "accept", "content": {"value": "Ada"}}},
        "requestState": asked["requestState"],
    }
    done = await second.modern("tools/call", name="ask_name", arguments={}, **again, **meta)
    assert text(done) == f"{workers.pids[1]} heard Ada"


async def test_a_stream_is_resumed_at_another_worker(workers: Workers, tmp_path: Path) -> None:
    at_first = await begin(workers)
    held = Held(tmp_path)
    async with at_first.calling("hold", id=5, file=held.file) as calling:
        primed = await calling.event()
        said = await calling.event()
    back = await workers.move(at_first, 1)
    async with back.listening(primed.id or "") as listening:
        again = await listening.event()
        assert (again.id, again.data) == (said.id, said.data)
        held.release("hello")
        result = await listening.message()
        assert await listening.rest() == []
    assert (result["id"], result["result"]["content"][0]["text"]) == (5, "hello")
    # And what was said on a stream that is over can be read again by all.
    for number in (0, 1):
        async with (await workers.move(at_first, number)).listening(said.id or "") as listening:
            assert await listening.rest() == [result]


async def test_a_client_that_comes_back_twice_hears_the_rest(
    workers: Workers, tmp_path: Path
) -> None:
    at_first = await begin(workers)
    held = Held(tmp_path)
    async with at_first.calling("hold", id=5, file=held.file) as calling:
        primed = await calling.event()
        await calling.event()
    for number in (1, 1, 0, 1):
        back = await workers.move(at_first, number)
        async with back.listening(primed.id or "") as listening:
            assert (await listening.message())["method"] == "notifications/message"
    async with (await workers.move(at_first, 1)).listening(primed.id or "") as listening:
        held.release()
        assert [it.get("id") for it in await listening.rest()] == [None, 5]


async def test_what_belongs_to_no_request_is_said_where_the_client_listens(
    workers: Workers,
) -> None:
    at_first = await begin(workers, **ELICITATION)
    at_second = await workers.move(at_first, 1)
    async with (await workers.move(at_first, 1)).listening() as listening:
        await listening.event()
        async with at_first.calling("visit", page="payment") as calling:
            asked = await until(calling, "elicitation/create")
            await answer(at_second, asked, {})
            await calling.message()
        assert text(await at_second.call("visited", page="payment")) == "told"
        completed = await until(listening, "notifications/elicitation/complete")
    assert completed["params"] == {"elicitationId": "payment"}


async def test_only_one_announces(workers: Workers) -> None:
    at_first = await begin(workers)
    await at_first.request("resources/subscribe", uri="note://a")
    async with (await workers.move(at_first, 0)).listening() as before:
        await before.event()
        async with (await workers.move(at_first, 1)).listening() as listening:
            await listening.event()
            assert await before.rest() == []
            await at_first.call("update", uri="note://a")
            assert (await listening.message())["params"] == {"uri": "note://a"}


async def test_announcements_that_were_missed_are_read_at_another_worker(
    workers: Workers,
) -> None:
    at_first = await begin(workers)
    await at_first.request("resources/subscribe", uri="note://a")
    async with (await workers.move(at_first, 0)).listening() as listening:
        primed = await listening.event()
    await at_first.call("update", uri="note://a")
    async with (await workers.move(at_first, 1)).listening(primed.id or "") as listening:
        assert (await listening.message())["params"] == {"uri": "note://a"}
        await at_first.call("update", uri="note://a")
        assert (await listening.message())["params"] == {"uri": "note://a"}


# Tasks


async def test_a_task_is_known_to_all(workers: Workers, tmp_path: Path) -> None:
    at_first = await begin(workers)
    at_second = await workers.move(at_first, 1)
    held = Held(tmp_path)
    created = await at_first.request(
        "tools/call", name="work", arguments={"file": held.file}, task={}
    )
    id = created.json["result"]["task"]["taskId"]
    seen = await at_second.request("tasks/get", taskId=id)
    assert seen.json["result"]["status"] == "working"
    listed = await at_second.request("tasks/list")
    assert [it["taskId"] for it in listed.json["result"]["tasks"]] == [id]
    waiting = asyncio.create_task(at_second.request("tasks/result", taskId=id))
    held.release("done")
    assert text(await waiting) == "done"


async def test_a_task_is_cancelled_from_anywhere(workers: Workers, tmp_path: Path) -> None:
    at_first = await begin(workers)
    at_second = await workers.move(at_first, 1)
    held = Held(tmp_path)
    created = await at_first.request(
        "tools/call", name="work", arguments={"file": held.file}, task={}
    )
    id = created.json["result"]["task"]["taskId"]
    assert (await at_second.request("tasks/cancel", taskId=id)).status == 200
    seen = await at_first.request("tasks/get", taskId=id)
    assert seen.json["result"]["status"] == "cancelled"
    held.release()


async def test_a_task_asks_through_another_worker(workers: Workers) -> None:
    at_first = await begin(workers, **ELICITATION)
    at_second = await workers.move(at_first, 1)
    created = await at_first.request("tools/call", name="ask_in_task", arguments={}, task={})
    id = created.json["result"]["task"]["taskId"]
    body = request("tasks/result", {"taskId": id}, id=4)
    async with at_second.site.open("POST", body, **at_second.headers) as result:
        asked = await until(result, "elicitation/create")
        await answer(at_first, asked, {"value": "Ada"})
        done = await result.message()
    assert done["result"]["content"][0]["text"] == f"{workers.pids[0]} heard Ada"


async def test_tasks_of_the_extension_are_known_to_all(workers: Workers) -> None:
    extension: Any = {"io.modelcontextprotocol/tasks": {}}
    capabilities = {"elicitation": {"form": {}}, "extensions": extension}
    meta = {"_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}}
    first, second = await workers.at(0), await workers.at(1)
    created = await first.modern("tools/call", name="ask_in_task", arguments={}, **meta)
    id = created.json["result"]["taskId"]
    async with asyncio.timeout(PATIENCE):
        while True:
            seen = (await second.modern("tasks/get", taskId=id, **meta)).json["result"]
            if seen["status"] == "input_required":
                break
    [key] = seen["inputRequests"]
    answers = {key: {"action": "accept", "content": {"value": "Ada"}}}
    await second.modern("tasks/update", taskId=id, inputResponses=answers, **meta)
    async with asyncio.timeout(PATIENCE):
        while seen["status"] != "completed":
            seen = (await second.modern("tasks/get", taskId=id, **meta)).json["result"]
    assert seen["result"]["content"][0]["text"] == f"{workers.pids[0]} heard Ada"


async def test_who_listens_to_a_task_hears_of_it_from_anywhere(
    workers: Workers, tmp_path: Path
) -> None:
    extension: Any = {"io.modelcontextprotocol/tasks": {}}
    meta = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"extensions": extension}}}
    first, second = await workers.at(0), await workers.at(1)
    held = Held(tmp_path)
    created = await first.modern("tools/call", name="work", arguments={"file": held.file}, **meta)
    id = created.json["result"]["taskId"]
    params = with_meta({"notifications": {"taskIds": [id]}, **meta})
    headers = modern_headers("subscriptions/listen", params)
    body = request("subscriptions/listen", params)
    async with second.open("POST", body, **headers) as listening:
        await until(listening, "notifications/subscriptions/acknowledged")
        held.release("done")
        heard = await until(listening, "notifications/tasks")
    assert (heard["params"]["taskId"], heard["params"]["status"]) == (id, "completed")


# The end of a worker


async def test_the_others_go_on_when_one_is_killed(workers: Workers, tmp_path: Path) -> None:
    at_first = await begin(workers)
    at_second = await workers.move(at_first, 1)
    await at_first.request("resources/subscribe", uri="note://a")
    held = Held(tmp_path)
    created = await at_first.request(
        "tools/call", name="work", arguments={"file": held.file}, task={}
    )
    task = created.json["result"]["task"]["taskId"]
    async with (await workers.move(at_first, 0)).listening() as announced:
        announcement = await announced.event()
        async with at_first.calling("hold", id=5, file=held.file) as calling:
            primed = await calling.event()
            said = await calling.event()
    workers.kill(0)
    # The session goes on at once.
    assert int(text(await at_second.call("who", id=6))) == workers.pids[1]
    # What was said can be read, and nobody waits for ever for what will not be said.
    async with (await workers.move(at_first, 1)).listening(primed.id or "") as listening:
        assert (await listening.event()).data == said.data
        lost = await listening.message()
        assert await listening.rest() == []
    assert (lost["id"], lost["error"]["code"]) == (5, -32603)
    assert lost["error"]["message"] == "The process that served this request is gone"
    # Announcements go on at another worker.
    async with (await workers.move(at_first, 1)).listening(announcement.id or "") as listening:
        assert (await listening.event()).data == b""
        await at_second.call("update", id=7, uri="note://a")
        assert (await listening.message())["params"] == {"uri": "note://a"}
    # A task that it ran has failed.
    status = (await at_second.request("tasks/get", taskId=task)).json["result"]
    assert (status["status"], status["statusMessage"]) == (
        "failed",
        "The process that ran this task is gone",
    )


async def test_all_leave_when_they_are_told_to(workers: Workers, tmp_path: Path) -> None:
    at_first = await begin(workers)
    async with (await workers.move(at_first, 1)).listening() as listening:
        await listening.event()
        workers.process.send_signal(signal.SIGTERM)
        assert await listening.rest() == []
    out, err = await asyncio.wait_for(workers.process.communicate(), PATIENCE)
    assert (workers.process.returncode, out, err) == (0, b"", b"")
