"""An agent written with the toolkit, called with our client in both formats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord.a2a import (
    Agent,
    AgentError,
    Bearer,
    CallError,
    Client,
    Message,
    PushConfig,
    Task,
    TaskContext,
    TaskState,
    UnknownOutcomeError,
    Wire,
)
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.model import (
    ArtifactUpdate,
    DataPart,
    FilePart,
    Send,
    StatusUpdate,
    TextPart,
)
from accord.a2a.server.memory_backend import MemoryBackend
from accord.a2a.server.skills import make_skill
from accord.jsonrpc.protocol.errors import RegistrationError
from tests.a2a.scripted import LOCAL, http, scripted
from tests.a2a.server.demo import make_agent

both = pytest.mark.parametrize("wire", list(Wire))


@asynccontextmanager
async def served(agent: Agent, wire: Wire | None, **options: Any) -> AsyncIterator[Client]:
    """A client of an agent that is served."""
    async with (
        agent.serve("http://127.0.0.1:0/", drain=0.0) as serving,
        Client(serving.url, wire=wire, policy=LOCAL, **options) as client,
    ):
        yield client


async def send(client: Client, skill: str, text: Any, **options: Any) -> Any:
    options = {"id": "t-1", "message_id": f"m-{skill}", **options}
    message = {"text": text, "skill": skill} if isinstance(text, str) else text
    return await client.send(message, **options)


def state(task: Any) -> TaskState:
    assert isinstance(task, Task)
    return task.status.state


@both
async def test_a_text_is_worked_on(wire: Wire) -> None:
    async with served(make_agent(), wire) as client:
        task = await client.send("hello", id="t-1", message_id="m-1")
        assert isinstance(task, Task)
        assert (state(task), extract(task).output) == (TaskState.COMPLETED, "HELLO")
        assert [message.text for message in task.history] == ["hello"]
        assert await client.get(task.id) == task
        assert (await client.get(task.id, history_length=0)).history == ()


async def test_the_card_chooses_the_newer_format() -> None:
    async with served(make_agent(), None) as client:
        card = await client.card()
        assert extract(await client.send("x", id="1", message_id="m")).output == "X"
        reached = await client.reached()
    assert (card.name, card.streaming, card.push_notifications) == ("demo", True, False)
    assert [skill.id for skill in card.skills][:2] == ["shout", "echo"]
    assert (card.skills[0].name, card.skills[0].description) == ("Shout", "Says it in capitals.")
    assert (reached.wire, [interface.version for interface in card.interfaces]) == (
        Wire.V10,
        ["1.0", "0.3"],
    )


@both
async def test_a_direct_answer_needs_no_task(wire: Wire) -> None:
    async with served(make_agent(), wire) as client:
        answer = await send(client, "echo", "hello", context_id="c-1")
        told = [
            event
            async for event in client.stream({"text": "a", "skill": "echo"}, id="2", message_id="m")
        ]
    assert isinstance(answer, Message)
    assert (answer.text, answer.role, answer.context_id) == ("echo: hello", "agent", "c-1")
    assert [event.text for event in told if isinstance(event, Message)] == ["echo: a"]


@both
async def test_what_a_skill_returns_becomes_an_artifact(wire: Wire) -> None:
    async with served(make_agent(), wire) as client:
        made = await send(client, "many", "x")
        picture = await send(client, "picture", "x")
        nothing = await send(client, "nothing", "x")
    (artifact,) = made.artifacts
    assert artifact.parts == (
        TextPart(text="x"),
        FilePart.of(b"x", name="x.bin"),
        DataPart(data=[1]),
    )
    assert picture.artifacts[0].parts == (FilePart.of(b"\x89PNG"),)
    assert (nothing.artifacts, state(nothing)) == ((), TaskState.COMPLETED)


@both
@pytest.mark.parametrize(
    ("part", "ended", "output"),
    [
        (DataPart(data={"a": 1, "b": 2}), TaskState.COMPLETED, ({"sum": 3},)),
        (TextPart(text='{"a": 3, "b": 4}'), TaskState.COMPLETED, ({"sum": 7},)),
        (DataPart(data={"a": 1}), TaskState.REJECTED, ()),
        (TextPart(text="hello"), TaskState.REJECTED, ()),
    ],
)
async def test_data_is_converted_to_what_a_skill_takes(
    wire: Wire, part: Any, ended: TaskState, output: tuple[Any, ...]
) -> None:
    message = Message(message_id="m", role="user", parts=(part,), metadata={"skill": "add"})
    async with served(make_agent(), wire) as client:
        task = await client.send(message, id="1", message_id="m")
    assert isinstance(task, Task)
    assert (state(task), extract(task).data) == (ended, output)


@both
async def test_a_generator_is_told_piece_by_piece_and_kept_as_one(wire: Wire) -> None:
    async with served(make_agent(), wire) as client:
        told = [
            event
            async for event in client.stream(
                {"text": "a b", "skill": "tell"}, id="1", message_id="m"
            )
        ]
        assert isinstance(told[0], Task)
        task = await client.get(told[0].id)
    pieces = [
        (event.artifact.parts, event.append) for event in told if isinstance(event, ArtifactUpdate)
    ]
    assert pieces == [((TextPart(text="a "),), False), ((TextPart(text="b "),), True)]
    assert isinstance(told[-1], StatusUpdate)
    assert told[-1].status.state is TaskState.COMPLETED
    assert task.artifacts[0].parts == (TextPart(text="a b "),)


@both
async def test_a_skill_asks_and_is_answered(wire: Wire) -> None:
    async with served(make_agent(), wire) as client:
        asking = await send(client, "ask", "rain")
        assert (state(asking), asking.status.message.text) == (
            TaskState.INPUT_REQUIRED,
            "Which city?",
        )
        more = {"task_id": asking.id, "context_id": asking.context_id}
        done = await client.send("Oslo", id="2", message_id="m-2", **more)
        again = await client.send("Oslo", id="3", message_id="m-2", **more)
    assert isinstance(done, Task)
    assert (done.id, state(done), extract(done).output) == (
        asking.id,
        TaskState.COMPLETED,
        "rain in Oslo",
    )
    assert [message.text for message in done.history] == [
        "rain",
        "thinking",
        "Which city?",
        "Oslo",
    ]
    assert again == done


@both
@pytest.mark.parametrize(
    ("skill", "ended", "said"),
    [
        ("reject", TaskState.REJECTED, "not today"),
        ("fail", TaskState.FAILED, "no model"),
        ("crash", TaskState.FAILED, "the agent failed; its log says why"),
    ],
)
async def test_failures_are_told_without_secrets(
    wire: Wire, skill: str, ended: TaskState, said: str
) -> None:
    async with served(make_agent(), wire) as client:
        task = await send(client, skill, "x")
    assert (state(task), task.status.message.text) == (ended, said)


@both
async def test_a_message_that_comes_again_is_not_worked_on_again(wire: Wire) -> None:
    async with served(make_agent(), wire) as client:
        first = await client.send("a", id="1", message_id="m")
        again = await client.send("a", id="2", message_id="m")
        other = await client.send("b", id="3", message_id="m")
    assert isinstance(first, Task)
    assert isinstance(other, Task)
    assert again == first
    assert other.id != first.id


async def test_a_careless_client_can_be_allowed_to_repeat_itself() -> None:
    async with served(make_agent(once=False), Wire.V10) as client:
        first, again = [await client.send("a", id="1", message_id="m") for _ in range(2)]
    assert isinstance(first, Task)
    assert isinstance(again, Task)
    assert again.id != first.id


@both
async def test_a_task_that_takes_its_time_is_followed_and_cancelled(wire: Wire) -> None:
    async with served(make_agent(), wire) as client:
        begun = await send(client, "wait", "x", blocking=False)
        assert state(begun) in (TaskState.SUBMITTED, TaskState.WORKING)
        following = client.subscribe(begun.id)
        assert isinstance(await anext(following), Task)
        ended = await client.cancel(begun.id)
        told = [event async for event in following]
        with pytest.raises(AgentError) as caught:
            await client.cancel(begun.id)
        with pytest.raises(AgentError) as over:
            await anext(client.subscribe(begun.id))
    assert state(ended) is TaskState.CANCELED
    assert isinstance(told[-1], StatusUpdate)
    assert told[-1].status.state is TaskState.CANCELED
    assert (caught.value.code, over.value.code) == (-32002, -32004)


async def test_a_task_is_cancelled_that_has_not_even_begun() -> None:
    async def never() -> None:
        raise AssertionError

    skill = make_skill(never, direct=False, id="", name="")
    workshop = MemoryBackend({"never": skill}, input_modes=(), webhooks=None)
    message = Message(message_id="m", role="user", parts=(TextPart(text="x"),))
    task = await workshop.send(Send(message=message), "")
    assert isinstance(task, Task)
    assert state(await workshop.cancel(task.id, "")) is TaskState.CANCELED
    await workshop.close(0.0)


@both
@pytest.mark.parametrize(
    ("message", "code"),
    [
        (Message(message_id="m", role="user", parts=()), -32602),
        (Message(message_id="", role="user", parts=(TextPart(text="x"),)), -32602),
        (
            Message(
                message_id="m", role="user", parts=(FilePart(url="u", media_type="video/mp4"),)
            ),
            -32005,
        ),
        (
            Message(message_id="m", role="user", parts=(TextPart(text="x"),), task_id="unknown"),
            -32001,
        ),
        (
            Message(
                message_id="m", role="user", parts=(TextPart(text="x"),), metadata={"skill": "fly"}
            ),
            -32602,
        ),
        (
            Message(
                message_id="m", role="user", parts=(TextPart(text="x"),), metadata={"skill": 7}
            ),
            -32602,
        ),
    ],
)
async def test_what_cannot_be_worked_on_is_an_error(
    wire: Wire, message: Message, code: int
) -> None:
    async with served(make_agent(), wire) as client:
        with pytest.raises(AgentError) as caught:
            await client.send(message, id="1", message_id="m")
    assert caught.value.code == code


@both
async def test_a_task_that_does_not_wait_takes_no_message(wire: Wire) -> None:
    async with served(make_agent(), wire) as client:
        done = await client.send("x", id="1", message_id="m")
        assert isinstance(done, Task)
        with pytest.raises(AgentError) as over:
            await client.send("y", id="2", message_id="n", task_id=done.id)
        with pytest.raises(AgentError) as mismatch:
            await client.send("y", id="2", message_id="n", task_id=done.id, context_id="other")
    assert (over.value.code, mismatch.value.code) == (-32004, -32602)


async def test_types_of_content_may_be_wildcards() -> None:
    async with served(make_agent(input_modes=("text/*",)), Wire.V10) as client:
        for kind, fine in (("text/markdown; charset=utf-8", True), ("image/png", False)):
            message = Message(
                message_id=kind, role="user", parts=(TextPart(text="x", media_type=kind),)
            )
            if fine:
                assert (
                    state(await client.send(message, id="1", message_id="m")) is TaskState.COMPLETED
                )
            else:
                with pytest.raises(AgentError):
                    await client.send(message, id="1", message_id="m")


async def test_a_token_lets_in_who_has_it() -> None:
    agent = make_agent(token="s3cret")
    async with served(agent, None, auth=Bearer("s3cret")) as client:
        card = await client.card()
        assert state(await client.send("x", id="1", message_id="m")) is TaskState.COMPLETED
    assert card.security_schemes == {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    async with served(agent, Wire.V03, auth=Bearer("wrong")) as client:
        with pytest.raises(CallError) as caught:
            await client.send("x", id="1", message_id="m")
    assert caught.value.code == "http_401"


async def test_tasks_that_are_over_make_room_for_others() -> None:
    started = asyncio.Event()
    async with served(make_agent(started, max_tasks=2), Wire.V10) as client:
        first = await client.send("a", id="1", message_id="1")
        await send(client, "wait", "x", blocking=False)
        await client.send("b", id="1", message_id="2")
        assert isinstance(first, Task)
        with pytest.raises(UnknownOutcomeError, match="does not know its task any more"):
            await client.get(first.id)
        await send(client, "wait", "y", blocking=False)
        with pytest.raises(CallError, match="2 tasks are under way") as caught:
            await client.send("c", id="1", message_id="3")
    assert caught.value.code == -32603


@both
async def test_webhooks_are_told_what_happens(wire: Wire) -> None:
    async with scripted(*[http(b"", status=503), *[http(b"")] * 9]) as hook:
        config = PushConfig(url=f"{hook.url}/hook", token="tok", scheme="Bearer", credentials="c")
        async with served(make_agent(webhooks=LOCAL), wire) as client:
            task = await client.send("x", id="1", message_id="m", push=config)
            asked = await hook.wait(4)
    assert isinstance(task, Task)
    assert [next(iter(each.json)) for each in asked] == [
        "statusUpdate",
        "statusUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]
    assert asked[-1].json["statusUpdate"]["taskId"] == task.id
    assert asked[-1].json["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    headers = asked[0].headers
    assert [
        headers[name] for name in ("content-type", "x-a2a-notification-token", "authorization")
    ] == [
        "application/a2a+json",
        "tok",
        "Bearer c",
    ]


@both
async def test_webhooks_of_a_task_can_be_changed(wire: Wire) -> None:
    async with served(make_agent(webhooks=LOCAL), wire) as client:
        begun = await send(client, "wait", "x", blocking=False)
        kept = await client.set_push(begun.id, PushConfig(url="http://127.0.0.1:1/hook"))
        assert kept.id
        await client.delete_push(begun.id, kept.id)
        for n in range(16):
            await client.set_push(begun.id, PushConfig(url="http://127.0.0.1:1/hook", id=f"p-{n}"))
        with pytest.raises(AgentError, match="16 webhooks at most"):
            await client.set_push(begun.id, PushConfig(url="http://127.0.0.1:1/hook"))


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (PushConfig(url="http://169.254.169.254/"), "link-local"),
        (PushConfig(url="ws://127.0.0.1/"), "http or https"),
        (PushConfig(url="nonsense"), "scheme"),
        (PushConfig(url="http://127.0.0.1:1/", token="a\r\nx: y"), "no line breaks"),
    ],
)
async def test_webhooks_that_must_not_be_told_are_refused(config: PushConfig, why: str) -> None:
    async with served(make_agent(webhooks=LOCAL), Wire.V10) as client:
        with pytest.raises(AgentError, match=why):
            await client.send("x", id="1", message_id="m", push=config)


async def test_an_agent_without_webhooks_says_so() -> None:
    async with served(make_agent(), Wire.V10) as client:
        config = PushConfig(url="https://example.com/")
        with pytest.raises(AgentError) as caught:
            await client.send("x", id="1", message_id="m", push=config)
        with pytest.raises(AgentError) as again:
            await client.set_push("r", config)
    assert (caught.value.code, again.value.code) == (-32003, -32003)


def test_functions_that_no_message_can_be_given_to_are_refused() -> None:
    agent = Agent("a")

    def untyped(text):  # type: ignore[no-untyped-def]
        return text

    async def knowing(task: TaskContext) -> str:
        return task.task.id

    async def pieces() -> AsyncIterator[str]:
        yield "x"

    def fine() -> str:
        return ""

    with pytest.raises(RegistrationError, match="the parameter text of untyped needs a type"):
        agent.skill(untyped)
    with pytest.raises(RegistrationError, match="no task to know of"):
        agent.skill(direct=True)(knowing)
    with pytest.raises(RegistrationError, match="all at once"):
        agent.skill(direct=True)(pieces)
    with pytest.raises(RegistrationError, match="has no skill"):
        agent.app()
    agent.skill(id="x")(fine)
    with pytest.raises(RegistrationError, match="there is a skill x already"):
        agent.skill(id="x")(fine)
