"""The opened installation without a server: store, runner, accounts, audit trail, plugins.

Commands on the machine itself open the installation this way, also while a server runs. Access to
the data directory, or to the URL of the database and the key, is full access; every call is
audited.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, TypeAlias
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.addresses import AddressPolicy
from accord.app.composition import (
    EVENT_KINDS,
    RECORDERS,
    Plugins,
    all_operations,
    data_checks,
    load_plugins,
    state_keeper,
)
from accord.app.database import MIGRATIONS
from accord.app.settings import Settings
from accord.hub.domain.rules import AcceptancePolicy
from accord.operations.arguments import convert
from accord.operations.audit.trail import HEAD_FILE_NAME as HEAD_FILE, AuditTrail
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.server_key import KEY_VARIABLE, ServerKey, load_key
from accord.operations.context import LOCAL
from accord.operations.errors import Limiter
from accord.operations.operation import Outcome
from accord.operations.runner import Observe, Runner
from accord.store import Store, open_store
from accord.workflows.bridge.client_pool import Secrets
from accord.workflows.bridge.in_flight import Breakers
from accord.workflows.retention import Retention
from accord.workflows.storage.definitions import Definitions
from accord.workflows.triggers.events import Events
from accord.workflows.watching import RunWatch

ADDRESS_ADVICE: Final = (
    "start accord with --allow-agents and the host or its network (setting allow_agents,"
    " ACCORD_ALLOW_AGENTS)"
)


def agent_addresses(settings: Settings) -> AddressPolicy:
    """Return the policy of the settings for the agent addresses that may be called.

    `allow_agents` holds host names, addresses and networks, distinguished by their form.
    """
    networks = tuple(each for each in settings.allow_agents if _is_network(each))
    hosts = frozenset(
        each.lower().rstrip(".") for each in settings.allow_agents if each not in networks
    )
    return AddressPolicy(
        allow_private=settings.allow_private_agents,
        hosts=hosts,
        networks=networks,
        advice=ADDRESS_ADVICE,
    )


def agent_secrets(settings: Settings) -> Secrets:
    """Return the secrets of agents and webhooks."""
    return Secrets(Path(settings.secrets) if settings.secrets else None, os.environ)


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


RUN_ARCHIVE_FOLDER: Final = "archive"
"""The folder of archived runs in the data directory."""


def run_retention(settings: Settings, store: Store) -> Retention:
    """Return the component that archives or removes old runs, as the settings say."""
    archive = Path(settings.data) / RUN_ARCHIVE_FOLDER if settings.old_runs == "archive" else None
    return Retention(store, keep_days=settings.keep_runs_days, archive=archive)


AUDIT_PURPOSE: Final = "audit"
"""The purpose for which the key of the audit trail is derived."""


class Runtime(Struct, frozen=True):
    """An opened installation."""

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
        """Run an operation.

        Raises ServiceError for a refused call, and InternalOperationError for a failed one.
        """
        found = self.runner.registry[operation]
        caller = replace(LOCAL, client=_system_user(), correlation_id=uuid4().hex)
        return await self.runner.run(found, lambda: convert(found, arguments), caller)


MakeLimiter: TypeAlias = Callable[[Store], Limiter | None]


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    limiter: MakeLimiter = lambda _store: None,
    observe: Observe | None = None,
) -> AsyncIterator[Runtime]:
    """Open the database of an installation, and migrate it.

    Raises StoreError if the database cannot be used, and ServerKeyError if the key cannot.
    """
    key = server_key(settings)
    plugins = load_plugins(settings.plugins)
    async with open_store(settings.database_url) as store:
        for part, folder in MIGRATIONS.items():
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
                yield Runtime(
                    store, key, accounts, runner, limits, watch, events, breakers, trail, plugins
                )
            finally:
                # Before the trail closes: the accounts still enqueue records of failures.
                await watch.close()
                await accounts.close()


def server_key(settings: Settings) -> ServerKey:
    """Return the key of an installation, whose data directory is created if missing.

    Raises ServerKeyError if the key is missing or cannot be read.
    """
    if settings.is_shared:
        return load_key(None, {KEY_VARIABLE: settings.secret_key})
    data = Path(settings.data)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return load_key(data, {})


def _head_file(settings: Settings) -> Path:
    """Return the path of the file with the audit trail's head.

    Database users cannot reach the file.
    """
    data = Path(settings.data)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return data / HEAD_FILE


def _system_user() -> str:
    """Return the user name of the operating system."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"
