"""All pages, by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages import (
    account,
    administration,
    baselines,
    changes,
    home,
    items,
    palette,
    prompts,
    requirements,
    search,
    tokens,
    traceability,
    traceability_graph,
    workflows,
)
from accord.web.request import Pages

PAGES: Final[Sequence[Pages]] = (
    account.pages,
    administration.pages,
    baselines.pages,
    changes.pages,
    home.pages,
    *items.PAGES,
    palette.pages,
    prompts.pages,
    *requirements.PAGES,
    search.pages,
    tokens.pages,
    traceability.pages,
    traceability_graph.pages,
    *workflows.PAGES,
)
