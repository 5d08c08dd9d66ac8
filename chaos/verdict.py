"""What is wrong with a run that is over: pure, from its rows and the lines of the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, json

from chaos.client import Acknowledged
from chaos.ledger import Entry
from chaos.tables import Rows
from chaos.workflow import CHILD_STEP, LOOSE, SLOW, expected_output, expected_texts

Fault: TypeAlias = Literal["lost", "twice", "left", "wrong"]
FAULTS: Final[tuple[Fault, ...]] = ("lost", "twice", "left", "wrong")

_OUTCOMES: Final = ("task_succeeded", "task_failed")
_FAILURES: Final = ("task_failed", "step_failed")


class Problem(Struct, frozen=True):
    """What is not as it must be."""

    fault: Fault
    what: str


def events_of(history: Rows) -> list[dict[str, Any]]:
    """All events of a run, in order."""
    return [event for row in history for event in json.decode(row["events"])]


def judge_history(
    id: str, history: Rows, steps: Collection[str], tasks: Collection[str], *, least: int = 1
) -> Iterator[Problem]:
    """Rows follow on each other, the run began and ended once, each of these steps started once and
    each of these tasks has one outcome, which is no failure. Of a run that was cancelled, `least`
    of each is 0."""
    following = 1
    for row in history:
        if row["sequence"] != following or row["count"] != len(json.decode(row["events"])):
            yield Problem("wrong", f"run {id}: its history is broken at {row['sequence']}")
        following = row["sequence"] + row["count"]
    events = events_of(history)
    kinds = Counter(event["type"] for event in events)
    ends = {kind: kinds[kind] for kind in ("run_started", "run_finished") if kinds[kind]}
    yield from counted(f"run {id}:", ends, ("run_started", "run_finished"))
    if events and events[-1]["type"] != "run_finished":
        yield Problem("wrong", f"run {id}: its history goes on after its end")
    started = Counter(event["key"] for event in events if event["type"] == "step_started")
    yield from counted(f"run {id}: the start of", started, steps, least=least)
    outcomes = Counter(event["task"] for event in events if event["type"] in _OUTCOMES)
    yield from counted(f"run {id}: the outcome of", outcomes, tasks, least=least, besides={LOOSE})
    for event in events:
        if event["type"] in _FAILURES and event.get("task") != LOOSE:
            yield Problem("wrong", f"run {id}: {event}")


def judge_retried(id: str, history: Rows, tasks: Collection[str]) -> Iterator[Problem]:
    """Of a run that was retried: rows follow on each other, each of these tasks succeeded once in
    all, and no step started again after it had completed."""
    following = 1
    for row in history:
        if row["sequence"] != following or row["count"] != len(json.decode(row["events"])):
            yield Problem("wrong", f"run {id}: its history is broken at {row['sequence']}")
        following = row["sequence"] + row["count"]
    succeeded: Counter[str] = Counter()
    for event in events_of(history):
        if event["type"] == "step_started" and succeeded[event["key"]]:
            yield Problem("twice", f"run {id}: {event['key']} started after it had completed")
        elif event["type"] == "task_succeeded":
            succeeded[event["task"].partition("@")[0]] += 1
    yield from counted(f"run {id}: the success of", succeeded, tasks)


def judge_all_done(id: str, rows: Rows) -> Iterator[Problem]:
    """Nothing is under way, whatever became of it."""
    for row in rows:
        if row["state"] != "done":
            yield Problem("left", f"run {id}: task {row['task']} is {row['state']}")


def judge_tasks(
    id: str,
    rows: Rows,
    tasks: Collection[str],
    *,
    cancelled: bool = False,
    late: Collection[str] = (),
) -> Iterator[Problem]:
    """All tasks are done: these with success, others were cancelled, unless they are `late` and had
    ended before. Of a run that was cancelled any may be missing, or cancelled."""
    found = {row["task"]: (row["state"], row["outcome"]) for row in rows}
    outside = set(tasks) - {CHILD_STEP}  # a child run is no task of anybody's
    for task in sorted(outside - found.keys()) if not cancelled else ():
        yield Problem("lost", f"run {id}: there is no task {task}")
    for task, (state, outcome) in sorted(found.items()):
        if state != "done":
            yield Problem("left", f"run {id}: task {task} is {state}")
        elif task == LOOSE and outcome == "error":
            continue  # as it is to be
        elif outcome not in _allowed(task in outside, cancelled, task in late):
            yield Problem("wrong", f"run {id}: task {task} ended with {outcome}")


def _allowed(wanted: bool, cancelled: bool, late: bool) -> tuple[str, ...]:
    """How a task may have ended."""
    if late or (wanted and cancelled):
        return ("success", "cancelled")
    return ("success",) if wanted else ("cancelled",)


def judge_output(run: Acknowledged, history: Rows) -> Iterator[Problem]:
    """A run has completed with what it had to give, or was cancelled if somebody wanted that."""
    ends = [event for event in events_of(history) if event["type"] == "run_finished"]
    wanted = expected_output(run.key, run.number)
    for end in ends[-1:]:
        if run.cancelled and end["status"] == "cancelled":
            continue
        if end["status"] != "completed" or end.get("output") != wanted:
            yield Problem("lost", f"run {run.id} is {end['status']} with {end.get('output')}")


def judge_ledger(runs: Sequence[Acknowledged], entries: Sequence[Entry]) -> Iterator[Problem]:
    """What the agent was asked and did, as it wrote it down itself: each thing under one message
    id, and once, or once more for each time that it forgot everything."""
    allowed = 1 + sum(entry.forgets for entry in entries)
    for run in runs:
        own = [each for each in entries if each.text.partition(" ")[0] == run.key]
        effects = Counter(each.text for each in own if each.kind == "effect")
        wanted = expected_texts(run.key, run.number)
        least, slow, loose = run.least, f"{run.key} {SLOW}", f"{run.key} {LOOSE}"
        yield from counted(
            "the effect of", effects, wanted, least=least, allowed=allowed, besides={slow}
        )
        sent = {(each.text, each.message) for each in own}
        ids = Counter(text for text, _ in sent)
        if run.retried:
            yield from _judge_ids(own)
            ids = Counter(dict.fromkeys(ids, 1))
        yield from counted("the message id of", ids, wanted, least=least, besides={slow, loose})


def _judge_ids(entries: Sequence[Entry]) -> Iterator[Problem]:
    """What was done is never asked for under another message id."""
    done: dict[str, str] = {}
    for each in entries:
        if each.kind == "effect":
            done.setdefault(each.text, each.message)
        if each.kind in ("received", "effect") and done.get(each.text, each.message) != (
            each.message
        ):
            yield Problem("twice", f"{each.text} was done, and {each.kind} under a new message id")


def counted(
    what: str,
    found: Mapping[str, int],
    wanted: Collection[str],
    *,
    least: int = 1,
    allowed: int = 1,
    besides: Iterable[str] = (),
) -> Iterator[Problem]:
    """Each that is wanted must be there as often as `least`, and as `allowed` at most; `besides`
    may be there as well."""
    for name in sorted({*wanted, *found}):
        number = found.get(name, 0)
        if name not in wanted and name not in besides:
            yield Problem("wrong", f"{what} {name}: nobody wanted it")
        elif number < least and name in wanted:
            yield Problem("lost", f"{what} {name}: it is not there")
        elif number > allowed:
            yield Problem("twice", f"{what} {name}: it is there {number} times")
