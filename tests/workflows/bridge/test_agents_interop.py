"""A bridge calls agents that others wrote: the official SDK of Python, in both formats."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accord.workflows.core.definition import Retry
from tests.a2a.interop.programs import agent_of
from tests.interop.programs import serving
from tests.workflows.bridge.yard import working

pytestmark = [pytest.mark.timeout(180), pytest.mark.req("W-12")]


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    with serving(agent_of("python")) as url:
        yield url


@pytest.mark.parametrize("wire", ["a2a-0.3", "a2a-1.0", "auto"])
async def test_every_kind_of_outcome_arrives(migrated_url: str, agent: str, wire: str) -> None:
    async with working(migrated_url) as yard:
        await yard.register("sdk", agent, wire=wire, retry=Retry(attempts=1))
        words = ("artifact hello", "status hello", "direct hello", "slow", "fail", "reject")
        ids = [await yard.ask("sdk", word) for word in words]
        data = await yard.told(await yard.ask("sdk", "data"))
        told = [await yard.told(id) for id in ids]
    outputs = [each.output for each in told[:4]]
    assert outputs == ["hello", "hello", "hello", "at last"]
    assert [each.error.code for each in told[4:]] == ["task_failed", "task_rejected"]
    assert (data.output, data.data) == ("counted", [{"count": 42}])


@pytest.mark.parametrize("wire", ["a2a-0.3", "a2a-1.0"])
async def test_a_question_is_answered(migrated_url: str, agent: str, wire: str) -> None:
    async with working(migrated_url) as yard:
        await yard.register("sdk", agent, wire=wire)
        id = await yard.ask("sdk", "ask")
        asked = await yard.told(id)
        await yard.store.write(
            "UPDATE tasks SET state = 'ready', continuation = '\"Oslo\"', continued = 1"
            " WHERE id = $1 RETURNING id",
            id,
        )
        await yard.store.notify("tasks_ready")
        told = await yard.told(id, 2)
    assert (asked.prompt, told.output) == ("Which city?", "thank you for Oslo")


@pytest.mark.parametrize("wire", ["a2a-0.3", "a2a-1.0"])
async def test_a_task_is_cancelled(migrated_url: str, agent: str, wire: str) -> None:
    async with working(migrated_url) as yard:
        await yard.register("sdk", agent, wire=wire)
        id = await yard.ask("sdk", "wait")

        await yard.in_state(id, "running")
        await yard.cancel(id)
        row = await yard.in_state(id, "done")
    assert (row["outcome"], row["remote_task"] != "") == ("cancelled", True)
