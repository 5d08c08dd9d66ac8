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
    documents,
    exchange,
    hierarchy,
    items,
    proposals,
    reference_data,
    relationships,
    search,
    texts,
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
    relationships.impact_operations,
    reference_data.label_operations,
    texts.lint_operations,
    relationships.neighbour_operations,
    changes.news_operations,
    hierarchy.outline_operations,
    reference_data.people_operations,
    documents.prompt_operations,
    proposals.operations,
    relationships.operations,
    items.requirements.operations,
    search.operations,
    coverage.share_operations,
    documents.document_operations,
    context.surroundings_operations,
    relationships.suspect_operations,
    texts.text_operations,
    reference_data.type_operations,
    items.user_stories.operations,
    changes.version_operations,
    search.view_operations,
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
