"""Agents whose ids, answers and errors have characters that databases do not keep: the step ends
with what they said, or fails; it never hangs, and nobody is asked for ever."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from accord.workflows.core.events import TaskAsked, TaskFailed, TaskSucceeded
from tests.a2a.scripted import Asked, http
from tests.workflows.bridge.unruly import unruly
from tests.workflows.bridge.yard import Yard, working


@pytest.fixture
async def yard(migrated_url: str) -> AsyncIterator[Yard]:
    async with working(migrated_url) as made:
        yield made


def answer(asked: Asked, where: str, bad: str) -> bytes:
    """As an agent with a bad text somewhere answers, of which nothing was escaped by us."""
    words = {"id": "t", "context": "c", "text": "x", "error": "", "prompt": "", where: bad}
    begun = asked.json["method"] == "message/send"
    if words["error"]:
        told = f'"error":{{"code":-32000,"message":"{bad}"}}'
    else:
        state = "working" if begun else "input-required" if words["prompt"] else "completed"
        parts = f'[{{"kind":"text","text":"{words["prompt"] or words["text"]}"}}]'
        message = f'{{"kind":"message","messageId":"m","role":"agent","parts":{parts}}}'
        ids = f'"id":"{words["id"]}","contextId":"{words["context"]}"'
        status = f'"status":{{"state":"{state}","message":{message}}}'
        told = f'"result":{{"kind":"task",{ids},{status}}}'
    return http(f'{{"jsonrpc":"2.0","id":"{asked.json["id"]}",{told}}}'.encode())


@pytest.mark.req("W-05")
@pytest.mark.parametrize("where", ["id", "context", "text", "error", "prompt"])
@pytest.mark.parametrize("bad", ["a\\u0000b", "\\ud800", "\\uffff", "\x01"])
async def test_a_bad_text_of_an_agent_ends_its_step_one_way_or_the_other(
    yard: Yard, where: str, bad: str
) -> None:
    async with unruly(lambda asked, n: answer(asked, where, bad)) as agent:
        await yard.register("a", agent.url)
        told = await yard.told(await yard.ask("a"), patience=5.0)
    assert isinstance(told, TaskSucceeded | TaskFailed | TaskAsked)
    assert len(agent.asked) <= 3
