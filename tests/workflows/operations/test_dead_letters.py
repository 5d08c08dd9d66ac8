"""Dead letters are listed, and replayed when their cause is gone."""

from __future__ import annotations

import pytest

from accord.operations.errors import ConflictError, NotFoundError
from accord.workflows.core.events import RoundStarted, SignalReceived, encode_event
from tests.workflows.operations.office import ECHO, Office

LETTER = """
INSERT INTO dead_letters (id, kind, topic, run_id, code, message, body, created_at)
VALUES ($1, 'message', $2, $3, 'poison', 'could not be read', $4, 1.0)
"""


@pytest.mark.req("W-06")
async def test_replaying_a_task_retries_its_run_from_that_step(busy: Office) -> None:
    await busy.save(ECHO)
    demo = await busy.call("get_agent", name="demo")
    await busy.call("update_agent", name="demo", url="http://127.0.0.1:9/", retry={"attempts": 1})
    id = await busy.start("echo", "echo at last", by="uma")
    assert (await busy.ended(id)).state == "failed"
    [letter] = (await busy.call("list_dead_letters", run=id)).items
    assert (letter.kind, letter.task, letter.target, letter.attempts) == ("task", "ask", "demo", 1)
    await busy.call("update_agent", name="demo", url=demo.url)
    replayed = await busy.call("replay_dead_letter", id=letter.id)
    assert replayed.replayed_by == "ada"
    run = await busy.until(id, "completed")
    assert run.output == "at last"
    with pytest.raises(ConflictError, match="replayed already, by ada"):
        await busy.call("replay_dead_letter", id=letter.id)
    assert (await busy.call("list_dead_letters", replayed=False)).total == 0
    assert (await busy.call("list_dead_letters", replayed=True, kind="task")).total == 1


async def test_a_message_is_given_to_its_run_again(busy: Office) -> None:
    hear = {"name": "hear", "steps": [{"name": "on", "type": "wait", "signal": "go"}]}
    await busy.save(hear)
    id = await busy.start("hear")
    await busy.until(id, "waiting")
    signal = encode_event(SignalReceived(at=1.0, name="go", id="1", payload="late")).decode()
    await busy.local.store.execute(LETTER, "a", "run_inbox", id, signal)
    await busy.call("replay_dead_letter", id="a")
    assert (await busy.ended(id)).output == "late"


async def test_what_cannot_be_tried_again_says_why(office: Office) -> None:
    await office.save(ECHO | {"steps": [{"name": "rest", "type": "wait", "for": 1}]})
    id = await office.start("echo")
    for letter, topic, body, why in (
        ("a", "run_inbox", "{", "cannot be read by this version"),
        (
            "b",
            "run_inbox",
            encode_event(RoundStarted(at=1.0, key="x")).decode(),
            "none that a run gets",
        ),
        ("c", "triggers", "{}", "start one"),
    ):
        await office.local.store.execute(LETTER, letter, topic, id, body)
        with pytest.raises(ConflictError, match=why):
            await office.call("replay_dead_letter", id=letter)
    with pytest.raises(NotFoundError):
        await office.call("get_dead_letter", id="d")
    page = await office.call("list_dead_letters", limit=2)
    rest = await office.call("list_dead_letters", limit=2, cursor=page.next_cursor)
    assert [each.id for each in (*page.items, *rest.items)] == ["c", "b", "a"]
