"""Judges what became of runs: the client's acknowledgements and the agent's ledger against every
row of the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from chaos.client import Acknowledged
from chaos.ledger import Entry
from chaos.tables import Rows, Tables, listed
from chaos.verdict import (
    Problem,
    counted,
    judge_all_done,
    judge_history,
    judge_ledger,
    judge_output,
    judge_retried,
    judge_tasks,
)
from chaos.workflow import (
    BROKEN,
    CHILD_STEPS,
    CHILD_TASKS,
    LOOSE,
    SLOW,
    SLOW_SECONDS,
    expected_steps,
    expected_tasks,
)

_RUNS: Final = "SELECT id, status, parent_run, created_at, finished_at FROM runs"
_HISTORY: Final = """
SELECT run_id, sequence, count, events FROM run_history WHERE run_id IN {ids}
ORDER BY run_id, sequence
"""
_TASKS: Final = "SELECT * FROM tasks WHERE run_id IN {ids} ORDER BY run_id, task"
_EPICS: Final = "SELECT title, COUNT(*) AS number FROM items WHERE title IN ({keys}) GROUP BY title"
_MADE: Final = "SELECT COUNT(*) AS number FROM items WHERE title LIKE '{prefix}-%'"
_LEFT: Final = """
SELECT 'run_inbox' AS place, message_id AS what FROM run_inbox
UNION ALL SELECT 'outbox', message_id FROM outbox
UNION ALL SELECT 'tasks', id || ' ' || state FROM tasks WHERE state <> 'done'
UNION ALL SELECT 'approvals', task FROM approvals WHERE state = 'open'
UNION ALL SELECT 'dead_letters', id || ' ' || code || ' ' || message FROM dead_letters
    WHERE NOT (code = 'task_failed' AND ({failing}))
""".format(failing=" OR ".join(f"task LIKE '{name}%'" for name in (LOOSE, BROKEN)))
_STARTED: Final = "SELECT COUNT(*) AS number FROM runs WHERE parent_run IS NULL"


class Judge:
    """Judges runs of one installation. All of it raises AwayError where the database is away."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def unfinished(self, runs: Iterable[Acknowledged]) -> int:
        """How many of these still go on, or are not there."""
        ids = [run.id for run in runs]
        over = f"{_RUNS} WHERE id IN {listed(ids)} AND finished_at IS NOT NULL"
        return len(ids) - len(await self._tables.fetch(over))

    async def operations(self, prefix: str) -> int:
        """How many operations were done for runs whose keys begin like this."""
        [row] = await self._tables.fetch(_MADE.format(prefix=prefix))
        return int(row["number"])

    async def left(self) -> list[Problem]:
        """What is still on its way anywhere."""
        rows = await self._tables.fetch(_LEFT)
        return [Problem("left", f"{row['place']}: {row['what']}") for row in rows]

    async def judge(
        self, runs: Sequence[Acknowledged], entries: Sequence[Entry], acknowledged: int
    ) -> list[Problem]:
        """What is wrong with runs, by their rows and the ledger; and whether as many were started
        in all as were acknowledged."""
        rows = await self.rows(runs)
        found = list(_judge_runs(runs, rows))
        found += await self._judge_epics(runs)
        found += judge_ledger(runs, entries)
        [row] = await self._tables.fetch(_STARTED)
        if row["number"] != acknowledged:
            fault = f"{row['number']} runs were started, and {acknowledged} acknowledged"
            found.append(Problem("twice" if row["number"] > acknowledged else "lost", fault))
        return found

    async def rows(self, runs: Iterable[Acknowledged]) -> dict[str, Rows]:
        """All that is known of runs and their children."""
        ids = listed(run.id for run in runs)
        found = await self._tables.fetch(f"{_RUNS} WHERE id IN {ids} OR parent_run IN {ids}")
        all_ids = listed([run.id for run in runs] + [row["id"] for row in found])
        return {
            "runs": found,
            "history": await self._tables.fetch(_HISTORY.format(ids=all_ids)),
            "tasks": await self._tables.fetch(_TASKS.format(ids=all_ids)),
        }

    async def _judge_epics(self, runs: Sequence[Acknowledged]) -> Iterator[Problem]:
        keys = [run.key for run in runs]
        quoted = ", ".join(f"'{key}'" for key in keys)
        rows = await self._tables.fetch(_EPICS.format(keys=quoted))
        made = {row["title"]: int(row["number"]) for row in rows}
        sure = {run.key for run in runs if not run.cancelled}
        return counted("what the operation made for", made, sure, besides=keys)


def _judge_runs(runs: Sequence[Acknowledged], rows: dict[str, Rows]) -> Iterator[Problem]:
    histories, tasks = _by_run(rows["history"]), _by_run(rows["tasks"])
    children = _by(rows["runs"], "parent_run")
    # With a broker away for long, the slower of a race ends before it hears that it has lost.
    long = {row["id"] for row in rows["runs"] if _seconds(row) > SLOW_SECONDS}
    for run in runs:
        history, least = histories.get(run.id, []), run.least
        wanted = expected_tasks(run.number)
        if run.retried:
            yield from _judge_retried(run, histories, tasks, children.get(run.id, []))
            continue
        yield from judge_history(run.id, history, expected_steps(run.number), wanted, least=least)
        late = {SLOW} if run.id in long else ()
        yield from judge_tasks(
            run.id, tasks.get(run.id, []), wanted, cancelled=run.cancelled, late=late
        )
        yield from judge_output(run, history)
        below = children.get(run.id, [])
        child = {"its child": len(below)} if below else {}
        yield from counted(f"run {run.id}:", child, ["its child"], least=least)
        for row in below:
            id = row["id"]
            told = histories.get(id, [])
            yield from judge_history(id, told, CHILD_STEPS, CHILD_TASKS, least=least)
            yield from judge_tasks(id, tasks.get(id, []), CHILD_TASKS, cancelled=run.cancelled)
    allowed = {
        run.id: ("completed", "cancelled") if run.cancelled else ("completed",) for run in runs
    }
    for row in rows["runs"]:
        if row["status"] not in allowed[row["parent_run"] or row["id"]]:
            yield Problem("lost", f"run {row['id']} is {row['status']}")


def _judge_retried(
    run: Acknowledged, histories: dict[Any, Rows], tasks: dict[Any, Rows], children: Rows
) -> Iterator[Problem]:
    history = histories.get(run.id, [])
    yield from judge_retried(run.id, history, expected_tasks(run.number))
    yield from judge_all_done(run.id, tasks.get(run.id, []))
    yield from judge_output(run, history)
    yield from counted(f"run {run.id}:", {"its child": len(children)}, ["its child"])
    for row in children:
        id = row["id"]
        yield from judge_retried(id, histories.get(id, []), CHILD_TASKS)
        yield from judge_all_done(id, tasks.get(id, []))


def _seconds(row: dict[str, Any]) -> float:
    """How long a run took; one that goes on has been judged by others."""
    return float((row["finished_at"] or row["created_at"]) - row["created_at"])


def _by_run(rows: Rows) -> dict[Any, Rows]:
    return _by(rows, "run_id")


def _by(rows: Rows, column: str) -> dict[Any, Rows]:
    ordered = sorted(rows, key=lambda row: row[column] or "")
    return {key: list(some) for key, some in groupby(ordered, key=lambda row: row[column])}
