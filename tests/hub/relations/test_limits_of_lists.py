"""How many types, labels, views and baselines there may be."""

from __future__ import annotations

from typing import Any

import pytest

from accord.hub.operations.baselines import MAX_BASELINES
from accord.hub.operations.reference_data import MAX_LABELS, MAX_TYPES
from accord.hub.operations.search import MAX_VIEWS
from accord.operations.errors import ConflictError
from accord.store import Transaction
from tests.hub.world import World

LABEL = "INSERT INTO labels (id, name, name_key, colour, created_at) VALUES ($1, $1, $1, '', '')"
TYPE = "INSERT INTO requirement_types (name, name_key, created_at) VALUES ($1, $1, '')"
LINK_TYPE = (
    "INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ($1, $1, 1, 0)"
)
VIEW = (
    "INSERT INTO saved_views (id, owner_id, name, filter, created_at, updated_at) "
    "SELECT $1, id, $1, '{}', '', '' FROM users WHERE username = 'ada'"
)
BASELINE = (
    "INSERT INTO baselines (id, name, name_key, author_id, created_at) "
    "SELECT $1, $1, $1, id, '' FROM users WHERE username = 'ada'"
)


@pytest.mark.parametrize(
    ("statement", "number", "operation", "arguments"),
    [
        (LABEL, MAX_LABELS, "create_label", {"name": "One more"}),
        (TYPE, MAX_TYPES, "create_requirement_type", {"name": "One more"}),
        (LINK_TYPE, MAX_TYPES, "create_relationship_type", {"name": "one_more", "symmetric": True}),
        (VIEW, MAX_VIEWS, "create_view", {"name": "One more", "filter": {}}),
        (BASELINE, MAX_BASELINES, "create_baseline", {"name": "One more"}),
    ],
)
async def test_there_is_an_end_to_everything(
    world: World, statement: str, number: int, operation: str, arguments: dict[str, Any]
) -> None:
    async def fill(transaction: Transaction) -> None:
        for each in range(number):
            await transaction.execute(statement, f"n{each}")

    await world.store.transact(fill)
    with pytest.raises(ConflictError, match="already"):
        await world.call(operation, world.admin, **arguments)
