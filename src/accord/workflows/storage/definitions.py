"""The rows of workflows and triggers, and a cache of compiled definitions.

LookupError
├── UnknownRunError         a run does not exist
└── UnknownWorkflowError    a workflow or one of its versions does not exist
"""

from __future__ import annotations

from typing import Final

from accord.store.store import ReadTransaction
from accord.workflows.core.program import Program, compile_program
from accord.workflows.core.reading import decode_definition


class UnknownRunError(LookupError):
    """A run does not exist."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"there is no run {run_id[:80]!r}")


class UnknownWorkflowError(LookupError):
    """A workflow does not exist, or has no such version, or no active one."""

    def __init__(self, name: str, version: int | None = None) -> None:
        full_name = name[:80] if version is None else f"{name[:80]}@{version}"
        super().__init__(f"there is no workflow {full_name!r}")


MAX_CACHED: Final = 256
"""The maximum number of cached programs."""

_GET: Final = "SELECT definition FROM workflows WHERE name = $1 AND version = $2"
_NEWEST: Final = "SELECT max(version) AS version FROM workflows WHERE name = $1 AND active = 1"
_IS_ACTIVE: Final = "SELECT 1 FROM workflows WHERE name = $1 AND version = $2 AND active = 1"

WORKFLOW_VERSIONS: Final = "SELECT name, version FROM workflows"
WORKFLOW_NAMES: Final = "SELECT DISTINCT name FROM workflows ORDER BY name"
NEWEST_ACTIVE: Final = """
SELECT version, definition FROM workflows WHERE name = $1 AND active = 1
ORDER BY version DESC LIMIT 1
"""
STARTABLE: Final = """
SELECT w.name, w.version, w.description, w.definition FROM workflows w
WHERE w.active = 1 AND w.version = (
    SELECT MAX(v.version) FROM workflows v WHERE v.name = w.name AND v.active = 1)
ORDER BY w.name LIMIT 1000
"""
VERSION_COLUMNS: Final = (
    *("name", "version", "description", "definition", "active", "created_by", "created_at"),
)
"""The columns of a workflow's version of which the audit trail stores digests."""
PROVEN_VERSIONS: Final = f"""
SELECT {", ".join(VERSION_COLUMNS)} FROM workflows
WHERE name = $1 ORDER BY version
"""

# For people: with the name of the creator, and the last run.
_COLUMNS: Final = """
w.name, w.version, w.description, w.definition, w.active, w.created_at,
COALESCE(u.username, '') AS creator
"""
_FROM: Final = "FROM workflows w LEFT JOIN users u ON u.id = w.created_by"
SHOWN_NEWEST: Final = f"""
SELECT {_COLUMNS} {_FROM} WHERE w.name = $1 ORDER BY w.active DESC, w.version DESC LIMIT 1
"""
LAST_VERSION: Final = (
    "SELECT version, definition FROM workflows WHERE name = $1 ORDER BY version DESC LIMIT 1"
)
SHOWN_VERSION: Final = f"SELECT {_COLUMNS} {_FROM} WHERE w.name = $1 AND w.version = $2"
LIST_WORKFLOWS: Final = f"""
SELECT {_COLUMNS}, r.id AS run_id, r.status AS run_status, r.created_at AS run_created_at,
    r.finished_at AS run_finished_at
{_FROM} LEFT JOIN runs r ON r.id = (
    SELECT last.id FROM runs last WHERE last.workflow = w.name
    ORDER BY last.created_at DESC, last.id DESC LIMIT 1)
WHERE w.name > $1 AND w.version = (SELECT MAX(v.version) FROM workflows v WHERE v.name = w.name)
ORDER BY w.name LIMIT $2
"""
LIST_VERSIONS: Final = f"""
SELECT {_COLUMNS} {_FROM} WHERE w.name = $1 AND w.version < $2 ORDER BY w.version DESC LIMIT $3
"""
COUNT_WORKFLOWS: Final = "SELECT COUNT(DISTINCT name) AS total FROM workflows"
COUNT_VERSIONS: Final = "SELECT COUNT(*) AS total FROM workflows WHERE name = $1"
FIRST_NAMES: Final = "SELECT DISTINCT name FROM workflows ORDER BY name LIMIT 20"
INSERT_VERSION: Final = """
INSERT INTO workflows (name, version, description, definition, created_by, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
"""
SET_ACTIVE: Final = "UPDATE workflows SET active = $2 WHERE name = $1"
SET_ONE_ACTIVE: Final = "UPDATE workflows SET active = $2 WHERE name = $1 AND version = $3"


class Definitions:
    """A cache of the compiled definitions of one store.

    The thread of the event loop and the database's write thread use it without a lock. That is safe
    because each access is a single operation on a dictionary.
    """

    def __init__(self) -> None:
        self._programs: dict[tuple[str, int], Program] = {}

    async def get(self, db: ReadTransaction, name: str, version: int) -> Program:
        """Return the program of a version. Raise UnknownWorkflowError if it does not exist."""
        found = self._programs.get((name, version))
        if found is not None:
            return found
        rows = await db.fetch(_GET, name, version)
        if not rows:
            raise UnknownWorkflowError(name, version)
        program = compile_program(decode_definition(rows[0]["definition"]))
        if len(self._programs) >= MAX_CACHED:
            self._programs = {}  # a new one: the other thread may be reading the old one
        self._programs[name, version] = program
        return program

    async def newest(self, db: ReadTransaction, name: str) -> int:
        """Return the number of the newest active version. Raise UnknownWorkflowError if none is."""
        [row] = await db.fetch(_NEWEST, name)
        if row["version"] is None:
            raise UnknownWorkflowError(name)
        return int(row["version"])

    async def startable(
        self, db: ReadTransaction, name: str, version: int | None
    ) -> tuple[int, Program]:
        """Return the version for a new run, and its program.

        If `version` is None, it is the newest active version.

        Raise UnknownWorkflowError if the version does not exist or is inactive.
        """
        if version is None:
            version = await self.newest(db, name)
        elif not await db.fetch(_IS_ACTIVE, name, version):
            raise UnknownWorkflowError(name, version)
        return version, await self.get(db, name, version)


TRIGGERS_WAKE: Final = "triggers"
"""The notification channel that announces changes of triggers."""

TRIGGER_COLUMNS: Final = (
    *("id", "workflow", "version", "kind", "name", "spec", "input"),
    *("user_id", "username", "scopes"),
)
"""The columns of a trigger of which the audit trail stores digests.

`next_at` is missing, because the scheduler changes it without an audited operation.
"""
ALL_TRIGGER_COLUMNS: Final = ", ".join((*TRIGGER_COLUMNS, "next_at"))

MAX_DUE_TRIGGERS: Final = 100
"""The maximum number of due schedules read by one query."""
MAX_SWEPT_DELIVERIES: Final = 10
"""The maximum number of old webhook deliveries removed whenever a new one is stored."""

TRIGGER_TIMES: Final = "SELECT id, next_at FROM triggers WHERE workflow = $1"
TRIGGER_VERSIONS: Final = "SELECT DISTINCT version FROM triggers WHERE workflow = $1"
DELETE_TRIGGERS: Final = "DELETE FROM triggers WHERE workflow = $1"
WEBHOOK_OWNER: Final = "SELECT workflow FROM triggers WHERE kind = 'webhook' AND name = $1"
INSERT_TRIGGER: Final = f"""
INSERT INTO triggers ({ALL_TRIGGER_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
TRIGGER_EVENT_NAMES: Final = "SELECT DISTINCT name FROM triggers WHERE kind = 'event'"
EVENT_TRIGGERS: Final = f"""
SELECT {ALL_TRIGGER_COLUMNS} FROM triggers WHERE kind = 'event' AND name IN ({{places}}) ORDER BY id
"""
DUE_TRIGGERS: Final = f"""
SELECT {ALL_TRIGGER_COLUMNS} FROM triggers
WHERE next_at <= $1 ORDER BY next_at, id LIMIT {MAX_DUE_TRIGGERS}
"""
NEXT_TRIGGER_TIME: Final = "SELECT min(next_at) AS next_at FROM triggers WHERE next_at IS NOT NULL"
MOVE_TRIGGER: Final = "UPDATE triggers SET next_at = $3 WHERE id = $1 AND next_at = $2"
PROVEN_TRIGGERS: Final = f"""
SELECT {", ".join(TRIGGER_COLUMNS)} FROM triggers
WHERE workflow = $1 ORDER BY id
"""

WEBHOOK_TRIGGERS: Final = (
    f"SELECT {ALL_TRIGGER_COLUMNS} FROM triggers WHERE kind = 'webhook' AND name = $1"
)
FIND_DELIVERY: Final = """
SELECT run_id FROM webhook_deliveries WHERE trigger_id = $1 AND key IN ($2, $3)
"""
INSERT_DELIVERY: Final = """
INSERT INTO webhook_deliveries (trigger_id, key, run_id, created_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (trigger_id, key) DO NOTHING
"""
SWEEP_DELIVERIES: Final = f"""
DELETE FROM webhook_deliveries WHERE (trigger_id, key) IN (
    SELECT trigger_id, key FROM webhook_deliveries WHERE created_at < $1
    ORDER BY created_at LIMIT {MAX_SWEPT_DELIVERIES}
)
"""
