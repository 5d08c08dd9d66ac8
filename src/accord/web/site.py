"""All pages, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages import home, items, keys, palette, requirements, search, session, views
from accord.web.routing import Pages

PAGES: Final[Sequence[Pages]] = (
    home.pages,
    *items.PAGES,
    keys.pages,
    palette.pages,
    *requirements.PAGES,
    search.pages,
    session.pages,
    views.pages,
)
