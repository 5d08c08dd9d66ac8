"""All pages, put together."""

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
    keys,
    palette,
    prompts,
    proposals,
    requirements,
    search,
    session,
    set_up,
    settings,
    tokens,
    traceability,
    users,
    views,
    workflows,
)
from accord.web.routing import Pages

PAGES: Final[Sequence[Pages]] = (
    account.pages,
    audit.pages,
    baselines.pages,
    changes.pages,
    explorer.pages,
    home.pages,
    *items.PAGES,
    keys.pages,
    palette.pages,
    prompts.pages,
    proposals.pages,
    *requirements.PAGES,
    search.pages,
    session.pages,
    set_up.pages,
    settings.pages,
    tokens.pages,
    *traceability.PAGES,
    users.pages,
    views.pages,
    *workflows.PAGES,
)
