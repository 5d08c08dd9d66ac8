"""Rows of registered agents. A row has a reference to a secret, never the secret itself."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct, json

from accord.store.store import Row
from accord.workflows.core.definition import Retry

AGENTS_WAKE: Final = "agents"
"""The notification channel that announces changes of agents."""

AgentWire: TypeAlias = Literal["auto", "a2a-0.3", "a2a-1.0", "plain"]
Health: TypeAlias = Literal["unknown", "healthy", "unhealthy"]
SecretReference: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^(env:ACCORD_SECRET_[A-Z0-9_]{1,100}|file:[A-Za-z0-9_][A-Za-z0-9._-]{0,99})$",
        description="Where the secret is: env:ACCORD_SECRET_NAME or file:NAME.",
    ),
]
HeaderName: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9-]{1,100}$")]

COLUMNS: Final = """
id, name, description, url, wire, auth, timeout, retry, max_concurrency, active, card, health,
health_detail, checked_at, version, created_at, updated_at
"""


ONE_NAMED: Final = f"SELECT {COLUMNS} FROM agents WHERE name = $1"
ALL_ACTIVE: Final = f"SELECT {COLUMNS} FROM agents WHERE active = 1 ORDER BY name"
SET_HEALTH: Final = """
UPDATE agents SET health = $2, health_detail = $3, checked_at = $4, card = coalesce($5, card)
WHERE id = $1
RETURNING id
"""
ONE: Final = f"SELECT {COLUMNS} FROM agents WHERE name = $1 OR id = $1"
LIST: Final = f"SELECT {COLUMNS} FROM agents WHERE name > $1 ORDER BY name LIMIT $2"
COUNT: Final = "SELECT COUNT(*) AS total FROM agents"
FIRST_NAMES: Final = "SELECT name FROM agents ORDER BY name LIMIT 20"
INSERT: Final = """
INSERT INTO agents (id, name, description, url, wire, auth, timeout, retry, max_concurrency, active,
    version, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
"""
UPDATE: Final = """
UPDATE agents SET description = $2, url = $3, wire = $4, auth = $5, timeout = $6, retry = $7,
    max_concurrency = $8, active = $9, version = $10, updated_at = $11
WHERE id = $1
"""
DELETE: Final = "DELETE FROM agents WHERE id = $1"
COUNT_TASKS: Final = """
SELECT COUNT(*) AS total FROM tasks WHERE target = $1 AND kind = 'agent' AND state <> 'done'
"""
NAMES: Final = "SELECT name FROM agents"
ADDRESSES: Final = "SELECT name, url, wire, active FROM agents ORDER BY name"


class NoAuth(Struct, frozen=True, tag_field="type", tag="none", forbid_unknown_fields=True):
    """Calls show nothing."""


class AgentBearerAuth(
    Struct, frozen=True, tag_field="type", tag="bearer", forbid_unknown_fields=True
):
    """Calls show a token in the header Authorization."""

    __schema_name__ = "BearerAuth"

    secret: SecretReference


class ApiKeyAuth(Struct, frozen=True, tag_field="type", tag="api_key", forbid_unknown_fields=True):
    """Calls show a key in a header of the agent's choice."""

    secret: SecretReference
    header: HeaderName = "X-API-Key"


AgentAuth: TypeAlias = NoAuth | AgentBearerAuth | ApiKeyAuth


class AgentRow(Struct, frozen=True, kw_only=True):
    """A row of the table of agents."""

    id: str
    name: str
    description: str
    url: str
    wire: AgentWire
    auth: AgentAuth
    timeout: float
    """The timeout of one request to the agent, in seconds."""
    retry: Retry
    max_concurrency: int
    active: bool
    card: Any
    """The agent's card when last read; None if it was never read."""
    health: Health
    health_detail: str
    checked_at: str | None
    version: int
    created_at: str
    updated_at: str


_AUTH: json.Decoder[AgentAuth] = json.Decoder(AgentAuth)
_RETRY: json.Decoder[Retry] = json.Decoder(Retry)


def agent_of(row: Row) -> AgentRow:
    """Build an AgentRow from a row with `COLUMNS`."""
    return AgentRow(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        url=row["url"],
        wire=row["wire"],
        auth=_auth(row["auth"]),
        timeout=row["timeout"],
        retry=_RETRY.decode(row["retry"]),
        max_concurrency=row["max_concurrency"],
        active=bool(row["active"]),
        card=None if row["card"] is None else json.decode(row["card"]),
        health=row["health"],
        health_detail=row["health_detail"],
        checked_at=row["checked_at"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _auth(text: str) -> AgentAuth:
    return NoAuth() if text == "{}" else _AUTH.decode(text)
