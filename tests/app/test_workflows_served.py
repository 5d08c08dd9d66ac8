"""Whole runs, over HTTP, with the server and an agent as they are in real life."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from jsonschema import Draft202012Validator

from accord.jsonrpc.protocol.framing import SseDecoder
from tests.app.desk import ALLOWED, Desk, at, new_token, working
from tests.app.served import accord, problem, serving
from tests.patience import PATIENCE

SHOUT = {
    "name": "shout",
    "input": {"type": "object", "required": ["text"]},
    "steps": [{"name": "ask", "type": "agent", "agent": "worker", "input": "${input.text}"}],
}
REVIEW = """
name: review
steps:
  - name: reviews
    type: parallel
    branches:
      one: [{name: wording, type: agent, agent: worker, input: "wording of ${input.text}"}]
      two: [{name: safety, type: agent, agent: worker, input: "safety of ${input.text}"}]
  - {name: approve, type: wait, approval: {by: [reviewer]}}
  - name: write
    type: call
    operation: create_epic
    input: {title: "${steps.wording.output}", description: "${steps.safety.output}"}
output: {epic: "${steps.write.output.reference_id}", by: "${steps.approve.output.by}"}
"""


@pytest.mark.req("W-07", "W-12")
async def test_a_run_in_parallel_with_an_approval_ends_as_it_should(tmp_path: Path) -> None:
    async with working() as (agent, url), serving(tmp_path / "data", *ALLOWED) as served:
        reviewer = await new_token(served, "reviewer", "approve", "read")
        async with at(served) as admin, at(served, reviewer) as other:
            await admin.prepare(url)
            saved = await admin.client.post(
                "/api/v1/workflows", content=REVIEW, headers={"content-type": "application/yaml"}
            )
            assert (saved.status_code, saved.headers["location"]) == (
                201,
                "/api/v1/workflows/review%401",
            )
            started = await admin.client.post(
                "/api/v1/workflows/review/runs",
                json={"input": {"text": "the till"}, "idempotency_key": "first"},
            )
            assert started.status_code == 202
            run = started.json()
            assert started.headers["location"] == f"/api/v1/runs/{run['id']}"
            again = await admin.client.post(
                "/api/v1/workflows/review/runs",
                json={"input": {"text": "the till"}},
                headers={"idempotency-key": "first"},
            )
            assert (again.json()["id"], again.headers["idempotent-replayed"]) == (run["id"], "true")
            watching = asyncio.create_task(admin.events(run["id"]))
            await admin.until(run["id"], "waiting")
            [waiting] = (await other.get("/approvals"))["items"]
            assert (waiting["run_id"], waiting["key"]) == (run["id"], "approve")
            refused = await admin.client.post(f"/api/v1/runs/{run['id']}/approve", json={})
            assert problem(refused)["required_scope"] == "approve"
            await other.post(f"/runs/{run['id']}/approve", {"reason": "fine"})
            ended = await admin.ended(run["id"])
            assert (ended["state"], ended["output"]) == (
                "completed",
                {"epic": "EP-001", "by": "reviewer"},
            )
            steps = {each["name"]: (each["state"], each["attempts"]) for each in ended["steps"]}
            assert steps == {
                "reviews": ("completed", 0),
                "wording": ("completed", 1),
                "safety": ("completed", 1),
                "approve": ("completed", 0),
                "write": ("completed", 1),
            }
            assert sorted(agent.texts) == ["safety of the till", "wording of the till"]
            epic = await admin.get("/epics/EP-001")
            assert (epic["title"], epic["creator"]) == ("WORDING OF THE TILL", "admin")
            events = await watching
            assert [number for number, _ in events] == [
                str(number) for number in range(1, len(events) + 1)
            ]
            assert (events[0][1], events[-1][1]) == ("run_started", "run_finished")


async def test_a_stream_goes_on_where_it_was_left_and_ends_with_its_run(tmp_path: Path) -> None:
    async with working() as (_, url), serving(tmp_path / "data", *ALLOWED) as served:
        nobody = await new_token(served, "nina", "write")
        async with at(served) as admin:
            await admin.prepare(url, SHOUT)
            id = await admin.start("shout", {"text": "hello"})
            ended = await admin.ended(id)
            assert ended["output"] == "HELLO"
            events = await admin.events(id)
            assert [kind for _, kind in events] == [
                "run_started",
                "step_started",
                "task_succeeded",
                "run_finished",
            ]
            assert await admin.events(id, "2") == events[2:]
            path = f"/api/v1/runs/{id}/events"
            behind = await admin.client.get(path, params={"after": "2"})
            await _check_as_described(admin, behind.content)
            assert behind.text.count("id: ") == len(events[2:])
            assert (await admin.client.get(path, params={"after": "4"})).status_code == 204
            over = await admin.client.get(path, headers={"last-event-id": "4"})
            assert over.status_code == 204
            wrong = await admin.client.get(path, headers={"last-event-id": "x"})
            assert wrong.status_code == 422
            assert (await admin.client.get("/api/v1/runs/none/events")).status_code == 404
            unknown = await admin.client.get(f"{path}?since=1")
            assert unknown.status_code == 422
        async with served.client("") as client:
            assert (await client.get(path)).status_code == 401
        async with served.client(nobody) as client:
            assert (await client.get(path)).status_code == 403


async def _check_as_described(desk: Desk, stream: bytes) -> None:
    """Events are what the OpenAPI document says of them."""
    document = await desk.get("/openapi.json")
    [watch] = [
        each["get"]
        for path, each in document["paths"].items()
        if path.endswith("/runs/{id}/events")
    ]
    schema = watch["responses"]["200"]["content"]["text/event-stream"]["schema"]
    event = Draft202012Validator(schema)
    data = schema["properties"]["data"]["contentSchema"]
    carried = Draft202012Validator({**data, "components": document["components"]})
    found = [each for each in SseDecoder().feed(stream) if each.id]
    assert found
    for each in found:
        event.validate({"id": each.id, "event": each.event, "data": each.data.decode()})
        carried.validate(json.loads(each.data))


async def test_many_watch_one_run(tmp_path: Path) -> None:
    async with (
        working() as (agent, url),
        serving(tmp_path / "data", *ALLOWED) as served,
        at(served) as admin,
    ):
        await admin.prepare(url, SHOUT)
        id = await admin.start("shout", {"text": "hold on"})
        limits = httpx.Limits(max_connections=200)
        headers = {"Authorization": f"Bearer {served.token}"}
        async with httpx.AsyncClient(
            base_url=served.url, headers=headers, limits=limits, timeout=30
        ) as client:
            watching = [asyncio.create_task(Desk(client).events(id)) for _ in range(100)]
            async with asyncio.timeout(PATIENCE):
                await agent.began.wait()
            agent.go.set()
            found = await asyncio.gather(*watching)
        assert len(found[0]) == 4
        assert all(each == found[0] for each in found)


@pytest.mark.req("W-07")
async def test_cancelling_reaches_the_agent(tmp_path: Path) -> None:
    async with (
        working() as (agent, url),
        serving(tmp_path / "data", *ALLOWED) as served,
        at(served) as admin,
    ):
        await admin.prepare(url, SHOUT)
        id = await admin.start("shout", {"text": "hold on"})
        async with asyncio.timeout(PATIENCE):
            await agent.began.wait()
        await admin.post(f"/runs/{id}/cancel", {"reason": "enough"})
        ended = await admin.ended(id)
        assert (ended["state"], ended["steps"][0]["state"]) == ("cancelled", "cancelled")
        async with asyncio.timeout(PATIENCE):
            await agent.stopped.wait()


@pytest.mark.req("W-09")
async def test_a_run_ends_though_the_server_is_killed_in_its_middle(tmp_path: Path) -> None:
    two = {
        "name": "two",
        "steps": [
            {"name": "first", "type": "agent", "agent": "worker", "input": "first"},
            {"name": "second", "type": "agent", "agent": "worker", "input": "hold second"},
            {"name": "third", "type": "call", "operation": "create_epic", "input": {"title": "x"}},
        ],
        "output": ["${steps.first.output}", "${steps.second.output}"],
    }
    flags = (*ALLOWED, "--lease-seconds", "1")
    async with working() as (agent, url):
        async with serving(tmp_path / "data", *flags) as served:
            async with at(served) as admin:
                await admin.prepare(url, two)
                id = await admin.start("two")
                async with asyncio.timeout(PATIENCE):
                    await agent.began.wait()
            served.process.kill()
            await served.process.wait()
        agent.go.set()
        async with serving(tmp_path / "data", *flags) as served, at(served) as admin:
            ended = await admin.ended(id)
            assert (ended["state"], ended["output"]) == ("completed", ["FIRST", "HOLD SECOND"])
            assert agent.texts == ["first", "hold second"]
            assert (await admin.get("/epics"))["total"] == 1
            assert await served.stop() == 0


@pytest.mark.req("W-09")
async def test_a_server_that_is_stopped_lets_go_at_once(tmp_path: Path) -> None:
    flags = (*ALLOWED, "--lease-seconds", "600", "--drain-seconds", "0.2")
    async with working() as (agent, url):
        async with serving(tmp_path / "data", *flags) as served:
            async with at(served) as admin:
                await admin.prepare(url, SHOUT)
                id = await admin.start("shout", {"text": "hold on"})
                async with asyncio.timeout(PATIENCE):
                    await agent.began.wait()
            assert await served.stop() == 0
            assert '"level":"error"' not in served.log
        agent.go.set()
        # Nobody waits ten minutes for a lease to be over.
        async with serving(tmp_path / "data", *flags) as served, at(served) as admin:
            assert (await admin.ended(id))["output"] == "HOLD ON"


async def test_assistants_run_workflows(tmp_path: Path) -> None:
    async with (
        working() as (_, url),
        serving(tmp_path / "data", *ALLOWED) as served,
        at(served) as admin,
    ):
        await admin.prepare(url, SHOUT)

        async def tool(name: str, /, **arguments: object) -> object:
            params = {"name": name, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answer = await admin.client.post("/api/v1/mcp", json=message)
            return answer.json()["result"]["structuredContent"]

        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        tools = (await admin.client.post("/api/v1/mcp", json=message)).text
        assert len(tools) < 40_000
        assert all(f'"{name}"' in tools for name in ("run_workflow", "get_run", "list_workflows"))
        listed = await tool("list_workflows")
        assert isinstance(listed, dict)
        assert [each["name"] for each in listed["items"]] == ["shout"]
        run = await tool("run_workflow", name="shout", input={"text": "hi"}, wait=20)
        assert isinstance(run, dict)
        assert (run["state"], run["output"], run["origin"]) == ("completed", "HI", "mcp")
        # What a write says beside the run: its change, and a sentence about it.
        assert await tool("get_run", id=run["id"]) == {
            name: value for name, value in run.items() if name not in ("change_id", "message")
        }


async def test_what_is_wrong_is_told_as_a_problem(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as served, at(served) as admin:
        refused = await admin.client.post(
            "/api/v1/agents", json={"name": "worker", "url": "http://127.0.0.1:9/"}
        )
        assert problem(refused)["errors"][0]["pointer"] == "/url"
        body = "name: x\nsteps:\n  - {name: a, type: agent, agent: worker}\n  - {name: b}\n"
        refused = await admin.client.post(
            "/api/v1/workflows", content=body, headers={"content-type": "application/yaml"}
        )
        told = problem(refused)
        assert (told["status"], told["code"]) == (422, "validation_failed")
        assert [each["path"] for each in told["problems"]] == ["steps[1].type", "steps[0].agent"]
        assert [each["pointer"] for each in told["errors"]] == ["/steps/1/type", "/steps/0/agent"]
        for body, kind, status in (
            ("{", "application/json", 400),
            ("[]", "application/json", 422),
            ("", "application/json", 422),
            ("a: 1", "application/toml", 415),
        ):
            answer = await admin.client.post(
                "/api/v1/workflows", content=body, headers={"content-type": kind}
            )
            assert answer.status_code == status, answer.text


@pytest.mark.req("W-10")
async def test_metrics_and_readiness_know_of_runs(tmp_path: Path) -> None:
    async with working() as (_, url), serving(tmp_path / "data", *ALLOWED) as served:
        async with at(served) as admin:
            await admin.prepare(url, SHOUT)
            await admin.ended(await admin.start("shout", {"text": "hi"}))
        async with served.client("") as client:
            text = (await client.get("/metrics")).text
            assert (await client.get("/readyz")).json() == {"status": "ready"}
    assert '\naccord_runs_finished_total{state="completed"} 1\n' in text
    assert "\naccord_executor_shards 32\n" in text
    assert 'accord_tasks_ended_total{kind="agent",outcome="success"} 1\n' in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


async def test_executors_and_bridges_need_postgresql(tmp_path: Path) -> None:
    for part in ("executor", "bridge"):
        code, out, err = await accord(part, "--data", str(tmp_path / "data"))
        assert (code, out) == (2, "")
        assert f"accord {part} needs PostgreSQL" in err
