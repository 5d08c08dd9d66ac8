"""Two servers on one PostgreSQL are one system: whoever goes from one to the other notices nothing.

The names say `here` and `there`; what happens here is looked for there.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import pytest

from accord.operations.auth.accounts import FAILED_COST
from accord.operations.auth.attempts import FREE_ATTEMPTS
from accord.operations.auth.credentials import COOKIE
from accord.store import open_store
from accord.workflows.storage.definitions import TRIGGERS_WAKE
from tests.mcp.server.http.service import Listening, initialize, notification, request, with_meta
from tests.scale.pair import BURST, HOOK_SECRET, PATIENCE, Machine, Pair

MCP = "/api/v1/mcp"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INFO = {"io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"}}
PAUSE = {"name": "pause", "steps": [{"name": "wait", "type": "wait", "signal": "go"}]}


async def do(machine: Machine, verb: str, path: str, body: Any = None, **headers: str) -> Any:
    """What a call over REST gives, which must succeed."""
    async with machine.client(**headers) as client:
        answer = await client.request(verb, f"/api/v1{path}", json=body)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


async def new_epic(machine: Machine, title: str) -> str:
    reference: str = (await do(machine, "POST", "/epics", {"title": title}))["reference_id"]
    return reference


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def opened(
    machine: Machine, verb: str, body: Any = None, **headers: str
) -> AsyncIterator[Listening]:
    async with (
        machine.client(**ACCEPT, **headers) as client,
        client.stream(verb, MCP, json=body) as response,
    ):
        assert response.status_code == 200
        yield Listening(response)


async def told(listening: Listening, uri: str) -> None:
    """Wait until a change of something is told."""
    while (await listening.message()).get("params", {}).get("uri") != uri:
        pass


async def new_session(machine: Machine) -> dict[str, str]:
    """The headers of a session of MCP that begins here."""
    async with machine.client(**ACCEPT) as client:
        answer = await client.post(MCP, json=initialize(LEGACY))
        headers = {"mcp-session-id": answer.headers["mcp-session-id"]}
        headers["mcp-protocol-version"] = LEGACY
        await client.post(MCP, json=notification("notifications/initialized"), headers=headers)
    return headers


async def in_session(machine: Machine, session: dict[str, str], method: str, **params: Any) -> Any:
    async with machine.client(**ACCEPT, **session) as client:
        answer = await client.post(MCP, json=request(method, params))
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


@pytest.mark.req("H-02")
async def test_a_session_of_mcp_goes_on_at_the_other(pair: Pair) -> None:
    session = await new_session(pair.here)
    epic = await new_epic(pair.here, "Till")
    for machine in (pair.there, pair.here):
        found = await in_session(
            machine, session, "tools/call", name="get_epic", arguments={"id": epic}
        )
        assert found["structuredContent"]["title"] == "Till"
    async with pair.there.client(**ACCEPT, **session) as client:
        assert (await client.delete(MCP)).status_code in (200, 204)
    async with pair.here.client(**ACCEPT, **session) as client:
        assert (await client.post(MCP, json=request("tools/list"))).status_code == 404


@pytest.mark.req("H-06")
async def test_what_was_subscribed_to_here_is_told_there(pair: Pair) -> None:
    epic = await new_epic(pair.here, "Door")
    session = await new_session(pair.here)
    async with opened(pair.there, "GET", **session) as listening:
        await in_session(pair.here, session, "resources/subscribe", uri=f"epic://{epic}")
        await do(pair.here, "PATCH", f"/epics/{epic}", {"title": "Gate"})
        await told(listening, f"epic://{epic}")


@pytest.mark.req("H-06")
async def test_a_request_that_listens_there_is_told_of_changes_here(pair: Pair) -> None:
    epic = await new_epic(pair.here, "Roof")
    wanted = {"notifications": {"resourceSubscriptions": [f"epic://{epic}"]}, "_meta": INFO}
    method = "subscriptions/listen"
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    async with opened(pair.there, "POST", request(method, with_meta(wanted)), **headers) as heard:
        await heard.message()
        await do(pair.here, "PATCH", f"/epics/{epic}", {"title": "Attic"})
        await told(heard, f"epic://{epic}")


@pytest.mark.req("W-12")
async def test_a_run_is_followed_signalled_and_ended_anywhere(pair: Pair) -> None:
    await do(pair.here, "POST", "/workflows", PAUSE)
    run = (await do(pair.here, "POST", "/workflows/pause/runs", {"input": {}}))["id"]
    async with (
        pair.there.client() as client,
        client.stream("GET", f"/api/v1/runs/{run}/events") as stream,
    ):
        listening = Listening(stream)
        assert (await listening.event()).event == "run_started"

        async def waits() -> bool:
            return bool((await do(pair.there, "GET", f"/runs/{run}"))["state"] == "waiting")

        await until(waits)
        await do(pair.there, "POST", f"/runs/{run}/signal", {"name": "go"})
        while (await listening.event()).event != "run_finished":
            pass
    assert (await do(pair.here, "GET", f"/runs/{run}"))["state"] == "completed"


@pytest.mark.req("H-16")
async def test_calls_are_counted_by_both_together(pair: Pair) -> None:
    statuses = []
    stranger = {"x-forwarded-for": "192.0.2.77"}
    async with (
        pair.here.client("accord_pat_wrong", **stranger) as here,
        pair.there.client("accord_pat_wrong", **stranger) as there,
    ):
        for number in range(BURST // FAILED_COST + 5):
            client = (here, there)[number % 2]
            statuses.append((await client.get("/api/v1/epics")).status_code)
        assert statuses[:20] == [401] * 20
        assert {(await each.get("/api/v1/epics")).status_code for each in (here, there)} == {429}


@pytest.mark.req("H-16")
async def test_wrong_passwords_are_counted_by_both_together(pair: Pair) -> None:
    wrong = {"username": "somebody", "password": "a guess"}
    from_afar = {"x-forwarded-for": "198.51.100.9"}

    async def attempt(machine: Machine) -> int:
        async with machine.client("", **from_afar) as client:
            return (await client.post("/api/v1/sessions", json=wrong)).status_code

    statuses = await asyncio.gather(*map(attempt, (pair.here, pair.there) * FREE_ATTEMPTS))
    assert set(statuses) == {401, 429}, "each of them alone would let all of its own try"


async def sign_in(machine: Machine) -> str:
    """The token of a new session of the administrator."""
    body = {"username": "admin", "password": machine.password}
    async with machine.client("") as client:
        answer = await client.post("/api/v1/sessions", json=body)
    assert answer.status_code == 201, answer.text
    token: str = answer.json()["token"]
    return token


async def test_who_signs_in_here_is_known_there_until_they_sign_out(pair: Pair) -> None:
    token = await sign_in(pair.here)
    async with pair.there.client(token) as there, pair.here.client(token) as here:
        assert (await there.get("/api/v1/epics")).status_code == 200
        assert (await there.delete("/api/v1/sessions/current")).is_success
        assert (await here.get("/api/v1/epics")).status_code == 401


async def test_a_token_that_is_revoked_here_is_refused_there(pair: Pair) -> None:
    async with pair.here.client(await sign_in(pair.here)) as here:
        made = (await here.post("/api/v1/tokens", json={"name": "laptop"})).json()
        async with pair.there.client(made["token"]) as there:
            assert (await there.get("/api/v1/epics")).status_code == 200
            assert (await here.delete(f"/api/v1/tokens/{made['id']}")).is_success
            assert (await there.get("/api/v1/epics")).status_code == 401


async def test_a_call_that_is_made_again_there_does_nothing_again(pair: Pair) -> None:
    key = {"idempotency-key": uuid4().hex}
    answers = await asyncio.gather(
        *(
            do(machine, "POST", "/epics", {"title": "Once"}, **key)
            for machine in (pair.here, pair.there) * 3
        )
    )
    assert len({answer["id"] for answer in answers}) == 1


async def test_a_delivery_that_reaches_both_starts_one_run(pair: Pair) -> None:
    hook = {"webhook": "build-finished", "secret": "env:ACCORD_SECRET_BUILD"}
    await do(pair.here, "POST", "/workflows", {**PAUSE, "name": "build", "on": [hook]})
    at, body = int(time.time()), b'{"branch": "main"}'
    signed = hmac.new(HOOK_SECRET.encode(), b"%d.%b" % (at, body), "sha256").hexdigest()
    headers = {
        "accord-signature": f"t={at},v1={signed}",
        "accord-delivery": "build-1",
        "content-type": "application/json",
    }

    async def deliver(machine: Machine) -> dict[str, Any]:
        async with machine.client("", **headers) as client:
            answer = await client.post("/api/v1/webhooks/build-finished", content=body)
        assert answer.status_code in (200, 202), answer.text
        found: dict[str, Any] = answer.json()
        return found

    taken = await asyncio.gather(*(deliver(machine) for machine in (pair.here, pair.there) * 3))
    assert len({each["run_id"] for each in taken}) == 1
    assert sorted(each["duplicate"] for each in taken) == [False] + [True] * 5


async def test_a_time_of_a_schedule_has_one_run(pair: Pair) -> None:
    yearly = {**PAUSE, "name": "yearly", "on": [{"schedule": "@yearly"}]}
    await do(pair.here, "POST", "/workflows", yearly)
    async with open_store(pair.database) as store:
        await store.execute("UPDATE triggers SET next_at = 1 WHERE workflow = 'yearly'")
        await store.notify(TRIGGERS_WAKE)

    async def started() -> bool:
        return bool((await do(pair.there, "GET", "/runs?workflow=yearly"))["total"])

    await until(started)
    async with open_store(pair.database) as store:
        [row] = await store.fetch("SELECT next_at FROM triggers WHERE workflow = 'yearly'")
    assert row["next_at"] > time.time(), "whoever looks now finds nothing to start"
    assert (await do(pair.here, "GET", "/runs?workflow=yearly"))["total"] == 1


async def test_pages_show_at_once_what_was_changed_at_the_other(pair: Pair) -> None:
    async with pair.there.client("") as client:
        client.cookies.set(COOKIE, await sign_in(pair.here))
        before = await client.get("/traceability")
        assert before.status_code == 200
        epic = await new_epic(pair.here, "An epic without any story")

        async def shows() -> bool:
            return epic in (await client.get("/traceability")).text

        await until(shows)


async def test_both_are_ready(pair: Pair) -> None:
    for machine in (pair.here, pair.there):
        async with httpx.AsyncClient(base_url=machine.url, timeout=PATIENCE) as client:
            answer = await client.get("/readyz")
        assert (answer.status_code, msgspec.json.decode(answer.content)["status"]) == (200, "ready")
