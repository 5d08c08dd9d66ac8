"""Whoever judges finds what is wrong: a row, a line or a run too few or too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import json

from chaos.agent import answer_to
from chaos.client import Acknowledged
from chaos.ledger import Entry
from chaos.tables import Rows
from chaos.verdict import (
    Problem,
    judge_all_done,
    judge_history,
    judge_ledger,
    judge_output,
    judge_retried,
    judge_tasks,
)
from chaos.workflow import expected_output, expected_texts

RUN = Acknowledged("k", 1, "survivor-0", "r")
Change = Callable[[list[Any]], object]


def row(sequence: int, *events: dict[str, Any]) -> dict[str, Any]:
    text = json.encode(events).decode()
    return {"run_id": "r", "sequence": sequence, "count": len(events), "events": text}


STARTED = {"type": "run_started"}
STEP = {"type": "step_started", "key": "s"}
SUCCEEDED = {"type": "task_succeeded", "task": "s"}
FAILED = {"type": "task_failed", "task": "s"}
FINISHED = {"type": "run_finished", "status": "completed"}
GOOD = [row(1, STARTED, STEP), row(3, SUCCEEDED, FINISHED)]


@pytest.mark.parametrize(
    ("history", "found"),
    [
        (GOOD, []),
        ([], ["lost", "lost", "lost", "lost"]),
        (GOOD[:1], ["lost", "wrong", "lost"]),
        ([row(1, STARTED, STEP), row(4, SUCCEEDED, FINISHED)], ["wrong"]),
        ([row(1, STARTED, STEP), row(2, SUCCEEDED, FINISHED)], ["wrong"]),
        ([row(1, STARTED, STEP), {**row(3, SUCCEEDED, FINISHED), "count": 3}], ["wrong"]),
        ([row(1, STARTED, STEP, STEP, SUCCEEDED, FINISHED)], ["twice"]),
        ([row(1, STARTED, STEP, SUCCEEDED, SUCCEEDED, FINISHED)], ["twice"]),
        ([row(1, STARTED, STEP, FAILED, SUCCEEDED, FINISHED)], ["twice", "wrong"]),
        ([row(1, STARTED, STEP, SUCCEEDED, FINISHED, FINISHED)], ["twice"]),
        ([row(1, STARTED, STEP, FINISHED, SUCCEEDED)], ["wrong"]),
    ],
)
def test_a_history_is_whole_and_each_outcome_is_there_once(history: Rows, found: list[str]) -> None:
    assert faults(judge_history("r", history, {"s"}, {"s"})) == found


@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        ({"s": ("done", "success")}, []),
        ({"s": ("done", "success"), "slow": ("done", "cancelled")}, []),
        ({}, ["lost"]),
        ({"s": ("running", None)}, ["left"]),
        ({"s": ("done", "error")}, ["wrong"]),
        ({"s": ("done", "success"), "slow": ("done", "success")}, ["wrong"]),
    ],
)
def test_tasks_are_done_or_cancelled(tasks: dict[str, tuple[str, str]], found: list[str]) -> None:
    rows = [{"task": task, "state": state, "outcome": end} for task, (state, end) in tasks.items()]
    assert faults(judge_tasks("r", rows, {"s", "below-it"})) == found


def test_the_slower_of_a_race_may_have_ended_before_it_heard_of_that() -> None:
    rows = [{"task": "slow", "state": "done", "outcome": "success"}]
    assert faults(judge_tasks("r", rows, set(), late={"slow"})) == []


def test_an_output_is_the_right_one() -> None:
    right = {**FINISHED, "output": expected_output("k", 1)}
    assert faults(judge_output(RUN, [row(1, right)])) == []
    assert faults(judge_output(RUN, [row(1, {**right, "output": None})])) == ["lost"]
    assert faults(judge_output(RUN, [row(1, {**right, "status": "failed"})])) == ["lost"]


CANCELLED = Acknowledged("k", 1, "survivor-0", "r", cancelled=True)
ENDED = {"type": "run_finished", "status": "cancelled"}


@pytest.mark.parametrize(
    ("history", "found"),
    [
        ([row(1, STARTED, ENDED)], []),
        ([row(1, STARTED, STEP, ENDED)], []),
        ([row(1, STARTED, STEP, SUCCEEDED, SUCCEEDED, ENDED)], ["twice"]),
        ([row(1, STARTED, STEP)], ["lost", "wrong"]),
    ],
)
def test_of_a_cancelled_run_nothing_happened_twice(history: Rows, found: list[str]) -> None:
    assert faults(judge_history("r", history, {"s"}, {"s"}, least=0)) == found
    assert faults(judge_output(CANCELLED, history)) == []
    assert faults(judge_ledger([CANCELLED], [])) == []
    tasks = [{"task": "s", "state": "done", "outcome": "cancelled"}]
    assert faults(judge_tasks("r", tasks, {"s", "t"}, cancelled=True)) == []
    tasks = [{"task": "s", "state": "done", "outcome": "error"}]
    assert faults(judge_tasks("r", tasks, {"s", "t"}, cancelled=True)) == ["wrong"]


def lines() -> list[Entry]:
    """As the agent writes them when nothing goes wrong."""
    return [
        Entry(kind=kind, at=0.0, message=f"m-{text}", task=f"t-{text}", text=text)
        for text in sorted(expected_texts("k", 1))
        for kind in ("received", "effect")
    ]


def again(kind: str, message: str = "m-k first") -> Entry:
    return Entry(kind=kind, at=0.0, message=message, text="k first")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda lines: None, []),
        (lambda lines: lines.append(again("received")), []),
        (lambda lines: lines.append(again("effect")), ["twice"]),
        (lambda lines: lines.append(again("received", "other")), ["twice"]),
        (lambda lines: lines.remove(lines[1]), ["lost"]),
        (lambda lines: lines.append(Entry(kind="effect", at=0.0, text="k odd 7")), ["wrong"] * 2),
        (lambda lines: lines.append(Entry(kind="effect", at=0.0, text="other first")), []),
        (
            lambda lines: lines.extend(
                (again("effect"), Entry(kind="started", at=0, forgets=True))
            ),
            [],
        ),
    ],
)
def test_the_agent_did_each_thing_once_unless_it_forgot(change: Change, found: list[str]) -> None:
    written = lines()
    change(written)
    assert faults(judge_ledger([RUN], written)) == found


RETRIED = Acknowledged("k", 1, "survivor-0", "r", retried=True)
RESTARTED = {"type": "retry_requested"}
SUCCEEDED_LATER = {"type": "task_succeeded", "task": "s@2"}


@pytest.mark.req("W-15")
@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([STARTED, STEP, SUCCEEDED, FINISHED], []),
        ([STARTED, STEP, FAILED, ENDED, RESTARTED, STEP, SUCCEEDED_LATER, FINISHED], []),
        ([STARTED, STEP, SUCCEEDED, ENDED, RESTARTED, STEP, FINISHED], ["twice"]),
        ([STARTED, STEP, SUCCEEDED, ENDED, SUCCEEDED_LATER, FINISHED], ["twice"]),
        ([STARTED, STEP, FAILED, ENDED], ["lost"]),
    ],
)
def test_a_step_of_a_retried_run_completes_once_and_does_not_start_after_that(
    events: list[dict[str, Any]], found: list[str]
) -> None:
    assert faults(judge_retried("r", [row(1, *events)], {"s"})) == found
    assert faults(judge_retried("r", [row(2, *events)], {"s"})) == ["wrong", *found]


@pytest.mark.req("W-15")
@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda lines: lines.insert(0, again("received", "other")), []),
        (lambda lines: lines.append(again("received")), []),
        (lambda lines: lines.append(again("received", "other")), ["twice"]),
        (lambda lines: lines.append(again("effect", "other")), ["twice", "twice"]),
        (lambda lines: lines.remove(lines[1]), ["lost"]),
    ],
)
def test_what_was_done_is_never_asked_for_under_another_id(
    change: Change, found: list[str]
) -> None:
    written = lines()
    change(written)
    assert faults(judge_ledger([RETRIED], written)) == found
    assert faults(judge_all_done("r", [{"task": "s", "state": "done"}])) == []
    assert faults(judge_all_done("r", [{"task": "s", "state": "running"}])) == ["left"]


def test_the_agent_answers_with_what_it_was_told() -> None:
    assert expected_output("k", 1)["first"] == answer_to("k first")


def faults(problems: Any) -> list[str]:
    found: list[Problem] = list(problems)
    return [problem.fault for problem in found]
