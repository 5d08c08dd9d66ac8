"""Operations on registered agents, which workflows may call.

A registration has a reference to a secret; the secret itself is never stored here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from accord.a2a.exchange import AddressGuard, AddressRefusedError
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.errors import RefusedError
from accord.operations.context import Action, Changed, Database, Effect, Hint, OperationContext
from accord.operations.errors import ConflictError, InvalidError, NotFoundError, StaleError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, page_of
from accord.operations.registry import Registry
from accord.operations.runner import Runner
from accord.workflows.bridge.agents import check_agent, store_check
from accord.workflows.bridge.client_pool import Secrets, web_address
from accord.workflows.bridge.in_flight import Breakers, BreakerState
from accord.workflows.core.definition import Retry
from accord.workflows.storage import agents
from accord.workflows.storage.agents import (
    AGENTS_WAKE,
    AgentAuth,
    AgentRow,
    AgentWire,
    Health,
    NoAuth,
    agent_of,
)

operations: Final = Registry()

AgentName: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$")]
AgentUrl: TypeAlias = Annotated[str, Meta(min_length=8, max_length=2_000)]
About: TypeAlias = Annotated[str, Meta(max_length=2_000)]
Timeout: TypeAlias = Annotated[
    float, Meta(ge=1, le=300, description="Seconds that one request to the agent may take.")
]
Concurrency: TypeAlias = Annotated[
    int, Meta(ge=1, le=10_000, description="Calls of this agent at the same time.")
]

MAX_AGENTS: Final = 10_000


class AgentRetry(Struct, frozen=True, forbid_unknown_fields=True):
    """When a call that failed is tried again. Seconds."""

    attempts: Annotated[int, Meta(ge=1, le=100)] = 3
    initial_delay: Annotated[float, Meta(ge=0, le=86_400)] = 1.0
    multiplier: Annotated[float, Meta(ge=1, le=100)] = 2.0
    max_delay: Annotated[float, Meta(ge=0, le=86_400)] = 30.0
    jitter: bool = True
    failures: Literal["unknown", "all"] = "unknown"
    """Only those whose outcome is unknown, or also what the agent says has failed."""


NO_AUTH: Final = NoAuth()
USUAL_RETRY: Final = AgentRetry()


class RegisteredAgent(Changed, kw_only=True):
    __schema_name__ = "Agent"

    id: str
    name: str
    description: str
    url: str
    wire: AgentWire
    auth: AgentAuth
    timeout: float
    retry: AgentRetry
    max_concurrency: int
    active: bool
    health: Health
    health_detail: str
    checked_at: str | None
    breaker: BreakerState | None
    """Whether it is called as usual (closed), left alone after failures (open), or tried again;
    null where others call agents, and know."""
    version: int
    created_at: str
    updated_at: str


class AgentDeleted(Changed, kw_only=True):
    deleted: str


async def _check_address(work: OperationContext, arguments: Mapping[str, Any]) -> list[Hint]:
    """Return hints about an agent's URL. Raise InvalidError if the address policy forbids it."""
    url = arguments["url"]
    if url is UNSET:
        return []
    try:
        await AddressGuard(work.service(AddressPolicy)).resolve(web_address(url))
    except (AddressRefusedError, RefusedError) as error:
        raise InvalidError("url", error.message) from None
    except OSError:
        return [Hint(code="unknown_host", message="its host has no address at the moment")]
    return []


@operations.write(
    right="admin",
    rest=Rest("POST", "/agents", 201, "/agents/{name}"),
    tag="agents",
    tool=False,
    prepare=_check_address,
)
async def create_agent(
    work: OperationContext,
    *,
    name: AgentName,
    url: AgentUrl,
    wire: AgentWire = "auto",
    auth: AgentAuth = NO_AUTH,
    timeout: Timeout = 30.0,
    retry: AgentRetry = USUAL_RETRY,
    max_concurrency: Concurrency = 64,
    description: About = "",
    active: bool = True,
) -> RegisteredAgent:
    """Register an agent. Its address is checked now and at every call; a secret is named, never
    given: env:ACCORD_SECRET_NAME, or file:NAME in the folder of secrets. An agent that is shown a
    secret needs you to sign in."""  # noqa: D205 - the text in documents
    if auth != NO_AUTH:
        work.caller.require("accounts", "showing a secret to an agent")
    if await work.db.fetch(agents.ONE, name):
        raise ConflictError(f"there is an agent {name!r} already")
    [count] = await work.db.fetch(agents.COUNT)
    if count["total"] >= MAX_AGENTS:
        raise ConflictError(f"there are {MAX_AGENTS:,} agents already, which is the limit")
    await work.db.execute(
        agents.INSERT, work.new_id(), name, description, url, wire, _json(auth), timeout,
        _json(retry), max_concurrency, int(active), 1, work.now,
    )  # fmt: skip
    row = await find_agent(work.db, name)
    await _record_change(work, "created", None, row)
    return _shown(work, row)


@operations.read(right="admin", rest=Rest("GET", "/agents"), tag="agents", tool=False)
async def list_agents(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[RegisteredAgent]:
    """List agents, by name."""
    [after] = [""] if cursor is None else cursor_keys(cursor, tuple[str])
    rows = await work.db.fetch(agents.LIST, after, limit + 1)
    [count] = await work.db.fetch(agents.COUNT)
    return page_of(
        [_shown(work, agent_of(row)) for row in rows],
        limit=limit,
        total=count["total"],
        key=lambda agent: (agent.name,),
    )


@operations.read(right="admin", rest=Rest("GET", "/agents/{name}"), tag="agents", tool=False)
async def get_agent(work: OperationContext, *, name: AgentName) -> RegisteredAgent:
    """Get an agent, by its name or id."""
    return _shown(work, await find_agent(work.db, name))


@operations.write(
    right="admin",
    rest=(Rest("PATCH", "/agents/{name}"), Rest("PUT", "/agents/{name}")),
    tag="agents",
    tool=False,
    prepare=_check_address,
    idempotent=True,
)
async def update_agent(
    work: OperationContext,
    *,
    name: AgentName,
    url: AgentUrl | UnsetType = UNSET,
    wire: AgentWire | UnsetType = UNSET,
    auth: AgentAuth | UnsetType = UNSET,
    timeout: Timeout | UnsetType = UNSET,
    retry: AgentRetry | UnsetType = UNSET,
    max_concurrency: Concurrency | UnsetType = UNSET,
    description: About | UnsetType = UNSET,
    active: bool | UnsetType = UNSET,
    expected_version: int | None = None,
) -> RegisteredAgent:
    """Change an agent, or deactivate it: calls of it fail until it is active again. Another secret,
    and another URL for an agent that is shown a secret, need you to sign in."""  # noqa: D205 - the text in documents
    before = await find_agent(work.db, name)
    if expected_version is not None and expected_version != before.version:
        raise StaleError(
            f"{before.name} has version {before.version}, not {expected_version}",
            current=_shown(work, before),
        )
    changes = {
        "url": url,
        "wire": wire,
        "auth": auth,
        "timeout": timeout,
        "retry": UNSET if retry is UNSET else Retry(**asdict(retry)),
        "max_concurrency": max_concurrency,
        "description": description,
        "active": active,
    }
    after = replace(before, **{key: value for key, value in changes.items() if value is not UNSET})
    if after == before:
        return _shown(work, before)
    if after.auth != NO_AUTH and (after.auth, after.url) != (before.auth, before.url):
        work.caller.require("accounts", "showing a secret to an agent")
    await work.db.execute(
        agents.UPDATE, after.id, after.description, after.url, after.wire, _json(after.auth),
        after.timeout, _json(after.retry), after.max_concurrency, int(after.active),
        before.version + 1, work.now,
    )  # fmt: skip
    stored = await find_agent(work.db, after.id)
    await _record_change(work, "updated", before, stored)
    return _shown(work, stored)


@operations.write(
    right="admin",
    rest=Rest("DELETE", "/agents/{name}", 204),
    tag="agents",
    tool=False,
    destructive=True,
)
async def delete_agent(work: OperationContext, *, name: AgentName) -> AgentDeleted:
    """Remove an agent that no task waits for; deactivate one that is still in use."""
    row = await find_agent(work.db, name)
    [waiting] = await work.db.fetch(agents.COUNT_TASKS, row.name)
    if waiting["total"]:
        raise ConflictError(
            f"{waiting['total']:,} tasks wait for {row.name}: deactivate it, or cancel their runs",
            tasks=waiting["total"],
        )
    await work.db.execute(agents.DELETE, row.id)
    await _record_change(work, "deleted", row, None)
    return AgentDeleted(deleted=row.name)


async def _check_health(work: OperationContext, arguments: Mapping[str, Any]) -> None:
    agent = await find_agent(work.db, arguments["name"])
    checked = await check_agent(agent, work.service(AddressPolicy), work.service(Secrets))
    await store_check(work.service(Runner).store, agent, checked)


@operations.write(
    right="admin",
    rest=Rest("POST", "/agents/{name}/check"),
    tag="agents",
    tool=False,
    prepare=_check_health,
    open_world=True,
    idempotent=True,
    cost=20,
)
async def check_agent_health(work: OperationContext, *, name: AgentName) -> RegisteredAgent:
    """Ask an agent for its card now, and get the agent with what came of it."""
    return _shown(work, await find_agent(work.db, name))


async def find_agent(db: Database, name: str) -> AgentRow:
    """Return an agent by its name or id.

    Raise NotFoundError, which lists the names of existing agents, if there is none.
    """
    rows = await db.fetch(agents.ONE, name)
    if not rows:
        names = [row["name"] for row in await db.fetch(agents.FIRST_NAMES)]
        there = f"there are {', '.join(names)}" if names else "there are none"
        raise NotFoundError(f"there is no agent {name!r}; {there}", valid=names)
    return agent_of(rows[0])


async def _record_change(
    work: OperationContext, action: Action, before: AgentRow | None, after: AgentRow | None
) -> None:
    """Record a change of an agent for the audit trail, and notify the bridges."""
    for hint in work.prepared or ():
        work.hint(hint)
    agent = after or before
    assert agent is not None
    work.record(
        Effect(
            action=action,
            kind="agent",
            id=agent.id,
            reference_id=agent.name,
            version=agent.version,
            before=None if before is None else _audited_fields(before),
            after=None if after is None else _audited_fields(after),
        )
    )
    await work.db.notify(AGENTS_WAKE)


def _audited_fields(row: AgentRow) -> dict[str, Any]:
    """Return the fields of an agent that an audit record shows."""
    names = ("name", "url", "wire", "timeout", "retry", "max_concurrency", "active", "auth")
    return {name: msgspec.to_builtins(getattr(row, name)) for name in names}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _shown(work: OperationContext, row: AgentRow) -> RegisteredAgent:
    known = work.service(Breakers).states("agent")
    breaker: BreakerState | None = (
        None if known is None else known.get(("agent", row.name), "closed")
    )
    fields = asdict(row)
    del fields["card"]
    fields["retry"] = AgentRetry(**asdict(row.retry))
    return RegisteredAgent(**fields, breaker=breaker)
