"""Everything that is written in 1.0 is what the protocol buffers of the official SDK say."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from accord.a2a import Agent
from accord.a2a.demo import DemoAgent
from accord.a2a.protocol.card import Provider, card_wire, encode_card
from accord.a2a.protocol.formats import V10
from accord.a2a.protocol.model import DataPart, PushQuery, Send, TaskPush, TaskQuery, TextPart
from accord.jsonrpc.protocol.messages import encode
from tests.a2a.interop.programs import HERE, PEERS
from tests.a2a.server.demo import make_agent
from tests.a2a.values import ASKED, EVENTS, PUSH, SAID, TASK
from tests.python_packages import python_packages

pytestmark = pytest.mark.timeout(180)


def small_agent(**options: Any) -> Agent:
    """An agent as a program of ten lines makes it."""
    agent = Agent("shouter", **options)

    @agent.skill
    async def shout(text: str) -> str:
        return text.upper()

    return agent


def card_of(agent: Agent) -> Any:
    card = agent.card("https://a.example/")
    return json.loads(encode_card(card, card_wire(card, "")))


AGENTS = [
    make_agent(),
    small_agent(),
    small_agent(token="t", provider=Provider(organization="Us", url="https://us.example")),
    DemoAgent("demo"),
    DemoAgent("demo", token="t"),
]

SEND = Send(
    message=ASKED, blocking=False, history_length=3, push=PUSH, metadata={"k": 1}, tenant="t"
)
MESSAGES: list[tuple[str, Any]] = [
    ("SendMessageRequest", V10.send_params(SEND)),
    ("SendMessageRequest", V10.send_params(Send(message=replace(SAID, role="user")))),
    ("GetTaskRequest", V10.task_params(TaskQuery(id="r", history_length=1, tenant="t"))),
    ("CancelTaskRequest", V10.task_params(TaskQuery(id="r"))),
    ("SubscribeToTaskRequest", V10.task_params(TaskQuery(id="r"))),
    ("TaskPushNotificationConfig", V10.push_params(TaskPush(task_id="r", config=PUSH))),
    (
        "GetTaskPushNotificationConfigRequest",
        V10.push_query_params(PushQuery(task_id="r", config_id="p")),
    ),
    (
        "ListTaskPushNotificationConfigsResponse",
        V10.pushes([TaskPush(task_id="r", config=PUSH)]),
    ),
    ("SendMessageResponse", V10.answer(TASK)),
    (
        "SendMessageResponse",
        V10.answer(replace(SAID, parts=(TextPart(text="x"), DataPart(data=None)))),
    ),
    ("Task", V10.task(TASK)),
    ("ListTasksResponse", V10.tasks([TASK], next_page="7", size=1, total=2)),
    *[("StreamResponse", V10.event(event)) for event in EVENTS],
    *[("AgentCard", card_of(agent)) for agent in AGENTS],
]


@pytest.fixture(scope="module")
def problem_of() -> Iterator[Callable[[str, Any], str]]:
    command = [python_packages(HERE), str(PEERS / "validate.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to, answers = process.stdin, process.stdout

        def problem(name: str, message: Any) -> str:
            to.write(json.dumps([name, message]) + "\n")
            to.flush()
            found: str = json.loads(answers.readline())
            return found

        yield problem
        to.close()


@pytest.mark.parametrize(("name", "message"), MESSAGES, ids=[name for name, _ in MESSAGES])
def test_what_is_written_is_valid(
    problem_of: Callable[[str, Any], str], name: str, message: Any
) -> None:
    assert problem_of(name, json.loads(encode(message))) == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Task", {"id": "r"}),
        ("Task", {"surprise": 1}),
        ("Message", {"messageId": "m", "role": "user"}),
    ],
)
def test_what_is_not_is_noticed(
    problem_of: Callable[[str, Any], str], name: str, message: Any
) -> None:
    assert problem_of(name, message) != ""
