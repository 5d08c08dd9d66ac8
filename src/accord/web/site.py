"""All pages, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages import home, keys, palette, search, session, views
from accord.web.routing import Pages

PAGES: Final[Sequence[Pages]] = (
    home.pages,
    keys.pages,
    palette.pages,
    search.pages,
    session.pages,
    views.pages,
)
