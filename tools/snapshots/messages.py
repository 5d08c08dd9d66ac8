"""Messages that other programs read: those in the topics of Kafka, and the exported audit trail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from accord.app.database import MIGRATIONS
from accord.operations.audit.operations import EXPORT_FORMATS, export_trail
from accord.operations.audit.record import Record
from accord.operations.audit.trail import AuditTrail
from accord.store import open_store
from accord.workflows.bus.bus import RunAnnouncement
from accord.workflows.bus.envelope import (
    AnyEnvelope,
    CancelRun,
    DeadLetterNotice,
    RunRequest,
    SignalRun,
    StartRun,
    TaskAnswered,
    encode,
    run_events,
    task_cancelled,
    task_sent,
)
from accord.workflows.bus.outbox import outbox_message
from accord.workflows.bus.publisher import kafka_message
from accord.workflows.bus.topics import TopicNames, TopicShape
from accord.workflows.core.definition import McpTarget, RpcTarget
from accord.workflows.core.events import CallAgent, CallMethod, CallOperation, CallPlugin, CallTool
from accord.workflows.core.state import Failure
from accord.workflows.storage.tasks import Call, NewTask
from tools.snapshots.kept import as_json

RUN = "0197a000-0000-7000-8000-000000000001"
MESSAGE = "0197a000-0000-7000-8000-000000000002"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
KEY = b"k" * 32


def kafka() -> str:
    """The topics, and an example of each kind of message with its key and headers."""
    names, shape = TopicNames(), TopicShape()
    settings = f"{shape.partitions} partitions, kept for {shape.retention_seconds:,} seconds"
    written = "\n".join(_written(topic, sent) for topic, sent in _sent(names))
    read = "\n".join(f"in {names.runs}\n{as_json(each)}" for each in _asked())
    return f"topics: {', '.join(names.all())}\n{settings}\n\n{written}\n{read}"


def _written(topic: str, sent: AnyEnvelope) -> str:
    parcel = kafka_message(outbox_message(topic, sent), 1)
    headers = ", ".join(f"{name}: {value!r}" for name, value in parcel.headers)
    return f"in {topic}, key {parcel.key.decode()}, headers {headers}\n{encode(sent)}\n".replace(
        ',"', ',\n "'
    )


def _split(message: str) -> str:
    """JSON as it is written, with each member on a line."""
    return message.replace(',"', ',\n "')


def _sent(names: TopicNames) -> Iterator[tuple[str, AnyEnvelope]]:
    for command in _commands():
        task = NewTask(run_id=RUN, command=command, at=5.0, traceparent=TRACE, correlation_id="c-1")
        yield names.tasks, task_sent(task)
    yield names.tasks, task_cancelled(f"{RUN}/ask", 6.0)
    answers = (
        {"status": "success", "output": "done", "data": {"a": 1}, "artifacts": [{"b": 2}]},
        {"status": "error", "error": Failure("timeout", "too late", "ask", {"c": 3})},
        {"status": "input_required", "prompt": "Which one?"},
    )
    for answer in answers:
        yield (
            names.results,
            TaskAnswered(
                message_id=MESSAGE,
                run_id=RUN,
                task_id=f"{RUN}/ask",
                attempt=2,
                correlation_id="c-1",
                traceparent=TRACE,
                created_at=7.0,
                **answer,
            ),
        )
    events = '[{"type":"run_started","at":8.0}]'
    yield names.events, run_events(RunAnnouncement(RUN, 3, events, 8.0, "c-1", TRACE))
    yield (
        names.dead_letters,
        DeadLetterNotice(
            message_id=MESSAGE,
            run_id=RUN,
            topic=names.results,
            code="unreadable",
            message="not a message",
            body="{",
            created_at=9.0,
        ),
    )


def _commands() -> tuple[Call, ...]:
    return (
        CallAgent(task="ask", step="ask", agent="reviewer", input="text", deadline=60.0),
        CallOperation(task="ask", step="ask", operation="add_comment", input={"text": "x"}),
        CallTool(
            task="ask",
            step="ask",
            target=McpTarget(server="https://tools.example.com/mcp", tool="look"),
        ),
        CallMethod(
            task="ask",
            step="ask",
            target=RpcTarget(url="https://rpc.example.com/", method="add"),
            input=[1, 2],
        ),
        CallPlugin(task="ask", step="ask", plugin="post", input={"to": "ann"}),
    )


def _asked() -> tuple[RunRequest, ...]:
    run = UUID(RUN)
    return (
        StartRun(
            schema=1,
            message_id=MESSAGE,
            workflow="review",
            version=2,
            started_by="ann",
            run_id=run,
            input={"text": "x"},
            correlation_id="c-1",
            traceparent=TRACE,
        ),
        CancelRun(schema=1, message_id=MESSAGE, run_id=run, by="ann", reason="not needed"),
        SignalRun(schema=1, message_id=MESSAGE, run_id=run, name="go", id="s-1", payload={"a": 1}),
    )


async def audit() -> str:
    """The export of a trail of two records, in each format."""
    with TemporaryDirectory() as folder:
        async with open_store(f"sqlite://{Path(folder)}/accord.db", durable=False) as store:
            await store.migrate("operations", MIGRATIONS["operations"])
            async with AuditTrail(store, KEY) as trail:
                for record in _records():
                    trail.enqueue(record)
                await trail.flush()
                parts = []
                for format in EXPORT_FORMATS:
                    written: list[bytes] = []
                    await export_trail(store, KEY, written.append, format=format)
                    told = b"".join(written).decode().replace("\r\n", "\n")
                    parts.append(f"{format}\n{_split(told)}")
    return "\n".join(parts)


def _records() -> tuple[Record, ...]:
    return (
        Record(
            id="00000000-0000-4000-8000-000000000001",
            time="2026-01-02T03:04:05.000006Z",
            actor_id="00000000-0000-4000-8000-00000000000a",
            actor="ada",
            via="token",
            face="mcp",
            token_id="00000000-0000-4000-8000-00000000000b",
            client="assistant/1.0",
            address="192.0.2.1",
            operation="create_epic",
            target="EP-001",
            change_id="00000000-0000-4000-8000-00000000000c",
            before_hash="",
            after_hash="0" * 64,
            correlation_id="c-1",
        ),
        Record(
            id="00000000-0000-4000-8000-000000000002",
            time="2026-01-02T03:04:06.000006Z",
            actor_id="",
            actor="=cmd",
            via="",
            face="rest",
            operation="sign_in",
            outcome="unauthenticated",
            error="unauthenticated",
            correlation_id="c-2",
        ),
    )
