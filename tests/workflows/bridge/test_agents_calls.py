"""Tasks of agents that keep to the protocol, on both engines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from accord.a2a import Agent, FailedError, RejectedError, Wire, message_id
from accord.workflows.core.definition import Retry
from accord.workflows.core.events import TaskAsked, TaskFailed, TaskSucceeded
from tests.a2a.scripted import Asked, http
from tests.a2a.server.demo import make_agent
from tests.workflows.bridge.unruly import done, refuse, reply, task03, unruly
from tests.workflows.bridge.yard import RUN, Yard, working


@pytest.fixture
async def yard(migrated_url: str) -> AsyncIterator[Yard]:
    async with working(migrated_url) as made:
        yield made


@pytest.mark.req("W-01", "W-04")
async def test_an_agent_is_sent_a_request_of_json_rpc(yard: Yard) -> None:
    async with unruly(lambda asked, n: done(asked, "hi")) as agent:
        await yard.register("greeter", f"{agent.url}greet")
        id = await yard.ask("greeter", "hello", task="greet[2]")
        told = await yard.told(id)
    (asked,) = agent.asked
    wanted = {name: asked.headers[name] for name in ("content-type", "accept")}
    assert (asked.method, asked.path) == ("POST", "/greet")
    assert wanted == {"content-type": "application/json", "accept": "application/json"}
    assert asked.headers["x-correlation-id"] == "c-7"
    assert asked.headers["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert asked.json == {
        "jsonrpc": "2.0",
        "id": f"{RUN}/greet[2]",
        "method": "message/send",
        "params": {
            "message": {
                "kind": "message",
                "messageId": message_id(RUN, "greet", "[2]", "1"),
                "role": "user",
                "parts": [{"kind": "text", "text": "hello"}],
            },
            "configuration": {"blocking": False},
        },
    }
    artifacts = [{"artifactId": "a-1", "parts": [{"text": "hi"}]}]
    assert told == TaskSucceeded(
        at=told.at, task="greet[2]", output="hi", artifacts=artifacts, attempts=1
    )
    row = await yard.in_state(id, "done")
    assert (row["outcome"], row["owner"], row["fence"]) == ("success", None, 1)
    assert row["finished_at"] >= row["created_at"]


@pytest.mark.req("W-02")
@pytest.mark.parametrize(
    ("input", "text", "metadata"),
    [
        ("hello", "hello", None),
        ({"text": "hello", "lang": "de"}, "hello", {"lang": "de"}),
        ({"query": "hello"}, "hello", None),
        ({"a": 1}, '{"a":1}', None),
        (None, "null", None),
    ],
)
async def test_an_input_becomes_one_part(
    yard: Yard, input: object, text: str, metadata: object
) -> None:
    async with unruly(lambda asked, n: done(asked)) as agent:
        await yard.register("a", agent.url)
        await yard.told(await yard.ask("a", input))
    message = agent.asked[0].json["params"]["message"]
    assert message["parts"] == [{"kind": "text", "text": text}]
    assert message.get("metadata") == metadata


@pytest.mark.req("W-03", "W-12")
@pytest.mark.parametrize("wire", ["a2a-0.3", "a2a-1.0", "auto"])
@pytest.mark.parametrize(
    ("skill", "output", "data"),
    [("shout", "HELLO", None), ("echo", "echo: hello", None), ("tell", "hello ", None)],
)
async def test_agents_are_called_in_every_format(
    yard: Yard, wire: str, skill: str, output: str, data: object
) -> None:
    async with make_agent().serve("http://127.0.0.1:0/", drain=0.0) as serving:
        await yard.register("demo", serving.url, wire=wire)
        told = await yard.told(await yard.ask("demo", {"text": "hello", "skill": skill}))
    assert isinstance(told, TaskSucceeded)
    assert (told.output, told.data) == (output, data)


async def test_the_format_is_the_one_that_the_card_prefers(yard: Yard) -> None:
    async with make_agent(wires=[Wire.V03]).serve("http://127.0.0.1:0/", drain=0.0) as serving:
        await yard.register("old", serving.url, wire="auto")
        told = await yard.told(await yard.ask("old", {"text": "hello", "skill": "shout"}))
    assert told.output == "HELLO"


@pytest.mark.req("W-03")
async def test_a_task_that_goes_on_is_followed_and_its_id_is_stored_first(yard: Yard) -> None:
    seen: list[str] = []
    go = asyncio.Event()

    def answer(asked: Asked, n: int) -> bytes:
        if n == 1:
            return reply(asked, task03("submitted"))
        if not go.is_set():
            return reply(asked, task03("working"))
        return done(asked, "at last")

    async with unruly(answer) as agent:
        await yard.register("slow", agent.url)
        id = await yard.ask("slow")
        await agent.wait(3)
        row = await yard.row(id)
        seen += [row["state"], row["remote_task"], row["remote_context"]]
        go.set()
        told = await yard.told(id)
    assert seen == ["running", "r-1", "ctx-1"]
    assert told.output == "at last"
    assert agent.methods[0] == "message/send"
    assert set(agent.methods[1:]) == {"tasks/get"}
    assert agent.asked[1].json["params"] == {"id": "r-1"}


@pytest.mark.parametrize("wire", ["a2a-0.3", "a2a-1.0"])
async def test_an_agent_that_asks_gets_an_answer_for_the_same_task(yard: Yard, wire: str) -> None:
    async with make_agent().serve("http://127.0.0.1:0/", drain=0.0) as serving:
        await yard.register("demo", serving.url, wire=wire)
        id = await yard.ask("demo", {"text": "weather", "skill": "ask"})
        asked = await yard.told(id)
        row = await yard.in_state(id, "asking")
        assert asked == TaskAsked(at=asked.at, task="ask1", prompt="Which city?")
        assert (row["owner"], row["remote_task"] != "") == (None, True)
        await yard.store.write(
            "UPDATE tasks SET state = 'ready', continuation = $2, continued = continued + 1"
            " WHERE id = $1 RETURNING id",
            *(id, '"Oslo"'),
        )
        await yard.store.notify("tasks_ready")
        told = await yard.told(id, 2)
    assert told.output == "weather in Oslo"
    row = await yard.in_state(id, "done")
    assert (row["continuation"], row["continued"], row["outcome"]) == (None, 1, "success")


async def test_a_question_has_a_message_id_of_its_own(yard: Yard) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        return reply(asked, task03("input-required")) if n == 1 else done(asked)

    async with unruly(answer) as agent:
        await yard.register("a", agent.url)
        id = await yard.ask("a", task="s")
        await yard.told(id)
        await yard.store.write(
            "UPDATE tasks SET state = 'ready', continuation = 'null', continued = 1"
            " WHERE id = $1 RETURNING id",
            id,
        )
        await yard.store.notify("tasks_ready")
        await yard.told(id, 2)
    first, second = (asked.json["params"]["message"] for asked in agent.asked)
    assert first["messageId"] == message_id(RUN, "s", "", "1")
    assert second["messageId"] == message_id(RUN, "s", "", "1+1")
    assert (second["taskId"], second["contextId"]) == ("r-1", "ctx-1")


@pytest.mark.req("W-03", "W-04")
@pytest.mark.parametrize(("skill", "code"), [("fail", "task_failed"), ("reject", "task_rejected")])
async def test_an_agent_that_fails_is_not_asked_again(yard: Yard, skill: str, code: str) -> None:
    agent = Agent("a")
    called: list[str] = []

    @agent.skill
    async def work(text: str) -> str:
        called.append(text)
        raise (FailedError if text == "fail" else RejectedError)("no model")

    async with agent.serve("http://127.0.0.1:0/", drain=0.0) as serving:
        await yard.register("a", serving.url, wire="auto")
        told = await yard.told(await yard.ask("a", skill))
    assert isinstance(told, TaskFailed)
    assert (told.error.code, told.error.message, told.error.step) == (code, "no model", "ask1")
    assert called == [skill]


async def test_an_agent_that_nobody_knows_is_not_called(yard: Yard) -> None:
    await yard.register("away", "http://127.0.0.1:1/", active=0)
    unknown = await yard.told(await yard.ask("nobody"))
    away = await yard.told(await yard.ask("away"))
    assert (unknown.error.code, unknown.error.message) == (
        "unknown_agent",
        "there is no agent 'nobody'",
    )
    assert away.error.code == "inactive_agent"


async def test_a_changed_registration_is_called_from_then_on(yard: Yard) -> None:
    async with (
        unruly(lambda asked, n: done(asked, "old")) as old,
        unruly(lambda asked, n: done(asked, "new")) as new,
    ):
        await yard.register("a", old.url)
        assert (await yard.told(await yard.ask("a"))).output == "old"
        await yard.store.write("UPDATE agents SET url = $1 RETURNING id", new.url)
        await yard.store.notify("agents")
        await asyncio.sleep(0.05)
        assert (await yard.told(await yard.ask("a"))).output == "new"


async def test_a_call_that_is_under_way_ends_on_its_old_line(yard: Yard) -> None:
    gate = asyncio.Event()
    agent = Agent("slow")

    @agent.skill(direct=True)
    async def wait(text: str) -> str:
        if text == "first":
            await gate.wait()
        return text

    async with agent.serve("http://127.0.0.1:0/", drain=0.0) as serving:
        await yard.register("a", serving.url)
        first = await yard.ask("a", "first")
        await yard.in_state(first, "running")
        await yard.store.write("UPDATE agents SET timeout = 6 RETURNING id")
        await yard.store.notify("agents")
        assert (await yard.told(await yard.ask("a", "second"))).output == "second"
        gate.set()
        told = await yard.told(first)
    assert (told.output, told.attempts) == ("first", 1)


async def test_an_agent_that_changed_its_format_is_asked_for_its_card_again(yard: Yard) -> None:
    versions = ["1.0"]

    def answer(asked: Asked, n: int) -> bytes:
        if asked.method == "GET":
            interface = {"url": agent.url, "protocolBinding": "JSONRPC"}
            interfaces = [{**interface, "protocolVersion": versions[0]}]
            card = {"name": "a", "description": "a", "version": "1", "skills": []}
            modes = {name: list[str]() for name in ("defaultInputModes", "defaultOutputModes")}
            more = {"capabilities": {}, "supportedInterfaces": interfaces}
            return http({**card, **modes, **more})
        if asked.json["method"] == "SendMessage":
            versions[0] = "0.3"
            return refuse(asked, -32601, "Method not found")
        return done(asked, "in 0.3")

    policy = Retry(initial_delay=0.01, failures="all")
    async with unruly(answer) as agent:
        await yard.register("a", agent.url, wire="auto")
        told = await yard.told(await yard.ask("a", retry=policy))
    assert (told.output, told.attempts) == ("in 0.3", 2)
    assert [asked.method for asked in agent.asked] == ["GET", "POST", "GET", "POST"]
