"""From a new requirement to comments on it: the whole system as an operator runs it, three agents,
two people, one trace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import json

from accord.a2a import Agent
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply
from accord.transports.http.server import listen_web
from accord.transports.http.web_app import Exchange, WebApp
from accord.transports.options import Options
from tests.app.served import PATIENCE, Served, accord, serving
from tests.markdown import read_blocks
from tests.store.cluster import Cluster

PAGE = Path(__file__).parents[3] / "docs" / "workflows" / "story.md"
NAMES = ("wording", "security", "testing")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
TEXT = "The system shall let an admin sign in fast."

# Runs in the server's process before anything else: every span becomes a line of a file.
SPANS = """
import json, os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

class Lines(SpanExporter):
    def export(self, spans):
        with open(os.environ["SPANS"], "a") as file:
            for span in spans:
                parent = f"{span.parent.span_id:016x}" if span.parent else ""
                told = {"name": span.name, "trace": f"{span.context.trace_id:032x}",
                        "id": f"{span.context.span_id:016x}", "parent": parent}
                file.write(json.dumps(told) + "\\n")
        return SpanExportResult.SUCCESS

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Lines()))
trace.set_tracer_provider(provider)
"""


class Heard(WebApp[Any]):
    """An agent that is served as it is, with what its callers say about their traces."""

    def __init__(self, agent: Agent) -> None:
        self._app = agent.app()
        self.traces: list[str] = []

    def judge(self, request: WebRequest) -> Any:
        if request.method == "POST":
            self.traces.append(request.fields.get("traceparent", ""))
        return self._app.judge(request)

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return self._app.too_large(request, most)

    def handle(self, judged: Any, body: bytes, exchange: Exchange) -> None:
        self._app.handle(judged, body, exchange)

    async def start(self) -> None:
        await self._app.start()

    async def close(self, drain: float) -> None:
        await self._app.close(drain)


def reviewer(name: str) -> Agent:
    agent = Agent(name, description=f"Looks at the {name} of requirements.")

    @agent.skill
    async def review(text: str) -> str:
        """Reviews a requirement."""
        return f"{name} of {len(text)} characters is fine"

    return agent


@asynccontextmanager
async def reviewers() -> AsyncIterator[dict[str, tuple[str, Heard]]]:
    """The agents, by name, with their URLs."""
    async with AsyncExitStack() as stack:
        found = {}
        for name in NAMES:
            heard = Heard(reviewer(name))
            await heard.start()
            listener = await listen_web("http://127.0.0.1:0/", heard, Options())
            stack.push_async_callback(heard.close, 1.0)
            stack.push_async_callback(listener.close)
            found[name] = (listener.url, heard)
        yield found


async def token(served: Served, env: dict[str, str], user: str, *scopes: str) -> str:
    flags = [flag for scope in scopes for flag in ("--scope", scope)]
    given = ("token", "create", "--user", user, "--name", "t", "--data", str(served.data))
    code, out, err = await accord(*given, *flags, env=env)
    assert code == 0, err
    return out.strip()


async def until(look: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(PATIENCE):
        while not holds(found := await look()):  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.05)
    return found


async def call_tool(client: httpx.AsyncClient, tool: str, **arguments: Any) -> Any:
    params = {"name": tool, "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await client.post("/api/v1/mcp", json=request, headers={"traceparent": PARENT})
    return answer.json()["result"]["structuredContent"]


@pytest.fixture(params=["one process with SQLite", "two workers with PostgreSQL"])
def installation(request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment of an installation's commands."""
    if "SQLite" in request.param:
        return {}
    cluster: Cluster = request.getfixturevalue("cluster")
    return {"ACCORD_DATABASE": cluster.database(), "ACCORD_SECRET_KEY": "k" * 64}


@pytest.mark.req("W-07", "W-10")
async def test_a_requirement_is_reviewed_approved_and_commented_on_in_one_trace(
    tmp_path: Path, installation: dict[str, str]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SPANS)
    spans = tmp_path / "spans.jsonl"
    env = {**installation, "PYTHONPATH": str(tmp_path), "SPANS": str(spans)}
    workers = ("--workers", "2" if installation else "1")
    flags = ("--tracing", "--allow-private-agents", *workers)
    async with reviewers() as agents, serving(tmp_path / "data", *flags, env=env) as served:
        for name, role in (("maria", "user"), ("ada", "administrator")):
            given = ("user", "create", name, "--role", role, "--data", str(served.data))
            assert (await accord(*given, env=installation))[0] == 0
        maria = await token(served, installation, "maria")
        ada = await token(served, installation, "ada", "read", "approve")
        async with served.client() as admin:
            for name, (url, _) in agents.items():
                made = await admin.post("/api/v1/agents", json={"name": name, "url": url})
                assert made.status_code == 201, made.text
            saved = await admin.post(
                "/api/v1/workflows",
                content=_definition(),
                headers={"content-type": "application/yaml"},
            )
            assert saved.status_code == 201, saved.text
        async with served.client(maria) as hers, served.client(ada) as his:
            run = await _story(hers, his)
            comments = await hers.get("/api/v1/requirements/REQ-002/comments")
            history = await hers.get(f"/api/v1/runs/{run['id']}/history")
    # Everything is written down: who, what, in which order.
    assert [(each["author"], each["text"]) for each in comments.json()["items"]] == [
        ("maria", f"{name}: {name} of {len(TEXT)} characters is fine") for name in NAMES
    ]
    [decision] = [each for each in history.json()["items"] if each["type"] == "approval_given"]
    assert decision["detail"]["by"] == "ada"
    assert (run["started_by"], run["origin"], run["state"]) == ("maria", "event", "completed")
    # One trace, from the call that made the requirement to the agents and the comments.
    told = [json.decode(line) for line in spans.read_bytes().splitlines()]
    calls = [span for span in told if span["trace"] == TRACE and span["name"] == "tools/call"]
    assert {span["parent"] for span in calls} == {PARENT.split("-")[2]}
    made = calls[-1]
    below = [span for span in told if (span["trace"], span["parent"]) == (TRACE, made["id"])]
    assert sorted(span["name"] for span in below) == [
        *("agent security", "agent testing", "agent wording", "create_requirement"),
        *("operation add_comment",) * 3,
        "run review",
    ]
    asked = {span["name"]: f"00-{TRACE}-{span['id']}-01" for span in below}
    for name, (_, heard) in agents.items():
        assert set(heard.traces) == {asked[f"agent {name}"]}


async def _story(maria: httpx.AsyncClient, ada: httpx.AsyncClient) -> dict[str, Any]:
    """Maria writes a requirement, ada approves its reviews; the run when it is over."""
    epic = await call_tool(maria, "create_epic", title="Accounts")
    story = await call_tool(maria, "create_user_story", epic_id=epic["id"], title="Sign in")
    about = {"user_story_id": story["id"], "title": "Sign in", "description": TEXT}
    await call_tool(maria, "create_requirement", **about, priority=4)  # not for the workflow
    await call_tool(maria, "create_requirement", **about, priority=1)

    async def runs() -> Any:
        return (await ada.get("/api/v1/runs")).json()["items"]

    [waiting] = await until(runs, lambda found: bool(found) and found[0]["state"] == "waiting")
    refused = await maria.post(f"/api/v1/runs/{waiting['id']}/approve", json={})
    assert refused.status_code == 403
    approved = await ada.post(f"/api/v1/runs/{waiting['id']}/approve", json={"reason": "good"})
    assert approved.status_code == 202, approved.text

    async def run() -> Any:
        return (await ada.get(f"/api/v1/runs/{waiting['id']}")).json()

    found: dict[str, Any] = await until(
        run, lambda found: found["state"] != "waiting" and bool(found["finished_at"])
    )
    return found


def _definition() -> str:
    """The workflow that the page shows."""
    [shown] = [each for each in read_blocks("story", PAGE) if each.text == "review.yaml"]
    return shown.code
