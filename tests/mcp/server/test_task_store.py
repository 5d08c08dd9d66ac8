"""What a task can become, and where it is kept."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from accord.mcp.protocol.tasks import TaskStatus
from accord.mcp.server.task_store import MemoryTaskStore, TaskAnswer, TaskRecord

NEW = TaskRecord(id="t", owner="o", created=1.0, updated=1.0, ttl_ms=2_000, poll_ms=10)
QUESTIONS = {"a": Raw(b"{}"), "b": Raw(b"{}")}
ANSWER = TaskAnswer(result=Raw(b"1"))


def test_a_task_waits_until_all_its_questions_are_answered_or_withdrawn() -> None:
    asking = NEW.asking(QUESTIONS, 2.0)
    assert asking is not None
    assert (asking.status, asking.updated) == ("input_required", 2.0)
    one = asking.answered({"a": ANSWER, "unknown": ANSWER}, 3.0)
    assert one is not None
    assert (one.status, list(one.questions), list(one.answers)) == ("input_required", ["b"], ["a"])
    none = one.withdrawn({"b"}, 4.0)
    assert none is not None
    assert (none.status, none.questions) == ("working", {})
    assert none.answered({"b": ANSWER}, 5.0) is None
    assert none.withdrawn({"b"}, 5.0) is None


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_task_that_is_over_stays_as_it_is(status: TaskStatus) -> None:
    asking = NEW.asking(QUESTIONS, 2.0)
    assert asking is not None
    over = asking.ended(status, 3.0, message="so")
    assert over is not None
    assert (over.status, over.questions, over.is_over) == (status, {}, True)
    assert over.asking(QUESTIONS, 4.0) is None
    assert over.answered({"a": ANSWER}, 4.0) is None
    assert over.withdrawn({"a"}, 4.0) is None
    for other in ("completed", "failed", "cancelled"):
        assert over.ended(other, 4.0) is None


def test_a_record_can_be_read_by_another_process() -> None:
    record = NEW.asking(QUESTIONS, 2.0)
    data = msgspec.json.encode(record)
    assert msgspec.json.encode(msgspec.json.decode(data, type=TaskRecord)) == data


async def test_a_store_keeps_adds_changes_and_forgets() -> None:
    heard: list[TaskRecord] = []
    store = MemoryTaskStore()
    store.observe(heard.append)
    assert await store.add(NEW, most=1, most_of_owner=1)
    other = msgspec.structs.replace(NEW, id="u", owner="p")
    assert not await store.add(other, most=1, most_of_owner=1)
    assert not await store.add(msgspec.structs.replace(NEW, id="u"), most=9, most_of_owner=1)
    changed = await store.change("t", lambda record: record.asking(QUESTIONS, 2.0))
    assert heard == [changed] == [await store.get("t")]
    assert await store.change("t", lambda record: None) is None
    assert await store.change("unknown", lambda record: record) is None
    assert await store.of_owner("o") == [changed]
    await store.remove("t")
    await store.remove("t")
    assert (await store.get("t"), await store.of_owner("o"), len(store)) == (None, [], 0)
