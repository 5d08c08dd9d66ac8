"""The agents in examples/agents: our client calls them, and the checker finds nothing wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from accord.a2a import Client, Task, TaskResult, TaskState, UnknownOutcomeError, Wire, call
from accord.a2a.checker.checker import CheckOptions, check
from accord.a2a.protocol.extraction import extract
from tests.a2a.schemas import validate
from tests.a2a.scripted import LOCAL
from tests.agent_programs import AGENTS, LANGUAGES, example
from tests.interop.programs import serving

MOST_LINES = 120
_NOTHING = re.compile(r"\s*(#|//).*|\s*")

pytestmark = pytest.mark.timeout(180)  # Go is compiled first


@pytest.fixture(scope="module", params=LANGUAGES)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(example(request.param)) as url:
        yield url


@pytest.mark.req("W-13")
async def test_an_example_is_called(url: str) -> None:
    async with Client(url, policy=LOCAL) as client:
        assert (await client.reached()).wire is Wire.V03
        told = await call(client, {"text": "hello", "lang": "de"}, task_id="t-1", message_id="m-1")
    assert told == TaskResult("t-1", "success", "HELLO")


async def test_an_example_is_followed_and_forgets_nothing(url: str) -> None:
    async with Client(url, policy=LOCAL) as client:
        first = await client.send("slow one", id="t-1", message_id="m-2", blocking=False)
        again = await client.send("slow one", id="t-1", message_id="m-2")
        assert isinstance(first, Task)
        assert isinstance(again, Task)
        assert (first.status.state, again.status.state) == (TaskState.WORKING, TaskState.COMPLETED)
        assert (first.id, extract(again).output) == (again.id, "SLOW ONE")
        assert await client.get(first.id) == again


async def test_an_example_is_cancelled(url: str) -> None:
    async with Client(url, policy=LOCAL) as client:
        begun = await client.send("slow two", id="t-1", message_id="m-3", blocking=False)
        assert isinstance(begun, Task)
        ended = await client.cancel(begun.id)
        assert ended.status.state is TaskState.CANCELED
        with pytest.raises(UnknownOutcomeError):
            await client.get("nobody-knows")


@pytest.mark.req("W-27")
def test_the_card_of_an_example_is_what_the_schema_says(url: str) -> None:
    validate(httpx.get(f"{url}.well-known/agent-card.json").json(), "AgentCard")


@pytest.mark.req("W-13")
async def test_the_checker_finds_nothing_wrong_with_an_example(url: str) -> None:
    report = await check(url, CheckOptions(policy=LOCAL, long="slow three"))
    assert [each for each in report.findings if each.outcome in ("fail", "warn")] == []
    assert report.wires == ("0.3",)


@pytest.mark.parametrize("path", sorted(AGENTS.glob("*/*.*")), ids=lambda path: path.name)
def test_examples_are_short(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len([line for line in lines if not _NOTHING.fullmatch(line)]) <= MOST_LINES
