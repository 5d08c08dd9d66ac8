"""Runs that are retried, as the agents see it: what completed is not asked for again, and what may
have been done is asked for as the same message."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.operations.errors import ConflictError
from chaos.agent import Agent, Handler, Server
from tests.workflows.operations.office import PATIENCE, Office


class Ledger:
    """An agent that remembers messages, and what it wrote down."""

    def __init__(self, url: str, path: Path, agent: Agent) -> None:
        self.url = url
        self.agent = agent
        self._path = path

    def lines(self, kind: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self._path.read_text().splitlines()]
        return [line for line in lines if line["kind"] == kind]

    @property
    def messages(self) -> dict[str, int]:
        """By text: under how many message ids the agent was asked."""
        found = defaultdict(set)
        for line in self.lines("received"):
            found[line["text"]].add(line["message"])
        return {text: len(ids) for text, ids in found.items()}

    def finish(self, text: str) -> str:
        """The agent did its work all the same: it heard too late that nobody waits. The id of the
        message that began it."""
        line = next(line for line in self.lines("received") if line["text"] == text)
        with self.agent._lock:
            self.agent._tasks[line["task"]]["state"] = "completed"
        return str(line["message"])

    def hurry(self) -> None:
        """From now on the agent does everything at once."""
        work = self.agent._work

        def at_once(task: dict[str, Any], line: dict[str, Any]) -> None:
            work(task, line | {"delay": 0.0})

        self.agent._work = at_once  # type: ignore[method-assign]

    @property
    def effects(self) -> list[str]:
        return sorted(line["text"] for line in self.lines("effect"))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    path = tmp_path / "ledger.jsonl"

    class Own(Handler):
        agent = Agent(path, forget=False)

    server = Server(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Ledger(f"http://127.0.0.1:{server.server_port}/", path, Own.agent)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
async def shop(busy: Office, ledger: Ledger) -> Office:
    retry = {"attempts": 3, "initial_delay": 0, "jitter": False}
    await busy.call("create_agent", name="a", url=ledger.url, wire="a2a-0.3", retry=retry)
    return busy


def ask(name: str, delay: float = 0.0, **more: Any) -> dict[str, Any]:
    """A step that asks the agent; after a long delay nothing comes but by cancelling."""
    input = {"text": name, "delay": delay}
    return {"name": name, "type": "agent", "agent": "a", "input": input, **more}


HANGS = 600.0


async def until_asked(office: Office, id: str, *steps: str) -> None:
    """Until the agent works on these steps."""
    async with asyncio.timeout(PATIENCE):
        for step in steps:
            while True:
                calls = (await office.call("get_run_step", id=id, step=step)).calls
                if calls and calls[-1].remote_task:
                    break
                await asyncio.sleep(0.01)


async def until_told(ledger: Ledger) -> None:
    """Until the agent has heard that nobody waits for what it does."""
    async with asyncio.timeout(PATIENCE):
        while not ledger.lines("cancelled"):  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.01)


@pytest.mark.req("W-15")
async def test_only_the_output_failed(shop: Office, ledger: Ledger) -> None:
    steps = [ask("one"), ask("two"), ask("three")]
    await shop.save({"name": "w", "steps": steps, "output": "${steps.two.output.x}"})
    id = await shop.start("w")
    assert (await shop.ended(id)).state == "failed"
    assert (await shop.call("retry_run", run=id)).state == "failed"
    run = await shop.until_event(id, "run_finished", 2)
    assert run.state == "failed"
    assert ledger.messages == {"one": 1, "two": 1, "three": 1}


@pytest.mark.req("W-15")
async def test_a_failure_was_tolerated_before_the_run_was_cancelled(
    shop: Office, ledger: Ledger
) -> None:
    steps = [
        {"name": "missing", "type": "agent", "agent": "gone", "on_error": "continue"},
        ask("charge"),
        {"name": "go", "type": "wait", "signal": "go"},
    ]
    await shop.call("create_agent", name="gone", url=ledger.url, active=False)
    await shop.save({"name": "w", "steps": steps, "output": "${steps.charge.output}"})
    id = await shop.start("w")
    await shop.until(id, "waiting")
    await shop.call("cancel_run", run=id)
    await shop.until(id, "cancelled")
    await shop.call("retry_run", run=id)
    await shop.until(id, "waiting")
    await shop.call("signal_run", run=id, name="go")
    assert (await shop.until(id, "completed")).output == "<charge>"
    assert ledger.messages == {"charge": 1}
    [letter] = (await shop.call("list_dead_letters", run=id)).items
    with pytest.raises(ConflictError, match="nothing to retry"):
        await shop.call("replay_dead_letter", id=letter.id)


@pytest.mark.req("W-15")
async def test_the_loser_of_a_race_was_cancelled_before_the_run_was(
    shop: Office, ledger: Ledger
) -> None:
    branches = {"fast": [ask("charge1")], "slow": [ask("charge2", HANGS)]}
    steps = [
        {"name": "race", "type": "parallel", "join": "any", "branches": branches},
        {"name": "go", "type": "wait", "signal": "go"},
    ]
    await shop.save({"name": "w", "steps": steps})
    id = await shop.start("w")
    await shop.until(id, "waiting")
    await shop.call("cancel_run", run=id)
    await shop.until(id, "cancelled")
    await shop.call("retry_run", run=id)
    await shop.until(id, "waiting")
    await shop.call("signal_run", run=id, name="go")
    await shop.until(id, "completed")
    assert set(ledger.messages.values()) == {1}
    assert ledger.effects == ["charge1"]


@pytest.mark.req("W-15")
async def test_a_call_under_way_is_repeated_as_the_same_message_until_the_agent_says_it_is_over(
    shop: Office, ledger: Ledger
) -> None:
    await shop.save({"name": "w", "steps": [ask("first"), ask("charge", HANGS)]})
    id = await shop.start("w")
    await until_asked(shop, id, "charge")
    await shop.call("cancel_run", run=id)
    await shop.until(id, "cancelled")
    await until_told(ledger)
    message = ledger.finish("charge")
    await shop.call("retry_run", run=id)
    run = await shop.until(id, "completed")
    assert run.output == "<charge>"
    assert ledger.messages == {"first": 1, "charge": 1}
    assert [line["message"] for line in ledger.lines("repeated")] == [message]
    step = await shop.call("get_run_step", id=id, step="charge")
    assert [each.message_id for each in step.calls] == [message] * 2


@pytest.mark.req("W-15")
async def test_a_call_that_was_cancelled_is_made_anew_when_the_agent_says_so(
    shop: Office, ledger: Ledger
) -> None:
    await shop.save({"name": "w", "steps": [ask("charge", HANGS)]})
    id = await shop.start("w")
    await until_asked(shop, id, "charge")
    await shop.call("cancel_run", run=id)
    await shop.until(id, "cancelled")
    await until_told(ledger)
    ledger.hurry()
    await shop.call("retry_run", run=id)
    assert (await shop.until(id, "completed")).output == "<charge>"
    assert (ledger.messages, ledger.effects) == ({"charge": 2}, ["charge"])
    [repeated] = ledger.lines("repeated")
    assert repeated["message"] == ledger.lines("cancelled")[0]["message"]


@pytest.mark.req("W-15")
async def test_the_child_of_a_run_is_continued_with_it(shop: Office, ledger: Ledger) -> None:
    child = {"name": "child", "steps": [ask("below"), ask("fails") | {"agent": "late"}]}
    parent = {
        "name": "parent",
        "steps": [ask("above"), {"name": "c", "type": "workflow", "workflow": "child"}],
    }
    await shop.call("create_agent", name="late", url=ledger.url, wire="a2a-0.3", active=False)
    await shop.save(child, parent)
    id = await shop.start("parent")
    assert (await shop.ended(id)).state == "failed"
    await shop.call("update_agent", name="late", active=True)
    await shop.call("retry_run", run=id)
    run = await shop.until(id, "completed")
    assert (run.output, len(run.children)) == ("<fails>", 1)
    assert ledger.messages == {"above": 1, "below": 1, "fails": 1}


@pytest.mark.req("W-15")
async def test_an_operation_is_not_done_again_because_its_run_was_cancelled(
    shop: Office, ledger: Ledger
) -> None:
    note = {"name": "note", "type": "call", "operation": "create_epic", "input": {"title": "T"}}
    branches = {"x": [note], "y": [ask("hangs", HANGS)]}
    await shop.save(
        {"name": "w", "steps": [{"name": "p", "type": "parallel", "branches": branches}]}
    )
    id = await shop.start("w")
    await until_asked(shop, id, "hangs")
    await shop.call("cancel_run", run=id)
    await shop.until(id, "cancelled")
    await shop.call("retry_run", run=id)
    await until_asked(shop, id, "hangs")
    assert len([each for each in (await shop.call("list_epics")).items if each.title == "T"]) == 1


@pytest.mark.req("W-15")
async def test_a_letter_is_replayed_without_what_completed(shop: Office, ledger: Ledger) -> None:
    await shop.call("create_agent", name="late", url=ledger.url, wire="a2a-0.3", active=False)
    tolerated = ask("loose", on_error="continue") | {"agent": "late"}
    await shop.save(
        {"name": "w", "steps": [tolerated, ask("charge"), ask("last") | {"agent": "late"}]}
    )
    id = await shop.start("w")
    assert (await shop.ended(id)).state == "failed"
    letters = (await shop.call("list_dead_letters", run=id)).items
    last, loose = sorted(letters, key=lambda letter: letter.task)
    await shop.call("update_agent", name="late", active=True)
    with pytest.raises(ConflictError, match="went on after 'loose' failed"):
        await shop.call("replay_dead_letter", id=loose.id)
    await shop.call("replay_dead_letter", id=last.id)
    assert (await shop.until(id, "completed")).output == "<last>"
    assert ledger.messages == {"charge": 1, "last": 1}
