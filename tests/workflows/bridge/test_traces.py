"""Spans of calls where tracing is on, and what building requests and reading answers takes."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from accord.a2a.protocol.answers import read_result
from accord.a2a.protocol.formats import FORMATS
from accord.a2a.protocol.outcome import outcome_of
from accord.a2a.protocol.params import Send
from accord.a2a.protocol.requests import message_of, send_request
from accord.a2a.protocol.versions import Wire
from accord.store import open_store
from accord.telemetry.tracing import OutgoingSpans
from accord.workflows.bridge.agents import AgentCaller
from accord.workflows.bridge.methods import MethodCaller
from accord.workflows.bridge.registry import Agents
from accord.workflows.bridge.secrets import Secrets
from accord.workflows.core.commands import CallMethod
from accord.workflows.core.definition import Retry, RpcTarget
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
            AgentCaller(Agents(store), LOCAL, Secrets(Path("/nowhere"), {}), spans=spans),
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


@pytest.mark.req("W-11")
@pytest.mark.parametrize("wire", Wire)
def test_building_a_request_and_reading_an_answer_takes_next_to_no_time(wire: Wire) -> None:
    text = "lorem ipsum " * 1_000
    parts = [{"kind": "text", "text": text}] if wire is Wire.V03 else [{"text": text}]
    state = "completed" if wire is Wire.V03 else "TASK_STATE_COMPLETED"
    task = {
        "kind": "task",
        "id": "r-1",
        "contextId": "c-1",
        "status": {"state": state},
        "artifacts": [{"artifactId": "a", "parts": parts}],
    }
    value = task if wire is Wire.V03 else {"task": task}
    body = http({"jsonrpc": "2.0", "id": "t-1", "result": value}).partition(b"\r\n\r\n")[2]
    building, reading = [], []
    for _ in range(50):
        begun = time.perf_counter()
        message = message_of({"text": text, "lang": "de"}, message_id="m-1")
        send_request(wire, "t-1", Send(message=message, blocking=False))
        built = time.perf_counter()
        outcome_of(read_result(body, "t-1", FORMATS[wire].read_answer))
        building.append(built - begun)
        reading.append(time.perf_counter() - built)
    assert median(building) < 0.005
    assert median(reading) < 0.010
