"""What the system is made of: all operations, and what is kept of every change."""

from __future__ import annotations

from typing import Final

from accord.hub.advice import advise
from accord.hub.exchange.formats import Formats
from accord.hub.mcp.announce import announce
from accord.hub.recorder import ELSEWHERE, record
from accord.hub.registry import hub_operations
from accord.hub.search.index import index
from accord.hub.storage.rows import TABLES
from accord.operations.accounts.operations import operations as accounts_operations
from accord.operations.audit.operations import operations as audit_operations
from accord.operations.registry import Registry
from accord.operations.runner import Recorder
from accord.workflows.registry import workflow_operations
from accord.workflows.triggers.events import trigger

RECORDERS: Final[tuple[Recorder, ...]] = (record, index, advise, announce, trigger)
EVENT_KINDS: Final = frozenset((*TABLES, "baseline", "proposal", *ELSEWHERE))
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
