"""Definitions, histories and runs as they are kept, on both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import ValidationError

from accord.store import Store, open_store
from accord.workflows.core.errors import NewerSchemaError
from accord.workflows.core.events import CancelRequested, Event, PauseRequested, RunStarted
from accord.workflows.core.reading import decode_definition, encode_definition, read_definition
from accord.workflows.core.state import State, encode_state
from accord.workflows.storage.bulk import Insertion
from accord.workflows.storage.definitions import (
    MAX_CACHED,
    Definitions,
    UnknownRunError,
    UnknownWorkflowError,
)
from accord.workflows.storage.history import (
    RunHistoryRow,
    append_history,
    decode_events,
    encode_events,
    load_run,
    read_history,
    read_later,
    read_rows,
)
from accord.workflows.storage.runs import NewRun, Starter, create_runs

SAVE = """
INSERT INTO workflows (name, version, definition, active, created_by, created_at)
VALUES ('wait', $1, $2, $3, '', '')
"""
STARTER = Starter(user_id="u", username="ann", token_id="t", scopes="read write")


def definition(name: str = "w") -> dict[str, Any]:
    return {"name": "wait", "steps": [{"name": name, "type": "wait", "signal": "s"}]}


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        for version, active in ((1, 1), (2, 1), (3, 0)):
            text = encode_definition(read_definition(definition(f"w{version}")))
            await opened.execute(SAVE, version, text, active)
        yield opened


async def begin(store: Store, *ids: str) -> None:
    runs = [
        NewRun(
            id=id,
            workflow="wait",
            version=2,
            input=1,
            starter=STARTER,
            origin="rest",
            at=5.0,
            correlation_id="c",
            traceparent="t",
        )
        for id in ids
    ]
    await store.transact(lambda db: create_runs(db, runs))


async def record(store: Store, run: str, sequence: int, *events: Event) -> None:
    entry = RunHistoryRow(run, sequence, len(events), encode_events(events))
    await store.transact(lambda db: append_history(db, [entry]))


# Definitions


def test_a_definition_is_kept_as_it_is() -> None:
    made = read_definition(definition())
    assert decode_definition(encode_definition(made)) == made


async def test_a_version_is_made_ready_once(store: Store) -> None:
    definitions = Definitions()
    first = await store.read(lambda db: definitions.get(db, "wait", 1))
    assert list(first.plans) == ["w1"]
    assert await store.read(lambda db: definitions.get(db, "wait", 1)) is first
    with pytest.raises(UnknownWorkflowError, match="there is no workflow 'wait@9'"):
        await store.read(lambda db: definitions.get(db, "wait", 9))


async def test_only_so_many_versions_are_kept_ready(store: Store) -> None:
    text = encode_definition(read_definition(definition()))
    versions = range(10, 10 + MAX_CACHED)
    for version in versions:
        await store.execute(SAVE, version, text, 1)
    definitions = Definitions()
    first = await store.read(lambda db: definitions.get(db, "wait", 1))
    for version in versions:
        await store.read(lambda db, version=version: definitions.get(db, "wait", version))  # type: ignore[misc]
    again = await store.read(lambda db: definitions.get(db, "wait", 1))
    assert again is not first


async def test_runs_get_the_newest_version_that_may_be_started(store: Store) -> None:
    definitions = Definitions()
    assert await store.read(lambda db: definitions.newest(db, "wait")) == 2
    version, program = await store.read(lambda db: definitions.startable(db, "wait", None))
    assert (version, list(program.plans)) == (2, ["w2"])
    version, _ = await store.read(lambda db: definitions.startable(db, "wait", 1))
    assert version == 1
    with pytest.raises(UnknownWorkflowError):
        await store.read(lambda db: definitions.startable(db, "wait", 3))
    with pytest.raises(UnknownWorkflowError, match="there is no workflow 'nobody'"):
        await store.read(lambda db: definitions.newest(db, "nobody"))


# Histories


async def test_a_history_is_read_from_any_event_on(store: Store) -> None:
    await begin(store, "r")
    events = [PauseRequested(at=float(number), by=str(number)) for number in range(1, 6)]
    await record(store, "r", 1, *events[:2])
    await record(store, "r", 3, *events[2:])
    numbered = list(enumerate(events, 1))
    for after in range(6):
        found = await store.read(lambda db, after=after: read_history(db, "r", after))  # type: ignore[misc]
        assert found == numbered[after:]


def test_what_a_newer_version_wrote_is_told_from_nonsense() -> None:
    with pytest.raises(NewerSchemaError):
        decode_events('[{"type":"unheard_of","schema":3,"at":1}]')
    with pytest.raises(NewerSchemaError):
        decode_events('[{"type":"pause_requested","schema":3,"at":1}]')
    with pytest.raises(ValidationError):
        decode_events('[{"type":"unheard_of","schema":2,"at":1}]')


# Runs


async def test_a_run_is_its_snapshot_and_what_happened_since(store: Store) -> None:
    await begin(store, "r")
    await record(store, "r", 1, RunStarted(at=5.0, input=1))
    definitions = Definitions()
    loaded = await store.read(lambda db: load_run(db, definitions, "r"))
    assert (loaded.state.phase, loaded.state.applied, loaded.row.starter) == (
        *("running", 1),
        STARTER,
    )
    kept = State(phase="running", applied=1, input="from the snapshot")
    change = "UPDATE runs SET snapshot = $1, snapshot_at = 1"
    await store.execute(change, encode_state(kept).decode())
    await record(store, "r", 2, CancelRequested(at=6.0))
    loaded = await store.read(lambda db: load_run(db, definitions, "r"))
    assert (loaded.state.input, loaded.state.applied) == ("from the snapshot", 2)
    later = await store.read(lambda db: read_later(db, store.engine, ["r"]))
    assert later == {"r": [encode_events([CancelRequested(at=6.0)])]}


async def test_those_runs_are_read_that_there_are(store: Store) -> None:
    await begin(store, "r1", "r2")
    rows = await store.read(lambda db: read_rows(db, store.engine, ["r1", "nobody", "r2"]))
    assert sorted(row.id for row in rows) == ["r1", "r2"]
    assert {row.correlation_id for row in rows} == {"c"}
    with pytest.raises(UnknownRunError, match="there is no run 'nobody'"):
        await store.read(lambda db: load_run(db, Definitions(), "nobody"))


# Rows


async def test_rows_are_added_in_order_one_or_many(store: Store) -> None:
    await store.execute("CREATE TABLE things (name text PRIMARY KEY, size double precision)")
    insertion = Insertion(
        "things", {"name": "text", "size": "double precision"}, "ON CONFLICT (name) DO NOTHING"
    )
    for rows in ([], [("a", 1.0)], [("b", None), ("a", 2.0), ("c", 3.0)]):
        await store.transact(lambda db, rows=rows: insertion.run(db, rows))  # type: ignore[misc]
    found = await store.fetch("SELECT name, size FROM things ORDER BY name")
    assert [(row["name"], row["size"]) for row in found] == [("a", 1.0), ("b", None), ("c", 3.0)]
