"""All pages, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages import home, session
from accord.web.routing import Pages

PAGES: Final[Sequence[Pages]] = (
    home.pages,
    session.pages,
)
