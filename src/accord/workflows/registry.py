"""All operations of workflows."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from accord.operations.registry import Registry

MODULES: Final[tuple[str, ...]] = (
    "agents",
    "workflows",
    "runs",
    "run_counts",
    "run_calls",
    "commands",
    "approvals",
    "dead_letters",
)
"""Each has `operations`, a registry."""


def workflow_operations() -> Registry:
    """What can be done with agents, workflows and runs."""
    registry = Registry()
    for module in MODULES:
        registry.include(import_module(f"accord.workflows.operations.{module}").operations)
    return registry.fully_declared()
