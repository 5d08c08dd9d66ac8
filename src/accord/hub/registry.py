"""All operations of the hub, in the order in which tool lists show them."""

from __future__ import annotations

from typing import Final

from accord.hub.exchange.formats import Formats
from accord.hub.operations import (
    baselines,
    changes,
    comments,
    context,
    coverage,
    exchange,
    hierarchy,
    impact,
    items,
    labels,
    lint,
    neighbours,
    news,
    outline,
    people,
    prompts,
    proposals,
    relationships,
    search,
    shares,
    steering_documents,
    surroundings,
    suspects,
    texts,
    types,
    versions,
    views,
)
from accord.operations.registry import Registry

REGISTRIES: Final[tuple[Registry, ...]] = (
    items.acceptance_criteria.operations,
    baselines.operations,
    changes.operations,
    comments.operations,
    context.operations,
    coverage.operations,
    items.epics.operations,
    exchange.operations,
    hierarchy.operations,
    impact.operations,
    labels.operations,
    lint.operations,
    neighbours.operations,
    news.operations,
    outline.operations,
    people.operations,
    prompts.operations,
    proposals.operations,
    relationships.operations,
    items.requirements.operations,
    search.operations,
    shares.operations,
    steering_documents.operations,
    surroundings.operations,
    suspects.operations,
    texts.operations,
    types.operations,
    items.user_stories.operations,
    versions.operations,
    views.operations,
)


def hub_operations(formats: Formats | None = None) -> Registry:
    """Return all operations of the hub.

    Import and export offer our own formats unless `formats` are given.
    """
    registry = Registry()
    for operations in REGISTRIES:
        for operation in operations:
            registry.add(operation if formats is None else formats.offered_by(operation))
    return registry.fully_declared()
