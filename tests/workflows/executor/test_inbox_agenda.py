"""What an executor finds to decide on, on both engines."""

from __future__ import annotations

from accord.store import Store, open_store
from accord.workflows.executor.inbox import Agenda
from accord.workflows.storage.inbox import MAX_MESSAGES

INSERT = """
INSERT INTO runs (id, workflow, version, shard, next_timer, created_at)
VALUES ($1, 'nap', 1, 0, 5.0, 1.0)
"""


async def test_more_timers_than_are_read_at_once_do_not_wait_for_each_other(
    migrated_url: str,
) -> None:
    async with open_store(migrated_url, durable=False) as store:
        await store.execute(
            "INSERT INTO workflows (name, version, definition, created_by, created_at)"
            " VALUES ('nap', 1, '{}', '', '')"
        )
        ids = [(f"run-{number:05d}",) for number in range(MAX_MESSAGES + 7)]
        await store.transact(lambda db: db.execute_many(INSERT, ids))
        agenda = Agenda(store, lambda: 6.0)
        seen: set[str] = set()
        for most in (MAX_MESSAGES, 7, 0):
            found = set(await agenda.read([0], 6.0))
            assert (len(found), found & seen) == (most, set())
            seen |= found
            await _handle(store, found)
        assert agenda.pause == 1.0


async def _handle(store: Store, runs: set[str]) -> None:
    handled = "UPDATE runs SET next_timer = NULL WHERE id = $1"
    await store.transact(lambda db: db.execute_many(handled, [(each,) for each in runs]))
