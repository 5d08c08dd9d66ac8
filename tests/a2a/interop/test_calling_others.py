"""Our client calls agents that others wrote: the official SDKs of Python and JavaScript, in both
formats."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from accord.a2a import (
    AgentError,
    Client,
    Message,
    Task,
    TaskResult,
    TaskState,
    UnknownOutcomeError,
    Wire,
    call,
)
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.model import ArtifactUpdate, FilePart, StatusUpdate
from accord.a2a.protocol.outcome import ResultError
from tests.a2a.interop.programs import agent_of
from tests.a2a.scripted import LOCAL
from tests.interop.programs import serving

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module", params=["python", "javascript"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(agent_of(request.param)) as url:
        yield url


@pytest.fixture(params=[*Wire, None], ids=["0.3", "1.0", "by card"])
async def client(url: str, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    async with Client(url, wire=request.param, policy=LOCAL) as client:
        yield client


async def send(client: Client, text: Any, message_id: str = "m-1", **options: Any) -> Any:
    return await client.send(text, id="t-1", message_id=message_id, **options)


@pytest.mark.req("W-12")
async def test_the_card_is_read(url: str) -> None:
    async with Client(url, policy=LOCAL) as client:
        card = await client.card()
        reached = await client.reached()
    assert {interface.version for interface in card.interfaces} == {"1.0", "0.3"}
    assert (card.streaming, [skill.id for skill in card.skills], reached.wire) == (
        True,
        ["x"],
        Wire.V10,
    )


@pytest.mark.parametrize(
    ("input", "output"),
    [
        ("artifact hello", "hello"),
        ("status hello", "hello"),
        ("direct hello", "hello"),
        ({"text": "metadata", "lang": "de"}, "de"),
        ("data", "counted"),
        ("slow", "at last"),
        ("chunks", "0 \n1 \n2 "),
    ],
)
async def test_outputs_are_found_wherever_they_are(client: Client, input: Any, output: str) -> None:
    told = await call(client, input, task_id="t-1", message_id="m-1")
    assert told == TaskResult("t-1", "success", output)


async def test_data_and_files_are_beside_the_text(client: Client) -> None:
    extracted = extract(await send(client, "data"))
    assert extracted.data == ({"count": 42},)
    assert isinstance(extracted.data[0]["count"], int)
    assert [(file.content, file.name) for file in extracted.files] == [
        (FilePart.of(b"tck").content, "a.txt")
    ]


@pytest.mark.parametrize(
    ("input", "code", "message"),
    [
        ("fail", "task_failed", "no model"),
        ("reject", "task_rejected", "not today"),
        ("ask", "input_required", "Which city?"),
    ],
)
async def test_failures_are_told(client: Client, input: str, code: str, message: str) -> None:
    told = await call(client, input, task_id="t-1", message_id="m-1")
    assert told.error == ResultError(code, message)


async def test_a_direct_message_has_no_task(client: Client) -> None:
    assert isinstance(await send(client, "direct hi"), Message)


async def test_a_question_is_answered(client: Client) -> None:
    asking = await send(client, "ask")
    assert asking.status.state is TaskState.INPUT_REQUIRED
    done = await send(client, "Oslo", "m-2", task_id=asking.id, context_id=asking.context_id)
    assert (done.status.state, extract(done).output) == (TaskState.COMPLETED, "thank you for Oslo")


async def test_a_stream_is_told_as_it_comes(client: Client) -> None:
    told = [event async for event in client.stream("chunks", id="t-1", message_id="m-1")]
    pieces = [event.artifact.parts[0].text for event in told if isinstance(event, ArtifactUpdate)]  # type: ignore[union-attr]
    assert isinstance(told[0], Task)
    assert pieces == ["0 ", "1 ", "2 "]
    assert isinstance(told[-1], StatusUpdate)
    assert told[-1].status.state is TaskState.COMPLETED


async def test_a_task_is_followed_and_cancelled(client: Client) -> None:
    begun = await send(client, "wait", blocking=False)
    assert begun.status.state in (TaskState.SUBMITTED, TaskState.WORKING)
    following = client.subscribe(begun.id)
    assert isinstance(await anext(following), Task)
    ended = await client.cancel(begun.id)
    told = [event async for event in following]
    assert ended.status.state is TaskState.CANCELED
    assert any(isinstance(event, StatusUpdate | Task) for event in told)


async def test_errors_are_the_protocols(client: Client) -> None:
    with pytest.raises(UnknownOutcomeError) as forgotten:
        await client.get("nobody-knows")
    with pytest.raises(AgentError) as unknown:
        await client.cancel("nobody-knows")
    assert (forgotten.value.code, unknown.value.code) == (-32001, -32001)
