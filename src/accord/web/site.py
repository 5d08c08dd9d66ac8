"""All pages, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages import (
    account,
    audit,
    explorer,
    home,
    items,
    keys,
    palette,
    prompts,
    requirements,
    search,
    session,
    set_up,
    settings,
    tokens,
    users,
    views,
)
from accord.web.routing import Pages

PAGES: Final[Sequence[Pages]] = (
    account.pages,
    audit.pages,
    explorer.pages,
    home.pages,
    *items.PAGES,
    keys.pages,
    palette.pages,
    prompts.pages,
    *requirements.PAGES,
    search.pages,
    session.pages,
    set_up.pages,
    settings.pages,
    tokens.pages,
    users.pages,
    views.pages,
)
