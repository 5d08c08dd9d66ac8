"""Runs of the last days are counted by their state."""

from __future__ import annotations

from tests.workflows.operations.office import GATE, Office


async def test_runs_of_the_last_days_are_counted_by_state(office: Office) -> None:
    await office.save(GATE)
    ids = [await office.start("gate") for _ in range(3)]
    await office.local.store.execute(
        "UPDATE runs SET status = 'failed' WHERE id IN ($1, $2)", *ids[:2]
    )
    await office.local.store.execute(
        "UPDATE runs SET created_at = created_at - 86400 * 10 WHERE id = $1", ids[0]
    )
    week = await office.call("count_runs")
    month = await office.call("count_runs", days=30)
    assert (week.total, week.by_state) == (2, {"failed": 1, "pending": 1})
    assert (month.total, month.by_state) == (3, {"failed": 2, "pending": 1})
