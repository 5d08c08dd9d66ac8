"""The registry of all workflow operations, and the rows whose states the audit trail stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any, Final

from accord.operations.audit.states import ProvenRows, ProvenTable, RowState
from accord.operations.context import Database
from accord.operations.registry import Registry
from accord.workflows.storage.definitions import (
    PROVEN_TRIGGERS,
    PROVEN_VERSIONS,
    TRIGGER_COLUMNS,
    VERSION_COLUMNS,
    WORKFLOW_NAMES,
)

MODULES: Final[tuple[str, ...]] = (
    "agents",
    "workflows",
    "runs",
    "run_control",
    "dead_letters",
)
"""The modules with workflow operations; each has a registry named `operations`."""


def workflow_operations() -> Registry:
    """Return a registry of all operations on agents, workflows and runs."""
    registry = Registry()
    for module in MODULES:
        registry.include(import_module(f"accord.workflows.operations.{module}").operations)
    return registry.fully_declared()


AGENTS: Final = ProvenTable(
    "agent",
    "agents",
    (
        *("id", "name", "description", "url", "wire", "auth", "timeout", "retry"),
        *("max_concurrency", "active", "version", "created_at", "updated_at"),
    ),
    "name",
)


class AuditedWorkflows:
    """A reader of the rows of workflows and their triggers, for the audit trail.

    It implements `ProvenRows`: the audit trail stores digests of these rows.
    """

    kind: Final = "workflow"

    async def of(self, db: Database, id: str) -> list[RowState]:
        """Return the rows of a workflow: one for each version, and one for its triggers.

        `id` is NAME or NAME@VERSION. All versions are included, because a change of one version may
        change the triggers.
        """
        name = id.partition("@")[0]
        states = []
        for row in await db.fetch(PROVEN_VERSIONS, name):
            version = f"{name}@{row['version']}"
            values = {column: row[column] for column in VERSION_COLUMNS}
            states.append(RowState(self.kind, version, values, version))
        triggers: dict[str, Any] = {}
        for row in await db.fetch(PROVEN_TRIGGERS, name):
            triggers |= {f"{row['id']} {column}": row[column] for column in TRIGGER_COLUMNS}
        return [*states, RowState("triggers", name, {"all": sorted(triggers), **triggers}, name)]

    async def every(self, db: Database) -> AsyncIterator[RowState]:
        for row in await db.fetch(WORKFLOW_NAMES):
            for state in await self.of(db, row["name"]):
                yield state


PROVEN: Final[tuple[ProvenRows, ...]] = (AGENTS, AuditedWorkflows())
OPERATIONS: Final = frozenset(
    {"create_agent", "update_agent", "delete_agent", "create_workflow", "update_workflow"}
)
"""The operations that change only rows whose states the audit trail stores (`PROVEN`)."""
