"""A hub, workflows that are saved in it, and the runs that these get."""

from __future__ import annotations

from typing import Any

from msgspec import json

from accord.hub.registry import hub_operations
from accord.operations.runner import Runner
from accord.operations.storage import LANE
from accord.store.store import Store, Transaction
from accord.workflows.core.events import RunStarted, decode_event
from accord.workflows.core.reading import read_text
from accord.workflows.storage.runs import Starter
from accord.workflows.triggers.events import Events, trigger
from accord.workflows.triggers.triggers import save_triggers
from tests.hub.world import RECORDERS, World

STEPS = "steps: [{name: ask, type: agent, agent: a}]"
NOW = 1_763_200_000.0
"""2025-11-15T09:46:40Z"""


class Site:
    """A hub with triggers, for tests; `now` is its time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.now = NOW
        self.monotonic = 0.0
        self.events = Events(now=lambda: self.now, clock=lambda: self.monotonic)
        world.runner = self.runner(self.events)
        self._versions: dict[str, int] = {}

    @property
    def store(self) -> Store:
        return self.world.store

    def runner(self, events: Events) -> Runner:
        """The hub as another process has it."""
        return Runner(
            hub_operations(),
            self.store,
            self.world.trail,
            recorders=(*RECORDERS, trigger),
            services=(events,),
        )

    async def save(self, text: str, *, starter: Starter | None = None) -> int:
        """Save a definition, as an operation would; its version."""
        definition = read_text(f"{text}\n{STEPS}", "yaml")
        version = self._versions.get(definition.name, 0) + 1
        by = starter or Starter(user_id=self.world.admin.user_id, username="ada")

        async def work(db: Transaction) -> None:
            await db.execute(
                "INSERT INTO workflows (name, version, definition, created_by, created_at)"
                " VALUES ($1, $2, $3, $4, '')",
                *(definition.name, version, json.encode(definition).decode(), by.user_id),
            )
            await save_triggers(db, definition, version, by, self.now)

        await self.store.transact(work, lane=LANE)
        self._versions[definition.name] = version
        return version

    async def runs(self) -> list[dict[str, Any]]:
        """The runs there are, with their input, oldest first."""
        rows = await self.store.fetch(
            "SELECT runs.*, run_inbox.arrival FROM runs JOIN run_inbox ON run_id = runs.id"
            " ORDER BY run_inbox.id"
        )
        return [_run(row) for row in rows]

    async def letters(self) -> list[tuple[str, str, str]]:
        """Code, target and message of the dead letters."""
        rows = await self.store.fetch("SELECT code, target, message FROM dead_letters ORDER BY id")
        return [(row["code"], row["target"], row["message"]) for row in rows]

    async def requirement(self, title: str = "Log in", **more: Any) -> Any:
        """A new requirement, in a story of its own."""
        epic = await self.world.call("create_epic", title="Epic")
        story = await self.world.call("create_user_story", epic_id=epic.reference_id, title="Story")
        return await self.world.call(
            "create_requirement", user_story_id=story.reference_id, title=title, **more
        )


def _run(row: Any) -> dict[str, Any]:
    started = decode_event(row["arrival"].encode())
    assert isinstance(started, RunStarted)
    columns = ("id", "workflow", "version", "user_id", "username", "token_id", "scopes", "origin")
    more = ("cause", "chain", "correlation_id", "traceparent", "created_at")
    return {**{name: row[name] for name in (*columns, *more)}, "input": started.input}
