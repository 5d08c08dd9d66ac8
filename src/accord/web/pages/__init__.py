"""All pages, by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages import (
    account,
    audit,
    baselines,
    changes,
    explorer,
    home,
    items,
    palette,
    prompts,
    proposals,
    requirements,
    search,
    settings,
    tokens,
    traceability,
    users,
    workflows,
)
from accord.web.request import Pages

PAGES: Final[Sequence[Pages]] = (
    account.pages,
    audit.pages,
    baselines.pages,
    changes.pages,
    explorer.pages,
    home.pages,
    *items.PAGES,
    palette.pages,
    prompts.pages,
    proposals.pages,
    *requirements.PAGES,
    search.pages,
    settings.pages,
    tokens.pages,
    *traceability.PAGES,
    users.pages,
    *workflows.PAGES,
)
