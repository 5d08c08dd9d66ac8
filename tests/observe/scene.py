"""A system that is used in every way once, and what an operator then has seen of it: numbers, log
lines, spans. Written by a test, and by whoever draws a picture of a trace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final
from unittest.mock import patch

import httpx
import msgspec
from msgspec import Struct
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from accord.a2a import Agent
from accord.app.observers import Traffic
from accord.app.runtime import open_runtime
from accord.app.settings import Settings
from accord.app.site import SystemSite
from accord.app.system import open_system, prepare
from accord.operations.logs import JsonFormat
from accord.telemetry.tracing import RequestSpans
from accord.transports.http.server import listen_web
from accord.transports.options import Options
from tests.patience import PATIENCE as PATIENCE

TRACE: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT: Final = f"00-{TRACE}-00f067aa0ba902b7-01"
TEXT: Final = "The system shall let an admin sign in fast."

REVIEW: Final = {
    "name": "review",
    "on": [
        {
            "event": "requirement.created",
            "input": {"requirement": "${event.id}", "text": "${event.after.description}"},
        }
    ],
    "steps": [
        {"name": "ask", "type": "agent", "agent": "reviewer", "input": "${input.text}"},
        {
            "name": "comment",
            "type": "call",
            "operation": "add_comment",
            "input": {"target_id": "${input.requirement}", "text": "${steps.ask.output}"},
        },
    ],
}
AWAY: Final = {
    "name": "away",
    "steps": [
        {
            "name": "ask",
            "type": "agent",
            "agent": "nobody",
            "input": "x",
            "retry": {"attempts": 5, "initial_delay": 0.01, "max_delay": 0.01, "jitter": False},
        }
    ],
}


class Observed(Struct, frozen=True):
    """What was to be seen."""

    metrics: str
    """The page for Prometheus."""
    lines: list[dict[str, Any]]
    """Of the log."""
    spans: list[ReadableSpan]
    comments: list[str]
    """Below the requirement that was written."""


async def observe(settings: Settings) -> Observed:
    """Use a system, and look at it."""
    spans = InMemorySpanExporter()
    lines: list[dict[str, Any]] = []
    with _logged(lines), _traced(spans, "accord"):
        first = await prepare(settings)
        assert first is not None
        async with open_runtime(settings) as local:  # nobody watches this one
            token = await local.run("create_token", user=first.username, name="everything")
        async with (
            _reviewer(spans) as url,
            open_system(settings) as system,
            httpx.AsyncClient(base_url=system.url, timeout=PATIENCE) as client,
        ):
            caller = _Caller(client, token.result.token)
            await _fail_to_get_in(client)
            await _sign_in(client, first.username, first.password)
            await _look_around(caller)
            await caller.post("/agents", name="reviewer", url=url)
            await caller.post("/agents", name="nobody", url="http://127.0.0.1:9/")
            for workflow in (REVIEW, AWAY):
                await caller.post("/workflows", **workflow)
            await _fail_with_an_agent(caller)
            comments = await _write_a_requirement(caller)
            page = (await client.get("/metrics")).text
    return Observed(page, lines, list(spans.get_finished_spans()), comments)


class _Caller:
    """Calls as the administrator."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self.client = client
        self.headers = {"Authorization": f"Bearer {token}"}

    async def get(self, path: str) -> Any:
        answer = await self.client.get(f"/api/v1{path}", headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, **body: Any) -> Any:
        answer = await self.client.post(f"/api/v1{path}", json=body, headers=self.headers)
        assert answer.status_code in (200, 201, 202), answer.text
        return answer.json()

    async def tool(self, name: str, **arguments: Any) -> Any:
        """A tool over MCP, in a trace that the client began."""
        params = {"name": name, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {**self.headers, "traceparent": PARENT}
        answer = await self.client.post("/api/v1/mcp", json=request, headers=headers)
        return answer.json()["result"]["structuredContent"]


async def _fail_to_get_in(client: httpx.AsyncClient) -> None:
    wrong = {"username": "admin", "password": "not this one"}
    assert (await client.post("/api/v1/sessions", json=wrong)).status_code == 401
    stolen = {"Authorization": "Bearer accord_pat_" + "0" * 40}
    assert (await client.get("/api/v1/epics", headers=stolen)).status_code == 401


async def _sign_in(client: httpx.AsyncClient, username: str, password: str) -> None:
    right = {"username": username, "password": password}
    assert (await client.post("/api/v1/sessions", json=right)).status_code == 201
    client.cookies.clear()


async def _look_around(caller: _Caller) -> None:
    """Every face, and what is refused there."""
    client = caller.client
    assert (await client.get("/")).status_code == 303
    await client.get("/nowhere")
    assert (await client.get("/.well-known/agent-card.json")).status_code == 200
    assert (await client.post("/api/v1/webhooks/nobody", json={})).status_code in (401, 403, 404)
    assert (await client.get("/readyz")).status_code == 200
    await caller.get("/search?query=nothing")
    call = {"jsonrpc": "2.0", "id": 1, "method": "list_epics", "params": {}}
    for body in (call, {**call, "method": "no such method"}, [call, call], {"no": "call"}):
        await client.post("/rpc", json=body, headers=caller.headers)


async def _fail_with_an_agent(caller: _Caller) -> None:
    """As often as it takes until it is left alone."""
    run = await caller.post("/workflows/away/runs", input=None)
    await _until(lambda: caller.get(f"/runs/{run['id']}"), lambda it: it["state"] == "failed")


async def _write_a_requirement(caller: _Caller) -> list[str]:
    """And wait until an agent has commented on it."""
    epic = await caller.post("/epics", title="Accounts")
    story = await caller.post("/user-stories", epic_id=epic["id"], title="Sign in")
    made = await caller.tool(
        "create_requirement", user_story_id=story["id"], title="Sign in", description=TEXT
    )
    run = await _until(
        lambda: caller.get("/runs?workflow=review"),
        lambda found: bool(found["items"]) and found["items"][0]["state"] == "completed",
    )
    async with caller.client.stream(
        "GET", f"/api/v1/runs/{run['items'][0]['id']}/events", headers=caller.headers
    ) as events:
        assert events.status_code == 200
    comments = await caller.get(f"/requirements/{made['id']}/comments")
    return [each["text"] for each in comments["items"]]


async def _until(look: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(PATIENCE):
        while not holds(found := await look()):  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.2)
    return found


@asynccontextmanager
async def _reviewer(spans: InMemorySpanExporter) -> AsyncIterator[str]:
    """An agent that makes spans of its own."""
    agent = Agent("reviewer", description="Looks at requirements.")

    @agent.skill
    async def review(text: str) -> str:
        """Reviews a requirement."""
        await asyncio.sleep(0.02)
        return f"{len(text)} characters are fine"

    traffic = Traffic(RequestSpans(_provider(spans, "reviewer")))
    site = SystemSite({"": agent.app()}, faces={"": "agent"}, traffic=traffic)
    await site.start()
    listener = await listen_web("http://127.0.0.1:0/", site, Options())
    try:
        yield listener.url
    finally:
        await site.close(0)
        await listener.close()


def _provider(spans: InMemorySpanExporter, service: str) -> TracerProvider:
    provider = TracerProvider(resource=Resource({"service.name": service}))
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return provider


@contextmanager
def _traced(spans: InMemorySpanExporter, service: str) -> Iterator[None]:
    """Where spans go that belong to nobody in particular: a process may say that only once."""
    provider = _provider(spans, service)
    with patch.object(trace, "get_tracer_provider", lambda: provider):
        yield


@contextmanager
def _logged(lines: list[dict[str, Any]]) -> Iterator[None]:
    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(msgspec.json.decode(self.format(record)))

    handler = Lines(logging.DEBUG)
    handler.setFormatter(JsonFormat())
    logger = logging.getLogger("accord")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        with suppress(ValueError):
            handler.close()
