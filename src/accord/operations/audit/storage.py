"""SQL of the audit trail: records, seals, the head, and row states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from accord.operations.audit.record import Record
from accord.store.store import Engine

# The head

READ_HEAD: Final = "SELECT value FROM settings WHERE name = 'audit_head'"
WRITE_HEAD: Final = """
INSERT INTO settings (name, value) VALUES ('audit_head', $1)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""

# Records

_RECORD_COLUMNS: Final = (*Record.__struct_fields__, "mac")
INSERT_RECORD: Final = f"""
INSERT INTO audit_records ({", ".join(_RECORD_COLUMNS)})
VALUES ({", ".join(f"${place}" for place in range(1, len(_RECORD_COLUMNS) + 1))})
"""
INSERT_RECORDS: Final = f"""
INSERT INTO audit_records ({", ".join(_RECORD_COLUMNS)})
SELECT {", ".join(f"value ->> {place}" for place in range(len(_RECORD_COLUMNS)))}
FROM {{values}} WHERE true
ON CONFLICT (id) DO NOTHING
"""
RECORD_VALUES: Final[dict[Engine, str]] = {
    "sqlite": "json_each($1)",
    "postgresql": "json_array_elements($1::json)",
}

# Seals

LAST_SEAL: Final = "SELECT sequence FROM audit_seals ORDER BY sequence DESC LIMIT 1"
# Start with the few pending records instead of all records in order: SQLite keeps the order of a
# CROSS JOIN, and PostgreSQL does not optimize across MATERIALIZED.
PENDING_RECORDS: Final = """
WITH waiting AS MATERIALIZED (
    SELECT r.id, r.mac, r.time
    FROM audit_pending p CROSS JOIN audit_records r LEFT JOIN audit_seals s ON s.record_id = r.id
    WHERE r.id = p.record_id AND s.record_id IS NULL
)
SELECT id, mac FROM waiting ORDER BY time, id LIMIT $1
"""
DELETE_PENDING: Final = """
DELETE FROM audit_pending
WHERE record_id IN (SELECT record_id FROM audit_seals WHERE sequence > $1)
"""
INSERT_SEALS: Final[dict[Engine, str]] = {
    "sqlite": """
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash)
SELECT value ->> 'sequence', value ->> 'record_id', value ->> 'previous_hash', value ->> 'hash'
FROM json_each($1)
""",
    "postgresql": """
INSERT INTO audit_seals
SELECT * FROM json_populate_recordset(NULL::audit_seals, $1::json)
""",
}

# Verification

SEALED_RECORDS: Final = """
SELECT s.sequence, s.record_id, s.previous_hash, s.hash, r.*
FROM audit_seals s
LEFT JOIN audit_records r ON r.id = s.record_id
WHERE s.sequence > $1
ORDER BY s.sequence
LIMIT $2
"""
UNSEALED_RECORDS: Final = """
SELECT r.*, p.record_id
FROM audit_records r
LEFT JOIN audit_seals s ON s.record_id = r.id
LEFT JOIN audit_pending p ON p.record_id = r.id
WHERE s.record_id IS NULL AND (r.time > $1 OR (r.time = $1 AND r.id > $2))
ORDER BY r.time, r.id
LIMIT $3
"""
LOST_RECORDS: Final = """
SELECT p.record_id
FROM audit_pending p
LEFT JOIN audit_records r ON r.id = p.record_id
WHERE r.id IS NULL
ORDER BY p.record_id
LIMIT $1
"""

COUNTS: Final = """
SELECT (SELECT count(*) FROM audit_seals) AS seals, (SELECT count(*) FROM audit_records) AS records
"""

# Export

EXPORT_SEALED: Final = """
SELECT r.*, s.sequence, s.previous_hash, s.hash
FROM audit_seals s
LEFT JOIN audit_records r ON r.id = s.record_id
WHERE s.sequence > $1
ORDER BY s.sequence
LIMIT $2
"""
EXPORT_UNSEALED: Final = """
SELECT r.*, s.sequence, s.previous_hash, s.hash
FROM audit_records r
LEFT JOIN audit_seals s ON s.record_id = r.id
WHERE s.record_id IS NULL AND (r.time > $1 OR (r.time = $1 AND r.id > $2))
ORDER BY r.time, r.id
LIMIT $3
"""

# Lists

_EVENT_COLUMNS: Final = ", ".join(
    (
        *(f"r.{name}" for name in Record.__struct_fields__),
        *("r.mac", "s.sequence", "s.previous_hash", "s.hash"),
    )
)
_FILTERS: Final = {
    "actor": "(r.actor = ${0} OR r.actor_id = ${0})",
    "operation": "r.operation = ${0}",
    "outcome": "r.outcome = ${0}",
    "target": "(', ' || r.target || ', ') LIKE '%, ' || ${0} || ', %' ESCAPE '\\'",
    "since": "r.time >= ${0}",
    "until": "r.time < ${0}",
}
_COUNT: Final = "SELECT count(*) AS total FROM audit_records r WHERE {where}"
_COUNT_TO: Final = """
SELECT count(*) AS total FROM (SELECT r.id FROM audit_records r WHERE {where} LIMIT {most}) found
"""
_LIST: Final = f"""
SELECT {_EVENT_COLUMNS}, COALESCE(t.name, '') AS token
FROM audit_records r
LEFT JOIN tokens t ON t.id = r.token_id
LEFT JOIN audit_seals s ON s.record_id = r.id
WHERE {{where}}
ORDER BY r.time DESC, r.id DESC
LIMIT {{limit}}
"""


class EventQuery:
    """A query of audit records, with the values of its conditions."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._where = ["1 = 1"]

    def match(self, conditions: Mapping[str, Any]) -> None:
        """Select records by names of filters and values; None matches any record."""
        for name, value in conditions.items():
            if value is not None:
                self._values.append(value)
                self._where.append(_FILTERS[name].format(len(self._values)))

    def without_reads(self, reads: Sequence[str]) -> None:
        """Exclude successful calls of the operations named in `reads`."""
        first = len(self._values) + 1
        places = ", ".join(f"${first + place}" for place in range(len(reads)))
        self._values += reads
        self._where.append(f"(r.outcome <> 'done' OR r.operation NOT IN ({places}))")

    def before(self, time: str, id: str) -> None:
        """Select records older than the one with this time and id."""
        place = len(self._values)
        self._values += (time, id)
        self._where.append(f"(r.time, r.id) < (${place + 1}, ${place + 2})")

    def count(self, most: int | None) -> tuple[str, list[Any]]:
        """Return the SQL that counts the records, and its values.

        The count stops at `most`, if given.
        """
        count = _COUNT if most is None else _COUNT_TO
        return count.format(where=" AND ".join(self._where), most=most), self._values

    def page(self, limit: int) -> tuple[str, list[Any]]:
        """Return the SQL that lists the newest records, and its values."""
        sql = _LIST.format(where=" AND ".join(self._where), limit=f"${len(self._values) + 1}")
        return sql, [*self._values, limit]


# Row states

ANY_STATE: Final = "SELECT 1 FROM audit_states LIMIT 1"
LAST_STATE: Final = "SELECT COALESCE(MAX(sequence), 0) AS last FROM audit_states"
_STATE_COLUMNS: Final = "sequence, change_id, place, kind, entity_id, told, digests, mac"
INSERT_STATE: Final = (
    f"INSERT INTO audit_states ({_STATE_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
)
READ_STATES: Final = (
    f"SELECT {_STATE_COLUMNS} FROM audit_states WHERE sequence > $1 ORDER BY sequence LIMIT $2"
)
STATES_MIGRATED: Final = """
SELECT 1 FROM accord_migrations WHERE part = 'operations' AND name = 'states'
"""


def select_row(table: str, columns: Sequence[str], key: str) -> str:
    """Return the SQL that reads the rows with one value of the key."""
    return f"SELECT {', '.join(columns)} FROM {table} WHERE {key} = $1"


def select_page(table: str, columns: Sequence[str], key: str, limit: int) -> str:
    """Return the SQL that reads the next rows of a table, in the order of the key."""
    select = f"SELECT {', '.join(columns)} FROM {table}"
    return f"{select} WHERE {key} > $1 ORDER BY {key} LIMIT {limit}"
