"""All operations of the hub, in the order in which tool lists show them."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from accord.hub.exchange.formats import Formats
from accord.operations.registry import Registry

MODULES: Final[tuple[str, ...]] = (
    "acceptance_criteria",
    "baselines",
    "changes",
    "comments",
    "context",
    "coverage",
    "epics",
    "exchange",
    "hierarchy",
    "impact",
    "labels",
    "lint",
    "neighbours",
    "news",
    "outline",
    "people",
    "prompts",
    "proposals",
    "relationships",
    "requirements",
    "search",
    "shares",
    "steering_documents",
    "surroundings",
    "suspects",
    "texts",
    "types",
    "user_stories",
    "versions",
    "views",
)
"""Modules with a registry named `operations`."""


def hub_operations(formats: Formats | None = None) -> Registry:
    """Return all operations of the hub.

    Import and export offer our own formats unless `formats` are given.
    """
    registry = Registry()
    for module in MODULES:
        for operation in import_module(f"accord.hub.operations.{module}").operations:
            registry.add(operation if formats is None else formats.offered_by(operation))
    return registry.fully_declared()
