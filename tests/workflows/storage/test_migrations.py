"""What an earlier release kept is there after the migrations of this one, on both engines."""

from __future__ import annotations

import shutil
from importlib.resources import as_file
from pathlib import Path

import pytest

from accord.app.database import MIGRATIONS
from accord.store import open_store
from accord.workflows.core.events import SignalReceived, encode_event
from accord.workflows.storage.leases import shard_of
from tests.workflows.executor.world import executing, load, outcome, save, until_finished

PROBLEMS = 7
"""The number of the migration that adds reasons."""
RUN = """
INSERT INTO runs (id, workflow, version, shard, status, origin, created_at)
VALUES ($1, 'hear', 1, $2, 'waiting', 'rest', 1.0)
"""
HISTORY = "INSERT INTO run_history (run_id, sequence, count, events) VALUES ($1, 1, 2, $2)"
MESSAGE = """
INSERT INTO run_inbox (message_id, run_id, shard, arrival, tries, due)
VALUES ('m', $1, $2, $3, 2, 0)
"""
APPROVAL = """
INSERT INTO approvals (run_id, task, step, approvers, created_at) VALUES ('r', 'ok', 'ok', '["uma"]', 1.0)
"""
EVENTS = (
    '[{"type":"run_started","at":1.0},{"type":"step_started","at":1.0,"key":"w","frame":"/main"}]'
)


def before(folder: Path, number: int) -> Path:
    """The migrations of workflows that there were before one."""
    with as_file(MIGRATIONS["workflows"]) as found:
        shutil.copytree(found, folder)
    for path in folder.iterdir():
        if not path.name[:4].isdigit() or int(path.name[:4]) >= number:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return folder


@pytest.mark.req("W-16")
async def test_messages_that_were_postponed_before_are_decided_on_after(
    url: str, tmp_path: Path
) -> None:
    async with open_store(url, durable=False) as store:
        for part, folder in MIGRATIONS.items():
            known = before(tmp_path / "before", PROBLEMS) if part == "workflows" else folder
            await store.migrate(part, known)
        await save(store, {"name": "hear", "steps": [{"name": "w", "type": "wait", "signal": "s"}]})
        shard = shard_of("r")
        await store.execute(RUN, "r", shard)
        await store.execute(HISTORY, "r", EVENTS)
        signal = encode_event(SignalReceived(at=2.0, name="s", id="1", payload="late")).decode()
        await store.execute(MESSAGE, "r", shard, signal)
        await store.execute(APPROVAL)
        await store.migrate("workflows", MIGRATIONS["workflows"])
        [row] = await store.fetch("SELECT step, shown FROM approvals")
        assert tuple(row) == ("ok", None)
        assert (await load(store, "r")).problem is None
        async with executing(store):
            await until_finished(store, ["r"])
        assert await outcome(store, "r") == ("completed", "late")
