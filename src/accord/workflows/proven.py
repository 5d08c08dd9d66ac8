"""Agents and workflows as the audit trail proves them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from accord.operations.audit.states import Proven, ProvenTable, State
from accord.operations.work import Database
from accord.workflows.storage.definitions import NAMES, PROVEN_VERSIONS, VERSION_COLUMNS
from accord.workflows.storage.triggers import PROVEN_TRIGGERS, TRIGGER_COLUMNS

AGENTS: Final = ProvenTable(
    "agent",
    "agents",
    (
        *("id", "name", "description", "url", "wire", "auth", "timeout", "retry"),
        *("max_concurrency", "active", "version", "created_at", "updated_at"),
    ),
    "name",
)


class ProvenWorkflows:
    """Versions of workflows, and the triggers of each workflow together; implements `Proven`."""

    kind: Final = "workflow"

    async def of(self, db: Database, id: str) -> list[State]:
        """`id` is NAME or NAME@VERSION; a change of one version changes the triggers of all."""
        name = id.partition("@")[0]
        states = []
        for row in await db.fetch(PROVEN_VERSIONS, name):
            version = f"{name}@{row['version']}"
            values = {column: row[column] for column in VERSION_COLUMNS}
            states.append(State(self.kind, version, values, version))
        triggers: dict[str, Any] = {}
        for row in await db.fetch(PROVEN_TRIGGERS, name):
            triggers |= {f"{row['id']} {column}": row[column] for column in TRIGGER_COLUMNS}
        return [*states, State("triggers", name, {"all": sorted(triggers), **triggers}, name)]

    async def every(self, db: Database) -> AsyncIterator[State]:
        for row in await db.fetch(NAMES):
            for state in await self.of(db, row["name"]):
                yield state


PROVEN: Final[tuple[Proven, ...]] = (AGENTS, ProvenWorkflows())
OPERATIONS: Final = frozenset(
    {"create_agent", "update_agent", "delete_agent", "create_workflow", "update_workflow"}
)
"""Those that change nothing else."""
