"""What the system is made of: all operations, what is kept of every change, and what is proven."""

from __future__ import annotations

from typing import Final

from accord.hub.demo.loading import demo_operation
from accord.hub.exchange.formats import Formats
from accord.hub.hints import add_hints
from accord.hub.recorder import FOREIGN_KINDS, announce, record
from accord.hub.registry import hub_operations
from accord.hub.revision_check import (
    OPERATIONS as HUB_OPERATIONS,
    PROVEN_TABLES as HUB_PROVEN,
    RevisionCheck,
)
from accord.hub.search.index import index
from accord.hub.storage.rows import TABLES
from accord.operations.accounts.operations import operations as accounts_operations
from accord.operations.audit.operations import operations as audit_operations
from accord.operations.audit.state_check import StateCheck
from accord.operations.audit.states import ACCOUNTS, StateKeeper
from accord.operations.audit.verify import DataCheck
from accord.operations.registry import Registry
from accord.operations.runner import Recorder
from accord.workflows.registry import (
    OPERATIONS as WORKFLOW_OPERATIONS,
    PROVEN as WORKFLOWS_PROVEN,
    workflow_operations,
)
from accord.workflows.triggers.events import trigger

RECORDERS: Final[tuple[Recorder, ...]] = (record, index, add_hints, announce, trigger)
PROVEN: Final = (*ACCOUNTS, *WORKFLOWS_PROVEN, *HUB_PROVEN)
"""What has no revisions, and is compared with the states that are kept of it."""
EVENT_KINDS: Final = frozenset((*TABLES, "baseline", "proposal", *FOREIGN_KINDS))
"""The kinds of all that operations change: events are named by them."""


def all_operations(formats: Formats | None = None, further: Registry | None = None) -> Registry:
    """Everything that can be done: our own, in our own formats unless others are given, and
    `further`."""
    registry = Registry()
    for part in (
        hub_operations(formats),
        workflow_operations(),
        accounts_operations,
        audit_operations,
    ):
        registry.include(part.fully_declared())
    registry.include(further or Registry())
    return registry


def state_keeper(key: bytes) -> StateKeeper:
    """What keeps the states of everything that is proven by them; `key` is that of the trail."""
    return StateKeeper(key, PROVEN, FOREIGN_KINDS)


def data_checks() -> tuple[DataCheck, ...]:
    """How the data is compared with the audit trail."""
    accounts = frozenset(each.name for each in accounts_operations if each.writes)
    hub = (*(each.name for each in hub_operations() if each.writes), demo_operation().name)
    alone = accounts | WORKFLOW_OPERATIONS
    return (StateCheck(PROVEN, alone, HUB_OPERATIONS, [RevisionCheck(hub)]),)
