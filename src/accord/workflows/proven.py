"""Agents and workflows as the audit trail proves them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from accord.operations.audit.states import Proven, ProvenTable, State
from accord.operations.work import Database

AGENTS: Final = ProvenTable(
    "agent",
    "agents",
    (
        *("id", "name", "description", "url", "wire", "auth", "timeout", "retry"),
        *("max_concurrency", "active", "version", "created_at", "updated_at"),
    ),
    "name",
)

_NAMES: Final = "SELECT DISTINCT name FROM workflows ORDER BY name"
_VERSIONS: Final = """
SELECT name, version, description, definition, active, created_by, created_at FROM workflows
WHERE name = $1 ORDER BY version
"""
_TRIGGERS: Final = """
SELECT id, workflow, version, kind, name, spec, input, user_id, username, scopes FROM triggers
WHERE workflow = $1 ORDER BY id
"""


class ProvenWorkflows:
    """Versions of workflows, and the triggers of each workflow together; implements `Proven`."""

    kind: Final = "workflow"

    async def of(self, db: Database, id: str) -> list[State]:
        """`id` is NAME or NAME@VERSION; a change of one version changes the triggers of all."""
        name = id.partition("@")[0]
        states = []
        for row in await db.fetch(_VERSIONS, name):
            version = f"{name}@{row['version']}"
            states.append(State(self.kind, version, _values(row, _VERSIONS), version))
        triggers: dict[str, Any] = {}
        for row in await db.fetch(_TRIGGERS, name):
            values = _values(row, _TRIGGERS)
            triggers |= {f"{row['id']} {column}": value for column, value in values.items()}
        return [*states, State("triggers", name, {"all": sorted(triggers), **triggers}, name)]

    async def every(self, db: Database) -> AsyncIterator[State]:
        for row in await db.fetch(_NAMES):
            for state in await self.of(db, row["name"]):
                yield state


def _values(row: Any, select: str) -> dict[str, Any]:
    columns = select.partition("FROM")[0].replace("SELECT", "").split(",")
    return {name.strip(): row[name.strip()] for name in columns}


PROVEN: Final[tuple[Proven, ...]] = (AGENTS, ProvenWorkflows())
OPERATIONS: Final = frozenset(
    {"create_agent", "update_agent", "delete_agent", "create_workflow", "update_workflow"}
)
"""Those that change nothing else."""
