"""Spans of calls where tracing is on."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from accord.store import open_store
from accord.telemetry.metrics import Exposition
from accord.telemetry.tracing import OutgoingSpans
from accord.workflows.bridge.agents import AgentCache, AgentCaller
from accord.workflows.bridge.callers import MethodCaller
from accord.workflows.bridge.client_pool import Secrets
from accord.workflows.core.definition import Retry, RpcTarget
from accord.workflows.core.events import CallMethod
from tests.a2a.scripted import Asked, http
from tests.workflows.bridge.unruly import done, unruly
from tests.workflows.bridge.yard import LOCAL, RUN, Tasks, working

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@pytest.mark.req("W-10")
async def test_a_call_is_a_span_in_the_trace_of_its_run(migrated_url: str) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = OutgoingSpans(provider)

    def answer(asked: Asked, n: int) -> bytes:
        return done(asked) if "params" in asked.json else http({}, status=500)

    async with (
        open_store(migrated_url, durable=False) as store,
        unruly(answer) as agent,
    ):
        agents, methods = (
            AgentCaller(AgentCache(store), LOCAL, Secrets(Path("/nowhere"), {}), spans=spans),
            MethodCaller(LOCAL, spans=spans),
        )
        async with working(migrated_url, {"agent": agents, "method": methods}) as yard:
            await Tasks(store).register("a", agent.url)
            await yard.told(await yard.ask("a", task="s"))
            target = RpcTarget(url=agent.url, method="m")
            method = CallMethod(task="m", step="m", target=target, retry=Retry(attempts=1))
            await yard.told((await yard.give(method))[0])
        await agents.close()
        await methods.close()
    asked, failed = exporter.get_finished_spans()
    context, parent = asked.get_span_context(), asked.parent
    assert context is not None
    assert parent is not None
    assert (f"{context.trace_id:032x}", f"{parent.span_id:016x}") == (TRACE, PARENT)
    assert agent.asked[0].headers["traceparent"] == f"00-{TRACE}-{context.span_id:016x}-01"
    assert asked.name == "agent a"
    assert dict(asked.attributes or {}) == {
        "accord.task.id": f"{RUN}/s",
        "accord.task.kind": "agent",
        "accord.task.target": "a",
        "accord.task.attempt": "1",
    }
    assert (failed.name, failed.status.is_ok) == (f"method {agent.url}", False)


@pytest.mark.req("W-10")
async def test_neither_spans_nor_logs_nor_metrics_have_the_query_of_a_url(
    migrated_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    methods = MethodCaller(LOCAL, spans=OutgoingSpans(provider))
    caplog.set_level(logging.INFO, "accord.bridge")
    async with (
        unruly(lambda asked, n: http({}, status=500)) as server,
        working(migrated_url, {"method": methods}) as yard,
    ):
        for n in range(10):  # until both are left alone
            target = RpcTarget(url=f"{server.url}?key=hunter{n % 2}", method="m")
            method = CallMethod(task=f"m{n}", step="m", target=target, retry=Retry(attempts=1))
            await yard.told((await yard.give(method))[0])
        page = Exposition()
        yard.worker.write(page)
        await methods.close()
    written, spans = page.encode().decode(), exporter.get_finished_spans()
    shown = f"{server.url}?…"
    assert f'accord_task_calls_total{{kind="method",target="{shown}",answered="no"}} 10' in written
    assert f'accord_task_breakers{{kind="method",target="{shown}",state="open"}} 2' in written
    assert "hunter" not in written
    assert [(each.name, (each.attributes or {})["accord.task.target"]) for each in spans] == [
        (f"method {shown}", shown)
    ] * 10
    lines = [record.__dict__ for record in caplog.records]
    assert [line["method"] for line in lines if "method" in line] == [shown] * 10
    assert "hunter" not in str(lines)
