"""The system without a server: for commands on the machine itself, also while a server runs.

Whoever may read the data directory, or has the URL of the database and the key, may do everything;
what they do is on record like everything else.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from accord.app.agent_access import agent_addresses, agent_secrets
from accord.app.composition import (
    EVENT_KINDS,
    RECORDERS,
    all_operations,
    data_checks,
    state_keeper,
)
from accord.app.parts import PARTS
from accord.app.plugins import Plugins, load_plugins
from accord.app.settings import Settings
from accord.hub.domain.acceptance import AcceptancePolicy
from accord.operations.accounts.accounts import Accounts
from accord.operations.accounts.server_key import KEY_VARIABLE, ServerKey, load_key
from accord.operations.arguments import convert
from accord.operations.audit.head_file import NAME as HEAD_FILE
from accord.operations.audit.trail import AuditTrail
from accord.operations.caller import LOCAL
from accord.operations.limiter import Limiter
from accord.operations.outcome import Outcome
from accord.operations.runner import Observe, Runner
from accord.store import Store, open_store
from accord.workflows.bridge.in_flight import Breakers
from accord.workflows.storage.definitions import Definitions
from accord.workflows.triggers.events import Events
from accord.workflows.watching import RunWatch

AUDIT_PURPOSE: Final = "audit"
"""What the key of the audit trail is derived for."""


class Local(Struct, frozen=True):
    """What commands work with."""

    store: Store
    key: ServerKey
    accounts: Accounts
    runner: Runner
    limiter: Limiter | None
    watch: RunWatch
    events: Events
    breakers: Breakers
    trail: AuditTrail
    plugins: Plugins

    async def run(self, operation: str, **arguments: Any) -> Outcome:
        """What comes of an operation. Raises ServiceError and InternalError."""
        found = self.runner.registry[operation]
        caller = replace(LOCAL, client=_who(), correlation_id=uuid4().hex)
        return await self.runner.run(found, lambda: convert(found, arguments), caller)


MakeLimiter: TypeAlias = Callable[[Store], Limiter | None]


@asynccontextmanager
async def open_local(
    settings: Settings,
    *,
    limiter: MakeLimiter = lambda store: None,
    observe: Observe | None = None,
) -> AsyncIterator[Local]:
    """Open the database of an installation; a new one is made ready. Raises StoreError and
    ServerKeyError."""
    key = server_key(settings)
    plugins = load_plugins(settings.plugins)
    async with open_store(settings.database_url) as store:
        for part, folder in PARTS.items():
            await store.migrate(part, folder)
        await key.check(store)
        secret = key.derive(AUDIT_PURPOSE)
        async with AuditTrail(
            store, secret, head_file=_head_file(settings), checks=data_checks()
        ) as trail:
            states = state_keeper(secret)
            await states.adopt(store, trail)
            limits = limiter(store)
            watch = RunWatch(store)
            events = Events(EVENT_KINDS)
            breakers = Breakers()
            accounts = Accounts(store, key, trail=trail, limiter=limits, states=states)
            runner = Runner(
                all_operations(plugins.formats, plugins.operations),
                store,
                trail,
                limiter=limits,
                services=(
                    accounts,
                    trail,
                    watch,
                    events,
                    breakers,
                    Definitions(),
                    AcceptancePolicy(settings.accept_own_proposals),
                    plugins.formats,
                    plugins.steps,
                    agent_addresses(settings),
                    agent_secrets(settings),
                ),
                recorders=(*RECORDERS, states.record),
                observe=observe,
            )
            try:
                yield Local(
                    store, key, accounts, runner, limits, watch, events, breakers, trail, plugins
                )
            finally:
                await watch.close()
                await accounts.close()


def server_key(settings: Settings) -> ServerKey:
    """The key of an installation, whose data directory is made if it is not there. Raises
    ServerKeyError."""
    if settings.is_shared:
        return load_key(None, {KEY_VARIABLE: settings.secret_key})
    data = Path(settings.data)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return load_key(data, {})


def _head_file(settings: Settings) -> Path:
    """Where the head of the audit trail is kept, out of reach of who can only write to the
    database."""
    data = Path(settings.data)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return data / HEAD_FILE


def _who() -> str:
    """Who runs a command, as their system calls them."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"
